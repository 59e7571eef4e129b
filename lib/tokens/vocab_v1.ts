/**
 * Vocabulary v1, whole: its grammar, its RTT encodings, its writer and its reader. Each measurement stands by
 * itself and carries its id, size and error count, for the per-measurement scheme of other trainers.
 *
 * @module
 */
export * from "./grammar_v1.ts";
export * from "./rtt_encoding.ts";
export { blockOrder, WholeMeasurementWriter } from "./encode_v1.ts";
export { type DecodedWholeMeasurement, decodeWholeMeasurements } from "./decode_v1.ts";
export { TokenError } from "./token_cursor.ts";
