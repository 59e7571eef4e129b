/**
 * Measurements as tokens of vocabulary v2 in all but the bytes of their RTTs, which are of another encoding.
 *
 * So nothing differs between two encodings but what is compared. Where the encoding has a code for no reply, that
 * stands after `RttStart` instead of the token `Failed`.
 *
 * @module
 */
import { BYTE_BASE, FAILED, RTT_START } from "../../tokens/vocab_v2.ts";
import { bytesOf } from "./code_mass.ts";
import type { RttScheme } from "./rtt_scheme.ts";

/** Bytes of an RTT code of v2. */
const V2_BYTES = 2;

/** The tokens after `RttStart` of an RTT, or of no reply where the scheme has a code for that. */
export function resultBytes(rttMs: number | null, scheme: RttScheme): number[] {
  const code = rttMs === null ? scheme.failedCode : scheme.encode(rttMs);
  return code === null ? [] : Array.from(bytesOf(code, scheme.numBytes), (byte) => BYTE_BASE + byte);
}

/** Number of tokens of a result: 1 or 3 in v2, 9 in the others. */
export function resultLength(isFailed: boolean, scheme: RttScheme): number {
  return isFailed && scheme.failedCode === null ? 1 : 1 + scheme.numBytes;
}

/** By how much the scheme's result is longer than v2's, tokens. */
export function extraLength(isFailed: boolean, scheme: RttScheme): number {
  return resultLength(isFailed, scheme) - (isFailed ? 1 : 1 + V2_BYTES);
}

/**
 * Writes tokens of v2 with other results.
 *
 * @param tokens Whole measurements of v2; the last may end where its result begins.
 * @param rttsMs The RTT of each measurement with a result.
 * @param options `scheme`; `out` and `start`: where the tokens go.
 * @returns Index after the last.
 */
export function replaceResults(
  tokens: Uint16Array,
  rttsMs: readonly (number | null)[],
  { scheme, out, start }: { scheme: RttScheme; out: Uint16Array; start: number },
): number {
  let [at, result] = [start, 0];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (token !== RTT_START && token !== FAILED) {
      out[at++] = token;
      continue;
    }
    const bytes = resultBytes(rttsMs[result++], scheme);
    out[at++] = bytes.length === 0 ? FAILED : RTT_START;
    for (const byte of bytes) out[at++] = byte;
    if (token === RTT_START) i += V2_BYTES;
  }
  return at;
}
