/**
 * Reads measurements from Parquet and converts their addresses to keys, once per distinct value.
 *
 * @module
 */
import { readMeasurements, type SourcedBatch } from "../measurement_files/parquet_reader.ts";
import type { OptionalColumn } from "../measurement_files/parquet_writer.ts";
import type { RejectLog } from "../measurement_files/rejects.ts";
import { PerText } from "../../io/parquet/text_pool.ts";
import type { GroupKey } from "./external_sort/probe_columns.ts";
import { SourceKeys } from "./external_sort/keys.ts";
import type { KeyedBatch, SplitMode } from "./splits.ts";

/** Maximum number of keys cached between batches, about 100 bytes each. */
const MAX_KNOWN_KEYS = 500_000;

interface KeyedReadOptions {
  groupBy: GroupKey;
  /** Seed of the hash, u32. */
  seed: number;
  /** Mode `row` requires msm_id in every row of a file that has the column. */
  splitMode: SplitMode | undefined;
  /** Optional columns to read if a file has them. */
  columns: readonly OptionalColumn[];
  /** See {@link readMeasurements}. */
  rowRange?: readonly [first: number, end: number];
  rejects: RejectLog;
}

export interface SourcedKeyedBatch extends KeyedBatch {
  batch: SourcedBatch;
}

/**
 * Reads the measurements of Parquet files with keys, in file order.
 *
 * @throws {FormatError} If a file is not Parquet, is damaged, or lacks a needed column such as prb_id when
 *   grouping by it.
 */
export async function* readKeyed(
  paths: readonly string[],
  options: KeyedReadOptions,
): AsyncGenerator<SourcedKeyedBatch> {
  const required: OptionalColumn[] = options.groupBy === "prb_id" ? ["prbId"] : [];
  const ofSplit: OptionalColumn[] = options.splitMode === "row" ? ["msmId"] : [];
  const columns = [...new Set([...options.columns, ...required, ...ofSplit])];
  const keys = new SourceKeys(options.seed);
  const idByCode = new PerText((length) => new Int32Array(length), (text) => keys.idOfAddress(text));
  const { rejects, rowRange } = options;
  const ifMissing = "use --group-by src_addr, or add the column";
  const read = { rejects, columns, required, neverNull: required, ifMissing, rowRange };
  for await (const batch of readMeasurements(paths, read)) {
    if (keys.trim(MAX_KNOWN_KEYS)) idByCode.clear();
    const { pool, srcCode, dstCode } = batch;
    const srcId = pick(idByCode.of(pool, srcCode), srcCode);
    const dstId = pick(idByCode.of(pool, dstCode), dstCode);
    const isByProbe = options.groupBy === "prb_id" && batch.prbId;
    const groupId = isByProbe ? Uint32Array.from(isByProbe, (id) => keys.idOfProbe(id)) : srcId;
    yield { batch, keys, srcId, dstId, groupId };
  }
}

function pick(valueByCode: Int32Array, codes: Int32Array): Uint32Array {
  const values = new Uint32Array(codes.length);
  for (let row = 0; row < codes.length; row++) values[row] = valueByCode[codes[row]];
  return values;
}
