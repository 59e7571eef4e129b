/**
 * All of vocabulary v1: grammar, RTT encodings, writer and reader. Each measurement is self-contained and has its
 * id, size and error count, for trainers that take one measurement per sequence.
 *
 * @module
 */
export * from "./grammar_v1.ts";
export * from "./rtt_encoding.ts";
export { blockOrder, WholeMeasurementWriter } from "./encode_v1.ts";
export { type DecodedWholeMeasurement, decodeWholeMeasurements } from "./decode_v1.ts";
export { TokenError } from "./token_cursor.ts";
