/**
 * The error classes of the whole program.
 *
 * A user's mistake (a missing file, a wrong flag, damaged bytes) is a {@link UserError}: the command line
 * prints its message as one line and exits, without a stack trace. Every other error is a bug in this program.
 * Messages follow `Cannot <action>: <what was found>, expected <what>; <next command or fix>`.
 *
 * @module
 */

/** A mistake that the user can correct; its message is one line. */
export class UserError extends Error {
  /** The prefix of the message in logs and stack traces. */
  override name = "UserError";
  /** The exit code of a command that ends with this error. */
  readonly exitCode: number = 1;
}

/** A wrong command line: unknown option, value of a wrong type, missing option. */
export class UsageError extends UserError {
  /** The prefix of the message in logs and stack traces. */
  override name = "UsageError";
  /** 2, as shells have it for a wrong command line. */
  override readonly exitCode: number = 2;
}

/** Bytes or rows of a file that its format does not allow. */
export class FormatError extends UserError {
  /** The prefix of the message in logs and stack traces. */
  override name = "FormatError";
  /** The file at fault. */
  readonly path: string;
  /** The offset in the file, in bytes, if known. */
  readonly offsetBytes: number | undefined;

  /**
   * Puts the path and the place in the file before the message.
   *
   * @param message The found value and the expected one; the path and offset are put before it.
   * @param where The file and the offset in bytes (or any other place, such as `row 17`).
   */
  constructor(
    message: string,
    where: { path: string; offsetBytes?: number; place?: string; cause?: unknown },
  ) {
    const place = where.place ?? (where.offsetBytes === undefined ? undefined : `byte ${where.offsetBytes}`);
    super(`Cannot read ${where.path}${place ? ` at ${place}` : ""}: ${message}`, { cause: where.cause });
    this.path = where.path;
    this.offsetBytes = where.offsetBytes;
  }
}

/** A value of a configuration that cannot be used. */
export class ConfigError extends UsageError {
  /** The prefix of the message in logs and stack traces. */
  override name = "ConfigError";
  /** The dotted path of the key, such as `model.numLayers`. */
  readonly keyPath: string;

  /**
   * Puts the key before the message.
   *
   * @param keyPath The dotted path of the key.
   * @param message The found value and the expected one.
   */
  constructor(keyPath: string, message: string, options?: ErrorOptions) {
    super(`Cannot use config key ${keyPath}: ${message}`, options);
    this.keyPath = keyPath;
  }
}

/** A WGSL kernel that does not compile or is used wrongly. */
export class KernelError extends Error {
  /** The prefix of the message in logs and stack traces. */
  override name = "KernelError";
  /** The kernel's registered name. */
  readonly kernel: string;
  /** The line in {@link file}, 1-based, if known. */
  readonly line: number | undefined;
  /** The file of kernels/ that the line is in, without its ending. */
  readonly file: string;

  /**
   * Puts the kernel and the line before the message.
   *
   * @param kernel The kernel's registered name.
   * @param message The fault.
   * @param line The line in the file, 1-based, if known.
   * @param file The file without its ending, where it is one that several kernels share.
   */
  constructor(kernel: string, message: string, line?: number, file: string = kernel) {
    const place = file === kernel ? "" : ` of ${file}.wgsl`;
    super(`Cannot use kernel ${kernel}${line === undefined ? "" : ` (line ${line}${place})`}: ${message}`);
    this.kernel = kernel;
    this.line = line;
    this.file = file;
  }
}

/** Ends a run that the user or the system stopped, after everything is saved. */
export class InterruptedError extends UserError {
  /** The prefix of the message in logs and stack traces. */
  override name = "InterruptedError";
  /** 130 after SIGINT, as shells have it; else 75, EX_TEMPFAIL of sysexits.h: worth another try. */
  override readonly exitCode: number;

  /**
   * Tells the user how to continue.
   *
   * @param signal The name of the signal that was received, such as `SIGINT`.
   */
  constructor(readonly signal: string) {
    super(`stopped by ${signal}; run the same command again to continue`);
    this.exitCode = signal === "SIGINT" ? 130 : 75;
  }
}

/**
 * Asserts a fact that only a bug in this program can make false.
 *
 * @param condition The condition that must hold.
 * @param message The fact that is false, for the bug report.
 * @throws {Error} If the condition does not hold.
 */
export function ensure(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Internal error: ${message}`);
}

/** The entry of a name that must exist. @throws {Error} If it does not. */
export function named<T>(all: ReadonlyMap<string, T>, name: string): T {
  const found = all.get(name);
  ensure(found !== undefined, `there is no ${name}`);
  return found;
}

/** Input as a message shows it: at most `maxLength` characters, the rest replaced by `…`. */
export function shortened(text: string, maxLength = 80): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}
