/**
 * Inspects the token files of `pretokenize`: the numbers of sequences and tokens, their lengths, and the first
 * sequences as token names.
 *
 * The footer of such a file names its vocabulary; that of measurements Parquet does not.
 *
 * @module
 */
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { formatBytes } from "../text/quantities.ts";
import { FormatError, UserError } from "../errors.ts";
import { fingerprint } from "../files/inputs.ts";
import { NumberCursor } from "../parquet/column.ts";
import { ParquetFile } from "../parquet/file.ts";
import { Breather } from "../threads/stage_hooks.ts";
import { ValueHistogram } from "./histogram.ts";
import { inspectMeasurements } from "./measurements.ts";
import {
  distributionFact,
  type Fact,
  formatFiles,
  type InspectOptions,
  type Report,
  type Target,
} from "./report.ts";
import { wordsOf } from "./token_samples.ts";

const METADATA_PREFIX = "ping_llm.";
const BATCH_ROWS = 65_536;

/** Inspects Parquet: token files if the first file is one, else measurements. @throws {FormatError} If one is damaged. */
export async function inspectParquet(target: Target, options: InspectOptions): Promise<Report> {
  using first = await ParquetFile.open(target.files[0]);
  const metadata = metadataOf(first);
  return metadata.vocabulary === undefined
    ? await inspectMeasurements(target, options)
    : await inspectTokenFiles(target, options, metadata);
}

/** Reads the lengths of all sequences, and the first sequences. */
async function inspectTokenFiles(
  { path, files }: Target,
  options: InspectOptions,
  metadata: Record<string, string>,
): Promise<Report> {
  const lengths = new ValueHistogram();
  const samples: string[] = [];
  let tokens = 0;
  const breather = new Breather(options);
  for (const name of files) {
    using file = await ParquetFile.open(name);
    if (JSON.stringify(metadataOf(file)) !== JSON.stringify(metadata)) {
      throw new FormatError("it is not of the same kind as the first file; inspect them separately", {
        path: name,
      });
    }
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
  const found = `${lengths.count} in ${formatFiles(files.length)}, ${formatBytes(bytes)}`;
  const facts: Fact[] = [
    ["sequences", found, { files: files.length, bytes, sequences: lengths.count }],
    ["tokens", `${tokens}`, { tokens }],
    distributionFact("length", lengths, "tokens", "lengthTokens"),
    ...Object.entries(metadata).map(([key, value]): Fact => [key.replaceAll("_", " "), value, { metadata }]),
  ];
  return { kind: "tokens", path, facts, sections: [["first sequences", samples, { samples }]] };
}

/** The footer's metadata about the tokens; empty for other files. */
function metadataOf(file: ParquetFile): Record<string, string> {
  const entries = (file.metadata.key_value_metadata ?? []).filter(({ key }) =>
    key.startsWith(METADATA_PREFIX)
  );
  return Object.fromEntries(
    entries.map(({ key, value }) => [key.slice(METADATA_PREFIX.length), value ?? ""]),
  );
}

/** The first sequences as token names. */
async function readSamples(file: ParquetFile, rowEnd: number, vocabulary: string): Promise<string[]> {
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
    if (Array.isArray(tokens)) return wordsOf(tokens.map(Number), vocabulary);
    throw new FormatError("a sequence has no tokens; make it again", { path: file.path });
  });
}
