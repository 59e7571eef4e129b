/** Inspects measurements Parquet: counts, ranges, RTT quantiles, and rejected rows. @module */
import { formatBytes } from "../../base/text.ts";
import { fingerprint } from "../../io/files/inputs.ts";
import {
  readMeasurements,
  type SourcedBatch,
  surveyInputs,
} from "../../data/measurement_files/parquet_reader.ts";
import { OPTIONAL_COLUMNS } from "../../data/measurement_files/parquet_writer.ts";
import { RejectLog } from "../../data/measurement_files/rejects.ts";
import { NumberCursor } from "../../io/parquet/column.ts";
import { ParquetFile } from "../../io/parquet/file.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { countStepsBack, MeasurementSet, MeasurementTally, splitOf } from "./measurement_tally.ts";
import {
  distributionFact,
  type Fact,
  formatFiles,
  type Histogram,
  type InspectOptions,
  logHistogram,
  type Report,
  type Section,
  type Target,
  ValueHistogram,
} from "./report.ts";
import {
  describeMeasurement,
  sampleTokens,
  type TokenSample,
  tokenSection,
  wordsOf,
} from "./token_samples.ts";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { FormatError, UserError } from "../../base/errors.ts";

const NO_V1_TOKENS = "none of these rows has tokens of v1, which needs msm_id, size and packet_error_count";

/** @throws {FormatError} If a file is damaged or lacks a required column. */
async function inspectMeasurements({ path, files }: Target, options: InspectOptions): Promise<Report> {
  const rejects = new RejectLog();
  const tally = new MeasurementTally();
  const duplicates = new DuplicateRows();
  const pacer = new EventLoopPacer(options);
  const rowsBySplit: Record<string, number> = {};
  const columns = new Set<string>();
  const samples: string[] = [];
  const tokenSamples: TokenSample[] = [];
  let numRows = 0;
  let numBackward = 0;
  const { numRows: numInFiles } = await surveyInputs(files);
  for await (const batch of readMeasurements(files, { rejects })) {
    const { eventTimeUs, srcAddr, dstAddr, rttMs, ipVersion } = batch;
    for (let row = 0; row < batch.numRows; row++) {
      tally.add(eventTimeUs[row], rttMs[row], ipVersion[row]);
      if (samples.length === options.samples) continue;
      samples.push(describeMeasurement(eventTimeUs[row], srcAddr[row], dstAddr[row], rttMs[row]));
      const sample = options.vocabulary && sampleTokens(batch, row, options.vocabulary);
      if (sample) tokenSamples.push(sample);
    }
    for (const code of new Set(batch.srcCode)) tally.sources.add(batch.pool.texts[code]);
    for (const code of new Set(batch.dstCode)) tally.destinations.add(batch.pool.texts[code]);
    duplicates.add(batch);
    numBackward += countStepsBack(eventTimeUs);
    numRows += batch.numRowsRead;
    const split = splitOf(batch.path);
    if (split) rowsBySplit[split] = (rowsBySplit[split] ?? 0) + batch.numRows;
    for (const { key, name } of OPTIONAL_COLUMNS) if (batch[key]) columns.add(name);
    options.onProgress?.(numRows, batch.path);
    await pacer.yieldToEventLoop();
  }
  const scores = await tallyScores(files);
  const bytes = files.reduce((sum, file) => sum + fingerprint(file).sizeBytes, 0);
  const rejected = listOf(rejects.counts);
  const found = `${numInFiles} in ${formatFiles(files.length)}, ${formatBytes(bytes)}`;
  const facts: Fact[] = [
    ["rows", found, { files: files.length, bytes, rows: numInFiles }],
    ["splits", listOf(rowsBySplit) || undefined, { splits: rowsBySplit }],
    ["rejected", `${numInFiles - tally.count}${rejected && ` (${rejected})`}`, { rejected: rejects.counts }],
    ...tally.facts(),
    ["steps back in time", `${numBackward}`, { stepsBackInTime: numBackward }],
    duplicates.fact(),
    ["further columns", [...columns].join(", ") || "none", { columns: [...columns] }],
    ...scores.facts,
  ];
  const sections: Section[] = [["first rows", samples, { samples }]];
  if (options.vocabulary) {
    const heading = `the same in vocabulary ${options.vocabulary}, decoded and as tokens`;
    sections.push(tokenSection(heading, tokenSamples, samples.length > 0 ? [NO_V1_TOKENS] : []));
    sections.push(["", [], { vocabulary: options.vocabulary }]);
  }
  return {
    kind: "measurements",
    path,
    facts,
    sections,
    histograms: [...tally.histograms(), ...scores.histograms],
  };
}

/** Summarises the columns that `score` adds, if files have them. */
async function tallyScores(files: readonly string[]): Promise<{ facts: Fact[]; histograms: Histogram[] }> {
  const columns = [
    { name: "log_likelihood", label: "-log_likelihood", unit: "nats", json: "negLogLikelihood", sign: -1 },
    { name: "p_value", label: "p_value", unit: "", json: "pValue", sign: 1 },
  ].map((column) => ({ ...column, values: new ValueHistogram() }));
  for (const path of files) {
    using file = await ParquetFile.open(path);
    for (const { name, sign, values } of columns.filter(({ name }) => file.column(name)?.type === "DOUBLE")) {
      for (const batch of batchesOf(file, name)) for (const value of batch) values.add(sign * value);
    }
  }
  const found = columns.filter(({ values }) => values.count > 0);
  return {
    facts: found.map(({ label, unit, json, values }) => distributionFact(label, values, unit, json)),
    histograms: found.map(({ label, unit, values }) =>
      logHistogram(unit === "" ? label : `${label}, ${unit}`, "measurements", values)
    ),
  };
}

const BATCH_ROWS = 65_536;

function* batchesOf(file: ParquetFile, column: string): Generator<ArrayLike<number> & Iterable<number>> {
  for (const group of file.rowGroups) {
    const cursor = new NumberCursor(file.source, file.chunk(column, group), "number");
    for (let from = 0; from < group.numRows; from += BATCH_ROWS) {
      yield cursor.read(Math.min(BATCH_ROWS, group.numRows - from)).values;
    }
  }
}

function listOf(counts: Record<string, number>): string {
  return Object.entries(counts).map(([name, count]) => `${name} ${count}`).join(", ");
}

/** The most rows to compare; they take 50 MB. */
const MAX_COMPARED_ROWS = 1 << 21;

/** Counts duplicates among the first rows. */
class DuplicateRows {
  readonly #rows = new MeasurementSet();
  #numRows = 0;
  #isWhole = true;

  add({ numRows, eventTimeUs, rttMs, msmId, srcCode, dstCode, pool }: SourcedBatch): void {
    for (let row = 0; row < numRows; row++) {
      // Codes of addresses are valid within a generation.
      this.#isWhole &&= this.#numRows < MAX_COMPARED_ROWS && pool.generation === 0;
      if (!this.#isWhole) return;
      this.#rows.add(eventTimeUs[row], rttMs[row], srcCode[row], dstCode[row], msmId?.[row]);
      this.#numRows++;
    }
  }

  fact(): Fact {
    const count = this.#numRows - this.#rows.size;
    const among = this.#isWhole ? "" : ` among the first ${this.#numRows}`;
    const text =
      `${count}${among} (same time, addresses, RTT and measurement; such as from probes behind one address)`;
    return ["equal rows", text, { duplicateRows: count, duplicatesAmong: this.#numRows }];
  }
}

const METADATA_PREFIX = "ping_llm.";

/** Inspects tokens if the first file has them, else measurements. @throws {FormatError} If damaged. */
export async function inspectParquet(target: Target, options: InspectOptions): Promise<Report> {
  using first = await ParquetFile.open(target.files[0]);
  const metadata = metadataOf(first);
  return metadata.vocabulary === undefined
    ? await inspectMeasurements(target, options)
    : await inspectTokenFiles(target, options, metadata);
}

async function inspectTokenFiles(
  { path, files }: Target,
  options: InspectOptions,
  metadata: Record<string, string>,
): Promise<Report> {
  const lengths = new ValueHistogram();
  const samples: string[] = [];
  let tokens = 0;
  const pacer = new EventLoopPacer(options);
  for (const name of files) {
    using file = await ParquetFile.open(name);
    if (JSON.stringify(metadataOf(file)) !== JSON.stringify(metadata)) {
      throw new FormatError("it is not of the same kind as the first file; inspect them separately", {
        path: name,
      });
    }
    for (const batch of batchesOf(file, "length")) {
      for (const length of batch) {
        lengths.add(length);
        tokens += length;
      }
      options.onProgress?.(lengths.count, name);
      await pacer.yieldToEventLoop();
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

/** The metadata about tokens in the footer; empty for files without tokens. */
function metadataOf(file: ParquetFile): Record<string, string> {
  const entries = (file.metadata.key_value_metadata ?? []).filter(({ key }) =>
    key.startsWith(METADATA_PREFIX)
  );
  return Object.fromEntries(
    entries.map(({ key, value }) => [key.slice(METADATA_PREFIX.length), value ?? ""]),
  );
}

/** The first sequences, as token names. */
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
