/**
 * The error classes of the whole program.
 *
 * A user's mistake (a missing file, a wrong flag, damaged bytes) is a {@link UserError}: the command line
 * prints its message as one line and exits, without a stack trace. Every other error is a bug in this
 * program. Messages follow `Cannot <action>: <what was found>, expected <what>; <next command or fix>`.
 *
 * @module
 */

/** A mistake that the user can correct, with a one-line message. */
export class UserError extends Error {
  /** The prefix of the message in logs and stack traces. */
  override name = "UserError";
  /** The exit code of a command that fails with this error. */
  readonly exitCode: number = 1;
}

/** A wrong command line: an unknown option, a value of a wrong type, or a missing option. */
export class UsageError extends UserError {
  /** The prefix of the message in logs and stack traces. */
  override name = "UsageError";
  /** 2, the shells' convention for a wrong command line. */
  override readonly exitCode: number = 2;
}

/** Bytes or rows of a file that violate its format. */
export class FormatError extends UserError {
  /** The prefix of the message in logs and stack traces. */
  override name = "FormatError";
  /** The faulty file. */
  readonly path: string;
  /** The offset of the fault in the file, if known. */
  readonly offsetBytes: number | undefined;

  /**
   * Prefixes the message with the path and the location in the file.
   *
   * @param message What was found and what was expected.
   * @param where The file and the offset in bytes (or another location, such as `row 17`).
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

/** A configuration value that cannot be used. */
export class ConfigError extends UsageError {
  /** The prefix of the message in logs and stack traces. */
  override name = "ConfigError";
  /** The dotted path of the key, such as `model.numLayers`. */
  readonly keyPath: string;

  /**
   * Prefixes the message with the key.
   *
   * @param keyPath The dotted path of the key.
   * @param message What was found and what was expected.
   */
  constructor(keyPath: string, message: string, options?: ErrorOptions) {
    super(`Cannot use config key ${keyPath}: ${message}`, options);
    this.keyPath = keyPath;
  }
}

/** A WGSL kernel that does not compile or is used incorrectly. */
export class KernelError extends Error {
  /** The prefix of the message in logs and stack traces. */
  override name = "KernelError";
  /** The kernel's registered name. */
  readonly kernel: string;
  /** The line in {@link file}, 1-based, if known. */
  readonly line: number | undefined;
  /** The file of kernels/ that contains the line, without its extension. */
  readonly file: string;

  /**
   * Prefixes the message with the kernel and the line.
   *
   * @param kernel The kernel's registered name.
   * @param line The line in the file, 1-based, if known.
   * @param file The file without its extension, if several kernels share it.
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
  /** 130 after SIGINT, the shells' convention; else 75, EX_TEMPFAIL of sysexits.h: worth another try. */
  override readonly exitCode: number;

  /**
   * Tells the user how to continue.
   *
   * @param signal The name of the received signal, such as `SIGINT`.
   */
  constructor(readonly signal: string) {
    super(`stopped by ${signal}; run the same command again to continue`);
    this.exitCode = signal === "SIGINT" ? 130 : 75;
  }
}

/**
 * Asserts a fact that only a bug in this program can make false.
 *
 * @param message The false fact, for the bug report.
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

/** Shortens input for a message to at most `maxLength` characters, replacing the rest by `…`. */
export function shortened(text: string, maxLength = 80): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}
