/** `import --explain`: how the beginning of a file is read, row by row. @module */
import { faultText, shortened } from "../../base/errors.ts";
import { formatTable } from "../../base/text_table.ts";
import { openInput } from "../../io/compression/decompress.ts";
import { ToUtf8 } from "../../io/text/utf8.ts";
import { FAILED_RTT_MS } from "../formats/batch.ts";
import type { Finding, ReadingOptions } from "../formats/format.ts";
import { type Found, MeasurementReader } from "../formats/reader.ts";
import { isArchive, isParquet, readMembers } from "../measurement_files/input_files.ts";
import { readParquetTable } from "../measurement_files/parquet_table.ts";
import { trueAdvice } from "../measurement_files/rejects.ts";

const NUM_ROWS = 5;
/** How much of a (decompressed) text is read for the first rows. */
const MAX_BYTES = 1 << 20;
const MAX_LINE_LENGTH = 60;

/** A row, or why there is none, beside what it was read from. */
export interface ExplainedRow {
  /** From 1; in Parquet the number of the row. */
  line: number;
  /** The line as it is in the file, shortened; empty for Parquet. */
  text: string;
  /** ISO 8601 in UTC; null if the text contains no times. */
  time?: string | null;
  src?: string;
  dst?: string;
  /** ms, or null for no reply. */
  rtt?: number | null;
  /** Why the line has no row. */
  left_out?: string;
}

/**
 * Reads the beginning of a file up to its first rows; of lines without a row, the first for each reason.
 *
 * @throws {UserError} If it cannot be read.
 */
export async function explainFile(path: string, options: ReadingOptions): Promise<ExplainedRow[]> {
  if (isParquet(path)) {
    for await (const found of readParquetTable(path, options)) return explained(found, [], options);
  }
  const archive = isArchive(path) ? readMembers(path, { reading: options }) : undefined;
  const { compression, chunks } = (await archive?.next())?.value ?? await openInput(path);
  const found: Found[] = [];
  const take = (finding: Finding, line: number) => void found.push({ finding, line });
  const reader = new MeasurementReader(path, { ...options, isCompressed: compression !== "none" }, take);
  const [toUtf8, decoder] = [new ToUtf8(), new TextDecoder()];
  let text = "";
  let isWhole = true;
  for await (const chunk of chunks) {
    text += decoder.decode(toUtf8.push(chunk.slice()), { stream: true });
    reader.push(chunk);
    isWhole = text.length < MAX_BYTES &&
      found.filter(({ finding }) => "srcAddr" in finding).length < NUM_ROWS;
    if (!isWhole) break;
  }
  if (isWhole) reader.end();
  await archive?.return(undefined);
  return explained(found, text.split(text.includes("\n") ? "\n" : "\r"), options);
}

/** @param lines The text of the file; empty for Parquet. */
function explained(
  found: readonly Found[],
  lines: readonly string[],
  options: ReadingOptions,
): ExplainedRow[] {
  const reasons = new Set<string>();
  const rows: ExplainedRow[] = [];
  for (const { finding, line } of found) {
    const place = { line, text: shortened((lines[line - 1] ?? "").trim(), MAX_LINE_LENGTH) };
    if ("srcAddr" in finding) rows.push(...rowsOf(finding).map((row) => ({ ...place, ...row })));
    else {
      const reason = "skipped" in finding ? "skipped" : finding.reason;
      if (reasons.has(reason)) continue;
      reasons.add(reason);
      const why = "skipped" in finding
        ? `says nothing about a path: ${finding.skipped}`
        : `rejected: ${finding.reason}, ${faultText(trueAdvice(finding, options))}`;
      rows.push({ ...place, left_out: why });
    }
    if (rows.filter((row) => row.src !== undefined).length >= NUM_ROWS) break;
  }
  return rows;
}

type RowFacts = Pick<Extract<Finding, { srcAddr: string }>, "eventTimeUs" | "srcAddr" | "dstAddr" | "rttsMs">;

function rowsOf({ eventTimeUs, srcAddr: src, dstAddr: dst, rttsMs }: RowFacts): Partial<ExplainedRow>[] {
  const time = Number.isNaN(eventTimeUs) ? null : new Date(eventTimeUs / 1000).toISOString();
  return rttsMs.map((rttMs) => ({ time, src, dst, rtt: rttMs === FAILED_RTT_MS ? null : rttMs }));
}

/** A table of the rows beside their lines. */
export function explainedText(rows: readonly ExplainedRow[]): string {
  const cells = rows.map(({ line, text, time, src = "", dst = "", rtt, left_out }) =>
    left_out !== undefined ? [String(line), text, left_out] : [
      String(line),
      text,
      time ?? "no time",
      src,
      dst,
      rtt === null ? "no reply" : `${+(rtt ?? 0).toFixed(6)} ms`,
    ]
  );
  const heading = ["line", "text", "time (UTC)", "source", "destination", "RTT"];
  // Reasons are long, and have no columns after them.
  const table = formatTable([heading, ...cells.map((row) => row.length === 3 ? row.slice(0, 2) : row)], {
    left: [1, 2, 3, 4],
  });
  return table.split("\n").map((line, i) =>
    i > 0 && cells[i - 1].length === 3 ? `${line}  ${cells[i - 1][2]}` : line
  )
    .join("\n");
}
