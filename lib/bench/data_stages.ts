/**
 * Times the stages that pass over data, each in a process of its own, side by side with DuckDB on the same file.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { manifestPathBeside, readManifest } from "../files/manifest.ts";
import { writeAtlasLines } from "./atlas_lines.ts";
import { runDuckDb } from "./duckdb.ts";
import type { DuckDbJob } from "./duckdb_child.ts";
import { formatCount } from "../text/quantities.ts";
import { type FailedMeasure, type Throughput, throughputOf } from "./throughput.ts";
import type { Usage } from "./usage.ts";

/** Runs a stage in a child process. It takes the arguments and gives the usage and the `--json` object. */
export type StageRunner = (
  args: readonly string[],
) => Promise<{ usage: Usage; result: Record<string, unknown> }>;

/** Options of the measurements. */
export interface DataBenchOptions {
  /** Where files are written, an empty folder. */
  folder: string;
  rows: number;
  probes: number;
  destinations: number;
  seed: number;
  workers: number;
  memoryLimitGb: number;
  /** How often each stage is run. */
  repeats: number;
  runStage: StageRunner;
  /** Called with the name of the next measurement. */
  onStage: (name: string) => void;
  /** Called with lines for the user. */
  log: (line: string) => void;
  signal: AbortSignal;
}

/** Measures stages one after another. */
export class DataBench {
  /** The results so far. */
  readonly rows: Throughput[] = [];
  /** What could not be measured. */
  readonly failed: FailedMeasure[] = [];
  /** Measurements that all stages read. */
  readonly parquet: string;
  /** Probe rows made from them, after {@link probeRows}. */
  readonly probeRowsFolder: string;
  readonly #options: DataBenchOptions;

  /** @param options What is measured with what. */
  constructor(options: DataBenchOptions) {
    this.#options = options;
    this.parquet = join(options.folder, "measurements.parquet");
    this.probeRowsFolder = join(options.folder, "rows");
  }

  /** Makes the measurements. */
  async synth(): Promise<void> {
    const { rows, probes, destinations } = this.#options;
    await this.#stage("synth", this.parquet, rows, [
      "--rows",
      `${rows}`,
      "--probes",
      `${probes}`,
      "--destinations",
      `${destinations}`,
    ]);
  }

  /**
   * Imports results made of the measurements.
   *
   * @param maxRows How many, at most.
   */
  async import(maxRows: number): Promise<void> {
    const lines = join(this.#options.folder, "results.jsonl");
    const { numRows, numBytes } = await writeAtlasLines(this.parquet, lines, maxRows);
    const output = join(this.#options.folder, "imported.parquet");
    const { perCore } = await this.#stage("import", output, numRows, ["--input", lines]);
    const bytesPerRow = numBytes / numRows;
    this.#options.log(
      `import: ${(perCore * bytesPerRow / 1e6).toFixed(1)} MB/s per core, ${
        bytesPerRow.toFixed(0)
      } bytes a result`,
    );
    Deno.removeSync(lines);
    removeOutput(output);
  }

  /** Divides the measurements into shards. */
  async shard(): Promise<void> {
    const output = join(this.#options.folder, "shards");
    await this.#stage("shard", output, this.#options.rows, ["--input", this.parquet, ...this.#memoryLimit()]);
    Deno.removeSync(output, { recursive: true });
  }

  /** Makes probe rows of the unsharded measurements. */
  async probeRows(): Promise<void> {
    await this.#stage("probe-rows", this.probeRowsFolder, this.#options.rows, [
      "--input",
      this.parquet,
      ...this.#memoryLimit(),
    ]);
  }

  /**
   * Has DuckDB sort and group the same measurements.
   *
   * @param kinds Which of the two.
   */
  async duckDb(kinds: readonly DuckDbJob["kind"][]): Promise<void> {
    for (const kind of kinds) await this.#duckDbJob(kind);
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

  async #duckDbJob(kind: DuckDbJob["kind"]): Promise<void> {
    const { folder, rows, workers, memoryLimitGb, repeats, signal } = this.#options;
    const name = `DuckDB ${kind}`;
    const output = join(folder, `duckdb-${kind}.parquet`);
    const job: DuckDbJob = { kind, input: this.parquet, output, numThreads: workers, memoryLimitGb };
    this.#options.onStage(name);
    const usages: Usage[] = [];
    for (let i = 0; i < repeats; i++) {
      const result = await runDuckDb(job, { signal });
      if ("unavailable" in result) {
        this.failed.push({ name, dataRows: rows, reason: result.unavailable });
        return;
      }
      usages.push(result.usage);
    }
    const bytesWritten = sizeOf(output);
    this.rows.push(throughputOf({ name, dataRows: rows, unit: "rows/s", work: rows, bytesWritten }, usages));
    Deno.removeSync(output);
  }

  async #stage(
    stage: string,
    output: string,
    work: number,
    args: readonly string[],
  ): Promise<Throughput> {
    const { rows: dataRows, repeats, seed, workers, runStage, onStage } = this.#options;
    onStage(stage);
    const usages: Usage[] = [];
    for (let i = 0; i < repeats; i++) {
      if (i > 0) removeOutput(output);
      const common = ["--output", output, "--seed", `${seed}`, "--workers", `${workers}`, "--quiet"];
      const { usage } = await runStage([stage, ...args, ...common]);
      usages.push(usage);
    }
    const bytesWritten = sizeOf(output);
    const row = throughputOf({ name: stage, dataRows, unit: "rows/s", work, bytesWritten }, usages);
    this.rows.push(row);
    return row;
  }

  #memoryLimit(): string[] {
    return ["--memory-limit-gb", `${this.#options.memoryLimitGb}`];
  }
}

/** Size of a file, or of all files of a folder, in bytes. */
function sizeOf(path: string): number {
  const { isDirectory, size } = Deno.statSync(path);
  if (!isDirectory) return size;
  return [...Deno.readDirSync(path)].reduce((sum, { name }) => sum + sizeOf(join(path, name)), 0);
}

/** Removes what a stage wrote, so that it runs again. */
function removeOutput(path: string): void {
  const manifestPath = manifestPathBeside(path);
  const outputs = readManifest(manifestPath)?.outputs.map((output) => join(dirname(path), output.path));
  for (const each of outputs ? [...outputs, manifestPath] : [path]) {
    Deno.removeSync(each, { recursive: true });
  }
}
