/** Draws rows of tokens from the model, many at once on the GPU. @module */
import type { ByteRange } from "../data/addresses/ip_prefix.ts";
import type { RandomStream } from "../base/random.ts";
import { BYTE_BASE } from "../data/tokens/vocab_v2.ts";
import type { ModelDecoders } from "./model_decoders.ts";
import { rowOf } from "./decoder_rows.ts";

export function byteTokens({ first, last }: ByteRange): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => BYTE_BASE + first + i);
}

/** The model's probability that the next token is a byte of the range. @param logP Next token, (V) nats. */
export function byteMass(logP: Float32Array, { first, last }: ByteRange): number {
  let mass = 0;
  for (let byte = first; byte <= last; byte++) mass += Math.exp(logP[BYTE_BASE + byte]);
  return mass;
}

/** Draws the next token from a set. @param logP Log-probabilities of the next token, (V) nats. */
export function drawToken(
  logP: Float32Array,
  { tokens, random, temperature = 1 }: {
    tokens: readonly number[];
    random: RandomStream;
    temperature?: number;
  },
): number {
  let greatest = -Infinity;
  for (const token of tokens) greatest = Math.max(greatest, logP[token]);
  // Relative to the maximum: the probabilities of all of them may underflow.
  const weights = tokens.map((token) => Math.exp((logP[token] - greatest) / temperature));
  let rest = random.float64() * weights.reduce((sum, weight) => sum + weight, 0);
  for (let i = 0; i < weights.length; i++) {
    rest -= weights[i];
    if (rest < 0) return tokens[i];
  }
  return tokens[weights.indexOf(1)];
}

export interface DrawnRow {
  readonly isComplete: boolean;
  /** The token that the model reads next, unless the row is complete. */
  readonly lastToken: number;
  /** Appends the next token unless the row is complete. @param logP Its log-probabilities, (V) nats. */
  draw(logP: Float32Array): void;
}

/** Draws rows that continue one prompt. @param options `begin`: creates the row with an index from 0. */
export async function* drawRows<Row extends DrawnRow>(
  decoders: ModelDecoders,
  prompt: Uint16Array,
  { count, begin }: { count: number; begin: (index: number) => Row },
): AsyncGenerator<Row> {
  const { maxRows } = decoders.continuationExtent;
  for (let first = 0; first < count; first += maxRows) {
    const rows = Array.from({ length: Math.min(maxRows, count - first) }, (_, i) => begin(first + i));
    await decoders.continuePrompts([prompt], async (decoder, end) => {
      decoder.fork([rows.length]);
      for (const row of rows) row.draw(end);
      while (rows.some((row) => !row.isComplete)) {
        const logP = await decoder.step(rows.map((row) => row.lastToken));
        rows.forEach((row, i) => row.draw(rowOf(logP, i)));
        decoder.registry.gpu.recycle(logP);
      }
    });
    yield* rows;
  }
}
