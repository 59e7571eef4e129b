/** A trained model as a library, in Deno and in a browser. @module */
import { type Adaptation, AdaptedModel, type AdaptOptions } from "./adapt/adapt.ts";
import type { AdaptedParts } from "./adapt/free_rows.ts";
import {
  type Basis,
  type BasisKind,
  basisKindOf,
  basisOf,
  knownCount,
  momentOf,
  type TrainingData,
} from "../data/addresses/known_addresses.ts";
import { FormatError } from "../base/errors.ts";
import type { TensorArray, Tensors } from "../base/safetensors_header.ts";
import { Gpu } from "../tensor/device.ts";
import type { EngineChoice } from "../tensor/engine.ts";
import { KernelRegistry } from "../tensor/registry.ts";
import type { ModelConfig } from "../model/model_config.ts";
import { RTT_START, type TokenMeasurement } from "../data/tokens/vocab_v2.ts";
import { AddressEmbeddings } from "../model/address_embeddings.ts";
import { type IpPrefix, isAddress } from "../data/addresses/ip_prefix.ts";
import { type AddressNames, NO_NAMES } from "../data/addresses/address_names.ts";
import { PlaceIndex, placeText } from "../data/addresses/place_index.ts";
import { forecastOfModel, isOfPair, Pool, type PooledForecast } from "../model/pool/pool.ts";
import type { PairMeasurements } from "../model/pool/time_kernels.ts";
import { ModelDecoders } from "./model_decoders.ts";
import { contextThatFits, encodeQuery, type PrefixQuery, type RttQuery } from "./query_tokens.ts";
import type { CheckpointIdentity, QuantileCalibration } from "./rtt/quantile_calibration.ts";
import { RttArrays, type RttDistribution } from "./rtt/rtt_distribution.ts";
import { type LikelyOptions, rttDistributions, type TakeDistribution } from "./rtt/rtt_distributions.ts";
import {
  parseAddressQuestion,
  parseMeasurement,
  type QuestionMeasurement,
  type RttQuestion,
} from "./rtt/rtt_question.ts";

const DEFAULT_MEMORY_LIMIT_BYTES = 2 ** 30;

/** @internal Options for using a model. */
export interface PingModelOptions {
  /** GPU memory for distributions, and the same again for samples, not counting weights; bytes (1 GiB). */
  memoryLimitBytes?: number;
  /** Corrects every distribution of RTTs, but not the likelihoods of tokens or samples. */
  calibration?: QuantileCalibration | undefined;
  /** Whether to use the network alone, without the pool's simple forecasts and the light bound (false). */
  noPool?: boolean;
  /** Whether to accept models of vocabulary v1, which answer only likelihoods (false). */
  anyVocabulary?: boolean;
  /** Names shown next to addresses in answers (none). */
  names?: AddressNames | undefined;
  /** The WebGPU implementation (default: the runtime's). */
  engine?: EngineChoice | undefined;
}

/** The parts of a checkpoint that make up a model. */
export interface ModelCheckpoint extends CheckpointIdentity {
  readonly config: { readonly model: ModelConfig };
  /** Parameters by name, row-major. */
  readonly weights: Map<string, TensorArray>;
  /** Rows and nodes of an adapted checkpoint that differ from its base. */
  readonly adapted?: AdaptedParts;
  /** The data that it was trained on and adapted to. */
  readonly trainingData: TrainingData;
  /** The pool's tensors, if it has a pool. */
  readonly pool?: Tensors | undefined;
}

/** Checks that a checkpoint's model can answer questions. @throws {UserError} If its vocabulary is not v2. */
export function requireQueryable(
  { directory, config }: Pick<ModelCheckpoint, "directory" | "config">,
): void {
  const { vocabulary } = config.model;
  if (vocabulary === "v2") return;
  throw new FormatError(
    `the model has vocabulary ${vocabulary}, expected v2; train one with v2, or ask only for likelihoods ` +
      "(query likelihood, eval)",
    { path: directory },
  );
}

/** A trained model on a GPU. */
export class PingModel {
  /** @internal */
  readonly decoders: ModelDecoders;
  readonly calibration: QuantileCalibration | undefined;
  readonly #adapted: AdaptedModel;
  #pool: Pool | undefined;
  readonly #isAlone: boolean;
  /** Rows of `weights`, for looking up places. */
  #placed: { weights: Map<string, TensorArray>; rows: AddressEmbeddings } | undefined;
  #places: PlaceIndex | undefined;
  readonly names: AddressNames;
  readonly #corrected = new RttArrays();

  private constructor(
    readonly config: ModelConfig,
    readonly registry: KernelRegistry,
    weights: Map<string, TensorArray>,
    readonly step: number,
    {
      memoryLimitBytes = DEFAULT_MEMORY_LIMIT_BYTES,
      calibration,
      noPool,
      names,
      pool,
      adapted,
      trainingData,
    }:
      & PingModelOptions
      & Pick<ModelCheckpoint, "pool">
      & Partial<Pick<ModelCheckpoint, "trainingData">>
      & { adapted?: AdaptedParts | undefined },
  ) {
    this.#adapted = new AdaptedModel(config, weights, { adapted, pool, trainingData });
    this.calibration = calibration;
    this.names = names ?? NO_NAMES;
    this.#isAlone = noPool === true;
    if (pool && !noPool) this.#pool = new Pool(config, { weights, pool });
    this.decoders = new ModelDecoders(this, memoryLimitBytes);
  }

  /**
   * Opens the GPU for a checkpoint in memory; `loadModel` reads one from disk.
   *
   * @throws {UserError} If its vocabulary is not v2, the calibration is for another model, or there is no
   *   GPU.
   */
  static async from(
    checkpoint: ModelCheckpoint,
    options: PingModelOptions = {},
  ): Promise<PingModel> {
    if (!options.anyVocabulary) requireQueryable(checkpoint);
    options.calibration?.requireOf(checkpoint, checkpoint.pool !== undefined && !options.noPool);
    const { config, weights, state } = checkpoint;
    const registry = new KernelRegistry(await Gpu.open({ engine: options.engine }));
    const { adapted, trainingData, pool } = checkpoint;
    const known = { adapted, trainingData, pool };
    return new PingModel(config.model, registry, weights, state.step, { ...options, ...known });
  }

  /**
   * Creates a queryable model from weights in memory, on a GPU that is already open.
   *
   * @param options `trainingData`: none by default.
   */
  static of(
    config: ModelConfig,
    registry: KernelRegistry,
    { weights, ...options }:
      & PingModelOptions
      & Pick<ModelCheckpoint, "weights" | "pool">
      & Partial<Pick<ModelCheckpoint, "trainingData">>,
  ): PingModel {
    return new PingModel(config, registry, weights, 0, options);
  }

  get weights(): Map<string, TensorArray> {
    return this.#adapted.weights;
  }

  get trainingData(): TrainingData {
    return this.#adapted.trainingData;
  }

  /** The places that may be queried by name; undefined if the model was trained without. */
  get places(): PlaceIndex | undefined {
    const table = this.#placedRows?.places;
    if (table && table.numSites + table.numRanges.networks > 0) {
      this.#places ??= new PlaceIndex(table, (address) => this.isMisplaced(address));
    }
    return this.#places;
  }

  /** Whether training found that an address is not where the databases say. @param address 4 or 16 bytes. */
  isMisplaced(address: Uint8Array): boolean {
    return (this.#placedRows?.isMisplaced(address) || this.#pool?.isMoved(address)) ?? false;
  }

  get #placedRows(): AddressEmbeddings | undefined {
    if (!this.config.places) return undefined;
    const { weights } = this;
    if (this.#placed?.weights !== weights) {
      const rows = new AddressEmbeddings(this.config);
      rows.load(weights);
      this.#placed = { weights, rows };
    }
    return this.#placed.rows;
  }

  /** The kind of {@link basisOf} at a fraction of its cost. */
  basisKindOf({ source, destination }: Pick<PrefixQuery, "source" | "destination">): BasisKind {
    return basisKindOf(this.trainingData, source, destination);
  }

  /** The measurements behind an answer. @param query `timeS`: the time asked about (default: any). */
  basisOf(
    { source, destination, timeS = null, context, probe }:
      & Pick<PrefixQuery, "source" | "destination" | "probe">
      & Partial<{ readonly timeS: number | null; readonly context: readonly TokenMeasurement[] | null }>,
  ): Basis {
    const basis = basisOf(this.trainingData, source, destination, {
      placeOf: (address) => this.places && placeText(this.places.describe(address)),
      isMisplaced: (address) => this.isMisplaced(address),
    });
    const isPair = isAddress(source) && isAddress(destination);
    const ends = { source: source.bytes, destination: destination.bytes };
    const rtts = isPair ? this.#pool?.newestRtts(ends.source, ends.destination) : undefined;
    const ofContext = isPair ? context?.filter((each) => isOfPair(each, ends)) ?? [] : [];
    const times = [...rtts ?? [], ...ofContext].map(({ timeS }) => timeS ?? 0);
    const pairS = Math.max(0, basis.pair.lastS ?? 0, ...times) || null;
    const { summary, adaptation } = this.trainingData;
    const ofProbe = probe === undefined ? "" : ` Probe ${probe}: ${this.#measuredBy(probe, destination)}.`;
    return {
      ...basis,
      text: basis.text + ofProbe,
      rtts,
      moment: momentOf(timeS, { of: [summary, adaptation?.summary], pairS }),
    };
  }

  #measuredBy(probe: number, destination: IpPrefix): string {
    const { numAddresses = 0, measurements = 0 } = this.#pool?.measuredBy(probe, destination.bytes) ?? {};
    const known = knownCount(numAddresses);
    return isAddress(destination) ? `${known}, ${measurements} measurements with the destination` : known;
  }

  /** The remembered measurements of a pair of single addresses; undefined if there are none. */
  measured(
    { source, destination }: Pick<PrefixQuery, "source" | "destination">,
  ): PairMeasurements | undefined {
    if (!isAddress(source) || !isAddress(destination)) return undefined;
    return this.#pool?.measured(source.bytes, destination.bytes);
  }

  get gpu(): Gpu {
    return this.registry.gpu;
  }

  /**
   * The exact distribution of the RTT between two addresses, given as bytes or as text.
   *
   * @throws {UserError} If the addresses are invalid, differ in version, or do not fit the model's sequence.
   */
  async rttDistribution(query: RttQuery | RttQuestion): Promise<RttDistribution> {
    return (await this.rttDistributions([query]))[0];
  }

  /**
   * {@link rttDistribution} for many queries, in order; several times faster than one at a time. A
   * distribution takes 0.5 MB, so split tens of thousands of queries.
   */
  async rttDistributions(queries: readonly (RttQuery | RttQuestion)[]): Promise<RttDistribution[]> {
    const parsed = queries.map((query) => "source" in query ? query : parseAddressQuestion(query));
    const results: RttDistribution[] = [];
    await this.likelyRttDistributions(parsed, (distribution) => results.push(distribution.copy()));
    return results;
  }

  /**
   * {@link rttDistributions} at a fraction of the cost: only some first bytes are continued. The probability
   * of each other first byte is spread evenly over its codes.
   *
   * @param take Receives each distribution, in order. It is valid until `take` returns; `copy()` keeps it.
   * @param options The parts that must be exact (default: all); `noPool`: as that of the model.
   */
  async likelyRttDistributions(
    queries: readonly RttQuery[],
    take: TakeDistribution,
    options?: LikelyOptions & { readonly noPool?: boolean },
  ): Promise<void> {
    const { config: { sequenceLength }, calibration } = this;
    const asked = {
      prompts: queries.map((query) => Uint16Array.of(...encodeQuery(query, sequenceLength), RTT_START)),
      recents: queries.map(({ recent }) =>
        recent?.flatMap(({ rttCode, timeS }) => rttCode === null ? [] : [{ rttCode, timeS }])
      ),
      poolOf: (index: number) => options?.noPool ? undefined : this.pooled(queries[index]),
    };
    const corrected: TakeDistribution = (raw, index, mixedWith) =>
      take(calibration?.apply(raw, this.#corrected) ?? raw, index, (change) => {
        const other = mixedWith(change);
        return calibration?.apply(other) ?? other;
      });
    const ofRaw = options && "quantilesOfEach" in options && calibration
      ? {
        quantilesOfEach: options.quantilesOfEach.map((shares) =>
          shares.map((share) => calibration.levelOf(share))
        ),
      }
      : options;
    await rttDistributions(this.decoders, asked, corrected, ofRaw);
  }

  /**
   * The simple forecast of a query, cut below the RTT of light between its places; undefined without either.
   *
   * @param rttCode The result, if known: one that is too fast shows that a place is wrong.
   * @internal
   */
  pooled(query: RttQuery, rttCode: number | null = null): PooledForecast | undefined {
    const { source, destination, isOfPlaces = false } = query;
    const context = contextThatFits(query, this.config.sequenceLength);
    const floorMs = this.#placedRows?.floorMs(source, destination) ?? 0;
    const [question, floor] = [{ ...query, context }, { floorMs, rttCode, isOfPlaces }];
    if (this.#pool) return this.#pool.forecast(question, floor);
    return this.#isAlone ? undefined : forecastOfModel(question, floor);
  }

  /**
   * Fits the embeddings and coordinates of addresses to measurements, with everything else frozen. Later
   * answers use them.
   *
   * @param measurements As tokens, or as text such as `{ src: "192.0.2.1", dst: "198.51.100.7", rtt: 12.5 }`.
   * @throws {UserError} If the model has no address embeddings, or a measurement is invalid.
   */
  async adapt(
    measurements: readonly (TokenMeasurement | QuestionMeasurement)[],
    options: Omit<AdaptOptions, "adapted"> = {},
  ): Promise<Adaptation> {
    const parsed = measurements.map((each) => "source" in each ? each : parseMeasurement(each));
    const adaptation = await this.#adapted.fit(this.registry, parsed, options);
    const { weights, pool } = this.#adapted;
    if (this.#pool && pool) this.#pool = new Pool(this.config, { weights, pool });
    await this.decoders.reload();
    return adaptation;
  }

  /** Frees the GPU. */
  close(): void {
    this.gpu.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
