/**
 * A trained model as a library: load a checkpoint, ask for RTT distributions.
 *
 * @module
 */
import { adapt, type Adaptation, type AdaptOptions } from "../adapt/adapt.ts";
import type { AdaptedParts } from "../adapt/free_rows.ts";
import { FormatError } from "../errors.ts";
import { Gpu } from "../gpu/device.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import { type ModelConfig, vocabSize } from "../model/model_config.ts";
import { withRowDelta } from "../model/row_delta.ts";
import type { Decoder } from "../model/decoder.ts";
import type { DecoderExtent } from "../model/decoder_buffers.ts";
import { RTT_START, type TokenMeasurement } from "../tokens/vocab_v2.ts";
import { loadCheckpoint } from "../train/checkpoint.ts";
import type { LoadedCheckpoint } from "../train/checkpoint_files.ts";
import {
  continuationLogProbabilities,
  type ContinuedPrompt,
  groupsOfContinuations,
} from "./continuations.ts";
import type { Continuation } from "./byte_walks.ts";
import type { DestinationQuery } from "./destination_prompt.ts";
import { type DestinationOptions, type LikelyDestinations, likelyDestinations } from "./destinations.ts";
import { contextThatFits, encodeQuery, type RttQuery } from "./query_tokens.ts";
import { ModelDecoders } from "./model_decoders.ts";
import type { RttDistribution } from "./rtt_distribution.ts";
import type { QuantileCalibration } from "./quantile_calibration.ts";
import { type AskedRtts, likelyRttDistributions, rttDistributions } from "./rtt_distributions.ts";
import {
  parseAddressQuestion,
  parseMeasurement,
  type QuestionMeasurement,
  type RttQuestion,
} from "./rtt_question.ts";

/** What queries may take of the GPU's memory besides the weights, unless said otherwise. */
const DEFAULT_MEMORY_LIMIT_BYTES = 2 ** 30;

/** How a model may use the machine. */
export interface PingModelOptions {
  /** What distributions, and again what samples, may take of the GPU's memory besides weights, in bytes (1 GiB). */
  memoryLimitBytes?: number;
  /** Corrects every distribution of RTTs; likelihoods of tokens and samples stay the model's own. */
  calibration?: QuantileCalibration;
  /** Also take a model of vocabulary v1, which answers likelihoods only (false). */
  anyVocabulary?: boolean;
}

/** Refuses a checkpoint that {@link PingModel} cannot be made of. @throws {UserError} If its vocabulary is not v2. */
export function requireQueryable(
  { directory, config }: Pick<LoadedCheckpoint, "directory" | "config">,
): void {
  const { vocabulary } = config.model;
  if (vocabulary === "v2") return;
  throw new FormatError(
    `the model has vocabulary ${vocabulary}, v2 was wanted; train one with v2, or ask only for likelihoods ` +
      "(query likelihood, eval)",
    { path: directory },
  );
}

/** A trained model on a GPU. */
export class PingModel {
  readonly #decoders: ModelDecoders;
  readonly #calibration: QuantileCalibration | undefined;
  readonly #adapted: { readonly rows: Set<number>; readonly nodes: Set<number> };
  #weights: Map<string, Float32Array>;

  private constructor(
    readonly config: ModelConfig,
    readonly registry: KernelRegistry,
    weights: Map<string, Float32Array>,
    readonly step: number,
    { memoryLimitBytes = DEFAULT_MEMORY_LIMIT_BYTES, calibration, adapted }: PingModelOptions & {
      adapted?: AdaptedParts;
    },
  ) {
    this.#weights = weights;
    this.#adapted = { rows: new Set(adapted?.rows), nodes: new Set(adapted?.nodes) };
    this.#calibration = calibration;
    this.#decoders = new ModelDecoders(this, memoryLimitBytes);
  }

  /**
   * Loads a checkpoint and opens the GPU.
   *
   * @param path A run directory, its `checkpoints`, or one `step-…` directory.
   * @throws {UserError} If there is no usable checkpoint or no GPU.
   */
  static async load(path: string, options: PingModelOptions = {}): Promise<PingModel> {
    return await PingModel.from(loadCheckpoint(path), options);
  }

  /**
   * Opens the GPU for a checkpoint that is read already.
   *
   * @throws {UserError} If its vocabulary is not v2, the calibration is of another model, or there is no GPU.
   */
  static async from(
    checkpoint: LoadedCheckpoint,
    options: PingModelOptions = {},
  ): Promise<PingModel> {
    if (!options.anyVocabulary) requireQueryable(checkpoint);
    options.calibration?.requireOf(checkpoint);
    const { config, weights, state } = checkpoint;
    const registry = new KernelRegistry(await Gpu.open());
    const adapted = checkpoint.adapted ?? { rows: new Set(), nodes: new Set() };
    return new PingModel(config.model, registry, weights, state.step, { ...options, adapted });
  }

  /** Makes a queryable model of weights in memory, on a GPU that is open already. */
  static of(
    config: ModelConfig,
    registry: KernelRegistry,
    { weights, ...options }: PingModelOptions & { weights: Map<string, Float32Array> },
  ): PingModel {
    return new PingModel(config, registry, weights, 0, options);
  }

  /** Parameters by name, row-major. */
  get weights(): Map<string, Float32Array> {
    return this.#weights;
  }

  /** The device that the model runs on. */
  get gpu(): Gpu {
    return this.registry.gpu;
  }

  /**
   * The exact distribution of the RTT between two addresses.
   *
   * @param query As bytes or as text, such as `{ src: "192.0.2.1", dst: "198.51.100.7" }`.
   * @throws {UserError} If the addresses are none, of different versions or do not fit the model's sequence.
   */
  async rttDistribution(query: RttQuery | RttQuestion): Promise<RttDistribution> {
    return (await this.rttDistributions(["source" in query ? query : parseAddressQuestion(query)]))[0];
  }

  /**
   * {@link rttDistribution} of many queries, several times as fast as one at a time. A distribution takes 0.5 MB:
   * ask for tens of thousands in parts.
   *
   * @param onProgress Told how many queries are answered.
   * @returns One distribution per query, in order.
   * @throws {UserError} As {@link rttDistribution}.
   */
  async rttDistributions(
    queries: readonly RttQuery[],
    onProgress: (done: number) => void = () => {},
  ): Promise<RttDistribution[]> {
    const distributions = await rttDistributions(this.#decoders, this.#startResults(queries), onProgress);
    return distributions.map((distribution) => this.#calibrated(distribution));
  }

  /**
   * {@link rttDistributions} at a fraction of the cost for a model that knows much: only the likeliest first bytes are
   * continued, the mass of the others is spread evenly within each of them.
   *
   * @param take Given each distribution in the order of the queries; only a few are in memory at a time.
   * @param options `maxSpreadMass`: how much mass may be spread; `codes`: for each query the RTT code whose probability
   *   has to be exact, or null for none.
   * @throws {UserError} As {@link rttDistribution}.
   */
  async likelyRttDistributions(
    queries: readonly RttQuery[],
    take: (distribution: RttDistribution, index: number) => void,
    options: { maxSpreadMass: number; codes: readonly (number | null)[] },
  ): Promise<void> {
    await likelyRttDistributions(this.#decoders, this.#startResults(queries), {
      take: (distribution, index) => take(this.#calibrated(distribution), index),
      ...options,
    });
  }

  /**
   * Fits the rows and coordinates of addresses to measurements, as {@link adapt}, everything else frozen; what is asked afterwards is answered with them.
   *
   * @param measurements As tokens see them, or as people write them, such as
   *   `{ src: "192.0.2.1", dst: "198.51.100.7", rtt: 12.5 }`.
   * @returns What was changed.
   * @throws {UserError} If the model has no rows of addresses, or a measurement is none.
   */
  async adapt(
    measurements: readonly (TokenMeasurement | QuestionMeasurement)[],
    options: Omit<AdaptOptions, "adapted"> = {},
  ): Promise<Adaptation> {
    const parsed = measurements.map((each) => "source" in each ? each : parseMeasurement(each));
    const adapted = this.#adapted;
    const adaptation = await adapt(this.registry, this, parsed, { ...options, adapted });
    this.#weights = withRowDelta(this.config, this.#weights, adaptation.delta);
    for (const row of adaptation.delta.rows) adapted.rows.add(row);
    for (const node of adaptation.delta.coordinates.nodes) adapted.nodes.add(node);
    await this.#decoders.reload();
    return adaptation;
  }

  /**
   * The most probable destinations given a source and an RTT or a range of RTTs.
   *
   * @throws {UserError} As {@link likelyDestinations}.
   */
  async destinations(query: DestinationQuery, options: DestinationOptions = {}): Promise<LikelyDestinations> {
    return await likelyDestinations(this, query, options);
  }

  /**
   * The tokens up to where the result of the asked measurement begins.
   *
   * @throws {UserError} As {@link rttDistribution}.
   */
  encodeQuery(query: RttQuery): Uint16Array {
    return encodeQuery(query, this.config.sequenceLength);
  }

  /** The newest measurements of the query's context that fit the model's sequence beside the asked one. */
  contextThatFits(query: RttQuery): readonly TokenMeasurement[] {
    return contextThatFits(query, this.config.sequenceLength);
  }

  /**
   * log P of the last tokens of each sequence, each given all tokens before it, in nats.
   *
   * @param sequences Token sequences of at least two tokens and at most one more than the model's length.
   * @param numTokens Of how many last tokens, the same for all and fewer than any sequence has; Infinity for all
   *   after the first.
   * @returns One array per sequence.
   */
  async tokenLogProbabilities(sequences: readonly Uint16Array[], numTokens: number): Promise<Float32Array[]> {
    const V = vocabSize(this.config);
    const results: Float32Array[] = [];
    const prompts = sequences.map((sequence) => sequence.subarray(0, -1));
    await this.#decoders.withPrompts(prompts, 1, async (decoder, group) => {
      const rows = await decoder.prefill(group, { numLast: numTokens });
      let row = 0;
      for (const { length } of group) {
        const tokens = sequences[results.length].subarray(-Math.min(numTokens, length));
        results.push(Float32Array.from(tokens, (token) => rows[row++ * V + token]));
      }
    });
    return results;
  }

  /**
   * log P of the tokens of continuations of prompts, each given all tokens before it, in nats. What continuations
   * of one prompt share is computed once.
   *
   * @param prompts Of at most {@link maxContinuationTokens} tokens each continuation, and at most one token more
   *   than the model's sequence with its prompt.
   * @returns One array per continuation, those of the first prompt first.
   */
  async continuationLogProbabilities(prompts: readonly ContinuedPrompt[]): Promise<Float32Array[]> {
    const results: Float32Array[] = [];
    for (const group of groupsOfContinuations(prompts, this.continuationExtent)) {
      await this.#decoders.withContinuer(async (decoder) => {
        results.push(...await continuationLogProbabilities(decoder, group));
      });
    }
    return results;
  }

  /**
   * Lets rows continue one prompt, token by token, all at once.
   *
   * @param prompt At least one token.
   * @param numRows 1 to {@link MAX_CONTINUATIONS}, or fewer where the memory limit does not hold them: the result.
   * @param choose Chooses the next token of each row from log P, (rows, V) nats; undefined ends. Called with the one
   *   row of the prompt first, at most {@link maxContinuationTokens} times after that.
   * @returns How many rows there were.
   * @throws {UserError} If memory does not suffice or a row would be longer than the model's sequence.
   */
  async continuePrompt(
    prompt: Uint16Array,
    numRows: number,
    choose: (logP: Float32Array, numRows: number) => ArrayLike<number> | undefined,
  ): Promise<number> {
    const rows = Math.min(numRows, this.continuationExtent.maxRows);
    await this.continuePrompts([prompt], async (decoder, ends) => {
      decoder.fork([rows]);
      let logP = ends;
      for (let tokens = choose(logP, rows); tokens; tokens = choose(logP, rows)) {
        logP = await decoder.step(tokens);
      }
    });
    return rows;
  }

  /**
   * Runs work on a decoder, with prompts in groups that it can hold, in order; work asked for meanwhile waits.
   *
   * @param prompts Token sequences of at most the model's length.
   * @param work Gets the decoder and the next group; rows and steps are its own affair, within the decoder's extent.
   * @internal
   */
  async onDecoder(
    prompts: readonly Uint16Array[],
    work: (decoder: Decoder, group: readonly Uint16Array[]) => Promise<void>,
  ): Promise<void> {
    await this.#decoders.withPrompts(prompts, 1, work);
  }

  /** How many tokens of prompts and rows {@link continuePrompts} holds. */
  get continuationExtent(): DecoderExtent {
    return this.#decoders.continuationExtent;
  }

  /**
   * Reads prompts once and lets rows continue them, in as many forks as wanted.
   *
   * @param prompts Within {@link continuationExtent}.
   * @param work Forks and steps; gets log P after each prompt, (prompts, V) nats. Nothing else is computed meanwhile.
   * @throws {UserError} If memory does not suffice.
   */
  async continuePrompts(
    prompts: readonly Uint16Array[],
    work: (decoder: Continuation, ends: Float32Array) => Promise<void>,
  ): Promise<void> {
    await this.#decoders.withContinuer(async (decoder) => {
      await work(decoder, await decoder.prefill(prompts));
    });
  }

  /** Frees the GPU. */
  close(): void {
    this.gpu.close();
  }

  /** As {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #calibrated(distribution: RttDistribution): RttDistribution {
    return this.#calibration?.apply(distribution) ?? distribution;
  }

  /** The queries as tokens, up to where the first byte of an RTT is next. */
  #startResults(queries: readonly RttQuery[]): AskedRtts {
    return {
      prompts: queries.map((query) => Uint16Array.of(...this.encodeQuery(query), RTT_START)),
      recents: queries.map(({ recent }) =>
        recent?.flatMap(({ rttCode, timeS }) => rttCode === null ? [] : [{ rttCode, timeS }])
      ),
    };
  }
}
