/**
 * A model that is adapted, also repeatedly, and what differs from its base.
 *
 * @module
 */
import type { KernelRegistry } from "../gpu/registry.ts";
import type { ModelConfig } from "../model/model_config.ts";
import { rowDeltaOf, withRowDelta } from "../model/row_delta.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import { baseOf, writeDelta } from "../train/adapted_checkpoint.ts";
import type { AdaptedFrom, LoadedCheckpoint } from "../train/checkpoint_files.ts";
import { adapt, type Adaptation, type AdaptOptions, requireRows } from "./adapt.ts";
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

/** The model of a checkpoint, which can be written as what differs from its base. */
export class AdaptedCheckpoint extends AdaptedModel {
  /** The base, which does not change. */
  readonly base: AdaptedFrom;

  /** Begins with a checkpoint. @throws {UserError} If its model has no rows of addresses. */
  constructor(checkpoint: LoadedCheckpoint) {
    super(checkpoint.config.model, checkpoint.weights, checkpoint.adapted);
    requireRows(this);
    this.base = baseOf(checkpoint);
  }

  /** Writes all that differs from the base. @param path The file. */
  write(path: string): void {
    const [rows, nodes] = [this.rows, this.nodes].map((numbers) => Uint32Array.from(numbers).sort());
    const delta = rowDeltaOf(this.config, this.weights, rows, nodes);
    writeDelta(path, delta, { from: this.base, config: this.config });
  }
}
