/**
 * Reads the Parquet files of any program as tables (`table.ts`): names and units of columns, addresses that
 * are not in the file and losses told beside the RTT are those of CSV.
 *
 * @module
 */
import { FormatError } from "../../base/errors.ts";
import type { ReadingOptions } from "../formats/format.ts";
import type { Found } from "../formats/reader.ts";
import type { Reading } from "../formats/reading.ts";
import { columnsFault, type Layout, layoutOf, TableRows } from "../formats/table.ts";
import type { TimeUnit } from "../formats/time_text.ts";
import { NumberCursor, type Piece, TextCursor } from "../../io/parquet/column.ts";
import { type NumberKind, timeKind } from "../../io/parquet/encodings.ts";
import { ParquetFile, type RowGroupRange } from "../../io/parquet/file.ts";
import { TextPool } from "../../io/parquet/text_pool.ts";
import { isNumber, isText } from "./parquet_reader.ts";

const BATCH_ROWS = 8192;
const MAX_CACHED_TEXTS = 1 << 18;
const KINDS: Record<TimeUnit, NumberKind> = {
  seconds: "seconds",
  milliseconds: "millis",
  microseconds: "micros",
  nanoseconds: "nanos",
};

/** The values of a column in the next rows; NaN or null if absent. */
type ReadValues = (numRows: number) => ArrayLike<unknown>;

/**
 * How a file that this program wrote is read, which `parquet_reader.ts` does without making rows.
 *
 * @returns Undefined for other files, and if columns are named.
 * @throws {FormatError} If it is not Parquet or is damaged.
 */
export async function ownReading(path: string, options: ReadingOptions): Promise<Reading | undefined> {
  using file = await ParquetFile.open(path);
  const isOwn = file.metadata.created_by?.startsWith("ping-llm ") && options.columns === undefined;
  return isOwn ? readableLayout(file, options).reading : undefined;
}

/**
 * The findings in a Parquet file, some rows at a time. The `line` of each is the number of its row, from 1.
 *
 * @throws {FormatError} If it is not Parquet, is damaged, or its columns are not those of measurements.
 */
export async function* readParquetTable(path: string, options: ReadingOptions): AsyncGenerator<Found[]> {
  using file = await ParquetFile.open(path);
  const layout = readableLayout(file, options);
  // The numbers of a time column are converted to seconds.
  const inSeconds: Layout = { ...layout, timeUnit: "seconds" };
  options.onReading?.(layout.reading);
  const rows = new TableRows(options);
  const pool = new TextPool();
  let found: Found[] = [];
  let line = 0;
  for (const group of file.rowGroups) {
    const columns = openColumns(file, layout, { group, pool }, options);
    for (let left = group.numRows; left > 0; left -= BATCH_ROWS) {
      const numRows = Math.min(BATCH_ROWS, left);
      pool.trim(MAX_CACHED_TEXTS);
      const pieces = columns.map(({ field, read }) => ({ field, values: read(numRows) }));
      const fields: unknown[] = [];
      for (let row = 0; row < numRows; row++) {
        line++;
        for (const { field, values } of pieces) {
          fields[field] = Number.isNaN(values[row]) ? null : values[row];
        }
        rows.read(fields, inSeconds, (finding) => found.push({ finding, line }));
      }
      yield found;
      found = [];
    }
  }
  rows.end(path, (finding) => found.push({ finding, line }));
  yield found;
}

/** The layout of a file without the columns that no role needs and that are neither numbers nor text. */
function readableLayout(file: ParquetFile, options: ReadingOptions): Layout {
  const names = file.columnNames;
  const layout = layoutOf(names, options);
  if (layout.fault) throw new FormatError(columnsFault(names, layout.fault), { path: file.path });
  const isReadable = (field: number) => {
    const element = file.column(names[field]);
    return element !== undefined && (isText(element) || isNumber(element));
  };
  // A state is a word, so other types are ignored. A flag of another type may tell a loss.
  const signals = layout.signals.filter(({ field, kind }) =>
    isReadable(field) || !["state", "word", "code"].includes(kind)
  );
  const others = layout.others.filter((field) => {
    const element = file.column(names[field]);
    return element !== undefined && isText(element);
  });
  return { ...layout, signals, others, reading: { ...layout.reading, format: "parquet" } };
}

function openColumns(
  file: ParquetFile,
  layout: Layout,
  { group, pool }: { group: RowGroupRange; pool: TextPool },
  { zone }: ReadingOptions,
): { field: number; read: ReadValues }[] {
  const { names, at, rtts, signals, integers, others } = layout;
  const fields = new Set([...Object.values(at), ...integers, ...others]);
  for (const { field } of [...rtts, ...signals]) fields.add(field);
  fields.delete(-1);
  return [...fields].map((field) => {
    const element = file.column(names[field]) ?? { name: names[field] };
    const kind = timeKind(element);
    const isTime = field === at.time;
    if (isText(element)) {
      const cursor = new TextCursor(file.source, file.chunk(names[field], group), pool);
      return { field, read: (numRows) => textsOf(cursor.read(numRows)) };
    }
    if (!isNumber(element) && !(isTime && kind)) {
      const found = element.logical_type?.type ?? element.converted_type ?? element.type;
      throw new FormatError(
        `column ${names[field]} is of type ${found}, expected numbers or text; convert the column`,
        { path: file.path },
      );
    }
    const timeUnit = kind ?? KINDS[layout.timeUnit];
    const cursor = new NumberCursor(
      file.source,
      file.chunk(names[field], group),
      isTime ? timeUnit : "number",
    );
    const isNaive = element.logical_type?.type === "TIMESTAMP" && !element.logical_type.isAdjustedToUTC;
    const isLocal = isNaive && (zone !== undefined || at.zone >= 0);
    const read = (numRows: number) => {
      const { values } = cursor.read(numRows);
      if (!isTime) return values;
      return isLocal ? Array.from(values, localText) : values.map((timeUs) => timeUs / 1e6);
    };
    return { field, read };
  });
}

function textsOf({ values, isNull }: Piece<string[]>): (string | null)[] {
  return isNull ? values.map((text, row) => isNull[row] ? null : text) : values;
}

/** ISO 8601 without a zone, which is in another column or given. */
function localText(timeUs: number): string | null {
  const date = new Date(Math.floor(timeUs / 1000));
  if (Number.isNaN(date.getTime())) return null;
  return date.toISOString().replace("Z", String(timeUs % 1000).padStart(3, "0"));
}
