/**
 * How the process ends: with a result, with an error, or by signals.
 *
 * @module
 */
import { InterruptedError } from "../base/errors.ts";

/** The end of a stage. */
export interface Outcome {
  exitCode: number;
  /** The result, for standard output, or the error. */
  text: string;
  /** Whether the text is a result (default: with exit code 0). */
  isResult?: boolean;
}

const SIGNALS: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGUSR2"];

/**
 * Prints the outcome and exits: 0 done, 1 failed, 2 wrong usage, 3 something is still to be done
 * (`status`), 130 after SIGINT, 75 after SIGTERM or SIGUSR2.
 *
 * @param outcome An empty text is not printed: the stage wrote its result to standard output itself, or another rank
 *   reports the error.
 */
export function endProcess({ exitCode, text, isResult = exitCode === 0 }: Outcome): never {
  if (text !== "" && !isResult) console.error(`error: ${text.replaceAll("\n", " ")}`);
  else if (text !== "") console.log(text);
  Deno.exit(exitCode);
}

/**
 * Takes signals until the process ends. The second signal ends it at once if one of the two is SIGINT. Others may come
 * twice without a meaning: a scheduler sends them to all processes of a job, and a shell or `deno task` passes them on.
 */
export class SignalListener {
  #stop: ((error: InterruptedError) => void) | undefined;
  #endNow = ({ exitCode }: InterruptedError): void => Deno.exit(exitCode);
  #first: Deno.Signal | undefined;

  /** Starts listening. Until {@link begin} the first signal ends the process. */
  constructor() {
    for (const name of SIGNALS) Deno.addSignalListener(name, () => this.#receive(name));
  }

  /**
   * Begins work.
   *
   * @param stop Called at the first signal.
   * @param endNow Called at a second one; ends the process at once by default.
   */
  begin(stop: (error: InterruptedError) => void, endNow = this.#endNow): void {
    this.#stop = stop;
    this.#endNow = endNow;
  }

  #receive(name: Deno.Signal): void {
    const error = new InterruptedError(name);
    if (this.#first !== undefined) {
      if (this.#first === "SIGINT" || name === "SIGINT") this.#endNow(error);
      return;
    }
    this.#first = name;
    if (!this.#stop) endProcess({ exitCode: error.exitCode, text: error.message });
    const second = name === "SIGINT" ? "a second signal" : "SIGINT";
    console.error(`\n${name}: finishing what is in flight; ${second} ends at once`);
    this.#stop(error);
  }
}
