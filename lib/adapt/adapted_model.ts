/**
 * A model that is adapted, also repeatedly.
 *
 * @module
 */
import type { KernelRegistry } from "../gpu/registry.ts";
import type { ModelConfig } from "../model/model_config.ts";
import { withRowDelta } from "../model/row_delta.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import { adapt, type Adaptation, type AdaptOptions } from "./adapt.ts";
import type { AdaptedParts } from "./free_rows.ts";

/** A model whose rows and coordinates are adapted to measurements. */
export class AdaptedModel {
  /** The learned rows that differ from the base's. */
  readonly rows: Set<number>;
  /** The nodes whose coordinates differ. */
  readonly nodes: Set<number>;

  /**
   * Begins with a model.
   *
   * @param weights Parameters by name, row-major.
   * @param adapted What earlier adaptations changed (nothing).
   */
  constructor(
    readonly config: ModelConfig,
    public weights: Map<string, Float32Array>,
    adapted?: AdaptedParts,
  ) {
    this.rows = new Set(adapted?.rows);
    this.nodes = new Set(adapted?.nodes);
  }

  /** Adapts the model to measurements. @throws {UserError} As {@link adapt}. */
  async fit(
    registry: KernelRegistry,
    measurements: readonly TokenMeasurement[],
    options: Omit<AdaptOptions, "adapted">,
  ): Promise<Adaptation> {
    const adaptation = await adapt(registry, this, measurements, { ...options, adapted: this });
    this.weights = withRowDelta(this.config, this.weights, adaptation.delta);
    for (const row of adaptation.delta.rows) this.rows.add(row);
    for (const node of adaptation.delta.coordinates.nodes) this.nodes.add(node);
    return adaptation;
  }
}
