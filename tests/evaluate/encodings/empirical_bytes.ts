/** A model of codes that is right: the probabilities of the next byte are those of a sample. @module */
import { type BytePath, bytesOf } from "../../../lib/evaluate/encodings/code_mass.ts";
import { BYTE_BASE, VOCAB_SIZE } from "../../../lib/tokens/vocab_v2.ts";

/** The probabilities of the bytes of a sample of codes. */
export class EmpiricalBytes {
  readonly #nodes = new Map<string, Float32Array>();
  readonly #counts = new Map<string, Float64Array>();

  /** @param codes The sample. @param numBytes Of each code. */
  constructor(codes: Iterable<bigint>, readonly numBytes: number) {
    for (const code of codes) {
      const bytes = bytesOf(code, numBytes);
      for (let i = 0; i < numBytes; i++) this.#countsOf(bytes.subarray(0, i).join())[bytes[i]]++;
    }
  }

  /** Along the bytes of a code; after bytes that are in no code of the sample, all bytes are equally likely. */
  path(code: bigint): BytePath {
    const bytes = bytesOf(code, this.numBytes);
    return Array.from(bytes, (_, i) => this.next(bytes.subarray(0, i)));
  }

  /** log P of the token after some bytes. */
  next(prefix: Uint8Array): Float32Array {
    const key = prefix.join();
    let logP = this.#nodes.get(key);
    if (!logP) {
      const counts = this.#counts.get(key) ?? new Float64Array(256).fill(1);
      const total = counts.reduce((sum, count) => sum + count, 0);
      logP = new Float32Array(VOCAB_SIZE).fill(-Infinity);
      for (let byte = 0; byte < 256; byte++) logP[BYTE_BASE + byte] = Math.log(counts[byte] / total);
      this.#nodes.set(key, logP);
    }
    return logP;
  }

  #countsOf(key: string): Float64Array {
    let counts = this.#counts.get(key);
    if (!counts) this.#counts.set(key, counts = new Float64Array(256));
    return counts;
  }
}
