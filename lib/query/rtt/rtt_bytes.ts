/**
 * The canonical RTT codes as the model writes them, byte 1 and then byte 2: their probabilities from those of the
 * bytes.
 *
 * The model may give mass to bytes that make no canonical code; it is left out and the rest is renormalised, byte
 * by byte.
 *
 * @module
 */
import { CANONICAL_RTT_CODES } from "../../tokens/rtt_code.ts";
import { BYTE_BASE, FAILED, RTT_START } from "../../tokens/vocab_v2.ts";
import { RttDistribution } from "./rtt_distribution.ts";

/** The first bytes of canonical RTT codes, ascending: 132 of them. */
export const FIRST_BYTES: readonly number[] = [
  ...new Set([...CANONICAL_RTT_CODES].map((code) => code >> 8)),
];

/** For each of the first bytes, the second bytes that complete it to a canonical code, ascending. */
const SECOND_BYTES: readonly (readonly number[])[] = FIRST_BYTES.map((byte1) =>
  [...CANONICAL_RTT_CODES].filter((code) => code >> 8 === byte1).map((code) => code & 255)
);

/** The second bytes that complete a first byte to a canonical code, ascending; none if it begins no such code. */
export function secondBytesOf(byte1: number): readonly number[] {
  return SECOND_BYTES[FIRST_BYTES.indexOf(byte1)] ?? [];
}

/** Log-probabilities of next tokens, nats, (V) each. */
export interface RttLogProbabilities {
  /** Where a result begins: `Failed` or `RttStart`. */
  readonly outcome: Float32Array;
  /** After `RttStart`: byte 1. */
  readonly first: Float32Array;
  /** Which of {@link FIRST_BYTES} have their second bytes below: their places, ascending; all of them if absent. */
  readonly expanded?: readonly number[];
  /** After each expanded first byte: byte 2, (expanded, V). */
  readonly seconds: Float32Array;
}

/**
 * The distribution of the result: P(byte 1) P(byte 2 | byte 1) for every canonical code. The mass of a byte 1 that is
 * not expanded is spread evenly over its codes.
 */
export function distributionOf(given: RttLogProbabilities): RttDistribution {
  const { outcome, first, seconds, expanded = FIRST_BYTES.keys().toArray() } = given;
  const probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  const byte1 = restricted(first, FIRST_BYTES);
  const stride = seconds.length / expanded.length;
  let [canonicalMass, spreadMass, at, row] = [0, 0, 0, 0];
  FIRST_BYTES.forEach((_, i) => {
    const p1 = byte1.probabilities[i];
    const numSeconds = SECOND_BYTES[i].length;
    if (expanded[row] === i) {
      const byte2 = restricted(seconds.subarray(row * stride, (row + 1) * stride), SECOND_BYTES[i]);
      canonicalMass += p1 * byte1.mass * byte2.mass;
      for (const p2 of byte2.probabilities) probabilities[at++] = p1 * p2;
      row++;
    } else {
      canonicalMass += p1 * byte1.mass;
      spreadMass += p1;
      probabilities.fill(p1 / numSeconds, at, at += numSeconds);
    }
  });
  return new RttDistribution(failureProbability(outcome), probabilities, canonicalMass, spreadMass);
}

/** P(no reply) among what a result begins with. @param outcome Log-probabilities where it begins. */
export function failureProbability(outcome: Float32Array): number {
  return 1 / (1 + Math.exp(outcome[RTT_START] - outcome[FAILED]));
}

/**
 * The likeliest first bytes, as many as leave out at most a given mass.
 *
 * @param first Log-probabilities after `RttStart`.
 * @param options `maxSpreadMass`: the mass that may be left out; `code`: one whose first byte is wanted in any case.
 * @returns Their places among {@link FIRST_BYTES}, ascending.
 */
export function likelyFirstBytes(
  first: Float32Array,
  { maxSpreadMass, code }: { maxSpreadMass: number; code: number | null },
): number[] {
  const { probabilities } = restricted(first, FIRST_BYTES);
  const byPlace = FIRST_BYTES.keys().toArray();
  const byProbability = byPlace.toSorted((a, b) => probabilities[b] - probabilities[a]);
  const chosen = new Set(code === null ? [] : [FIRST_BYTES.indexOf(code >> 8)]);
  let left = 1;
  for (const place of byProbability) {
    if (left <= maxSpreadMass) break;
    chosen.add(place);
    left -= probabilities[place];
  }
  return [...chosen].sort((a, b) => a - b);
}

/** P(byte 1 | a reply came) of {@link FIRST_BYTES}, sums to 1. @param first Log-probabilities after `RttStart`. */
export function firstByteProbabilities(first: Float32Array): Float64Array {
  return restricted(first, FIRST_BYTES).probabilities;
}

/**
 * P(byte 2 | byte 1) of the second bytes that complete it, in the order of {@link secondBytesOf}; sums to 1.
 *
 * @param second Log-probabilities after byte 1.
 * @param index Byte 1's place among {@link FIRST_BYTES}.
 */
export function secondByteProbabilities(second: Float32Array, index: number): Float64Array {
  return restricted(second, SECOND_BYTES[index]).probabilities;
}

/** P over the given bytes only, renormalised, and the mass the model gave to them. @param logP (V) nats. */
export function restricted(
  logP: Float32Array,
  bytes: readonly number[],
): { probabilities: Float64Array; mass: number } {
  const probabilities = new Float64Array(bytes.length);
  let mass = 0;
  for (let i = 0; i < bytes.length; i++) mass += probabilities[i] = Math.exp(logP[BYTE_BASE + bytes[i]]);
  for (let i = 0; i < bytes.length; i++) probabilities[i] /= mass;
  return { mass, probabilities };
}
