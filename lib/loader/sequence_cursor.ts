/**
 * The endless stream of sequences: block after block, epoch after epoch.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { SequenceBlock } from "./batch.ts";
import type { BlockSource } from "./blocks.ts";

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
  #current: SequenceBlock | undefined;

  /**
   * @param blocks Gives the blocks.
   * @param position Where to start.
   * @throws {UserError} If the source has no such position.
   */
  constructor(readonly blocks: BlockSource, position: DataPosition = { epoch: 0, block: 0, sequence: 0 }) {
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
   * The next sequence: its block and its index there.
   *
   * @throws {FormatError} If a row cannot be read.
   * @throws {UserError} If no row has a measurement.
   */
  next(): { block: SequenceBlock; index: number } {
    if (!this.#current) {
      this.#current = this.#make();
      if (this.#position.sequence > this.#current.numSequences) throw this.#noSuchPosition(this.#position);
    }
    let numEmptyBlocks = 0;
    while (this.#position.sequence >= this.#current.numSequences) {
      if (this.#current.numSequences === 0 && ++numEmptyBlocks > this.blocks.numBlocks) {
        throw new UserError(
          `Cannot read ${this.blocks.path}: no measurement in its rows; make the probe rows again`,
        );
      }
      this.#position = { ...blockAfter(this.#position, this.blocks.numBlocks), sequence: 0 };
      this.#current = this.#make();
    }
    return { block: this.#current, index: this.#position.sequence++ };
  }

  #make(): SequenceBlock {
    return this.blocks.make(this.#position.epoch, this.#position.block);
  }

  #noSuchPosition(position: DataPosition): UserError {
    return new UserError(
      `Cannot resume at data position ${JSON.stringify(position)}: not a place in ${this.blocks.path}; ` +
        "resume with the data and loader options that the checkpoint was made with",
    );
  }
}

/** The block after another, in this epoch or the next. */
export function blockAfter(
  { epoch, block }: { epoch: number; block: number },
  numBlocks: number,
): { epoch: number; block: number } {
  return block + 1 === numBlocks ? { epoch: epoch + 1, block: 0 } : { epoch, block: block + 1 };
}
