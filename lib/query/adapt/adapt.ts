/**
 * Adapts a model to measurements of some addresses: locates those unknown to training and fits the rows of
 * all. Nothing else changes.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { type TensorArray, tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import type { KernelRegistry } from "../../tensor/registry.ts";
import { EMBEDDING_KEYS, type ModelConfig, modelShapes } from "../../model/model_config.ts";
import {
  EMBEDDING_VALUES,
  type EmbeddingUpdate,
  embeddingUpdateOf,
  withEmbeddingUpdate,
} from "../../model/embedding_update.ts";
import { withMeasurements } from "../../model/pool/pair_memory.ts";
import { withPairs } from "../../model/pool/measured_pairs.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { ADAPT_DEFAULTS } from "./adapt_defaults.ts";
import { fitFreeRows, type FitOptions } from "./fit.ts";
import {
  type AdaptedParts,
  type FreeRows,
  freeRowsOf,
  type RowModel,
  unknownAddresses,
  usesAddress,
} from "./free_rows.ts";
import {
  AddressCounts,
  type MeasuredData,
  NO_DATA,
  type TrainingData,
} from "../../data/addresses/known_addresses.ts";

/** Options for {@link adapt}. */
export interface AdaptOptions extends Partial<FitOptions> {
  /** Called after each address to locate, with the number done and the total. */
  onLocated?: (done: number, total: number) => void;
  /** Addresses whose rows may change, as `formatAddress` writes them (default: those unknown to training). */
  readonly addresses?: readonly string[];
  /** Rows and nodes changed by earlier adaptations. */
  readonly adapted?: AdaptedParts;
}

/** The result of {@link adapt}. */
export interface Adaptation {
  /** The changed rows and coordinates; empty if there was nothing to fit. */
  readonly update: EmbeddingUpdate;
  /** The fitted addresses. */
  readonly addresses: readonly string[];
  /** Addresses without a row because the table was full. */
  readonly withoutRow: readonly string[];
  /** Measurements that the rows were fitted to. */
  readonly numMeasurements: number;
  /** Measurements without a reply, which are not used. */
  readonly numFailed: number;
  /** Mean loss over the two bytes of an RTT before the fit, nats; null if nothing was fitted. */
  readonly lossBefore: number | null;
  /** The same after the fit. */
  readonly lossAfter: number | null;
}

/**
 * Fits the address embeddings to measurements and computes coordinates for addresses unknown to training. If
 * an address is adapted again, its coordinates depend on the new measurements only.
 *
 * @param measurements In any order. Measurements without a fitted address are ignored.
 * @throws {UserError} If the model has no address embeddings, or the fit fails.
 */
export async function adapt(
  registry: KernelRegistry,
  model: RowModel,
  measurements: readonly TokenMeasurement[],
  options: AdaptOptions = {},
): Promise<Adaptation> {
  requireRows(model);
  const replies = measurements.filter(({ rttCode }) => rttCode !== null);
  const {
    adapted = { rows: new Set(), nodes: new Set() },
    addresses = unknownAddresses(model, replies, adapted.rows),
    onLocated,
    ...fit
  } = options;
  const plan = await freeRowsOf(model, replies, {
    addresses: new Set(addresses),
    adapted,
    signal: fit.signal,
    ...(onLocated && { onLocated }),
  });
  const numFailed = measurements.length - replies.length;
  const said = { addresses: plan.addresses, withoutRow: plan.withoutRow, numFailed };
  if (plan.free.length === 0) {
    const update = changedParts(model, plan, new Float32Array());
    return { ...said, update, numMeasurements: 0, lossBefore: null, lossAfter: null };
  }
  const { values, lossBefore, lossAfter } = await fitFreeRows(registry, model, plan, {
    ...ADAPT_DEFAULTS,
    ...fit,
  });
  const update = changedParts(model, plan, values);
  return { ...said, update, numMeasurements: plan.measurements.length, lossBefore, lossAfter };
}

/** Returns the fitted rows, new coordinates, and pair histories that include the fitted measurements. */
function changedParts({ config, weights }: RowModel, plan: FreeRows, values: Float32Array): EmbeddingUpdate {
  const { width } = config;
  for (const { source, destination, rttCode, timeS } of plan.measurements) {
    if (rttCode !== null) {
      plan.addressEmbeddings.remember(plan.addressEmbeddings.rowOfPair(source, destination), {
        rttCode,
        timeS,
      });
    }
  }
  const table = tensorOf(weights, EMBEDDING_VALUES, "F32").slice();
  plan.free.forEach(({ row }, i) => table.set(values.subarray(width * i, width * (i + 1)), width * row));
  const changed = new Map<string, TensorArray>(weights).set(EMBEDDING_VALUES, table);
  plan.addressEmbeddings.save(changed);
  return embeddingUpdateOf(
    config,
    changed,
    Uint32Array.from(plan.free, ({ row }) => row).sort(),
    plan.located,
  );
}

/** @throws {UserError} If the model has no address embeddings. */
export function requireRows({ config, weights }: RowModel): void {
  if (modelShapes(config).numAddressEmbeddings > 0 && weights.has(EMBEDDING_KEYS)) return;
  throw new UserError(
    "Cannot adapt the model: it has no address embeddings; train one with " +
      "--set 'model.prefixVectors={\"rows\":65536}'",
  );
}

/** A model whose rows and coordinates were adapted to measurements. */
export class AdaptedModel {
  /** Address embeddings that differ from the base model. */
  readonly rows: Set<number>;
  /** Nodes whose coordinates differ. */
  readonly nodes: Set<number>;

  /** The measurements of all adaptations, including earlier ones; undefined if there are none. */
  adaptation: MeasuredData | undefined;
  /** The tensors of its pool, which remembers the measurements; undefined without a pool. */
  pool: Tensors | undefined;
  readonly #trained: TrainingData;
  /** Counts behind {@link adaptation}; created by the first adaptation. */
  #counts: AddressCounts | undefined;
  /** Ensures that a measurement fitted repeatedly, as in `adapt --follow`, counts once. */
  readonly #counted = new WeakSet<TokenMeasurement>();
  /** The same for the pool. */
  readonly #remembered = new WeakSet<TokenMeasurement>();

  /** @param options What earlier adaptations changed, and what the model was trained on and adapted to. */
  constructor(
    readonly config: ModelConfig,
    public weights: Map<string, TensorArray>,
    { adapted, pool, trainingData = NO_DATA }: {
      adapted?: AdaptedParts | undefined;
      pool?: Tensors | undefined;
      trainingData?: TrainingData | undefined;
    } = {},
  ) {
    this.rows = new Set(adapted?.rows);
    this.nodes = new Set(adapted?.nodes);
    this.pool = pool;
    this.#trained = trainingData;
    this.adaptation = trainingData.adaptation;
  }

  get trainingData(): TrainingData {
    return { ...this.#trained, adaptation: this.adaptation };
  }

  /** Adapts the model to measurements. @throws {UserError} See {@link adapt}. */
  async fit(
    registry: KernelRegistry,
    measurements: readonly TokenMeasurement[],
    options: Omit<AdaptOptions, "adapted">,
  ): Promise<Adaptation> {
    const adaptation = await adapt(registry, this, measurements, { ...options, adapted: this });
    this.weights = withEmbeddingUpdate(this.config, this.weights, adaptation.update);
    for (const row of adaptation.update.rows) this.rows.add(row);
    for (const node of adaptation.update.coordinates.nodes) this.nodes.add(node);
    this.#remember(measurements);
    this.#count(measurements, adaptation);
    return adaptation;
  }

  #remember(measurements: readonly TokenMeasurement[]): void {
    const fresh = measurements.filter((measurement) => !this.#remembered.has(measurement));
    if (!this.pool || fresh.length === 0) return;
    for (const measurement of fresh) this.#remembered.add(measurement);
    this.pool = withPairs(withMeasurements(this.pool, fresh), fresh);
  }

  /** Counts the replies that rows were fitted to, skipping addresses without a row, which learned nothing. */
  #count(measurements: readonly TokenMeasurement[], { addresses, withoutRow }: Adaptation): void {
    const [fitted, left] = [new Set(addresses), new Set(withoutRow)];
    const counts = this.#counts ??= this.adaptation ? AddressCounts.of(this.adaptation) : new AddressCounts();
    for (const measurement of measurements) {
      const { source, destination, rttCode, timeS } = measurement;
      if (rttCode === null || this.#counted.has(measurement)) continue;
      if (!usesAddress(measurement, fitted) || usesAddress(measurement, left)) continue;
      this.#counted.add(measurement);
      counts.add(counts.id(source), counts.id(destination), timeS);
    }
    const summary = counts.summary({ origin: "", isSynthetic: null });
    if (summary.measurements > 0) this.adaptation = { summary, known: counts.table() };
  }
}
