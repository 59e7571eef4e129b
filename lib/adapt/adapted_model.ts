/**
 * A checkpoint that is adapted, perhaps again and again, and what of it differs from its base.
 *
 * @module
 */
import type { KernelRegistry } from "../gpu/registry.ts";
import type { ModelConfig } from "../model/config.ts";
import { rowDeltaOf, withRowDelta } from "../model/row_delta.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import { type AdaptedFrom, baseOf, writeDelta } from "../train/adapted_checkpoint.ts";
import type { LoadedCheckpoint } from "../train/checkpoint.ts";
import { adapt, type Adaptation, type AdaptOptions, requireRows } from "./adapt.ts";

/** A model whose rows follow measurements. */
export class AdaptedModel {
  readonly config: ModelConfig;
  /** Everything that does not change. */
  readonly base: AdaptedFrom;
  /** The rows of addresses that differ from the base's. */
  readonly rows: Set<number>;
  #weights: Map<string, Float32Array>;

  /**
   * Begins with a checkpoint.
   *
   * @throws {UserError} If its model has no rows of addresses.
   */
  constructor(checkpoint: LoadedCheckpoint) {
    this.config = checkpoint.config.model;
    this.#weights = checkpoint.weights;
    requireRows(this);
    this.base = baseOf(checkpoint);
    this.rows = new Set(checkpoint.adapted?.rows);
  }

  /** Parameters by name, row-major. */
  get weights(): Map<string, Float32Array> {
    return this.#weights;
  }

  /** Fits rows to measurements. @throws {UserError} As {@link adapt}. */
  async fit(
    registry: KernelRegistry,
    measurements: readonly TokenMeasurement[],
    options: Omit<AdaptOptions, "adaptedRows">,
  ): Promise<Adaptation> {
    const adaptation = await adapt(registry, this, measurements, { ...options, adaptedRows: this.rows });
    this.#weights = withRowDelta(this.config, this.#weights, adaptation.delta);
    for (const row of adaptation.delta.rows) this.rows.add(row);
    return adaptation;
  }

  /** Writes all that differs from the base. @param path The file. */
  write(path: string): void {
    const rows = Uint32Array.from(this.rows).sort();
    const delta = rowDeltaOf(this.config, this.#weights, rows);
    writeDelta(path, delta, { from: this.base, config: this.config });
  }
}
