/**
 * A model that is adapted, also repeatedly, and counts what it is adapted to.
 *
 * @module
 */
import { AddressCounts, type MeasuredData, type TrainingData } from "../../data/addresses/known_addresses.ts";
import type { KernelRegistry } from "../../tensor/registry.ts";
import type { ModelConfig } from "../../model/model_config.ts";
import { withEmbeddingUpdate } from "../../model/embedding_update.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { adapt, type Adaptation, type AdaptOptions } from "./adapt.ts";
import { type AdaptedParts, usesAddress } from "./free_rows.ts";

/** A model whose rows and coordinates are adapted to measurements. */
export class AdaptedModel {
  /** The address embeddings that differ from the base's. */
  readonly rows: Set<number>;
  /** The nodes whose coordinates differ. */
  readonly nodes: Set<number>;

  /** The measurements that it was adapted to, also before; undefined if there are none. */
  adaptation: MeasuredData | undefined;
  readonly #trained: TrainingData | undefined;
  /** The counts of {@link adaptation}; made when the model is adapted for the first time. */
  #counts: AddressCounts | undefined;
  /** A measurement that is fitted again, as `adapt --follow` does, counts once. */
  readonly #counted = new WeakSet<TokenMeasurement>();

  /**
   * Begins with a model.
   *
   * @param weights Parameters by name, row-major.
   * @param options `adapted`: what earlier adaptations changed (nothing); `trainingData`: what it was trained on, and
   *   adapted to before (not known).
   */
  constructor(
    readonly config: ModelConfig,
    public weights: Map<string, Float32Array>,
    { adapted, trainingData }: {
      adapted?: AdaptedParts | undefined;
      trainingData?: TrainingData | undefined;
    } = {},
  ) {
    this.rows = new Set(adapted?.rows);
    this.nodes = new Set(adapted?.nodes);
    this.#trained = trainingData;
    this.adaptation = trainingData?.adaptation;
  }

  /** The data that the model was trained on and adapted to; undefined if the training data are not known. */
  get trainingData(): TrainingData | undefined {
    return this.#trained && { ...this.#trained, adaptation: this.adaptation };
  }

  /** Adapts the model to measurements. @throws {UserError} As {@link adapt}. */
  async fit(
    registry: KernelRegistry,
    measurements: readonly TokenMeasurement[],
    options: Omit<AdaptOptions, "adapted">,
  ): Promise<Adaptation> {
    const adaptation = await adapt(registry, this, measurements, { ...options, adapted: this });
    this.weights = withEmbeddingUpdate(this.config, this.weights, adaptation.update);
    for (const row of adaptation.update.rows) this.rows.add(row);
    for (const node of adaptation.update.coordinates.nodes) this.nodes.add(node);
    this.#count(measurements, adaptation);
    return adaptation;
  }

  /** Counts the replies that rows were fitted to. An address without a row learned nothing of them. */
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
