/**
 * All of vocabulary v2: grammar, writer and reader. The default vocabulary of every stage.
 *
 * @module
 */
export * from "./grammar_v2.ts";
export { TokenWriter } from "./encode_v2.ts";
export { type DecodedMeasurement, decodeTokens } from "./decode_v2.ts";
export { TokenError } from "./token_cursor.ts";
