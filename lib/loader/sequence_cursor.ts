/**
 * The endless stream of sequences: block after block, epoch after epoch.
 *
 * @module
 */
import { ensure, UserError } from "../errors.ts";
import type { SequenceBlock } from "./batch.ts";
import { blockAfter } from "./blocks.ts";

/** A place in the stream of sequences; plain JSON. */
export interface DataPosition {
  /** Passes over all rows, from 0. */
  epoch: number;
  /** Block of rows within the epoch. */
  block: number;
  /** Sequence within the block. */
  sequence: number;
}

/** The stream's beginning. */
export const STREAM_START: Readonly<DataPosition> = { epoch: 0, block: 0, sequence: 0 };

/** Where blocks come from. */
export interface BlockStream {
  /** The file or folder that rows come from, for error messages. */
  path: string;
  /** Rows of a block. */
  blockRows: number;
  /** Blocks of an epoch; the last can have fewer rows. */
  numBlocks: number;
  /** The blocks, without end, from that of the first position on. */
  blocks: Iterator<SequenceBlock> | AsyncIterator<SequenceBlock>;
  /** Buffers of blocks that are used up; further blocks are made in them. */
  spent: SharedArrayBuffer[];
}

/** Walks over the sequences of blocks and epochs. */
export class SequenceCursor {
  #position: DataPosition;
  #current: SequenceBlock | undefined;

  /**
   * @param stream Gives the blocks.
   * @param position Where to start.
   * @throws {UserError} If the source has no such position.
   */
  constructor(readonly stream: BlockStream, position: DataPosition) {
    const { epoch, block, sequence } = position;
    const isPlace = [epoch, block, sequence].every((n) => Number.isSafeInteger(n) && n >= 0);
    if (!isPlace || block >= stream.numBlocks) throw this.#noSuchPosition(position);
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
  async next(): Promise<{ block: SequenceBlock; index: number }> {
    if (!this.#current) {
      this.#current = await this.#take();
      if (this.#position.sequence > this.#current.numSequences) throw this.#noSuchPosition(this.#position);
    }
    let numEmptyBlocks = 0;
    while (this.#position.sequence >= this.#current.numSequences) {
      if (this.#current.numSequences === 0 && ++numEmptyBlocks > this.stream.numBlocks) {
        throw new UserError(
          `Cannot read ${this.stream.path}: no measurement in its rows; make the probe rows again`,
        );
      }
      this.#position = { ...blockAfter(this.#position, this.stream.numBlocks), sequence: 0 };
      this.#current = await this.#take();
    }
    return { block: this.#current, index: this.#position.sequence++ };
  }

  async #take(): Promise<SequenceBlock> {
    if (this.#current) this.stream.spent.push(this.#current.buffer);
    const { value, done } = await this.stream.blocks.next();
    ensure(!done, "the stream of blocks has ended");
    return value;
  }

  #noSuchPosition(position: DataPosition): UserError {
    return new UserError(
      `Cannot resume at data position ${JSON.stringify(position)}: not a place in ${this.stream.path}; ` +
        "resume with the data and loader options that the checkpoint was made with",
    );
  }
}
