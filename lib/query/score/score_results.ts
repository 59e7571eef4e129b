/**
 * Scores many measurements at once on the GPU, in two rounds: first the prompts with each result's own first byte, then
 * the other first bytes that p-values need.
 *
 * @module
 */
import {
  applyFloor,
  failureProbability,
  FIRST_BYTES,
  FIRST_INDEXES,
  firstByteMasses,
  massOf,
  resultLogProbability,
  secondByteMasses,
  secondBytesOf,
} from "../rtt/rtt_bytes.ts";
import type { Decoder } from "../../model/decoder.ts";
import { type ModelConfig, modelShapes } from "../../model/model_config.ts";
import { indexOfCode } from "../../model/pool/kernel_mixture.ts";
import type { PooledForecast } from "../../model/pool/pool.ts";
import type { ModelCheckpoint, PingModel } from "../ping_model.ts";
import { encodeQuery } from "../query_tokens.ts";
import { rowOf } from "../decoder_rows.ts";
import { requirePossible } from "../possible.ts";
import { RandomStream } from "../../base/random.ts";
import {
  BYTE_BASE,
  FAILED,
  MEASUREMENT_START,
  RTT_START,
  type TokenMeasurement,
} from "../../data/tokens/vocab_v2.ts";

// The p-value of a result under the model's distribution of results: how surprising it is.
//
// A result is no reply or one of the canonical RTT codes. Its p-value is the probability of all results that are less
// probable, plus a random share of the probability of those that are equally probable. It is the complement of the
// highest-density region (Hyndman, "Computing and Graphing Highest Density Regions", The American Statistician 50,
// 1996). The random share makes it uniform in (0, 1] where the model is right.
//
// Not every first byte needs the distribution of its second byte. If a first byte is less probable than the result, so
// are all its codes, and it counts whole. Of the other bytes, the least probable are left out as long as together they
// can change the p-value by {@link MAX_RELATIVE_ERROR} of itself at most. A byte can add at most the result's own
// probability for each of its codes.

/** The largest relative error of a p-value. */
const MAX_RELATIVE_ERROR = 0.01;

const SECOND_BYTES = FIRST_BYTES.map(secondBytesOf);
const NUM_CODES = SECOND_BYTES.map(({ length }) => length);
/** The simple forecasts' mass of every code; overwritten by each result. */
const OTHERS = new Float64Array(FIRST_INDEXES[FIRST_BYTES.length]);

/** The model's log-probabilities at a result's tokens, nats, (V) each. */
interface ResultLogProbabilities {
  /** Where the result begins: `Failed` or `RttStart`. */
  readonly outcome: Float32Array;
  /** After `RttStart`: byte 1. */
  readonly first: Float32Array;
  /** After the result's own byte 1: byte 2; of no meaning without a reply. */
  readonly second: Float32Array;
}

/** One result among all possible ones. */
class ResultSurprise {
  /** ln P(result), nats: among what can be said, as in a distribution of `query rtt`. */
  readonly logLikelihood: number;
  /** Indexes in FIRST_BYTES of the bytes that {@link addSecondBytes} needs. */
  readonly needed: readonly number[];
  /** P of each first byte, with a reply, by the model. */
  readonly #mass: Float64Array;
  /** P of the codes of first bytes that are counted one by one, with a reply, by simple forecasts. */
  readonly #others = new Map<number, Float64Array>();
  readonly #pool: PooledForecast | undefined;
  /** P of the result. */
  #own = 0;
  /** P of the results that are less probable, and of those that are equally probable. */
  #less = 0;
  #same = 0;

  /**
   * @param rttCode The result; null: no reply.
   * @param read The model's log-probabilities.
   * @param maxRelativeError Of the p-value; 0 makes it exact.
   */
  constructor(
    rttCode: number | null,
    { outcome, first, second }: ResultLogProbabilities,
    { pool, maxRelativeError = MAX_RELATIVE_ERROR }: {
      pool?: PooledForecast | undefined;
      maxRelativeError?: number | undefined;
    } = {},
  ) {
    this.logLikelihood = resultLogProbability(rttCode, { outcome, first, second }, pool);
    const pFailed = failureProbability(outcome, pool);
    this.#pool = pool;
    const masses = firstByteMasses(first, pool);
    const mass = massOf(masses, pool);
    this.#mass = masses.map((p) => p / mass * (1 - pFailed));
    OTHERS.fill(0);
    pool?.addTo(OTHERS);
    applyFloor(OTHERS, pool, mass);
    const at = rttCode === null ? -1 : FIRST_BYTES.indexOf(rttCode >> 8);
    if (rttCode === null) {
      this.#own = pFailed;
    } else {
      const probabilities = secondByteMasses(second, at, pool);
      this.#own = this.#mass[at] * probabilities[SECOND_BYTES[at].indexOf(rttCode & 255)] +
        OTHERS[indexOfCode(rttCode)] * (1 - pFailed);
      if (pool) this.#keepOthers(at, pFailed);
      this.addSecondBytes(at, second);
    }
    this.#count(pFailed);
    this.needed = this.#divide(at, pFailed, maxRelativeError);
    if (pool) this.needed.forEach((index) => this.#keepOthers(index, pFailed));
  }

  /** Counts the codes of a first byte. @param second Log-probabilities after it. */
  addSecondBytes(index: number, second: Float32Array): void {
    const mass = this.#mass[index];
    const others = this.#others.get(index);
    secondByteMasses(second, index, this.#pool).forEach((p, i) => this.#count(mass * p + (others?.[i] ?? 0)));
  }

  #keepOthers(index: number, pFailed: number): void {
    const others = OTHERS.slice(FIRST_INDEXES[index], FIRST_INDEXES[index + 1]);
    this.#others.set(index, others.map((p) => p * (1 - pFailed)));
  }

  /**
   * The p-value, in (0, 1], once all needed bytes were added.
   *
   * @param draw Uniform in [0, 1): which share of the ties counts.
   */
  pValue(draw: number): number {
    return Math.min(1, requirePossible("the p-value", this.#less + this.#same * (1 - draw)));
  }

  #count(probability: number): void {
    if (probability < this.#own) this.#less += probability;
    else if (probability === this.#own) this.#same += probability;
  }

  /** Counts the bytes that need no second bytes; returns the others, but the result's own at `at`. */
  #divide(at: number, pFailed: number, maxRelativeError: number): number[] {
    const unsure: { index: number; mass: number; most: number }[] = [];
    for (let index = 0; index < this.#mass.length; index++) {
      if (index === at) continue;
      let ofOthers = 0;
      let greatest = 0;
      for (let i = FIRST_INDEXES[index]; i < FIRST_INDEXES[index + 1]; i++) {
        ofOthers += OTHERS[i];
        if (OTHERS[i] > greatest) greatest = OTHERS[i];
      }
      const mass = requirePossible("P(first byte)", this.#mass[index] + ofOthers * (1 - pFailed));
      if (this.#mass[index] + greatest * (1 - pFailed) < this.#own) this.#less += mass;
      else unsure.push({ index, mass, most: Math.min(mass, NUM_CODES[index] * this.#own) });
    }
    unsure.sort((a, b) => a.most - b.most || a.index - b.index);
    // The results counted as less probable are certain. The draw may take away a share of the ties.
    let room = maxRelativeError * this.#less;
    let numLeftOut = 0;
    while (numLeftOut < unsure.length && unsure[numLeftOut].most <= room) {
      const { index, mass, most } = unsure[numLeftOut++];
      room -= most;
      // As if its codes were equally probable.
      if (mass < NUM_CODES[index] * this.#own) this.#less += mass;
    }
    return unsure.slice(numLeftOut).map(({ index }) => index).sort((a, b) => a - b);
  }
}

/** A measurement to score. */
export interface ScoreCase {
  /** The measurement. */
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

/** What a model that scores is made of. */
export interface ScoredModel extends Pick<ModelCheckpoint, "weights" | "pool"> {
  readonly config: ModelConfig;
}

/** How {@link scoreResults} computes. */
export interface ScoreOptions {
  /** Seed of the random share of equally probable results. */
  seed: number;
  /** Largest relative error of a p-value; 0 makes it exact (default: `MAX_RELATIVE_ERROR`). */
  maxRelativeError?: number;
}

/** A multiple of the keys that an attention kernel takes at once, on any adapter. */
const KEY_TILE = 16;
/** Each index of a random stream has 32 bits. */
const TWO_32 = 2 ** 32;

/**
 * Scores measurements. A score depends on the case, the model and the seed, not on which cases are given together.
 *
 * Cases whose context is that of an earlier one and its measurement are read with it in one pass.
 *
 * @returns One score per case, in order, how many second bytes' distributions were computed, and how many tokens were
 *   read.
 * @throws {UserError} If the addresses of one are of different versions or it does not fit the model's sequence.
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
    const failed = part.flatMap(({ measurement }, prompt) => measurement.rttCode === null ? [prompt] : []);
    const ends = read.map(({ ends }) => ends);
    const ofPrompts = yield Promise.all([
      decoder.prefill(group, { numLast: 3, ends }),
      append(decoder, part.length, { prompts: failed, steps: [failed.map(() => RTT_START)] }),
    ]);
    const surprises = surprisesOf(model, part, ofPrompts, options);
    decoder.registry.gpu.recycle(...ofPrompts);
    const steps = [...stepsOf(surprises, part, decoder.extent.maxRows)];
    const V = modelShapes(model.config).vocabSize;
    const seconds = yield Promise.all(steps.map((step) => appendNeeded(decoder, part.length, step)));
    steps.forEach(({ bytes }, i) => {
      numExpanded += bytes.length;
      bytes.forEach(({ prompt, index }, row) =>
        surprises[prompt].addSecondBytes(index, rowOf(seconds[i], row, V))
      );
    });
    decoder.registry.gpu.recycle(...seconds);
    surprises.forEach((surprise, i) => scores[numbers[i]] = scoreOf(surprise, part[i].number, options.seed));
  });
  return { scores, numExpanded, numTokens };
}

function scoreOf(surprise: ResultSurprise, number: number, seed: number): Score {
  const random = new RandomStream(seed, "score/p-value", number % TWO_32, Math.floor(number / TWO_32));
  return { logLikelihood: surprise.logLikelihood, pValue: surprise.pValue(random.float64()) };
}

/** A sequence that holds the prompts of one case or of several, each of which begins with the one before. */
interface SharedSequence {
  /** The longest prompt. */
  tokens: Uint16Array;
  /** How many tokens each prompt has. */
  readonly ends: number[];
  /** The places of their cases. */
  readonly numbers: number[];
}

/**
 * Puts prompts into as few sequences as their contexts allow: a case goes on where the context of it is that of an
 * earlier case and its measurement.
 */
function sequencesOf(cases: readonly ScoreCase[], sequenceLength: number): SharedSequence[] {
  const sequences: SharedSequence[] = [];
  /** Sequences by the tokens after which a case goes on. */
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
    // The last token of the result is not continued.
    sequence.tokens = written.subarray(0, query.length + Math.min(result.length, 2));
    sequence.ends.push(sequence.tokens.length);
    sequence.numbers.push(number);
    open.set(keyOf(written), sequence);
  });
  return sequences;
}

/**
 * Tokens with others after them, which they do not see. So every sequence of a group begins where a tile of keys does, and
 * its sums are rounded alike whatever the sequences before it; unless the model's sequence does not end with a whole tile.
 */
function filledUp(tokens: Uint16Array, sequenceLength: number): Uint16Array {
  const filled = new Uint16Array(Math.min(Math.ceil(tokens.length / KEY_TILE) * KEY_TILE, sequenceLength));
  filled.set(tokens);
  return filled;
}

function keyOf(tokens: Uint16Array): string {
  return String.fromCharCode(...tokens);
}

/**
 * The results among all possible ones.
 *
 * @param read Log-probabilities of each result's last three tokens, and of those after `RttStart` for each without a
 *   reply.
 */
function surprisesOf(
  model: PingModel,
  part: readonly ScoreCase[],
  [rows, firsts]: Float32Array[],
  { maxRelativeError }: ScoreOptions,
): ResultSurprise[] {
  const V = modelShapes(model.config).vocabSize;
  let numFailed = 0;
  return part.map(({ measurement, context }, i) => {
    const { rttCode } = measurement;
    const [a, b, c] = [0, 1, 2].map((j) => rowOf(rows, 3 * i + j, V));
    const read = rttCode === null
      ? { outcome: b, first: rowOf(firsts, numFailed++, V), second: c }
      : { outcome: a, first: b, second: c };
    const pool = model.pooled({ ...measurement, context }, rttCode);
    return new ResultSurprise(rttCode, read, { pool, maxRelativeError });
  });
}

/** First bytes after prompts that have a reply, or that have none. */
interface NeededBytes {
  /** For each byte its prompt's number, ascending, and its place among `FIRST_BYTES`. */
  readonly bytes: readonly { readonly prompt: number; readonly index: number }[];
  readonly areFailed: boolean;
}

/** The bytes whose probabilities prompts need, in parts that the decoder can hold. */
function* stepsOf(
  surprises: readonly ResultSurprise[],
  part: readonly ScoreCase[],
  maxRows: number,
): Generator<NeededBytes> {
  for (const areFailed of [false, true]) {
    const all = surprises.flatMap(({ needed }, prompt) =>
      (part[prompt].measurement.rttCode === null) === areFailed
        ? needed.map((index) => ({ prompt, index }))
        : []
    );
    for (let from = 0; from < all.length; from += maxRows) {
      yield { bytes: all.slice(from, from + maxRows), areFailed };
    }
  }
}

async function appendNeeded(
  decoder: Decoder,
  numPrompts: number,
  { bytes, areFailed }: NeededBytes,
): Promise<Float32Array> {
  const starts = areFailed ? [bytes.map(() => RTT_START)] : [];
  return await append(decoder, numPrompts, {
    prompts: bytes.map(({ prompt }) => prompt),
    steps: [...starts, bytes.map(({ index }) => BYTE_BASE + FIRST_BYTES[index])],
  });
}

/**
 * Appends tokens to prompts, in place of their last one. Submitted before the call returns.
 *
 * @param rows `prompts`: that of each row, ascending; `steps`: the next token of each row, step by step.
 * @returns log P(next token) of each row after the last step.
 */
async function append(
  decoder: Decoder,
  numPrompts: number,
  { prompts, steps }: { prompts: readonly number[]; steps: readonly (readonly number[])[] },
): Promise<Float32Array> {
  if (prompts.length === 0) return new Float32Array();
  const numChildren = Array.from({ length: numPrompts }, () => 0);
  for (const prompt of prompts) numChildren[prompt]++;
  decoder.fork(numChildren, { numDropped: 1 });
  const read = await Promise.all(steps.map((tokens) => decoder.step(tokens)));
  decoder.registry.gpu.recycle(...read.slice(0, -1));
  return read[steps.length - 1];
}
