/**
 * A place in a token stream, and the two steps that the readers of both vocabularies take from it.
 *
 * @module
 */
import { TokenError } from "./token_error.ts";

/** What of a vocabulary the cursor needs. */
export interface TokenNames {
  /** The token of byte 0; bytes are the last tokens. */
  readonly byteBase: number;
  /** Number of tokens. */
  readonly vocabSize: number;
  /** A token in words. */
  tokenName(token: number): string;
}

/** Reads a token stream from its start. */
export class TokenCursor {
  /** Index of the next token. */
  at = 0;

  /** @param tokens The stream. @param names Its vocabulary. */
  constructor(readonly tokens: Uint16Array, readonly names: TokenNames) {}

  /** Reads a byte. @throws {TokenError} If the next token is none. */
  readByte(): number {
    const token = this.tokens[this.at];
    // An index past the end gives undefined, which fails the comparison too.
    if (!(token >= this.names.byteBase && token < this.names.vocabSize)) throw this.unexpected("a byte");
    this.at++;
    return token - this.names.byteBase;
  }

  /** The error for a next token that is not what was wanted. */
  unexpected(wanted: string): TokenError {
    const atEnd = this.at >= this.tokens.length;
    const found = atEnd ? "the end of the tokens" : this.names.tokenName(this.tokens[this.at]);
    return new TokenError(this.at, `found ${found}, ${wanted} was wanted`);
  }
}
