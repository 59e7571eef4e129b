/**
 * Input files opened for reading.
 *
 * To open a named pipe waits for its writer, without end if there is none, and a device has no end; so what is no
 * regular file is refused before.
 *
 * @module
 */
import { explainFileError, UserError } from "../errors.ts";

/**
 * Opens a regular file for reading.
 *
 * @param path The file.
 * @param action What is tried, for errors; `read PATH` by default.
 * @throws {UserError} If there is none that can be read.
 */
export function openRegularFile(path: string, action = `read ${path}`): Deno.FsFile {
  try {
    requireRegularFile(path, action);
    return Deno.openSync(path);
  } catch (error) {
    throw explainFileError(error, action);
  }
}

/** Checks that a path is a regular file. @throws {UserError} If it is another thing or not there. */
export function requireRegularFile(path: string, action = `read ${path}`): void {
  try {
    const info = Deno.statSync(path);
    if (info.isFile) return;
    if (info.isDirectory) throw new Deno.errors.IsADirectory();
    const found = info.isFifo ? "a named pipe" : info.isSocket ? "a socket" : "a device";
    throw new UserError(
      `Cannot ${action}: it is ${found}, a file was wanted; write its content to a file first`,
    );
  } catch (error) {
    throw explainFileError(error, action);
  }
}
