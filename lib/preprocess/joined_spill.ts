/**
 * Spill files that were written side by side, one per thread, read as one: file i holds rows that came before
 * those of file i + 1, so the rows of a partition keep the order of the input.
 *
 * @module
 */
import { type SpilledRows, type SpillIndex, SpillReader, type StoredBlock } from "./spill.ts";
import type { SpillColumn } from "./spill_block.ts";

/** A finished spill file. */
export interface SpillPart {
  path: string;
  index: SpillIndex;
}

/** Reads the partitions of several spill files. */
export class JoinedSpill implements SpilledRows {
  readonly #readers: SpillReader[] = [];
  readonly index: { numRows: number[] };

  /**
   * Opens the files.
   *
   * @param parts In the order of their rows.
   * @throws {UserError} If a file does not exist or has another size than its index says.
   */
  constructor(parts: readonly SpillPart[], readonly schema: readonly SpillColumn[]) {
    try {
      for (const { path, index } of parts) this.#readers.push(SpillReader.open(path, schema, index));
    } catch (error) {
      this.close();
      throw error;
    }
    const numPartitions = parts[0].index.numRows.length;
    this.index = {
      numRows: Array.from(
        { length: numPartitions },
        (_, partition) => parts.reduce((sum, { index }) => sum + index.numRows[partition], 0),
      ),
    };
  }

  /** The partition's blocks, file after file. */
  blocks(partition: number): StoredBlock[] {
    return this.#readers.flatMap((reader) => reader.blocks(partition));
  }

  /** Closes the files. */
  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
