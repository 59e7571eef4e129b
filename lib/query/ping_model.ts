/**
 * A trained model as a library: load a checkpoint, ask for RTT distributions.
 *
 * @module
 */
import { FormatError, UserError } from "../errors.ts";
import { Gpu } from "../gpu/device.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import type { ModelConfig } from "../model/config.ts";
import { vocabSize } from "../model/config.ts";
import { type ModelBatch, Transformer } from "../model/transformer.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, isCanonicalRttCode } from "../tokens/rtt_code.ts";
import {
  BYTE_BASE,
  FAILED,
  type Field,
  measurementLength,
  RTT_START,
  type TokenMeasurement,
  TokenWriter,
} from "../tokens/vocab_v2.ts";
import { loadCheckpoint } from "../train/checkpoint.ts";
import { RttDistribution } from "./rtt_distribution.ts";

/** What an RTT distribution is asked for. */
export interface RttQuery {
  /** Source address, 4 or 16 bytes. */
  source: Uint8Array;
  /** Destination address, as long as the source. */
  destination: Uint8Array;
  /** When, Unix seconds, or null for any time. */
  timeS: number | null;
  /** Measurements made before, oldest first; the newest that fit the model's sequence are used. */
  context: readonly TokenMeasurement[];
}

/** The first bytes of canonical RTT codes, ascending: 132 of them. */
const FIRST_BYTES: readonly number[] = [...new Set([...CANONICAL_RTT_CODES].map((code) => code >> 8))];

/** The order in which queries and their context are written; one of those the model is trained on. */
const QUERY_ORDER: readonly Field[] = ["source", "destination", "time", "result"];

/** How many tokens one forward pass may hold; bounds the memory of a query. */
const MAX_TOKENS_PER_PASS = 8192;

/** Sequence lengths are rounded up to a multiple of this, so that few model shapes are compiled. */
const LENGTH_STEP = 64;

/** A trained model on a GPU. */
export class PingModel {
  readonly #runners = new Map<string, Promise<Transformer>>();

  private constructor(
    readonly config: ModelConfig,
    readonly gpu: Gpu,
    readonly registry: KernelRegistry,
    readonly weights: Map<string, Float32Array>,
    readonly step: number,
  ) {}

  /**
   * Loads a checkpoint and opens the GPU.
   *
   * @param path A run directory, its `checkpoints`, or one `step-…` directory.
   * @throws {UserError} If there is no usable checkpoint or no GPU.
   */
  static async load(path: string): Promise<PingModel> {
    const { config, weights, state } = loadCheckpoint(path);
    if (config.model.vocabulary !== "v2") {
      throw new FormatError(
        `the model has vocabulary ${config.model.vocabulary}, v2 was wanted; train one with v2`,
        {
          path,
        },
      );
    }
    const gpu = await Gpu.open();
    return new PingModel(config.model, gpu, new KernelRegistry(gpu), weights, state.step);
  }

  /** Makes a queryable model of weights in memory, on a GPU that is open already. */
  static of(config: ModelConfig, registry: KernelRegistry, weights: Map<string, Float32Array>): PingModel {
    return new PingModel(config, registry.gpu, registry, weights, 0);
  }

  /**
   * The exact distribution of the RTT between two addresses.
   *
   * @throws {UserError} If the addresses are of different versions or do not fit the model's sequence.
   */
  async rttDistribution(query: RttQuery): Promise<RttDistribution> {
    const prefix = this.encodeQuery(query);
    const started = appendToken(prefix, RTT_START);
    const [outcome, first] = await this.nextLogProbabilities([prefix, started]);
    const seconds = await this.nextLogProbabilities(
      FIRST_BYTES.map((byte) => appendToken(started, BYTE_BASE + byte)),
    );
    const probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
    const byte1 = restrict(first, FIRST_BYTES);
    let canonicalMass = 0;
    let at = 0;
    FIRST_BYTES.forEach((byte, i) => {
      const byte2 = restrict(seconds[i], secondBytes(byte));
      canonicalMass += byte1.probabilities[i] * byte1.mass * byte2.mass;
      for (const p of byte2.probabilities) probabilities[at++] = byte1.probabilities[i] * p;
    });
    const pFailed = 1 / (1 + Math.exp(outcome[RTT_START] - outcome[FAILED]));
    return new RttDistribution(pFailed, probabilities, canonicalMass);
  }

  /**
   * The median of the distribution of {@link rttDistribution} for many queries, in two passes for all of
   * them instead of 134 for each: P(byte 1), then P(byte 2) for the byte in which the median lies.
   *
   * @returns One RTT in ms per query, given that a reply came.
   */
  async medianRttsMs(
    queries: readonly RttQuery[],
    onProgress: (done: number) => void = () => {},
  ): Promise<number[]> {
    const started = queries.map((query) => appendToken(this.encodeQuery(query), RTT_START));
    const first = await this.nextLogProbabilities(started, (done) => onProgress(done / 2));
    const chosen = first.map((row) => quantileOf(restrict(row, FIRST_BYTES).probabilities, 0.5));
    const second = await this.nextLogProbabilities(
      started.map((sequence, i) => appendToken(sequence, BYTE_BASE + FIRST_BYTES[chosen[i].index])),
      (done) => onProgress((queries.length + done) / 2),
    );
    return second.map((row, i) => {
      const byte1 = FIRST_BYTES[chosen[i].index];
      const bytes = secondBytes(byte1);
      const { index } = quantileOf(restrict(row, bytes).probabilities, chosen[i].rest);
      return decodeRttCode(byte1 << 8 | bytes[index]);
    });
  }

  /**
   * The tokens up to where the result of the asked measurement begins.
   *
   * @throws {UserError} As {@link rttDistribution}.
   */
  encodeQuery(query: RttQuery): Uint16Array {
    const { source, destination, timeS } = query;
    if (source.length !== destination.length) {
      throw new UserError(
        `Cannot ask for an RTT from IPv${source.length === 4 ? 4 : 6} to IPv${
          destination.length === 4 ? 4 : 6
        }: two addresses of one version were wanted`,
      );
    }
    const asked: TokenMeasurement = { source, destination, rttCode: null, timeS };
    const kept = this.contextThatFits(query);
    const out = new Uint16Array(this.config.sequenceLength);
    const writer = new TokenWriter(out);
    for (const measurement of kept) writer.write(measurement, QUERY_ORDER);
    writer.write(asked, QUERY_ORDER);
    // The asked measurement was written as failed, whose result is the one token `Failed`, last.
    return out.slice(0, writer.at - 1);
  }

  /** The newest measurements of the query's context that fit the model's sequence beside the asked one. */
  contextThatFits({ source, destination, timeS, context }: RttQuery): readonly TokenMeasurement[] {
    // The asked measurement counts as failed here; RttStart and byte 1 in place of Failed take one token more.
    const asked: TokenMeasurement = { source, destination, rttCode: null, timeS };
    return newestThatFit(context, asked, this.config.sequenceLength - 1);
  }

  /**
   * log P(next token | sequence), in nats, for each sequence.
   *
   * @param sequences Token sequences of at most the model's length.
   * @returns One array of vocabulary size per sequence.
   */
  async nextLogProbabilities(
    sequences: readonly Uint16Array[],
    onProgress: (done: number) => void = () => {},
  ): Promise<Float32Array[]> {
    const longest = Math.max(...sequences.map((sequence) => sequence.length));
    const length = Math.min(this.config.sequenceLength, Math.ceil(longest / LENGTH_STEP) * LENGTH_STEP);
    const batchSize = Math.min(sequences.length, Math.max(1, Math.floor(MAX_TOKENS_PER_PASS / length)));
    const runner = await this.#runner(length, batchSize);
    const vocabulary = vocabSize(this.config);
    const results: Float32Array[] = [];
    for (let start = 0; start < sequences.length; start += batchSize) {
      const part = sequences.slice(start, start + batchSize);
      const positions = Uint32Array.from(part, (sequence, b) => b * length + sequence.length - 1);
      const rows = await runner.logProbabilities(padBatch(part, batchSize, length), positions);
      part.forEach((_, i) => results.push(rows.slice(i * vocabulary, (i + 1) * vocabulary)));
      onProgress(results.length);
    }
    return results;
  }

  /** Frees the GPU. */
  close(): void {
    this.gpu.close();
  }

  /** As {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #runner(sequenceLength: number, batchSize: number): Promise<Transformer> {
    const key = `${sequenceLength} ${batchSize}`;
    let runner = this.#runners.get(key);
    if (!runner) {
      runner = Transformer.create(this.registry, { ...this.config, sequenceLength }, {
        batchSize,
        training: false,
      })
        .then((model) => {
          model.load(this.weights);
          return model;
        });
      this.#runners.set(key, runner);
    }
    return runner;
  }
}

function newestThatFit(
  context: readonly TokenMeasurement[],
  asked: TokenMeasurement,
  room: number,
): readonly TokenMeasurement[] {
  // No measurement is shorter than 11 tokens, so more than this many cannot fit.
  const oldest = Math.max(0, context.length - Math.ceil(room / 11));
  for (let start = oldest; start <= context.length; start++) {
    let previousTimeS: number | null = null;
    let length = 0;
    for (const measurement of [...context.slice(start), asked]) {
      length += measurementLength(measurement, previousTimeS);
      previousTimeS = measurement.timeS ?? previousTimeS;
    }
    if (length <= room) return context.slice(start);
  }
  throw new UserError(
    `Cannot ask: a measurement does not fit the model's sequence of ${
      room + 1
    } tokens; use a model with longer sequences`,
  );
}

/** The second bytes of the canonical codes that begin with `byte1`, ascending. */
function secondBytes(byte1: number): number[] {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  return bytes.filter((byte) => isCanonicalRttCode(byte1 << 8 | byte));
}

/** P over the given bytes only, renormalised, and the mass the model gave to them. */
function restrict(logP: Float32Array, bytes: readonly number[]): { probabilities: number[]; mass: number } {
  const raw = bytes.map((byte) => Math.exp(logP[BYTE_BASE + byte]));
  const mass = raw.reduce((sum, p) => sum + p, 0);
  return { mass, probabilities: raw.map((p) => p / mass) };
}

/** The first index at which the cumulative sum reaches q, and the share of that entry which is still needed. */
function quantileOf(probabilities: readonly number[], q: number): { index: number; rest: number } {
  let below = 0;
  for (let index = 0; index < probabilities.length; index++) {
    if (below + probabilities[index] >= q) return { index, rest: (q - below) / probabilities[index] };
    below += probabilities[index];
  }
  return { index: probabilities.length - 1, rest: 1 };
}

function appendToken(sequence: Uint16Array, token: number): Uint16Array {
  const longer = new Uint16Array(sequence.length + 1);
  longer.set(sequence);
  longer[sequence.length] = token;
  return longer;
}

/** A batch whose rows are the sequences, each one segment, padded to `length`; missing rows are padding. */
function padBatch(sequences: readonly Uint16Array[], batchSize: number, length: number): ModelBatch {
  const size = batchSize * length;
  const tokens = new Uint16Array(size);
  const segmentStart = new Uint16Array(size);
  for (let b = 0; b < batchSize; b++) {
    const sequence = sequences[b] ?? new Uint16Array(0);
    tokens.set(sequence, b * length);
    for (let t = sequence.length; t < length; t++) segmentStart[b * length + t] = t;
  }
  return { tokens, targets: new Uint16Array(size), lossMask: new Uint8Array(size), segmentStart };
}
