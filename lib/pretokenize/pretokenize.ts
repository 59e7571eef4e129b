/**
 * `pretokenize`: writes the tokens that this program trains on as Parquet, for other trainers.
 *
 * Vocabulary v1 makes a sequence of each measurement, v2 of each context of one epoch. Input folders with
 * `train`, `val`, `test` in them keep their splits. A rerun of interrupted work keeps the finished files.
 *
 * @module
 */
import { join } from "@std/path";
import { type CheckedOutputs, checkOutputs } from "../files/checked_outputs.ts";
import { openRowFiles } from "../loader/row_source.ts";
import { surveyInputs } from "../measurement/parquet_reader.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { OutputRun } from "../preprocess/output_run.ts";
import { PeakMemory } from "../runtime/peak_memory.ts";
import { listSplitInputs, type SplitInputs } from "../preprocess/split_folders.ts";
import { SPLIT_NAMES } from "../preprocess/splits.ts";
import { Breather, type StageHooks } from "../threads/stage_hooks.ts";
import {
  chosenRttEncoding,
  clippedRtt,
  type RttEncoding,
  type RttEncodingName,
  VOCAB_SIZE as V1_VOCAB_SIZE,
} from "../tokens/vocab_v1.ts";
import { VOCAB_SIZE as V2_VOCAB_SIZE } from "../tokens/vocab_v2.ts";
import { writeContextSequences } from "./context_sequences.ts";
import { rttQuantileUs, writeMeasurementSequences } from "./measurement_sequences.ts";
import { TokenShards } from "./token_shards.ts";

const PROBE_ROWS = {
  extensions: [".arrayrecord"],
  wanted: "an ArrayRecord file of probe rows (probe-rows makes them of Parquet)",
};

/** The common options of both vocabularies. */
interface CommonOptions {
  /** Files, folders and globs. */
  inputs: readonly string[];
  /** The facts in the inputs' manifests; read by default. */
  checked?: CheckedOutputs;
  /** The output folder. */
  output: string;
  /** Sequences of a file. */
  sequencesPerFile: number;
  overwrite: boolean;
}

/** Options of {@link pretokenize} for measurements Parquet. */
export interface V1Options extends CommonOptions {
  vocabulary: "v1";
  rttEncoding: RttEncodingName;
  /** For `clipped`: the clip in milliseconds, or a quantile of all RTTs of the input. */
  rttClip: { ms: number } | { quantile: number };
  /** Largest share of rows that may be rejected. */
  maxRejectRatio: number;
}

/** Options of {@link pretokenize} for probe rows. */
export interface V2Options extends CommonOptions {
  vocabulary: "v2";
  /** Seed of the contexts; a loader with the same seed draws the same ones. */
  seed: number;
  /** The epoch of the loader, from 0. */
  epoch: number;
  /** T: a context has up to T + 1 tokens. */
  sequenceLength: number;
  /** The effect of a damaged chunk. */
  onCorrupt: "error" | "skip";
}

/** The result of a run. */
export interface PretokenizeSummary {
  sequences: number;
  tokens: number;
  /** Rows read: measurements, or probe rows. */
  inputRows: number;
  rejected: Record<string, number>;
  /** Sums by split; `all` if the input has no splits. */
  splits: Record<string, Record<string, number>>;
  /** Further figures of the run: the clip of RTTs in microseconds, the number of skipped damaged chunks. */
  further: Record<string, number>;
  /** Output files, relative to the folder. */
  outputs: string[];
  seconds: number;
  peakMemoryBytes: number;
  /** Whether all outputs already existed. */
  wasComplete: boolean;
}

/**
 * Runs the stage.
 *
 * @throws {UserError} If the input or output cannot be used; a rerun continues where this run ended.
 */
export async function pretokenize(
  options: V1Options | V2Options,
  hooks: StageHooks = {},
): Promise<PretokenizeSummary> {
  const startMs = performance.now();
  using memory = new PeakMemory();
  const checked = options.checked ?? await checkOutputs(options.inputs, {
    onCorrupt: options.vocabulary === "v2" ? options.onCorrupt : "error",
  });
  const inputs = listSplitInputs(options.inputs, options.vocabulary === "v2" ? PROBE_ROWS : undefined);
  using run = new OutputRun(options.output, {
    stage: "pretokenize",
    inputs: inputs.files,
    options: identityOf(options),
    overwrite: options.overwrite,
  });
  const sumBySplit = () => run.sumBySplit("files", ["sequences", "tokens"]);
  const wasComplete = run.output.isComplete;
  if (!wasComplete) {
    try {
      const work = new Work(run, inputs, hooks);
      if (options.vocabulary === "v1") await work.writeV1(options);
      else await work.writeV2({ ...options, checked });
    } catch (error) {
      run.discardIfUseless();
      throw error;
    }
    run.finish(sumBySplit());
  }
  const { inputRows, ...further } = run.output.manifest.counts;
  delete further.splits;
  const splits = sumBySplit();
  const sum = (name: string) => Object.values(splits).reduce((total, counts) => total + counts[name], 0);
  return {
    sequences: sum("sequences"),
    tokens: sum("tokens"),
    inputRows: Number(inputRows),
    rejected: run.output.manifest.rejected,
    splits,
    further: further as Record<string, number>,
    outputs: run.output.manifest.outputs.map(({ path }) => path),
    seconds: (performance.now() - startMs) / 1000,
    peakMemoryBytes: memory.peakBytes,
    wasComplete,
  };
}

/** The options that decide the output's bytes. */
function identityOf(options: V1Options | V2Options): Record<string, unknown> {
  const { vocabulary, sequencesPerFile } = options;
  if (vocabulary === "v2") {
    const { seed, epoch, sequenceLength, onCorrupt } = options;
    return { vocabulary, sequencesPerFile, seed, epoch, sequenceLength, onCorrupt };
  }
  const { rttEncoding, rttClip } = options;
  return { vocabulary, sequencesPerFile, rttEncoding, ...(rttEncoding === "clipped" ? { rttClip } : {}) };
}

/** The work of one run: its input, its output, and its callbacks. */
class Work {
  readonly #breather: Breather;

  constructor(readonly run: OutputRun, readonly inputs: SplitInputs, readonly hooks: StageHooks) {
    this.#breather = new Breather(hooks);
  }

  async writeV1(options: V1Options): Promise<void> {
    const { files } = this.inputs;
    const { numRows: totalRows } = await surveyInputs(files);
    const rttEncoding = await this.#rttEncoding(options, totalRows);
    const { clipUs } = rttEncoding;
    const rejects = new RejectLog();
    const reading = { rejects, onRows: this.#counter("writing", totalRows), rttEncoding };
    const metadata = {
      "ping_llm.rtt_encoding": rttEncoding.name,
      ...(clipUs === undefined ? {} : { "ping_llm.rtt_clip_us": String(clipUs) }),
    };
    for (const [split, files] of this.#groups()) {
      using shards = this.#shards(options, { split, vocabSize: V1_VOCAB_SIZE, metadata });
      await writeMeasurementSequences(files, shards, reading);
      await shards.close();
    }
    this.run.output.manifest.counts = {
      inputRows: totalRows,
      ...(clipUs === undefined ? {} : { rttClipUs: clipUs }),
    };
    this.run.output.manifest.rejected = rejects.counts;
    if (rejects.write(join(this.run.output.folder, "rejects.jsonl"))) await this.run.record("rejects.jsonl");
    rejects.check(totalRows, options.maxRejectRatio);
  }

  async writeV2(options: V2Options & { checked: CheckedOutputs }): Promise<void> {
    const { seed, epoch, sequenceLength, onCorrupt } = options;
    const metadata = {
      "ping_llm.seed": String(seed),
      "ping_llm.epoch": String(epoch),
      "ping_llm.sequence_length": String(sequenceLength),
    };
    let inputRows = 0;
    let numCorruptChunks = 0;
    for (const [split, files] of this.#groups()) {
      using source = await openRowFiles({ path: files[0], files, onCorrupt }, options.checked);
      using shards = this.#shards(options, { split, vocabSize: V2_VOCAB_SIZE, metadata });
      const onRows = this.#counter(split === undefined ? "writing" : `writing ${split}`, source.numRows);
      await writeContextSequences(source, shards, { ...options, onRow: () => onRows(1) });
      await shards.close();
      inputRows += source.numRows;
      numCorruptChunks += source.numCorruptChunks;
    }
    this.run.output.manifest.counts = { inputRows, ...(onCorrupt === "skip" ? { numCorruptChunks } : {}) };
  }

  async #rttEncoding({ rttEncoding: name, rttClip }: V1Options, totalRows: number): Promise<RttEncoding> {
    if ("ms" in rttClip) return chosenRttEncoding({ name, clipMs: rttClip.ms });
    if (name !== "clipped") return chosenRttEncoding({ name, clipMs: Infinity });
    const onRows = this.#counter("finding the clip of RTTs", totalRows);
    // The pass that writes counts rejected rows.
    const reading = { rejects: new RejectLog(), onRows };
    return clippedRtt(await rttQuantileUs(this.inputs.files, rttClip.quantile, reading));
  }

  /** The files of each split, or all of them. */
  #groups(): [split: string | undefined, files: string[]][] {
    const { files, splitOfFile } = this.inputs;
    if (!splitOfFile) return [[undefined, files]];
    const filesOf = (split: string) => files.filter((file) => splitOfFile.get(file) === split);
    return SPLIT_NAMES.map((split): [string, string[]] => [split, filesOf(split)])
      .filter(([, files]) => files.length > 0);
  }

  #shards(
    { vocabulary, sequencesPerFile }: V1Options | V2Options,
    { split, vocabSize, metadata }: {
      split: string | undefined;
      vocabSize: number;
      metadata: Record<string, string>;
    },
  ): TokenShards {
    const shared = { "ping_llm.vocabulary": vocabulary, "ping_llm.vocab_size": String(vocabSize) };
    return new TokenShards(this.run, {
      split,
      sequencesPerFile,
      vocabSize,
      metadata: { ...shared, ...metadata },
    });
  }

  /** Shows progress and yields to signals. */
  #counter(phase: string, totalRows: number): (numRows: number) => Promise<void> {
    let numRowsDone = 0;
    return (numRows) => {
      numRowsDone += numRows;
      this.hooks.onProgress?.(phase, numRowsDone, totalRows);
      return this.#breather.breathe();
    };
  }
}
