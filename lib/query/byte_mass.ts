/**
 * The mass that the model gives to some of the values of its next byte, and draws among them.
 *
 * @module
 */
import type { RandomStream } from "../random/philox.ts";
import type { ByteRange } from "../addresses/ip_prefix.ts";
import { BYTE_BASE } from "../tokens/vocab_v2.ts";

/**
 * The model's own probability that the next token is a byte of the range.
 *
 * @param logP Log-probabilities of the next token, (V) nats.
 */
export function byteMass(logP: Float32Array, { first, last }: ByteRange): number {
  let mass = 0;
  for (let byte = first; byte <= last; byte++) mass += Math.exp(logP[BYTE_BASE + byte]);
  return mass;
}

/**
 * Draws the next byte from the model restricted to the range.
 *
 * @param logP Log-probabilities of the next token, (V) nats.
 * @param random Where the one number that it takes comes from.
 */
export function drawByte(logP: Float32Array, { first, last }: ByteRange, random: RandomStream): number {
  let greatest = -Infinity;
  for (let byte = first; byte <= last; byte++) greatest = Math.max(greatest, logP[BYTE_BASE + byte]);
  // Relative to the greatest: all of them together may have less mass than the least number.
  const weight = (byte: number) => Math.exp(logP[BYTE_BASE + byte] - greatest);
  let total = 0;
  for (let byte = first; byte <= last; byte++) total += weight(byte);
  let rest = random.float64() * total;
  let likeliest = first;
  for (let byte = first; byte <= last; byte++) {
    rest -= weight(byte);
    if (rest < 0) return byte;
    if (weight(byte) === 1) likeliest = byte;
  }
  return likeliest;
}
