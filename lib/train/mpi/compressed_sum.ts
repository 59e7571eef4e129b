/**
 * Sums over ranks in fewer bytes. Values are sent as f16 or 8-bit integers with one scale per block. Each
 * rank sums one part of the values, in float32.
 *
 * Rounding errors may be kept and added in the next sum (error feedback: Seide et al., 1-bit stochastic
 * gradient descent, Interspeech 2014; for values and for sums, as in Tang et al., 1-bit Adam, ICML 2021).
 *
 * @module
 */
import type { Communicator } from "./communicator.ts";

/** The format in which values are sent. */
type SumFormat = "f16" | "i8";

/** Number of values that share a scale. */
const BLOCK = 1024;
const LARGEST = { f16: 2 ** 15, i8: 127 } as const;

interface Layout {
  /** Number of values in a rank's part. */
  partLength: number;
  /** Size of a part when sent. */
  partBytes: number;
}

export class CompressedSum {
  readonly #ranks: Communicator;
  readonly #format: SumFormat;
  readonly #sent: Uint8Array<ArrayBuffer>;
  readonly #received: Uint8Array<ArrayBuffer>;
  readonly #sum: Float32Array<ArrayBuffer>;
  /** Rounding errors of this rank's values, and of the sums of its part. */
  readonly errors: { own: Float32Array<ArrayBuffer>; ofSums: Float32Array<ArrayBuffer> } | undefined;

  /**
   * @param maxLength Largest length of an array.
   * @param options `keepsErrors`: whether rounding errors are kept. If so, all arrays must have `maxLength`
   *   values of the same parameters.
   */
  constructor(
    ranks: Communicator,
    maxLength: number,
    options: { format: SumFormat; keepsErrors?: boolean },
  ) {
    this.#ranks = ranks;
    this.#format = options.format;
    const { partLength, partBytes } = this.#layoutOf(maxLength);
    this.#sent = new Uint8Array(partBytes * ranks.size);
    this.#received = new Uint8Array(this.#sent.length);
    this.#sum = new Float32Array(partLength);
    if (options.keepsErrors) {
      this.errors = { own: new Float32Array(maxLength), ofSums: new Float32Array(partLength) };
    }
  }

  /**
   * Sums values over all ranks, with the same bits on each. A non-finite value makes its whole block NaN.
   *
   * @param values This rank's values.
   * @param sums Receives the sums.
   */
  async sum(values: Float32Array, sums: Float32Array): Promise<void> {
    const { size } = this.#ranks;
    const layout = this.#layoutOf(values.length);
    const { partLength, partBytes } = layout;
    const sent = this.#sent.subarray(0, size * partBytes);
    const received = this.#received.subarray(0, sent.length);
    const ownSum = this.#sum.subarray(0, partLength);
    const partOf = (array: Float32Array, rank: number) =>
      array.subarray(rank * partLength, (rank + 1) * partLength);
    for (let rank = 0; rank < size; rank++) {
      this.#encode(
        partOf(values, rank),
        this.#codesIn(sent, rank, layout),
        this.errors && partOf(this.errors.own, rank),
      );
    }
    await this.#ranks.exchange(sent, received, {
      between: () => {
        ownSum.fill(0);
        for (let rank = 0; rank < size; rank++) addDecoded(this.#codesIn(received, rank, layout), ownSum);
        this.#encode(ownSum, this.#codesIn(received, 0, layout), this.errors?.ofSums);
        return received.subarray(0, partBytes);
      },
      answers: sent,
    });
    for (let rank = 0; rank < size; rank++) {
      const part = partOf(sums, rank).fill(0);
      addDecoded(this.#codesIn(sent, rank, layout), part);
    }
  }

  #layoutOf(length: number): Layout {
    const partLength = BLOCK * Math.ceil(length / this.#ranks.size / BLOCK);
    return { partLength, partBytes: partLength / BLOCK * 4 + partLength * (this.#format === "f16" ? 2 : 1) };
  }

  #codesIn(bytes: Uint8Array<ArrayBuffer>, rank: number, { partLength, partBytes }: Layout): Codes {
    const at = rank * partBytes;
    const numBlocks = partLength / BLOCK;
    const codesAt = at + 4 * numBlocks;
    return {
      scales: new Float32Array(bytes.buffer, at, numBlocks),
      codes: this.#format === "f16"
        ? new Float16Array(bytes.buffer, codesAt, partLength)
        : new Int8Array(bytes.buffer, codesAt, partLength),
    };
  }

  /** Encodes values, zero-padded to the part's length. @param errors Added; receives the new ones. */
  #encode(values: Float32Array, { scales, codes }: Codes, errors: Float32Array | undefined): void {
    const isInteger = this.#format === "i8";
    const largest = LARGEST[this.#format];
    for (let block = 0; block < scales.length; block++) {
      const start = block * BLOCK;
      const end = Math.min(start + BLOCK, values.length);
      let max = 0;
      for (let i = start; i < end; i++) {
        const value = Math.abs(errors ? values[i] + errors[i] : values[i]);
        // Keeps NaN, which compares as false.
        if (!(value <= max)) max = value;
      }
      const scale = scaleOf(max, largest, isInteger);
      scales[block] = scale;
      const factor = scale > 0 ? 1 / scale : 0;
      for (let i = start; i < end; i++) {
        const value = errors ? values[i] + errors[i] : values[i];
        // Int8Array truncates towards zero.
        const code = value * factor;
        codes[i] = isInteger ? code + (code < 0 ? -0.5 : 0.5) : code;
        if (errors) errors[i] = Number.isFinite(scale) ? value - codes[i] * scale : 0;
      }
      codes.fill(0, Math.max(start, end), start + BLOCK);
    }
  }
}

interface Codes {
  /** One per block; NaN if the block has a non-finite value. */
  scales: Float32Array;
  codes: Float16Array | Int8Array;
}

/** The scale of a block's codes; for f16 a power of 2, so that scaling is exact. */
function scaleOf(max: number, largest: number, isInteger: boolean): number {
  if (!Number.isFinite(max)) return NaN;
  if (max === 0) return 0;
  return isInteger ? Math.fround(max / largest) : 2 ** Math.ceil(Math.log2(max / largest));
}

function addDecoded({ scales, codes }: Codes, sum: Float32Array): void {
  for (let block = 0; block < scales.length; block++) {
    const scale = scales[block];
    const end = Math.min((block + 1) * BLOCK, sum.length);
    for (let i = block * BLOCK; i < end; i++) sum[i] += codes[i] * scale;
  }
}
