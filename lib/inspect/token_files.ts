/**
 * Inspects the token files of `pretokenize`: how many sequences and tokens, how long, and the first ones in words.
 *
 * Such a file says in its footer which vocabulary it has; that tells it from measurements Parquet.
 *
 * @module
 */
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { formatBytes } from "../cli/progress.ts";
import { FormatError, UserError } from "../errors.ts";
import { fingerprint } from "../files/inputs.ts";
import { NumberCursor } from "../measurement/parquet_column.ts";
import { ParquetFile } from "../measurement/parquet_file.ts";
import { Breather } from "../preprocess/stage_hooks.ts";
import { tokenName as v1TokenName } from "../tokens/vocab_v1.ts";
import { tokenName as v2TokenName } from "../tokens/vocab_v2.ts";
import type { Target } from "./detect.ts";
import { distributionAsJson, formatDistribution } from "./format.ts";
import { inspectMeasurements } from "./measurements.ts";
import type { InspectOptions, Report } from "./report.ts";
import { ValueHistogram } from "./value_histogram.ts";

const METADATA_PREFIX = "ping_llm.";
const BATCH_ROWS = 65_536;

/** Inspects Parquet: token files if the first file is one, else measurements. @throws {FormatError} If one is damaged. */
export async function inspectParquet(target: Target, options: InspectOptions): Promise<Report> {
  using first = await ParquetFile.open(target.files[0]);
  return metadataOf(first).vocabulary === undefined
    ? await inspectMeasurements(target, options)
    : await inspectTokenFiles(target, options);
}

/** Reads the lengths of all sequences, and the first sequences. */
async function inspectTokenFiles({ path, files }: Target, options: InspectOptions): Promise<Report> {
  const lengths = new ValueHistogram();
  const samples: string[] = [];
  let metadata: Record<string, string> = {};
  let tokens = 0;
  const breather = new Breather(options);
  for (const name of files) {
    using file = await ParquetFile.open(name);
    const found = metadataOf(file);
    if (name !== files[0] && JSON.stringify(found) !== JSON.stringify(metadata)) {
      throw new FormatError("it is not of the same kind as the first file; inspect them one by one", {
        path: name,
      });
    }
    metadata = found;
    for (const group of file.rowGroups) {
      const cursor = new NumberCursor(file.source, file.chunk("length", group), "number");
      for (let from = 0; from < group.numRows; from += BATCH_ROWS) {
        for (const length of cursor.read(Math.min(BATCH_ROWS, group.numRows - from)).values) {
          lengths.add(length);
          tokens += length;
        }
        options.onProgress?.(lengths.count, name);
        await breather.breathe();
      }
    }
    const numWanted = options.samples - samples.length;
    if (numWanted > 0) samples.push(...await readSamples(file, numWanted, metadata.vocabulary));
  }
  const bytes = files.reduce((sum, name) => sum + fingerprint(name).sizeBytes, 0);
  return {
    kind: "tokens",
    path,
    facts: [
      [
        "sequences",
        `${lengths.count} in ${files.length} file${files.length > 1 ? "s" : ""}, ${formatBytes(bytes)}`,
      ],
      ["tokens", `${tokens}`],
      ["length", formatDistribution(lengths, "tokens")],
      ...Object.entries(metadata).map(([key, value]): [string, string] => [key.replaceAll("_", " "), value]),
    ],
    sections: [{ heading: "first sequences", lines: samples }],
    json: {
      files: files.length,
      bytes,
      sequences: lengths.count,
      tokens,
      lengthTokens: distributionAsJson(lengths),
      metadata,
      samples,
    },
  };
}

/** What the footer says of the tokens; empty for other files. */
function metadataOf(file: ParquetFile): Record<string, string> {
  const entries = (file.metadata.key_value_metadata ?? []).filter(({ key }) =>
    key.startsWith(METADATA_PREFIX)
  );
  return Object.fromEntries(
    entries.map(({ key, value }) => [key.slice(METADATA_PREFIX.length), value ?? ""]),
  );
}

/** The first sequences as `MeasurementStart SrcIpv4 192 0 2 1 …`; bytes as plain numbers. */
async function readSamples(file: ParquetFile, rowEnd: number, vocabulary: string): Promise<string[]> {
  const tokenName = vocabulary === "v1" ? v1TokenName : v2TokenName;
  const { source } = file;
  const rows = await parquetReadObjects({
    file: {
      byteLength: source.sizeBytes,
      slice: (start, end = source.sizeBytes) => source.read(start, end - start).slice().buffer,
    },
    metadata: file.metadata,
    compressors,
    columns: ["tokens"],
    rowEnd: Math.min(rowEnd, file.numRows),
  }).catch((cause: unknown) => {
    if (cause instanceof UserError) throw cause;
    throw new FormatError("column tokens is missing or damaged; make the file again", {
      path: file.path,
      cause,
    });
  });
  return rows.map(({ tokens }) => {
    if (!Array.isArray(tokens)) {
      throw new FormatError("a sequence has no tokens; make it again", { path: file.path });
    }
    return tokens.map((token) => tokenName(Number(token)).replace(/^byte /, "")).join(" ");
  });
}
