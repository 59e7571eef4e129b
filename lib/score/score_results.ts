/**
 * Scores many measurements at once on the GPU, in two rounds: first the prompts with each result's own first byte, then
 * the other first bytes that p-values need.
 *
 * @module
 */
import type { Decoder } from "../model/decoder.ts";
import { vocabSize } from "../model/model_config.ts";
import type { PingModel } from "../query/ping_model.ts";
import { encodeQuery } from "../query/query_tokens.ts";
import { FIRST_BYTES } from "../query/rtt/rtt_bytes.ts";
import { rowOf } from "../query/decoder_rows.ts";
import { RandomStream } from "../random/philox.ts";
import { BYTE_BASE, RTT_START, type TokenMeasurement } from "../tokens/vocab_v2.ts";
import { ResultSurprise } from "./result_surprise.ts";

/** A measurement to score. */
export interface ScoreCase {
  readonly measurement: TokenMeasurement;
  /** Measurements made before, oldest first; the newest that fit the model's sequence are used. */
  readonly context: readonly TokenMeasurement[];
  /** The number of the measurement, from 0; with the seed it decides the random draw of the p-value. */
  readonly number: number;
}

/** The scores of a measurement. */
export interface Score {
  /** log P(result | source, destination, time, context), nats. */
  readonly logLikelihood: number;
  /** See {@link ResultSurprise}. */
  readonly pValue: number;
}

/** How {@link scoreResults} computes. */
export interface ScoreOptions {
  /** Of the random share of equally probable results. */
  seed: number;
  /** Of the p-value; 0 makes it exact (default: `MAX_RELATIVE_ERROR`). */
  maxRelativeError?: number;
}

/** Each index of a random stream has 32 bits. */
const TWO_32 = 2 ** 32;

/**
 * Scores measurements. A score depends on the case, the model and the seed, and in its last bits on which cases are
 * given together.
 *
 * @returns One score per case, in order, and how many second bytes' distributions were computed.
 * @throws {UserError} If the addresses of one are of different versions or it does not fit the model's sequence.
 */
export async function scoreResults(
  model: PingModel,
  cases: readonly ScoreCase[],
  options: ScoreOptions,
): Promise<{ scores: Score[]; numExpanded: number }> {
  const scores: Score[] = [];
  let numExpanded = 0;
  const prompts = cases.map((each) => promptOf(each, model.config.sequenceLength));
  await model.decoders.withPrompts(prompts, 1, async (decoder, group) => {
    const part = cases.slice(scores.length, scores.length + group.length);
    const surprises = await readResults(decoder, group, { part, ...options });
    for (const rows of stepsOf(surprises, decoder.extent.maxRows)) {
      await addSecondBytes(decoder, surprises, rows);
      numExpanded += rows.length;
    }
    surprises.forEach((surprise, i) => {
      const { number } = part[i];
      const random = new RandomStream(
        options.seed,
        "score/p-value",
        number % TWO_32,
        Math.floor(number / TWO_32),
      );
      scores.push({ logLikelihood: surprise.logLikelihood, pValue: surprise.pValue(random.float64()) });
    });
  });
  return { scores, numExpanded };
}

/** Ends in `RttStart` and byte 1, which are read but not continued; without a reply it is any byte. */
function promptOf({ measurement, context }: ScoreCase, sequenceLength: number): Uint16Array {
  const { rttCode } = measurement;
  const query = encodeQuery({ ...measurement, context }, sequenceLength);
  const byte1 = rttCode === null ? FIRST_BYTES[0] : rttCode >> 8;
  return Uint16Array.from([...query, RTT_START, BYTE_BASE + byte1]);
}

async function readResults(
  decoder: Decoder,
  prompts: readonly Uint16Array[],
  { part, maxRelativeError }: ScoreOptions & { part: readonly ScoreCase[] },
): Promise<ResultSurprise[]> {
  const V = vocabSize(decoder.config);
  const rows = await decoder.prefill(prompts, { numLast: 3 });
  return part.map(({ measurement }, i) => {
    const [outcome, first, second] = [0, 1, 2].map((j) => rowOf(rows, 3 * i + j, V));
    return new ResultSurprise(measurement.rttCode, { outcome, first, second }, maxRelativeError);
  });
}

/** A first byte after a prompt: the prompt's number, the byte's place among `FIRST_BYTES`. */
interface NeededByte {
  readonly prompt: number;
  readonly index: number;
}

/** What all prompts need, in parts that the decoder can hold. */
function* stepsOf(surprises: readonly ResultSurprise[], maxRows: number): Generator<NeededByte[]> {
  const all = surprises.flatMap(({ needed }, prompt) => needed.map((index) => ({ prompt, index })));
  for (let from = 0; from < all.length; from += maxRows) yield all.slice(from, from + maxRows);
}

async function addSecondBytes(
  decoder: Decoder,
  surprises: readonly ResultSurprise[],
  rows: readonly NeededByte[],
): Promise<void> {
  const V = vocabSize(decoder.config);
  const numChildren = surprises.map(() => 0);
  for (const { prompt } of rows) numChildren[prompt]++;
  decoder.fork(numChildren, { numDropped: 1 });
  const seconds = await decoder.step(rows.map(({ index }) => BYTE_BASE + FIRST_BYTES[index]));
  rows.forEach(({ prompt, index }, row) => surprises[prompt].addSecondBytes(index, rowOf(seconds, row, V)));
}
