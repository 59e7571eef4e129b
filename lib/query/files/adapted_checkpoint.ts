/**
 * The model of a checkpoint that is adapted, and what differs from its base on disk.
 *
 * @module
 */
import { embeddingUpdateOf } from "../../model/embedding_update.ts";
import { baseOf, writeUpdate } from "../../train/adapted_checkpoint.ts";
import type { AdaptedFrom, LoadedCheckpoint } from "../../train/checkpoint_files.ts";
import { requireRows } from "../adapt/adapt.ts";
import { AdaptedModel } from "../adapt/adapted_model.ts";

/** The model of a checkpoint, which can be written as what differs from its base. */
export class AdaptedCheckpoint extends AdaptedModel {
  /** The base, which does not change. */
  readonly base: AdaptedFrom;

  /** Begins with a checkpoint. @throws {UserError} If its model has no address embeddings. */
  constructor(checkpoint: LoadedCheckpoint) {
    super(checkpoint.config.model, checkpoint.weights, checkpoint);
    requireRows(this);
    this.base = baseOf(checkpoint);
  }

  /** Writes all that differs from the base. @param path The file. */
  write(path: string): void {
    const [rows, nodes] = [this.rows, this.nodes].map((numbers) => Uint32Array.from(numbers).sort());
    const update = embeddingUpdateOf(this.config, this.weights, rows, nodes);
    writeUpdate(path, update, { from: this.base, config: this.config, adaptation: this.adaptation });
  }
}
