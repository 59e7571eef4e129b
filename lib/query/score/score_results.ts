/**
 * Scores many measurements at once on the GPU in two rounds: first the prompts with each result's first byte,
 * then the other, most probable first bytes that a p-value needs.
 *
 * @module
 */
import {
  failureProbability,
  fillPart,
  FIRST_BYTES,
  firstByteProbabilities,
  likelyFirstBytes,
  resultLogProbability,
  type RttLogProbabilities,
  withNetwork,
} from "../rtt/rtt_bytes.ts";
import { RttArrays } from "../rtt/rtt_distribution.ts";
import type { Decoder } from "../../model/decoder.ts";
import type { ModelConfig } from "../../model/model_config.ts";
import { FIRST_INDEXES, indexOfCode } from "../../model/pool/kernel_mixture.ts";
import type { PooledForecast } from "../../model/pool/pool.ts";
import type { ModelCheckpoint, PingModel } from "../ping_model.ts";
import { encodeQuery } from "../query_tokens.ts";
import { rowOf } from "../decoder_rows.ts";
import { RandomStream } from "../../base/random.ts";
import {
  BYTE_BASE,
  FAILED,
  MEASUREMENT_START,
  RTT_START,
  type TokenMeasurement,
  VOCAB_SIZE,
} from "../../data/tokens/vocab_v2.ts";
import { pValueOfNoReply, pValueOfReply } from "./surprise.ts";
import { bytesOfTail, type TailBytes } from "./tail_bytes.ts";

/** Maximum probability spread evenly over the codes of first bytes; small against a p-value of 0.001. */
const MAX_SPREAD_MASS = 1e-4;
const arrays = new RttArrays();

/** A reply with the model's forecast of it. */
class AskedReply {
  /** Indexes in `FIRST_BYTES` of the bytes that {@link addSecondBytes} must be called with, ascending. */
  readonly needed: readonly number[];
  readonly #tail: TailBytes;
  readonly #expanded: readonly number[];
  readonly #seconds: Float32Array;

  /**
   * @param read Log-probabilities at the beginning of the result, after `RttStart`, and after the reply's
   *   byte 1, (V) each.
   */
  constructor(
    readonly rttCode: number,
    readonly read: Pick<RttLogProbabilities, "outcome" | "first"> & { readonly second: Float32Array },
    readonly pool: PooledForecast | undefined,
    maxSpreadMass: number,
  ) {
    // The same bytes are spread whatever the reply, so that p-values come from one distribution.
    const ofModel = maxSpreadMass / (pool?.modelShare ?? 1);
    const likely = likelyFirstBytes(read.first, { maxSpreadMass: ofModel, code: null });
    const own = FIRST_BYTES.indexOf(rttCode >> 8);
    const index = indexOfCode(rttCode);
    const ofOwn = {
      first: read.first,
      seconds: read.second,
      expanded: likely.filter((place) => place === own),
    };
    fillPart(ofOwn, arrays, { pool, places: [own, own], below: 0 });
    this.#tail = bytesOfTail(firstByteProbabilities(read.first, pool), index, arrays);
    this.#expanded = likely.filter((place) => this.#tail.isNeeded[place]);
    this.#seconds = new Float32Array(this.#expanded.length * VOCAB_SIZE);
    if (this.#expanded.includes(own)) this.addSecondBytes(own, read.second);
    this.needed = this.#expanded.filter((index) => index !== own);
  }

  /** Adds the log-probabilities after a first byte. */
  addSecondBytes(index: number, second: Float32Array): void {
    this.#seconds.set(second, this.#expanded.indexOf(index) * VOCAB_SIZE);
  }

  /** The p-value; requires all needed bytes. @param pFailed P(no reply). @param draw Uniform in [0, 1). */
  pValue(pFailed: number, draw: number): number {
    const { compared: [from, to], reached, below } = this.#tail;
    const read = { ...this.read, expanded: this.#expanded, seconds: this.#seconds };
    fillPart(read, arrays, { pool: this.pool, places: reached, below: below[reached[0]] });
    const codes = [FIRST_INDEXES[from], FIRST_INDEXES[to + 1]] as const;
    const outside = below[from] + below[below.length - 1] - below[to + 1];
    return pValueOfReply(this.rttCode, { ...arrays, pFailed, codes, outside }, draw);
  }
}

export interface ScoreCase {
  readonly measurement: TokenMeasurement;
  /** Earlier measurements, oldest first. The newest that fit are used. */
  readonly context: readonly TokenMeasurement[];
  /** Index of the measurement. With the seed it determines the random part of the p-value. */
  readonly number: number;
}

export interface Score {
  /** log P(result | source, destination, time, context), nats. */
  readonly logLikelihood: number;
  /** P(a result at least as surprising): see `surprise.ts`. */
  readonly pValue: number;
}

export interface ScoredModel extends Pick<ModelCheckpoint, "weights" | "pool"> {
  readonly config: ModelConfig;
}

export interface ScoreOptions {
  /** Seed of the random share of equally probable results. */
  seed: number;
  /** Maximum probability spread evenly within first bytes; 0 for none. */
  maxSpreadMass?: number;
}

/** A multiple of the number of keys that an attention kernel processes at once, on any adapter. */
const KEY_TILE = 16;
/** Indexes of a random stream have 32 bits. */
const TWO_32 = 2 ** 32;

/**
 * Scores measurements. A score depends on the case, the model and the seed, but not on the other cases.
 *
 * A case whose context consists of an earlier case's context and measurement is computed in one pass with it.
 *
 * @returns One score per case, and the numbers of second-byte distributions computed and of tokens read.
 * @throws {UserError} If the addresses of a case differ in version or it does not fit the model's sequence.
 */
export async function scoreResults(
  model: PingModel,
  cases: readonly ScoreCase[],
  options: ScoreOptions,
): Promise<{ scores: Score[]; numExpanded: number; numTokens: number }> {
  const scores: Score[] = [];
  let numExpanded = 0;
  let numTokens = 0;
  const sequences = sequencesOf(cases, model.config.sequenceLength);
  const prompts = sequences.map(({ tokens }) => filledUp(tokens, model.config.sequenceLength));
  await model.decoders.withPrompts(prompts, 1, function* (decoder, group, first) {
    const read = sequences.slice(first, first + group.length);
    numTokens += group.reduce((sum, { length }) => sum + length, 0);
    const numbers = read.flatMap((sequence) => sequence.numbers);
    const part = numbers.map((number) => cases[number]);
    const ends = read.map(({ ends }) => ends);
    const [rows] = yield Promise.all([decoder.prefill(group, { numLast: 3, ends })]);
    const asked = part.map((each, i) => resultOf(model, each, rows.subarray(3 * i * VOCAB_SIZE), options));
    const steps = [...stepsOf(asked, decoder.extent.maxRows)];
    const seconds = yield Promise.all(steps.map((bytes) => secondsOf(decoder, part.length, bytes)));
    steps.forEach((bytes, i) => {
      numExpanded += bytes.length;
      bytes.forEach(({ prompt, index }, row) =>
        asked[prompt].reply?.addSecondBytes(index, rowOf(seconds[i], row, VOCAB_SIZE))
      );
    });
    decoder.registry.gpu.recycle(...seconds);
    asked.forEach((each, i) => scores[numbers[i]] = scoreOf(each, part[i].number, options.seed));
    decoder.registry.gpu.recycle(rows);
  });
  return { scores, numExpanded, numTokens };
}

/** A result's likelihood, P(no reply), and the reply, if any. */
interface AskedResult {
  readonly logLikelihood: number;
  readonly pFailed: number;
  readonly reply: AskedReply | undefined;
}

/** @param rows Log-probabilities at the result's last three tokens. */
function resultOf(
  model: PingModel,
  { measurement, context }: ScoreCase,
  rows: Float32Array,
  { maxSpreadMass = MAX_SPREAD_MASS }: ScoreOptions,
): AskedResult {
  const { rttCode } = measurement;
  const [a, b, c] = [0, 1, 2].map((row) => rowOf(rows, row, VOCAB_SIZE));
  // A result without a reply is one token shorter.
  const read = rttCode === null ? { outcome: b, first: c, second: c } : { outcome: a, first: b, second: c };
  const pool = withNetwork(model.pooled({ ...measurement, context }, rttCode), read.first);
  return {
    logLikelihood: resultLogProbability(rttCode, read, pool),
    pFailed: failureProbability(read.outcome, pool),
    reply: rttCode === null ? undefined : new AskedReply(rttCode, read, pool, maxSpreadMass),
  };
}

function scoreOf({ logLikelihood, pFailed, reply }: AskedResult, number: number, seed: number): Score {
  const random = new RandomStream(seed, "score/p-value", number % TWO_32, Math.floor(number / TWO_32));
  const draw = random.float64();
  return { logLikelihood, pValue: reply?.pValue(pFailed, draw) ?? pValueOfNoReply(pFailed, draw) };
}

/** A sequence with the prompts of one or more cases, each of which is a prefix of the next. */
interface SharedSequence {
  /** The longest prompt. */
  tokens: Uint16Array;
  /** Number of tokens of each prompt. */
  readonly ends: number[];
  /** Indexes of their cases. */
  readonly numbers: number[];
}

/**
 * Puts prompts into as few sequences as possible: a case continues the sequence of an earlier case if its
 * context is that case's context and measurement.
 */
function sequencesOf(cases: readonly ScoreCase[], sequenceLength: number): SharedSequence[] {
  const sequences: SharedSequence[] = [];
  /** Sequences by the tokens that a case may continue. */
  const open = new Map<string, SharedSequence>();
  cases.forEach(({ measurement, context }, number) => {
    const { rttCode } = measurement;
    const query = encodeQuery({ ...measurement, context }, sequenceLength);
    const result = rttCode === null
      ? [FAILED]
      : [RTT_START, BYTE_BASE + (rttCode >> 8), BYTE_BASE + (rttCode & 255)];
    const written = Uint16Array.from([...query, ...result]);
    const before = keyOf(query.subarray(0, query.lastIndexOf(MEASUREMENT_START)));
    let sequence = context.length > 0 ? open.get(before) : undefined;
    open.delete(before);
    if (!sequence) sequences.push(sequence = { tokens: written, ends: [], numbers: [] });
    // Nothing follows the last token of the result.
    sequence.tokens = written.subarray(0, query.length + Math.min(result.length, 2));
    sequence.ends.push(sequence.tokens.length);
    sequence.numbers.push(number);
    open.set(keyOf(written), sequence);
  });
  return sequences;
}

/**
 * Pads tokens so that every sequence of a group begins with a tile of keys. Then its sums are rounded the
 * same way whatever the sequences before it, unless the length of the model's sequence is not a multiple of
 * the tile.
 */
function filledUp(tokens: Uint16Array, sequenceLength: number): Uint16Array {
  const filled = new Uint16Array(Math.min(Math.ceil(tokens.length / KEY_TILE) * KEY_TILE, sequenceLength));
  filled.set(tokens);
  return filled;
}

function keyOf(tokens: Uint16Array): string {
  return String.fromCharCode(...tokens);
}

/** A first byte after a prompt: the prompt's index, and the byte's index in `FIRST_BYTES`. */
interface NeededByte {
  readonly prompt: number;
  readonly index: number;
}

/** The bytes that results need, in parts that fit in the decoder. */
function* stepsOf(asked: readonly AskedResult[], maxRows: number): Generator<NeededByte[]> {
  const all = asked.flatMap(({ reply }, prompt) => reply?.needed.map((index) => ({ prompt, index })) ?? []);
  for (let from = 0; from < all.length; from += maxRows) yield all.slice(from, from + maxRows);
}

/** log P(next token) after bytes that replace the last tokens of their prompts. */
async function secondsOf(
  decoder: Decoder,
  numPrompts: number,
  bytes: readonly NeededByte[],
): Promise<Float32Array> {
  const numChildren = Array.from({ length: numPrompts }, () => 0);
  for (const { prompt } of bytes) numChildren[prompt]++;
  decoder.fork(numChildren, { numDropped: 1 });
  return await decoder.step(bytes.map(({ index }) => BYTE_BASE + FIRST_BYTES[index]));
}
