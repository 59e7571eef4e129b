/**
 * Times the stages that process data, each in a separate process.
 *
 * @module
 */
import { ByteFile } from "../../io/files/byte_file.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "../../data/formats/batch.ts";
import { readMeasurements } from "../../data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../data/measurement_files/rejects.ts";
import { dirname, join } from "@std/path";
import { manifestPathBeside, readManifest } from "../../io/files/manifest.ts";
import { formatCount } from "../../base/text.ts";
import { type Throughput, throughputOf } from "./throughput.ts";
import type { Usage } from "./usage.ts";

const PACKETS = 3;
const NO_REPLY = { x: "*" };
const RTT_DECIMALS = 6;
const MEAN_DECIMALS = 10;
/** Divides 1 to 97: consecutive RTTs of a result are up to a tenth of their mean apart. */
const MOST_APART = 1000;

/**
 * @param input Parquet of `synth`, which has all the columns.
 * @param maxRows The most rows, from the beginning.
 */
export async function writeAtlasLines(
  input: string,
  output: string,
  maxRows: number,
): Promise<{ numRows: number; numBytes: number }> {
  using file = ByteFile.write(output, "new");
  let numRows = 0;
  let numBytes = 0;
  for await (const batch of readMeasurements([input], { rejects: new RejectLog() })) {
    const wanted = Math.min(batch.numRows, maxRows - numRows);
    let lines = "";
    for (let row = 0; row < wanted; row++) lines += JSON.stringify(atlasResult(batch, row)) + "\n";
    const bytes = new TextEncoder().encode(lines);
    file.write(bytes);
    numRows += wanted;
    numBytes += bytes.length;
    if (numRows === maxRows) break;
  }
  return { numRows, numBytes };
}

/** A result that `import` converts to this row: RTTs around its RTT, and for IPv4 a probe behind NAT. */
function atlasResult(batch: MeasurementBatch, row: number): Record<string, unknown> {
  const timestamp = Math.floor(batch.eventTimeUs[row] / 1e6);
  const srcAddr = batch.srcAddr[row];
  const dstAddr = batch.dstAddr[row];
  const ipVersion = batch.ipVersion[row];
  const msmId = batch.msmId?.[row] ?? 1;
  const prbId = batch.prbId?.[row] ?? 1;
  const rttsMs = packetRttsMs(batch, row);
  const rcvd = rttsMs.length;
  return {
    fw: 5020 + 20 * (prbId % 4),
    mver: "2.6.2",
    lts: 7 + row % 60,
    dst_name: dstAddr,
    af: ipVersion,
    dst_addr: dstAddr,
    src_addr: ipVersion === 4 ? `192.168.${prbId >> 8 & 255}.${prbId & 255}` : srcAddr,
    proto: "ICMP",
    ttl: 36 + msmId % 24,
    size: batch.sizeBytes?.[row] ?? 64,
    result: Array.from(
      { length: PACKETS },
      (_, packet) => packet < rcvd ? { rtt: rttsMs[packet] } : NO_REPLY,
    ),
    dup: 0,
    rcvd,
    sent: PACKETS,
    min: rcvd > 0 ? Math.min(...rttsMs) : -1,
    max: rcvd > 0 ? Math.max(...rttsMs) : -1,
    avg: rcvd > 0 ? rounded(rttsMs.reduce((sum, rttMs) => sum + rttMs, 0) / rcvd, MEAN_DECIMALS) : -1,
    msm_id: msmId,
    prb_id: prbId,
    timestamp,
    msm_name: "Ping",
    from: srcAddr,
    type: "ping",
    group_id: msmId,
    step: 240,
    stored_timestamp: timestamp + 20 + row % 200,
  };
}

/** RTTs whose mean is the row's RTT. */
function packetRttsMs({ rttMs, packetErrorCount }: MeasurementBatch, row: number): number[] {
  if (rttMs[row] === FAILED_RTT_MS) return [];
  const numReplies = PACKETS - (packetErrorCount?.[row] ?? 0);
  const middleMs = rounded(rttMs[row], RTT_DECIMALS);
  const apartMs = middleMs * (1 + row % 97) / MOST_APART;
  return Array.from(
    { length: numReplies },
    (_, packet) => rounded(middleMs + (packet - (numReplies - 1) / 2) * apartMs, RTT_DECIMALS),
  );
}

function rounded(value: number, numDecimals: number): number {
  return Number(value.toFixed(numDecimals));
}

/** Runs a stage in a child process, from its arguments. @returns The usage and the `--json` object. */
export type StageRunner = (
  args: readonly string[],
) => Promise<{ usage: Usage; result: Record<string, unknown> }>;

interface DataBenchOptions {
  folder: string;
  rows: number;
  probes: number;
  destinations: number;
  seed: number;
  workers: number;
  memoryLimitGb: number;
  repeats: number;
  runStage: StageRunner;
  log: (line: string) => void;
  signal: AbortSignal;
}

export class DataBench {
  readonly rows: Throughput[] = [];
  readonly parquet: string;
  /** Folder of the probe rows, once {@link probeRows} has made them. */
  readonly probeRowsFolder: string;
  readonly #options: DataBenchOptions;

  constructor(options: DataBenchOptions) {
    this.#options = options;
    this.parquet = join(options.folder, "measurements.parquet");
    this.probeRowsFolder = join(options.folder, "rows");
  }

  async synth(): Promise<void> {
    const { rows, probes, destinations } = this.#options;
    const args = [`--rows=${rows}`, `--probes=${probes}`, `--destinations=${destinations}`];
    await this.#stage("synth", this.parquet, args, rows);
  }

  /** Imports at most `maxRows` results made of the measurements. */
  async import(maxRows: number): Promise<void> {
    const { folder, log } = this.#options;
    const lines = join(folder, "results.jsonl");
    const output = join(folder, "imported.parquet");
    const { numRows, numBytes } = await writeAtlasLines(this.parquet, lines, maxRows);
    const { perCore } = await this.#stage("import", output, ["--input", lines], numRows);
    const bytesPerRow = numBytes / numRows;
    const megabytesPerS = (perCore * bytesPerRow / 1e6).toFixed(1);
    log(`import: ${megabytesPerS} MB/s per core, ${bytesPerRow.toFixed(0)} bytes per result`);
    Deno.removeSync(lines);
    removeOutput(output);
  }

  async shard(): Promise<void> {
    const output = join(this.#options.folder, "shards");
    await this.#stage("shard", output, this.#inputArgs());
    Deno.removeSync(output, { recursive: true });
  }

  async probeRows(): Promise<void> {
    await this.#stage("probe-rows", this.probeRowsFolder, this.#inputArgs());
  }

  /** Measures a stage. @param numRows Rows that the stage processes. */
  async #stage(
    stage: string,
    output: string,
    args: readonly string[],
    numRows = this.#options.rows,
  ): Promise<Throughput> {
    const { rows: dataRows, repeats, seed, workers, runStage, log } = this.#options;
    const common = ["--output", output, "--seed", `${seed}`, "--workers", `${workers}`, "--quiet"];
    log(`timing ${stage} with ${formatCount(dataRows)} rows`);
    const usages: Usage[] = [];
    for (let i = 0; i < repeats; i++) {
      if (i > 0) removeOutput(output);
      usages.push((await runStage([stage, ...args, ...common])).usage);
    }
    const what = {
      name: stage,
      dataRows,
      unit: "rows/s",
      work: numRows,
      bytesWritten: sizeOf(output),
    } as const;
    const row = throughputOf(what, usages);
    this.rows.push(row);
    return row;
  }

  #inputArgs(): string[] {
    return ["--input", this.parquet, "--memory-limit-gb", `${this.#options.memoryLimitGb}`];
  }
}

function sizeOf(path: string): number {
  const { isDirectory, size } = Deno.statSync(path);
  if (!isDirectory) return size;
  return [...Deno.readDirSync(path)].reduce((sum, { name }) => sum + sizeOf(join(path, name)), 0);
}

function removeOutput(path: string): void {
  const manifestPath = manifestPathBeside(path);
  const outputs = readManifest(manifestPath)?.outputs.map((output) => join(dirname(path), output.path));
  for (const each of outputs ? [...outputs, manifestPath] : [path]) {
    Deno.removeSync(each, { recursive: true });
  }
}
