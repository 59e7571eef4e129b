/**
 * The error for a token stream that no measurements can be read from.
 *
 * @module
 */
import { UserError } from "../errors.ts";

/** A token stream that breaks the grammar of its vocabulary. */
export class TokenError extends UserError {
  /** Stands before the message in logs and stack traces. */
  override name = "TokenError";
  /** Index of the offending token in the stream; the stream's length when it ends too early. */
  readonly position: number;

  /**
   * Puts the position before the message.
   *
   * @param position Index of the offending token.
   * @param message What was found and what was wanted.
   */
  constructor(position: number, message: string) {
    super(`Cannot decode tokens at position ${position}: ${message}`);
    this.position = position;
  }
}
