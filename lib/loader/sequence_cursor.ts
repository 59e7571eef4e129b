/**
 * The endless stream of sequences: block after block, epoch after epoch.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { BlockMaker } from "./blocks.ts";
import type { Sequence } from "./packing.ts";

/** A place in the stream of sequences; plain JSON. */
export interface DataPosition {
  /** Passes over all rows, from 0. */
  epoch: number;
  /** Block of rows within the epoch. */
  block: number;
  /** Sequence within the block. */
  sequence: number;
}

/** Walks over the sequences of blocks and epochs. */
export class SequenceCursor {
  #position: DataPosition;
  #sequences: Sequence[] | undefined;

  /**
   * @param blocks Makes the blocks.
   * @param position Where to start.
   * @throws {UserError} If the source has no such position.
   */
  constructor(readonly blocks: BlockMaker, position: DataPosition = { epoch: 0, block: 0, sequence: 0 }) {
    const { epoch, block, sequence } = position;
    const isPlace = [epoch, block, sequence].every((n) => Number.isSafeInteger(n) && n >= 0);
    if (!isPlace || block >= blocks.numBlocks) {
      throw this.#noSuchPosition(position);
    }
    this.#position = { epoch, block, sequence };
  }

  /** The place of the next sequence. */
  get position(): DataPosition {
    return { ...this.#position };
  }

  /**
   * The next sequence.
   *
   * @throws {FormatError} If a row cannot be read.
   * @throws {UserError} If no row has a measurement.
   */
  next(): Sequence {
    if (!this.#sequences) {
      this.#sequences = this.blocks.make(this.#position.epoch, this.#position.block);
      if (this.#position.sequence > this.#sequences.length) throw this.#noSuchPosition(this.#position);
    }
    let numEmptyBlocks = 0;
    while (this.#position.sequence >= this.#sequences.length) {
      if (this.#sequences.length === 0 && ++numEmptyBlocks > this.blocks.numBlocks) {
        throw new UserError(
          `Cannot read ${this.blocks.source.path}: no measurement in its rows; make the probe rows again`,
        );
      }
      this.#advanceBlock();
      this.#sequences = this.blocks.make(this.#position.epoch, this.#position.block);
    }
    return this.#sequences[this.#position.sequence++];
  }

  #noSuchPosition(position: DataPosition): UserError {
    return new UserError(
      `Cannot resume at data position ${
        JSON.stringify(position)
      }: not a place in ${this.blocks.source.path}; ` +
        "resume with the data and loader options that the checkpoint was made with",
    );
  }

  #advanceBlock(): void {
    const { epoch, block } = this.#position;
    const isLast = block + 1 === this.blocks.numBlocks;
    this.#position = { epoch: isLast ? epoch + 1 : epoch, block: isLast ? 0 : block + 1, sequence: 0 };
  }
}
