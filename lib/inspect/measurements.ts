/**
 * Inspects measurements Parquet: counts, ranges, RTT quantiles, and rows that could not be used.
 *
 * @module
 */
import { formatBytes } from "../text/quantities.ts";
import { fingerprint } from "../files/inputs.ts";
import { countRows, readMeasurements, type SourcedBatch } from "../measurement/parquet_reader.ts";
import { OPTIONAL_COLUMNS } from "../measurement/parquet_writer.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { Breather } from "../threads/stage_hooks.ts";
import type { Target } from "./detect.ts";
import { DistinctCount } from "./distinct_count.ts";
import { DuplicateCount } from "./duplicate_count.ts";
import { distributionAsJson, formatDistribution, formatShare, formatTime } from "./format.ts";
import { logHistogram } from "./histogram_plot.ts";
import { describeMeasurement, sideBySide } from "./measurement_text.ts";
import { sampleTokens, type TokenSample } from "./measurement_tokens.ts";
import type { InspectOptions, Report } from "./report.ts";
import { splitOf } from "./split_of.ts";
import { TimeHistogram } from "./time_histogram.ts";
import { ValueHistogram } from "./value_histogram.ts";

/**
 * Reads all rows of the files.
 *
 * @throws {FormatError} If a file is damaged or lacks a needed column.
 */
export async function inspectMeasurements(target: Target, options: InspectOptions): Promise<Report> {
  const rejects = new RejectLog();
  const tally = new MeasurementTally(options);
  const breather = new Breather(options);
  const numRows = await countRows(target.files);
  for await (const batch of readMeasurements(target.files, { rejects })) {
    tally.add(batch);
    options.onProgress?.(tally.numRowsRead, batch.path);
    await breather.breathe();
  }
  const sizeBytes = target.files.reduce((sum, file) => sum + fingerprint(file).sizeBytes, 0);
  return tally.report(target, { numRows, sizeBytes, rejected: rejects.counts });
}

class MeasurementTally {
  numRowsRead = 0;
  readonly #numSamples: number;
  readonly #vocabulary: "v1" | "v2" | undefined;
  readonly #sources = new DistinctCount();
  readonly #destinations = new DistinctCount();
  readonly #times = new TimeHistogram();
  readonly #duplicates = new DuplicateCount();
  readonly #rttMs = new ValueHistogram();
  readonly #rowsBySplit: Record<string, number> = {};
  readonly #columns = new Set<string>();
  readonly #samples: string[] = [];
  readonly #tokenSamples: TokenSample[] = [];
  #numRows = 0;
  #numFailed = 0;
  #numIpv6 = 0;
  #numBackward = 0;
  #firstUs = Infinity;
  #lastUs = -Infinity;

  constructor({ samples, vocabulary }: InspectOptions) {
    this.#numSamples = samples;
    this.#vocabulary = vocabulary;
  }

  add(batch: SourcedBatch): void {
    this.numRowsRead += batch.numRowsRead;
    this.#numRows += batch.numRows;
    const split = splitOf(batch.path);
    if (split) this.#rowsBySplit[split] = (this.#rowsBySplit[split] ?? 0) + batch.numRows;
    for (const { key, name } of OPTIONAL_COLUMNS) if (batch[key]) this.#columns.add(name);
    for (let row = 0; row < batch.numRows; row++) {
      const timeUs = batch.eventTimeUs[row];
      if (row > 0 && timeUs < batch.eventTimeUs[row - 1]) this.#numBackward++;
      this.#times.add(timeUs);
      if (timeUs < this.#firstUs) this.#firstUs = timeUs;
      if (timeUs > this.#lastUs) this.#lastUs = timeUs;
      if (batch.rttMs[row] < 0) this.#numFailed++;
      else this.#rttMs.add(batch.rttMs[row]);
      if (batch.ipVersion[row] === 6) this.#numIpv6++;
      this.#duplicates.add(
        [timeUs, batch.rttMs[row], batch.msmId?.[row] ?? 0],
        [batch.srcAddr[row], batch.dstAddr[row]],
      );
      this.#sources.add(batch.srcAddr[row]);
      this.#destinations.add(batch.dstAddr[row]);
      if (this.#samples.length < this.#numSamples) this.#addSample(batch, row);
    }
  }

  #addSample(batch: SourcedBatch, row: number): void {
    this.#samples.push(describeRow(batch, row));
    const sample = this.#vocabulary && sampleTokens(batch, row, this.#vocabulary);
    if (sample) this.#tokenSamples.push(sample);
  }

  /** Samples as tokens of the vocabulary that was asked for. */
  #tokenSection(): Report["sections"][number] {
    const decoded = this.#tokenSamples.map((sample) => sample.decoded);
    const isLacking = this.#vocabulary === "v1" && this.#samples.length > 0 && decoded.length === 0;
    return {
      heading: `the same in vocabulary ${this.#vocabulary}, decoded and as tokens`,
      lines: isLacking
        ? ["none of these rows has tokens of v1, which needs msm_id, size and packet_error_count"]
        : sideBySide(decoded, this.#tokenSamples.map(({ tokens }) => tokens)),
    };
  }

  #describeDuplicates(): string {
    const { count, numRows, isComplete } = this.#duplicates;
    return isComplete ? String(count) : `${count} among the first ${numRows}`;
  }

  report(
    { path, files }: Target,
    { numRows, sizeBytes, rejected }: {
      numRows: number;
      sizeBytes: number;
      rejected: Record<string, number>;
    },
  ): Report {
    const n = this.#numRows;
    const share = (count: number) => n === 0 ? 0 : count / n;
    const reasons = Object.entries(rejected).map(([reason, count]) => `${reason} ${count}`).join(", ");
    const splits = Object.entries(this.#rowsBySplit).map(([split, rows]) => `${split} ${rows}`).join(", ");
    const facts: Report["facts"] = [
      ["rows", `${numRows} in ${files.length} file${files.length > 1 ? "s" : ""}, ${formatBytes(sizeBytes)}`],
      ...(splits ? [["splits", splits] as [string, string]] : []),
      ["rejected", `${numRows - n}${reasons ? ` (${reasons})` : ""}`],
      ["sources", `${this.#sources}`],
      ["destinations", `${this.#destinations}`],
      ["IPv6", formatShare(share(this.#numIpv6))],
      ...(n > 0
        ? [["time", `${formatTime(this.#firstUs)} to ${formatTime(this.#lastUs)}`] as [string, string]]
        : []),
      ["steps back in time", `${this.#numBackward}`],
      ["duplicate rows", this.#describeDuplicates()],
      ["no reply", formatShare(share(this.#numFailed))],
      ["RTT", formatDistribution(this.#rttMs, "ms")],
      ["further columns", [...this.#columns].join(", ") || "none"],
    ];
    return {
      kind: "measurements",
      path,
      facts,
      sections: [{ heading: "first rows", lines: this.#samples }, this.#tokenSection()],
      histograms: [
        logHistogram("RTT, ms", "measurements", this.#rttMs),
        { label: "time, UTC", countLabel: "measurements", scale: "time", bins: this.#times.bins() },
      ],
      json: {
        files: files.length,
        bytes: sizeBytes,
        rows: numRows,
        splits: this.#rowsBySplit,
        rejected,
        sources: this.#sources.count,
        destinations: this.#destinations.count,
        distinctCapped: this.#sources.isCapped || this.#destinations.isCapped,
        ipv6Share: share(this.#numIpv6),
        firstTime: n > 0 ? formatTime(this.#firstUs) : null,
        lastTime: n > 0 ? formatTime(this.#lastUs) : null,
        stepsBackInTime: this.#numBackward,
        duplicateRows: this.#duplicates.count,
        duplicatesAmong: this.#duplicates.numRows,
        failedShare: share(this.#numFailed),
        rttMs: distributionAsJson(this.#rttMs),
        columns: [...this.#columns],
        samples: this.#samples,
        ...(this.#vocabulary && {
          vocabulary: this.#vocabulary,
          tokenSamples: this.#tokenSamples.map(({ tokens }) => tokens),
          decodedSamples: this.#tokenSamples.map(({ decoded }) => decoded),
        }),
      },
    };
  }
}

function describeRow(batch: SourcedBatch, row: number): string {
  return describeMeasurement(
    batch.eventTimeUs[row],
    batch.srcAddr[row],
    batch.dstAddr[row],
    batch.rttMs[row],
  );
}
