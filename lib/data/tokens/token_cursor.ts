/**
 * A position in a token stream, and the reading steps that both vocabularies share.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";

/** A token stream that breaks the grammar of its vocabulary. */
export class TokenError extends UserError {
  /** Stands before the message in logs and stack traces. */
  override name = "TokenError";

  /**
   * Puts the position before the message.
   *
   * @param position Index of the wrong token in the stream; the stream's length if it ends too early.
   * @param message The found tokens and the expected ones.
   */
  constructor(readonly position: number, message: string) {
    super(`Cannot decode tokens at position ${position}: ${message}`);
  }
}

/** The part of a vocabulary's module that the cursor needs. Tokens from BYTE_BASE on are bytes. */
interface Grammar {
  readonly MEASUREMENT_START: number;
  readonly BYTE_BASE: number;
  readonly VOCAB_SIZE: number;
  tokenName(token: number): string;
}

/** Reads a token stream from its start. */
export class TokenCursor {
  /** Index of the next token. */
  at = 0;

  constructor(readonly tokens: Uint16Array, readonly grammar: Grammar) {}

  /** Reads the token that opens a measurement. @throws {TokenError} If the next token is a different one. */
  readStart(): void {
    const { MEASUREMENT_START, tokenName } = this.grammar;
    if (this.tokens[this.at] !== MEASUREMENT_START) throw this.unexpected(tokenName(MEASUREMENT_START));
    this.at++;
  }

  /** Reads a byte. @throws {TokenError} If the next token is not a byte. */
  readByte(): number {
    const token = this.tokens[this.at];
    const { BYTE_BASE, VOCAB_SIZE } = this.grammar;
    // An index past the end gives undefined, which fails the comparison too.
    if (!(token >= BYTE_BASE && token < VOCAB_SIZE)) throw this.unexpected("a byte");
    this.at++;
    return token - BYTE_BASE;
  }

  /** Reads some bytes. @throws {TokenError} If one of the next tokens is not a byte. */
  readBytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let i = 0; i < count; i++) bytes[i] = this.readByte();
    return bytes;
  }

  unexpected(wanted: string): TokenError {
    const atEnd = this.at >= this.tokens.length;
    const found = atEnd ? "the end of the tokens" : this.grammar.tokenName(this.tokens[this.at]);
    return new TokenError(this.at, `found ${found}, expected ${wanted}`);
  }
}
