/**
 * The names of tokens, and reading steps shared by both vocabularies.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";

/** A token stream that violates the grammar of its vocabulary. */
export class TokenError extends UserError {
  override name = "TokenError";

  /**
   * Prefixes the message with the position.
   *
   * @param position Index of the wrong token in the stream; the stream's length if it ends too early.
   */
  constructor(readonly position: number, message: string) {
    super(`Cannot decode tokens at position ${position}: ${message}`);
  }
}

/**
 * Names a token by its role or, for example, as `byte 17`.
 *
 * @param roleNames The vocabulary's roles, tokens 0, 1, …, of which MeasurementStart is the first; 256 bytes
 *   follow.
 */
export function nameOfToken(roleNames: readonly string[], token: number): string {
  const byte = token - roleNames.length;
  return roleNames[token] ?? (byte >= 0 && byte < 256 ? `byte ${byte}` : `unknown token ${token}`);
}

export class TokenCursor {
  at = 0;

  /** @param roleNames See {@link nameOfToken}. */
  constructor(readonly tokens: Uint16Array, readonly roleNames: readonly string[]) {}

  /** Reads the token that begins a measurement. @throws {TokenError} If the next token is another one. */
  readStart(): void {
    if (this.tokens[this.at] !== 0) throw this.unexpected(this.roleNames[0]);
    this.at++;
  }

  /** Reads a byte. @throws {TokenError} If the next token is not a byte. */
  readByte(): number {
    const byte = this.tokens[this.at] - this.roleNames.length;
    // An index past the end yields NaN, which fails the comparison too.
    if (!(byte >= 0 && byte < 256)) throw this.unexpected("a byte");
    this.at++;
    return byte;
  }

  /** @throws {TokenError} If one of the next tokens is not a byte. */
  readBytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let i = 0; i < count; i++) bytes[i] = this.readByte();
    return bytes;
  }

  unexpected(wanted: string): TokenError {
    const atEnd = this.at >= this.tokens.length;
    const found = atEnd ? "the end of the tokens" : nameOfToken(this.roleNames, this.tokens[this.at]);
    return new TokenError(this.at, `found ${found}, expected ${wanted}`);
  }
}
