/**
 * Masses of codes that are written as bytes, the most significant first, from the probabilities of the bytes.
 *
 * The codes from one to another are, byte by byte, whole subtrees of the tree of bytes beside the paths to the two:
 * with the probabilities of the next byte along these two paths, their mass is a sum of at most 16 terms and exact,
 * however many codes there are.
 *
 * @module
 */
import { ensure } from "../../errors.ts";
import { byteMass } from "../../query/byte_mass.ts";
import { BYTE_BASE } from "../../tokens/vocab_v2.ts";
import type { CodeRange, RttScheme } from "./rtt_scheme.ts";

/** log P of the next token, (V) nats, after the first 0, 1, … bytes of a code. */
export type BytePath = readonly Float32Array[];

/** The bytes of a code. @param numBytes How many. */
export function bytesOf(code: bigint, numBytes: number): Uint8Array {
  const bytes = new Uint8Array(numBytes);
  for (let i = numBytes - 1, rest = code; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 255n);
  return bytes;
}

/** The mass of one code. @param path Along its bytes. */
export function codeMass(code: bigint, path: BytePath): number {
  return restMass(bytesOf(code, path.length), path, 0);
}

/**
 * The mass of the codes of a range.
 *
 * @param range The range.
 * @param paths Along the bytes of its first and of its last code.
 */
export function rangeMass(range: CodeRange, paths: { first: BytePath; last: BytePath }): number {
  const numBytes = paths.first.length;
  const [first, last] = [bytesOf(range.first, numBytes), bytesOf(range.last, numBytes)];
  const fork = first.findIndex((byte, i) => byte !== last[i]);
  if (fork < 0) return range.firstShare * codeMass(range.first, paths.first);
  const common = prefixMass(first, paths.first, fork);
  let mass = common * rangeOfBytes(paths.first[fork], first[fork] + 1, last[fork] - 1);
  mass += range.firstShare * codeMass(range.first, paths.first);
  mass += range.lastShare * codeMass(range.last, paths.last);
  for (let i = fork + 1; i < numBytes; i++) {
    mass += prefixMass(first, paths.first, i) * rangeOfBytes(paths.first[i], first[i] + 1, 255);
    mass += prefixMass(last, paths.last, i) * rangeOfBytes(paths.last[i], 0, last[i] - 1);
  }
  return mass;
}

/** A prefix of a code, and the quantile that is looked for among the RTTs that begin with it. */
export interface QuantileSearch {
  readonly prefix: bigint;
  readonly numBytes: number;
  /** 0 to 1. */
  readonly rest: number;
}

/**
 * Finds the next byte of a quantile's code. Bytes that lead to no RTT are left out and the rest is renormalised, as
 * queries do; so is what leads to the mark for no reply.
 *
 * @param search What was found so far.
 * @param logP Of the next token, (V) nats.
 * @param options `scheme`; `failedPath`: along the bytes of its mark for no reply, if it has one.
 */
export function nextOfQuantile(
  search: QuantileSearch,
  logP: Float32Array,
  { scheme, failedPath }: { scheme: RttScheme; failedPath: BytePath | undefined },
): QuantileSearch {
  const masses = Float64Array.from({ length: 256 }, (_, byte) => {
    const prefix = search.prefix << 8n | BigInt(byte);
    const numMissing = BigInt(8 * (scheme.numBytes - search.numBytes - 1));
    const [first, last] = [prefix << numMissing, ((prefix + 1n) << numMissing) - 1n];
    if (!scheme.hasRtt(first, last)) return 0;
    const failed = scheme.failedCode;
    const holdsFailed = failedPath !== undefined && failed !== null && first <= failed && failed <= last;
    const failedShare = holdsFailed
      ? restMass(bytesOf(failed, scheme.numBytes), failedPath, search.numBytes + 1)
      : 0;
    return Math.exp(logP[BYTE_BASE + byte]) * Math.max(0, 1 - failedShare);
  });
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  const target = search.rest * total;
  let below = 0;
  let chosen = masses.findLastIndex((mass) => mass > 0);
  ensure(chosen >= 0, "no byte leads to an RTT");
  for (let byte = 0; byte < chosen; byte++) {
    if (below + masses[byte] >= target && masses[byte] > 0) chosen = byte;
    else below += masses[byte];
  }
  return {
    prefix: search.prefix << 8n | BigInt(chosen),
    numBytes: search.numBytes + 1,
    rest: Math.min(1, Math.max(0, (target - below) / masses[chosen])),
  };
}

/** P of the first bytes. */
function prefixMass(bytes: Uint8Array, path: BytePath, numBytes: number): number {
  let logMass = 0;
  for (let i = 0; i < numBytes; i++) logMass += path[i][BYTE_BASE + bytes[i]];
  return Math.exp(logMass);
}

/** P of the bytes from `start` on, given those before. */
function restMass(bytes: Uint8Array, path: BytePath, start: number): number {
  let logMass = 0;
  for (let i = start; i < bytes.length; i++) logMass += path[i][BYTE_BASE + bytes[i]];
  return Math.exp(logMass);
}

function rangeOfBytes(logP: Float32Array, first: number, last: number): number {
  return first > last ? 0 : byteMass(logP, { first, last });
}
