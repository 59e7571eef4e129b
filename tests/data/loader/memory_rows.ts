import type { ProbeRowSource } from "../../../lib/data/loader/row_source.ts";
import type { ProbeRow } from "../../../lib/data/probe_rows/probe_row.ts";

export class MemoryRowSource implements ProbeRowSource {
  readonly path = "memory";

  /** @param rows The rows. */
  constructor(readonly rows: readonly ProbeRow[]) {}

  get numRows(): number {
    return this.rows.length;
  }

  row(index: number): ProbeRow {
    return this.rows[index];
  }

  numMeasurements(index: number): number {
    return this.rows[index].rttMs.length;
  }
}
