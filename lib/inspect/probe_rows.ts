/**
 * Inspects probe rows: sizes, time spans, order violations, duplicates, and how they pack into sequences.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { FormatError } from "../errors.ts";
import { FAILED_RTT_MS } from "../measurement/batch.ts";
import type { ArrayRecordReader } from "../array_record/reader.ts";
import { decodeProbeRow, decodeProbeRowHeader, type ProbeRow } from "../probe_rows/probe_row.ts";
import { Breather } from "../threads/stage_hooks.ts";
import type { Target } from "./detect.ts";
import { DistinctCount } from "./distinct_count.ts";
import { describeMeasurement, sideBySide } from "./measurement_text.ts";
import { type PackingTrial, tryPacking } from "./packing_trial.ts";
import { distributionAsJson, formatDistribution, formatShare, formatTime } from "./format.ts";
import { logHistogram } from "./histogram_plot.ts";
import type { InspectOptions, Report } from "./report.ts";
import { splitOf } from "./split_of.ts";
import { TimeHistogram } from "./time_histogram.ts";
import { ValueHistogram } from "./value_histogram.ts";

/** Tokens of the most common measurement: IPv4 with a 1-byte gap. */
const TYPICAL_MEASUREMENT_TOKENS = 16;

/**
 * Reads all rows.
 *
 * @param target What was asked about.
 * @param readers Its files, open.
 * @throws {FormatError} If a record is no probe row.
 */
export async function inspectProbeRows(
  target: Target,
  readers: readonly ArrayRecordReader[],
  options: InspectOptions,
): Promise<Report> {
  const breather = new Breather(options);
  const tally = new ProbeRowTally(options);
  let done = 0;
  for (const reader of readers) {
    for (let index = 0; index < reader.numRecords; index++) {
      await breather.breathe();
      const record = reader.readOrSkip(index);
      if (record) tally.add(record, { path: reader.path, place: `record ${index}` });
      options.onProgress?.(++done, reader.path);
    }
  }
  const packing = tally.numMeasurements === 0
    ? { problem: "there are no measurements" }
    : await tryPacking(target.path, readers, options);
  return tally.report(target.path, packing);
}

interface SplitCounts {
  records: number;
  measurements: number;
}

class ProbeRowTally {
  numMeasurements = 0;
  readonly #numSamples: number;
  readonly #sequenceLength: number;
  readonly #smallBelow: number;
  readonly #sizes = new ValueHistogram();
  readonly #lengths = new ValueHistogram();
  readonly #spansS = new ValueHistogram();
  readonly #rttMs = new ValueHistogram();
  readonly #times = new TimeHistogram();
  readonly #groups = new DistinctCount();
  readonly #sources = new DistinctCount();
  readonly #destinations = new DistinctCount();
  readonly #splits: Record<string, SplitCounts> = {};
  readonly #samples: string[] = [];
  #numFailed = 0;
  #numImpossible = 0;
  #numIpv6 = 0;
  #numSmall = 0;
  #numOrderViolations = 0;
  #numDuplicates = 0;
  readonly #contents = new DistinctCount();
  #numDuplicateRows = 0;
  /** The last time of each group in the file at hand. */
  readonly #lastUsOfGroup = new Map<bigint, number>();
  #file = "";
  #numRowsOutOfOrder = 0;
  #numWrongHeaders = 0;
  #firstUs = Infinity;
  #lastUs = -Infinity;

  constructor({ samples, sequenceLength }: InspectOptions) {
    this.#numSamples = samples;
    this.#sequenceLength = sequenceLength;
    this.#smallBelow = Math.ceil(sequenceLength / TYPICAL_MEASUREMENT_TOKENS);
  }

  add(record: Uint8Array, where: { path: string; place: string }): void {
    const header = decodeProbeRowHeader(record, where);
    const row = decodeProbeRow(record, where);
    const n = row.rttMs.length;
    if (n === 0) throw new FormatError("its row has no measurements; make the probe rows again", where);
    this.#sizes.add(record.length);
    this.#lengths.add(n);
    this.numMeasurements += n;
    if (n < this.#smallBelow) this.#numSmall++;
    this.#groups.add(row.srcId);
    row.srcAddrs.forEach((address) => this.#sources.add(address));
    row.dstAddrs.forEach((address) => this.#destinations.add(address));
    this.#addSplit(where.path, n);
    const [firstUs, lastUs] = this.#addMeasurements(row);
    if (this.#contents.add(createHash("sha256").update(record).digest("base64"))) this.#numDuplicateRows++;
    this.#addOrder(where.path, row.srcId, firstUs, lastUs);
    this.#spansS.add((lastUs - firstUs) / 1e6);
    if (header.firstTimeUs !== firstUs || header.lastTimeUs !== lastUs) this.#numWrongHeaders++;
    if (this.#samples.length === 0) this.#takeSamples(row);
  }

  /** Rows of one group stand in time order in a file: a long history is cut into several. */
  #addOrder(path: string, srcId: bigint, firstUs: number, lastUs: number): void {
    if (path !== this.#file) this.#lastUsOfGroup.clear();
    this.#file = path;
    if (firstUs < (this.#lastUsOfGroup.get(srcId) ?? -Infinity)) this.#numRowsOutOfOrder++;
    this.#lastUsOfGroup.set(srcId, lastUs);
  }

  #addSplit(path: string, numMeasurements: number): void {
    const split = splitOf(path);
    if (!split) return;
    const counts = this.#splits[split] ??= { records: 0, measurements: 0 };
    counts.records++;
    counts.measurements += numMeasurements;
  }

  /** @returns The least and the greatest time. */
  #addMeasurements(row: ProbeRow): [firstUs: number, lastUs: number] {
    const { eventTimeUs, ipVersion, rttMs } = row;
    let firstUs = Infinity;
    let lastUs = -Infinity;
    for (let i = 0; i < rttMs.length; i++) {
      const timeUs = eventTimeUs[i];
      this.#times.add(timeUs);
      if (timeUs < firstUs) firstUs = timeUs;
      if (timeUs > lastUs) lastUs = timeUs;
      if (i > 0 && timeUs < eventTimeUs[i - 1]) this.#numOrderViolations++;
      if (rttMs[i] === FAILED_RTT_MS) this.#numFailed++;
      else if (rttMs[i] >= 0 && rttMs[i] < Infinity) this.#rttMs.add(rttMs[i]);
      else this.#numImpossible++;
      if (ipVersion[i] === 6) this.#numIpv6++;
    }
    this.#numDuplicates += countDuplicates(row);
    this.#firstUs = Math.min(this.#firstUs, firstUs);
    this.#lastUs = Math.max(this.#lastUs, lastUs);
    return [firstUs, lastUs];
  }

  #takeSamples(row: ProbeRow): void {
    for (let i = 0; i < Math.min(this.#numSamples, row.rttMs.length); i++) {
      const src = row.srcAddrs[row.srcIndex[i]];
      const dst = row.dstAddrs[row.dstIndex[i]];
      this.#samples.push(describeMeasurement(row.eventTimeUs[i], src, dst, row.rttMs[i]));
    }
  }

  report(path: string, packing: PackingTrial | { problem: string }): Report {
    const n = Math.max(1, this.numMeasurements);
    const rows = this.#lengths.count;
    const small = `${
      formatShare(this.#numSmall / Math.max(1, rows))
    } of rows have fewer than ${this.#smallBelow}`;
    const isPacked = "numSequences" in packing;
    const facts: Report["facts"] = [
      ...Object.entries(this.#splits).map(([split, counts]): [string, string] => [
        `split ${split}`,
        `${counts.records} rows, ${counts.measurements} measurements`,
      ]),
      ["row size", formatDistribution(this.#sizes, "B")],
      ["measurements", `${this.numMeasurements}; a row: ${formatDistribution(this.#lengths, "")}`],
      ["small rows", `${small} measurements, about one sequence of ${this.#sequenceLength} tokens`],
      ["groups", `${this.#groups}, ${this.#sources} source and ${this.#destinations} destination addresses`],
      ["IPv6", formatShare(this.#numIpv6 / n)],
      ["time", rows > 0 ? `${formatTime(this.#firstUs)} to ${formatTime(this.#lastUs)}` : "none"],
      ["time span of a row", formatDistribution(this.#spansS, "s")],
      ["no reply", formatShare(this.#numFailed / n)],
      ["RTT", formatDistribution(this.#rttMs, "ms")],
      ["impossible RTTs", `${this.#numImpossible}`],
      ["order violations", `${this.#numOrderViolations}`],
      ["rows out of order", `${this.#numRowsOutOfOrder}`],
      ["duplicates", `${this.#numDuplicates} measurements, ${this.#numDuplicateRows} rows`],
      ["wrong row times", `${this.#numWrongHeaders}`],
      [
        "padding",
        isPacked
          ? `${
            formatShare(packing.paddingShare)
          } of ${packing.numSequences} sequences of ${this.#sequenceLength} tokens`
          : `not computed: ${packing.problem}`,
      ],
    ];
    return {
      kind: "probe rows",
      path,
      facts,
      sections: [
        { heading: "first row", lines: this.#samples },
        {
          heading: "first measurements of a sequence, and their tokens",
          lines: isPacked ? sideBySide(packing.decodedSamples, packing.tokenSamples) : [],
        },
      ],
      histograms: [
        logHistogram("measurements in a row", "rows", this.#lengths),
        logHistogram("size of a row, bytes", "rows", this.#sizes),
        logHistogram("RTT, ms", "measurements", this.#rttMs),
        { label: "time, UTC", countLabel: "measurements", scale: "time", bins: this.#times.bins() },
      ],
      json: {
        measurements: this.numMeasurements,
        splits: this.#splits,
        rowBytes: distributionAsJson(this.#sizes),
        measurementsPerRow: distributionAsJson(this.#lengths),
        smallRowShare: this.#numSmall / Math.max(1, rows),
        smallRowBelow: this.#smallBelow,
        groups: this.#groups.count,
        sources: this.#sources.count,
        destinations: this.#destinations.count,
        distinctCapped: [this.#groups, this.#sources, this.#destinations].some(({ isCapped }) => isCapped),
        ipv6Share: this.#numIpv6 / n,
        firstTime: rows > 0 ? formatTime(this.#firstUs) : null,
        lastTime: rows > 0 ? formatTime(this.#lastUs) : null,
        timeSpanS: distributionAsJson(this.#spansS),
        failedShare: this.#numFailed / n,
        rttMs: distributionAsJson(this.#rttMs),
        impossibleRtts: this.#numImpossible,
        orderViolations: this.#numOrderViolations,
        rowsOutOfOrder: this.#numRowsOutOfOrder,
        duplicates: this.#numDuplicates,
        duplicateRows: this.#numDuplicateRows,
        wrongRowTimes: this.#numWrongHeaders,
        sequenceLength: this.#sequenceLength,
        paddingShare: isPacked ? packing.paddingShare : null,
        packedSequences: isPacked ? packing.numSequences : 0,
        samples: this.#samples,
        tokenSamples: isPacked ? packing.tokenSamples : [],
        decodedSamples: isPacked ? packing.decodedSamples : [],
      },
    };
  }
}

/** Counts measurements that equal an earlier one of the same time in their row. */
function countDuplicates({ eventTimeUs, srcIndex, dstIndex, rttMs }: ProbeRow): number {
  let numDuplicates = 0;
  for (let begin = 0; begin < rttMs.length;) {
    let end = begin + 1;
    while (end < rttMs.length && eventTimeUs[end] === eventTimeUs[begin]) end++;
    if (end > begin + 1) {
      const seen = new Set<string>();
      for (let i = begin; i < end; i++) seen.add(`${srcIndex[i]} ${dstIndex[i]} ${rttMs[i]}`);
      numDuplicates += end - begin - seen.size;
    }
    begin = end;
  }
  return numDuplicates;
}
