/** Times the stages that process data on generated measurements, each in a separate process. @module */
import { dirname, join } from "@std/path";
import { formatCount } from "../../lib/base/text.ts";
import type { Values } from "../../lib/cli/options.ts";
import { type commonOptions, option } from "../../lib/cli/options.ts";
import * as uses from "../../lib/cli/path_uses.ts";
import type { StageContext } from "../../lib/cli/stage.ts";
import type { MeasurementBatch } from "../../lib/data/formats/batch.ts";
import { readMeasurements } from "../../lib/data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../lib/data/measurement_files/rejects.ts";
import { ByteFile } from "../../lib/io/files/byte_file.ts";
import { manifestPathBeside, readManifest } from "../../lib/io/files/manifest.ts";
import { importStage } from "../../tasks/import.ts";
import { memoryLimitGb } from "../../tasks/shared_options.ts";
import { probeRowsStage, shardStage } from "../../tasks/split_stages.ts";
import { synthStage } from "../../tasks/synth.ts";
import { runChild } from "./child.ts";
import { type Throughput, throughputOf } from "./throughput.ts";
import type { Usage } from "./usage.ts";

export const dataOptions = {
  probes: option.integer("sources", { default: 500, min: 2, max: 100_000 }),
  destinations: option.integer("destinations", { default: 200, min: 2, max: 100_000 }),
  folder: option.path(
    uses.outputFolder,
    "parent folder of the temporary files, about 150 bytes per row, removed at the end",
  ),
  memoryLimitGb,
  compare: option.path(uses.input, "an earlier --json output; adds the ratios to it"),
};

type DataOptions = Values<typeof dataOptions & Pick<typeof commonOptions, "seed" | "workers">>;

const STAGES = {
  "synth": synthStage,
  "import": importStage,
  "shard": shardStage,
  "probe-rows": probeRowsStage,
};
type StageName = keyof typeof STAGES;

/** Called in a separate process. */
export async function runDataStage({ stage, args }: { stage: StageName; args: string[] }): Promise<unknown> {
  return (await STAGES[stage].run(args)).json;
}

export class DataBench implements Disposable {
  readonly rows: Throughput[] = [];
  /** Contains all files; removed on disposal. */
  readonly folder: string;
  readonly probeRowsFolder: string;
  readonly #parquet: string;

  /** @param options `rows`: measurements to make; `repeats`: runs of each stage. */
  constructor(
    readonly options: DataOptions & { rows: number; repeats: number },
    readonly context: StageContext,
  ) {
    const parent = options.folder === undefined ? {} : { dir: options.folder };
    if (options.folder !== undefined) Deno.mkdirSync(options.folder, { recursive: true });
    this.folder = Deno.makeTempDirSync({ prefix: "ping-llm-bench-", ...parent });
    this.probeRowsFolder = join(this.folder, "rows");
    this.#parquet = join(this.folder, "measurements.parquet");
  }

  async synth(): Promise<void> {
    const { rows, probes, destinations } = this.options;
    const args = [`--rows=${rows}`, `--probes=${probes}`, `--destinations=${destinations}`];
    await this.#time("synth", this.#parquet, args, rows);
  }

  /** Imports at most `maxRows` RIPE Atlas results, which are made from the measurements. */
  async import(maxRows: number): Promise<void> {
    const lines = join(this.folder, "results.jsonl");
    const output = join(this.folder, "imported.parquet");
    const { numRows, numBytes } = await writeAtlasLines(this.#parquet, lines, maxRows);
    const { perCore } = await this.#time("import", output, ["--input", lines], numRows);
    const megabytesPerS = (perCore * numBytes / numRows / 1e6).toFixed(1);
    this.context.log(
      `import: ${megabytesPerS} MB/s per core, ${(numBytes / numRows).toFixed(0)} bytes per result`,
    );
    Deno.removeSync(lines);
    removeOutput(output);
  }

  async shard(): Promise<void> {
    const output = join(this.folder, "shards");
    await this.#time("shard", output, this.#inputArgs());
    Deno.removeSync(output, { recursive: true });
  }

  async probeRows(): Promise<void> {
    await this.#time("probe-rows", this.probeRowsFolder, this.#inputArgs());
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.folder, { recursive: true });
  }

  /** @param work Rows that the stage processes. */
  async #time(stage: StageName, output: string, args: readonly string[], work = this.options.rows) {
    const { rows: dataRows, repeats, seed, workers } = this.options;
    const { log, signal } = this.context;
    const common = ["--output", output, "--seed", `${seed}`, "--workers", `${workers}`, "--quiet"];
    log(`timing ${stage} with ${formatCount(dataRows)} rows`);
    const usages: Usage[] = [];
    for (let i = 0; i < repeats; i++) {
      if (i > 0) removeOutput(output);
      const options = { stage, args: [...args, ...common] };
      usages.push(
        (await runChild(["data_stages.ts", "runDataStage", options], { label: stage, signal })).usage,
      );
    }
    const bytesWritten = sizeOf(output);
    const row = throughputOf({ name: stage, dataRows, unit: "rows/s", work, bytesWritten }, usages);
    this.rows.push(row);
    return row;
  }

  #inputArgs(): string[] {
    return ["--input", this.#parquet, "--memory-limit-gb", `${this.options.memoryLimitGb}`];
  }
}

async function writeAtlasLines(input: string, output: string, maxRows: number) {
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

/** Makes a RIPE Atlas result of typical size that `import` converts to this row. */
function atlasResult(batch: MeasurementBatch, row: number): Record<string, unknown> {
  const timestamp = Math.floor(batch.eventTimeUs[row] / 1e6);
  const rttMs = Number(batch.rttMs[row].toFixed(6));
  const isLost = rttMs < 0;
  const msmId = batch.msmId?.[row] ?? 1;
  return {
    fw: 5020,
    mver: "2.6.2",
    lts: 7 + row % 60,
    dst_name: batch.dstAddr[row],
    af: batch.ipVersion[row],
    dst_addr: batch.dstAddr[row],
    src_addr: batch.srcAddr[row],
    proto: "ICMP",
    ttl: 36 + msmId % 24,
    size: batch.sizeBytes?.[row] ?? 64,
    result: [0, 1, 2].map(() => isLost ? { x: "*" } : { rtt: rttMs }),
    dup: 0,
    rcvd: isLost ? 0 : 3,
    sent: 3,
    min: isLost ? -1 : rttMs,
    max: isLost ? -1 : rttMs,
    avg: isLost ? -1 : rttMs,
    msm_id: msmId,
    prb_id: batch.prbId?.[row] ?? 1,
    timestamp,
    msm_name: "Ping",
    from: batch.srcAddr[row],
    type: "ping",
    group_id: msmId,
    step: 240,
    stored_timestamp: timestamp + 20 + row % 200,
  };
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
