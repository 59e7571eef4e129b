/**
 * The error classes of the whole program.
 *
 * A user's mistake (a missing file, a wrong flag, damaged bytes) is a {@link UserError}: the command line
 * prints its message as one line and exits, without a stack trace. Every other error is a bug in this
 * program. Messages follow `Cannot <action>: <what was found>, expected <what>; <next command or fix>`. An
 * error that others complete or shorten has these parts as a {@link Fault}, so that nothing parses a message.
 *
 * @module
 */

/** The parts of a message, as {@link faultText} puts them together. */
export interface Fault {
  /** What cannot be done, such as `read a.csv at line 3`. */
  readonly action?: string | undefined;
  /** The faulty field of a question or a file, such as `["context", 0, "src"]`. */
  readonly path?: readonly PropertyKey[] | undefined;
  /** The value found there or in its place, formatted by {@link shown}; null if it is missing. */
  readonly value?: string | null | undefined;
  /** What was found, or what is wrong. */
  readonly found?: string | undefined;
  /** What was expected, without this word. */
  readonly expected?: string | undefined;
  /** What to do about it. Measurement formats name the options of the command line. */
  readonly advice?: string | undefined;
}

/** Formats a fault as a one-line message. */
export function faultText({ action, path = [], value, found, expected, advice }: Fault): string {
  const field = pathText(path);
  const given = value === null ? `no ${field || "value"}` : [field, value].filter(Boolean).join(" ");
  const parts = [
    value === undefined ? undefined : `found ${given}`,
    found,
    expected === undefined ? undefined : `expected ${expected}`,
  ].filter((part) => part !== undefined).join(", ");
  const place = [action && `Cannot ${action}`, value === undefined && field].filter(Boolean);
  return [...place, advice === undefined ? parts : `${parts}; ${advice}`].join(": ");
}

/** Formats a path, such as `context[0].src`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}

/** A mistake that the user can correct, with a one-line message. */
export class UserError extends Error {
  /** The prefix of the message in logs and stack traces. */
  override name = "UserError";
  /** The exit code of a command that fails with this error. */
  readonly exitCode: number = 1;
  /** The parts of the message; undefined if it was given as text. */
  readonly fault: Fault | undefined;

  /** Says what is wrong, in one line. @param message The message, or its parts. */
  constructor(message: string | Fault, options?: ErrorOptions) {
    super(typeof message === "string" ? message : faultText(message), options);
    this.fault = typeof message === "string" ? undefined : message;
  }
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
    message: string | Fault,
    where: { path: string; offsetBytes?: number; place?: string; cause?: unknown },
  ) {
    const place = where.place ?? (where.offsetBytes === undefined ? undefined : `byte ${where.offsetBytes}`);
    const action = `read ${where.path}${place ? ` at ${place}` : ""}`;
    super({ ...faultOf(message), action }, { cause: where.cause });
    this.path = where.path;
    this.offsetBytes = where.offsetBytes;
  }
}

/** A configuration value that cannot be used. */
export class ConfigError extends UsageError {
  /** The prefix of the message in logs and stack traces. */
  override name = "ConfigError";

  /**
   * Prefixes the message with the key.
   *
   * @param keyPath The dotted path of the key, such as `model.numLayers`.
   * @param message What was found and what was expected.
   */
  constructor(readonly keyPath: string, message: string | Fault) {
    super({ ...faultOf(message), action: `use config key ${keyPath}` });
  }
}

function faultOf(message: string | Fault): Fault {
  return typeof message === "string" ? { found: message } : message;
}

/** A WGSL kernel that does not compile or is used incorrectly. */
export class KernelError extends Error {
  override name = "KernelError";

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
  }
}

/** Ends a run that the user or the system stopped, after everything is saved. */
export class InterruptedError extends UserError {
  /** The prefix of the message in logs and stack traces. */
  override name = "InterruptedError";
  /** 130 after SIGINT, the shells' convention; else 75, EX_TEMPFAIL of sysexits.h: worth another try. */
  override readonly exitCode: number;

  /** Tells the user how to continue. @param signal The name of the received signal, such as `SIGINT`. */
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

/** Looks up a name that must be present. @throws {Error} If it is not. */
export function named<T>(all: ReadonlyMap<string, T>, name: string): T {
  const found = all.get(name);
  ensure(found !== undefined, `there is no ${name}`);
  return found;
}

/** Shortens input for a message to at most `maxLength` characters, replacing the rest with `…`. */
export function shortened(text: string, maxLength = 80): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

/** Formats a JSON value of any size and depth for a message. */
export function shown(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  return JSON.stringify(typeof value === "string" ? shortened(value) : value);
}
