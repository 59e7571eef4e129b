/**
 * The operating system's file errors as messages for users.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";

/**
 * Turns an error of a Deno file call into a one-line {@link UserError} that names the file, if its cause is
 * known.
 *
 * @param action The action that failed, such as `write runs/demo/a.parquet`.
 */
export function explainFileError(error: unknown, action: string): unknown {
  if (error instanceof UserError || !(error instanceof Error)) return error;
  const cause = { cause: error };
  if (error instanceof Deno.errors.NotFound) {
    return new UserError(`Cannot ${action}: no such file or directory; check the path`, cause);
  }
  if (error instanceof Deno.errors.NotCapable) {
    const flag = /--allow-[a-z]+/.exec(error.message)?.[0] ?? "-A";
    return new UserError(
      `Cannot ${action}: Deno does not permit it, expected ${flag}; run again with it`,
      cause,
    );
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return new UserError(`Cannot ${action}: permission denied; check the owner and mode of the path`, cause);
  }
  if (error instanceof Deno.errors.IsADirectory) {
    return new UserError(`Cannot ${action}: it is a directory, expected a file; name a file`, cause);
  }
  if (error instanceof Deno.errors.NotADirectory || error instanceof Deno.errors.AlreadyExists) {
    return new UserError(`Cannot ${action}: a part of the path is not a directory; check the path`, cause);
  }
  if (error instanceof Deno.errors.FilesystemLoop || /os error 40\b|ELOOP/.test(error.message)) {
    return new UserError(
      `Cannot ${action}: too many links in a chain; delete the link that leads to itself`,
      cause,
    );
  }
  if (isNameTooLong(error)) {
    return new UserError(
      `Cannot ${action}: a name in it is too long for the file system; choose a shorter one`,
      cause,
    );
  }
  if (isOutOfFiles(error)) {
    return new UserError(
      `Cannot ${action}: this process may not open more files; raise the limit with ulimit -n, or give fewer files`,
      cause,
    );
  }
  if (/os error 28|ENOSPC|no space left/i.test(error.message)) {
    return new UserError(`Cannot ${action}: no space left on the device; free some and run again`, cause);
  }
  return error;
}

/** Whether the system refuses to open more files or connections. */
export function isOutOfFiles(error: unknown): boolean {
  return error instanceof Error && /os error 2[34]\b|E[MN]FILE|too many open files/i.test(error.message);
}

/** Whether the file system rejects a path because a name in it is too long. */
export function isNameTooLong(error: unknown): boolean {
  return error instanceof Error && /os error 36\b|ENAMETOOLONG|name too long/i.test(error.message);
}
