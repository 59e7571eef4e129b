/**
 * The operating system's file errors as messages for users.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";

/** What is wrong and what to do, by the system's code. */
const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory; check the path",
  EACCES: "permission denied; check the owner and mode of the path",
  EPERM: "permission denied; check the owner and mode of the path",
  EISDIR: "it is a directory, expected a file; name a file",
  ENOTDIR: "a part of the path is not a directory; check the path",
  EEXIST: "a part of the path is not a directory; check the path",
  ELOOP: "too many links in a chain; delete the link that leads to itself",
  ENAMETOOLONG: "a name in it is too long for the file system; choose a shorter one",
  EMFILE: "this process may not open more files; raise the limit with ulimit -n, or pass fewer files",
  ENFILE: "the system may not open more files; close other programs and run again",
  ENOSPC: "no space left on the device; free some space and run again",
};

/**
 * Converts an error of a Deno file call to a one-line {@link UserError} that names the file, if its cause is
 * known.
 *
 * @param action The action that failed, such as `write runs/demo/a.parquet`.
 */
export function explainFileError(error: unknown, action: string): unknown {
  if (error instanceof UserError || !(error instanceof Error)) return error;
  if (error instanceof Deno.errors.NotCapable) {
    // Deno states the flag only in the message.
    const flag = /--allow-[a-z]+/.exec(error.message)?.[0] ?? "-A";
    const found = "Deno does not permit it";
    return new UserError({ action, found, expected: flag, advice: "run again with it" }, { cause: error });
  }
  const found = FAULTS[systemCode(error) ?? ""];
  return found === undefined ? error : new UserError({ action, found }, { cause: error });
}

/** Returns the result of file calls. @throws {UserError} As {@link explainFileError}, if they fail. */
export function explained<T>(action: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw explainFileError(error, action);
  }
}

/** Returns the result of `work`; undefined if a file or folder is missing. */
export function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Whether an error means that a file does not exist, which includes names that are too long. */
export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(systemCode(error) ?? "");
}

/** The system's code of an error, such as `ENOSPC`; undefined if it is not from the system. */
export function systemCode(error: unknown): string | undefined {
  const { code } = error instanceof Error ? error as { code?: unknown } : {};
  return typeof code === "string" ? code : undefined;
}
