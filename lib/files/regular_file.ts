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
    requireRegular(Deno.statSync(path), action);
    return Deno.openSync(path);
  } catch (error) {
    throw explainFileError(error, action);
  }
}

/** Refuses what is no regular file. @param action What is tried. @throws {UserError} If it is another thing. */
export function requireRegular(info: Deno.FileInfo, action: string): void {
  if (info.isFile) return;
  const found = info.isDirectory
    ? "a directory"
    : info.isFifo
    ? "a named pipe"
    : info.isSocket
    ? "a socket"
    : "a device";
  throw new UserError(
    `Cannot ${action}: it is ${found}, a file was wanted; ${
      info.isDirectory ? "name a file" : "name a regular file"
    }`,
  );
}
