/**
 * Times the stages that pass over data, each in a separate process, and DuckDB on the same file.
 *
 * @module
 */
import { ByteFile } from "../../io/files/byte_file.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "../../data/measurement/batch.ts";
import { readMeasurements } from "../../data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../data/measurement_files/rejects.ts";
import { dirname, fromFileUrl, join } from "@std/path";
import { manifestPathBeside, readManifest } from "../../io/files/manifest.ts";
import { formatCount } from "../../base/text.ts";
import type { DuckDbJob } from "./duckdb_child.ts";
import { type FailedMeasure, type Throughput, throughputOf } from "./throughput.ts";
import { UserError } from "../../base/errors.ts";
import type { Usage } from "./usage.ts";

// Work in a child process, which prints a JSON object with its results as its last line.
//
// A child process has its own peak memory, starts with cold caches like a user's run, and can be stopped.

/**
 * Runs this executable, Deno or the compiled program, to its end.
 *
 * @param args Its arguments.
 * @param options `label`: the work, for errors; `signal`: stops the child.
 * @returns The JSON of its last line.
 * @throws {UserError} If it failed; the message has the last line of its standard error.
 */
export async function runChild(
  args: readonly string[],
  { label, signal }: { label: string; signal: AbortSignal },
): Promise<unknown> {
  signal.throwIfAborted();
  const command = new Deno.Command(Deno.execPath(), { args: [...args], env: { NO_COLOR: "1" }, signal });
  const { success, code, stdout, stderr } = await command.output();
  signal.throwIfAborted();
  const lastLine = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trimEnd().split("\n").at(-1) ?? "";
  if (!success) {
    throw new UserError(
      `Cannot measure ${label}: it ended with code ${code}: ${lastLine(stderr).replace(/^error: /, "")}`,
    );
  }
  try {
    return JSON.parse(lastLine(stdout));
  } catch (cause) {
    throw new Error(`Internal error: ${label} printed no JSON: ${lastLine(stdout).slice(0, 200)}`, { cause });
  }
}

// Writes measurements as RIPE Atlas results, one JSON object per line, to time the import of files of any size.
//
// Fields and their order are those of a ping result of firmware 5 (https://atlas.ripe.net/docs/apis/result-format/)
// of three packets. Values vary between results like real ones.

const PACKETS = 3;
const NO_REPLY = { x: "*" };
/** The largest number of decimals of real replies. */
const RTT_DECIMALS = 6;
const MEAN_DECIMALS = 10;
/** RTTs of a result differ by up to a tenth. */
const MOST_APART = 1000;

/**
 * Writes results.
 *
 * @param input Parquet of `synth`, which has all the columns.
 * @param output The file of lines.
 * @param maxRows Largest number of rows, from the beginning.
 * @returns Rows and bytes written.
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

/** RTTs whose mean is that of the row. */
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

/** Options of the measurements. */
interface DataBenchOptions {
  /** An empty folder for the files. */
  folder: string;
  rows: number;
  probes: number;
  destinations: number;
  seed: number;
  workers: number;
  memoryLimitGb: number;
  /** Number of runs of each stage. */
  repeats: number;
  runStage: StageRunner;
  /** Called with lines for the user. */
  log: (line: string) => void;
  signal: AbortSignal;
}

/** Measures stages one after another. */
export class DataBench {
  /** The results so far. */
  readonly rows: Throughput[] = [];
  /** The measurements that failed. */
  readonly failed: FailedMeasure[] = [];
  /** The measurements that all stages read. */
  readonly parquet: string;
  /** Probe rows made from them, after {@link probeRows}. */
  readonly probeRowsFolder: string;
  readonly #options: DataBenchOptions;

  /** @param options The sizes, and how stages run. */
  constructor(options: DataBenchOptions) {
    this.#options = options;
    this.parquet = join(options.folder, "measurements.parquet");
    this.probeRowsFolder = join(options.folder, "rows");
  }

  /** Makes the measurements. */
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

  /** Divides the measurements into shards. */
  async shard(): Promise<void> {
    const output = join(this.#options.folder, "shards");
    await this.#stage("shard", output, this.#inputArgs());
    Deno.removeSync(output, { recursive: true });
  }

  /** Makes probe rows from the unsharded measurements. */
  async probeRows(): Promise<void> {
    await this.#stage("probe-rows", this.probeRowsFolder, this.#inputArgs());
  }

  /** Runs jobs of DuckDB on the same measurements. The first one fetches DuckDB from npm. */
  async duckDb(kinds: readonly DuckDbJob["kind"][]): Promise<void> {
    const { folder, rows: dataRows, workers: numThreads, memoryLimitGb, signal } = this.#options;
    for (const kind of kinds) {
      const name = `DuckDB ${kind}`;
      const output = join(folder, `duckdb-${kind}.parquet`);
      const job: DuckDbJob = { kind, input: this.parquet, output, numThreads, memoryLimitGb };
      let reason: string | undefined;
      const row = await this.#measure(name, output, dataRows, async () => {
        const result = await runDuckDb(job, signal);
        if ("usage" in result) return result.usage;
        reason = result.unavailable;
        return undefined;
      });
      if (row) Deno.removeSync(output);
      else this.failed.push({ name, dataRows, reason: reason ?? "" });
    }
  }

  /** Compares probe-rows with DuckDB, one line for each of DuckDB's jobs. */
  comparisons(): string[] {
    const ours = this.rows.find(({ name }) => name === "probe-rows");
    if (!ours) return [];
    return this.rows.filter(({ name }) => name.startsWith("DuckDB")).map(({ name, median, perCore }) =>
      `probe-rows has ${(ours.median / median).toFixed(2)} x the speed of ${name}, ` +
      `${(ours.perCore / perCore).toFixed(2)} x by processor time, for ${formatCount(ours.work)} rows`
    );
  }

  /** Measures a stage. @param numRows Rows that it passes over. */
  async #stage(
    stage: string,
    output: string,
    args: readonly string[],
    numRows = this.#options.rows,
  ): Promise<Throughput> {
    const { seed, workers, runStage } = this.#options;
    const common = ["--output", output, "--seed", `${seed}`, "--workers", `${workers}`, "--quiet"];
    const row = await this.#measure(stage, output, numRows, async (i) => {
      if (i > 0) removeOutput(output);
      return (await runStage([stage, ...args, ...common])).usage;
    });
    if (!row) throw new Error(`Internal error: there is no usage of ${stage}`);
    return row;
  }

  /** Runs `run` the requested number of times and adds a row; stops without a row when it returns no usage. */
  async #measure(
    name: string,
    output: string,
    work: number,
    run: (i: number) => Promise<Usage | undefined>,
  ): Promise<Throughput | undefined> {
    const { rows: dataRows, repeats, log } = this.#options;
    log(`timing ${name} with ${formatCount(dataRows)} rows`);
    const usages: Usage[] = [];
    for (let i = 0; i < repeats; i++) {
      const usage = await run(i);
      if (!usage) return undefined;
      usages.push(usage);
    }
    const what = { name, dataRows, unit: "rows/s", work, bytesWritten: sizeOf(output) } as const;
    const row = throughputOf(what, usages);
    this.rows.push(row);
    return row;
  }

  #inputArgs(): string[] {
    return ["--input", this.parquet, "--memory-limit-gb", `${this.#options.memoryLimitGb}`];
  }
}

/** Runs a job of DuckDB in a separate process. @returns Its usage, or the reason for its absence. */
async function runDuckDb(
  job: DuckDbJob,
  signal: AbortSignal,
): Promise<{ usage: Usage } | { unavailable: string }> {
  if (Deno.build.standalone) {
    return { unavailable: "this is the compiled program; run bench from a checkout" };
  }
  const path = (name: string) => fromFileUrl(new URL(name, import.meta.url));
  const lock = ["--no-config", `--lock=${path("duckdb.lock")}`, "--frozen"];
  // Permissions do not bind native code, and the kernel's peak memory can be read only with all of them.
  const args = ["run", "--no-prompt", ...lock, "--allow-all", path("duckdb_child.ts"), JSON.stringify(job)];
  return await runChild(args, { label: `DuckDB's ${job.kind}`, signal }) as
    | { usage: Usage }
    | { unavailable: string };
}

/** The size of a file, or of all files of a folder, in bytes. */
function sizeOf(path: string): number {
  const { isDirectory, size } = Deno.statSync(path);
  if (!isDirectory) return size;
  return [...Deno.readDirSync(path)].reduce((sum, { name }) => sum + sizeOf(join(path, name)), 0);
}

/** Removes the output of a stage, so that the stage runs again. */
function removeOutput(path: string): void {
  const manifestPath = manifestPathBeside(path);
  const outputs = readManifest(manifestPath)?.outputs.map((output) => join(dirname(path), output.path));
  for (const each of outputs ? [...outputs, manifestPath] : [path]) {
    Deno.removeSync(each, { recursive: true });
  }
}
