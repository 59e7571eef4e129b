/**
 * Stages that replace an output, killed at each of their changes to the file system. Readers find the old
 * output, the new output, or a one-line error that says what to run; the rerun leaves the same result as an
 * undisturbed run.
 *
 * A killed process leaves what an undisturbed one had left by then. So one run is watched, and each state of
 * its folder is restored for a reader and a rerun.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { dirname, join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { checkOutputs } from "../../lib/io/files/checked_outputs.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { readManifest } from "../../lib/io/files/manifest.ts";
import { stepName } from "../../lib/io/files/checkpoint_folder.ts";
import { listCheckpoints, loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { writeRowCheckpoint } from "../query/adapt/row_checkpoint.ts";
import {
  copyFolder,
  type FolderState,
  isSameState,
  stateOf,
  TemporaryFolder,
} from "../io/files/temporary_folder.ts";
import { watchChanges } from "../io/files/file_changes.ts";
import { syntheticRows } from "../data/loader/synthetic_rows.ts";
import { TrainingRuns, writeRows } from "../train/training_runs.ts";
import { PrometheusServer } from "./fetch/prometheus_server.ts";
import { commandOf, loadStage } from "./stage_in_process.ts";

interface Replacement {
  /** The arguments of the run whose output is replaced, or that replaces it. @param out The output. */
  args(out: string, which: "old" | "new"): string[];
  /** Whether the new run is the first one, without an output to replace. */
  isFirst?: boolean;
  /** Whether a rerun keeps the files recorded by the killed run instead of writing them again. */
  keepsFiles?: boolean;
  /** Reads the output. @throws {UserError} If it is incomplete. */
  read(out: string): Promise<unknown>;
  /** Other contents that a reader may find, such as earlier checkpoints of the run. @param out Its output. */
  readSteps?(out: string): Promise<unknown[]>;
  input?: Record<"old" | "new", string>;
  /** Every how many changes to kill it; 1 by default. */
  stride?: number;
}

async function run(words: string[], input = ""): Promise<void> {
  const stdin = Object.getOwnPropertyDescriptor(Deno, "stdin") ?? {};
  Object.defineProperty(Deno, "stdin", { ...stdin, value: { readable: new Blob([input]).stream() } });
  try {
    const { command, rest } = commandOf(words);
    await (await loadStage(command)).run(rest, { log: () => {} });
  } finally {
    Object.defineProperty(Deno, "stdin", stdin);
  }
}

/** The inodes of the outputs that a run recorded in its work folder. */
function recordedInodes(out: string): Map<string, number | null> {
  const outputs = readManifest(join(out, ".work", "manifest.json"))?.outputs ?? [];
  const inNext = (name: string) => join(out, ".work", "next", name);
  return new Map(outputs.map(({ path }) => [path, Deno.statSync(inNext(path)).ino]));
}

function putBack(folder: string, state: FolderState): void {
  Deno.mkdirSync(folder);
  for (const [path, content] of state) {
    if (content) Deno.writeFileSync(join(folder, path), content);
    else Deno.mkdirSync(join(folder, path));
  }
}

/**
 * Kills the new run at its changes, each time in a copy of the old run's folder. @returns How often readers
 * reported an error.
 */
async function killEverywhere(
  folder: TemporaryFolder,
  {
    args,
    read,
    readSteps = () => Promise.resolve([]),
    input,
    stride = 1,
    isFirst = false,
    keepsFiles = false,
  }: Replacement,
): Promise<number> {
  const [oldPlace, newPlace] = ["old", "new"].map((name) => folder.at(name));
  const place = folder.at("killed");
  const out = (root: string) => join(root, "out");
  for (const root of [oldPlace, newPlace]) Deno.mkdirSync(root);
  if (!isFirst) await run(args(out(oldPlace), "old"), input?.old);
  copyFolder(oldPlace, newPlace);
  copyFolder(oldPlace, place);
  const runNew = (root: string) => run(args(out(root), "new"), input?.new);
  await runNew(newPlace);
  const oldContent = isFirst ? null : await read(out(oldPlace));
  const newContent = await read(out(newPlace));
  const whole = [oldContent, newContent, ...await readSteps(out(newPlace))].map((each) =>
    JSON.stringify(each)
  );
  assert(JSON.stringify(oldContent) !== JSON.stringify(newContent), "both runs wrote the same");
  const states = [{ state: stateOf(place), change: 0 }];
  await watchChanges(() => runNew(place), (change) => {
    if (change % stride !== 0) return;
    const state = stateOf(place);
    if (!isSameState(state, states.at(-1)?.state)) states.push({ state, change });
  });
  let [numRefused, numKept] = [0, 0];
  for (const { state, change } of states) {
    Deno.removeSync(place, { recursive: true });
    putBack(place, state);
    try {
      const content = JSON.stringify(await read(out(place)));
      assert(
        whole.includes(content),
        `what is read after change ${change} is neither of both: ${content.slice(0, 500)}`,
      );
    } catch (error) {
      assert(error instanceof UserError, `after change ${change}: ${error}`);
      // A first run may not have written anything yet.
      const isNothing = isFirst && /no such file|no \.\w+ file/.test(error.message);
      if (!isNothing) {
        assertMatch(error.message, /^Cannot [^\n]*(run |again)[^\n]*$/, `after change ${change}`);
      }
      numRefused++;
    }
    const inodes = keepsFiles ? recordedInodes(out(place)) : new Map();
    numKept += inodes.size;
    await runNew(place);
    for (const [name, inode] of inodes) {
      assertEquals(Deno.statSync(join(out(place), name)).ino, inode, `${name} was written again`);
    }
    assertEquals(await read(out(place)), newContent, `a rerun after change ${change}`);
    assertEquals([...stateOf(place).keys()], [...stateOf(newPlace).keys()], `a rerun after change ${change}`);
  }
  Deno.removeSync(place, { recursive: true });
  assert(states.length > 5, `only ${states.length} states`);
  assert(!keepsFiles || numKept > 5, `${numKept} files were kept`);
  return numRefused;
}

/** Reads files like a stage that takes them as input. */
async function readOutputs(out: string, names: readonly string[] = [""]): Promise<string[]> {
  await checkOutputs([out], { verify: true });
  return names.map((name) =>
    new TextDecoder("latin1").decode(Deno.readFileSync(name ? join(out, name) : out))
  );
}

/**
 * Reads all data of an output folder like a stage that takes it as input; a user's own globs find the same
 * files. Whether the folder, a folder in it or one of its files is given, readers reject all of them or none.
 */
async function readData(out: string, isWanted = /./): Promise<string[]> {
  const isData = (name: string) => /^[^.].*\.\w+$/.test(name) && !name.startsWith("manifest");
  const names = exists(out)
    ? [...stateOf(out).keys()].filter((name) => isData(name) && isWanted.test(name))
    : [];
  await checkOutputs([out], { verify: true }).catch(async (error) => {
    for (const named of names.flatMap((name) => [name, dirname(name)])) {
      await assertRejects(() => checkOutputs([join(out, named)], { onCorrupt: "skip" }), UserError);
    }
    throw error;
  });
  if (names.length === 0) throw new UserError(`Cannot read ${out}: no .data file in it`);
  return names.map((name) => {
    const bytes = Deno.readFileSync(join(out, name));
    // Durations differ.
    const text = new TextDecoder("latin1").decode(bytes).replaceAll(/"seconds":[^,}]*/g, "");
    return `${name} ${createHash("sha256").update(text).digest("hex")}`;
  });
}

/** Reads a checkpoint as `query` does. */
function readWeights(out: string): Promise<unknown> {
  return Promise.try(() => {
    const { state, weights } = loadCheckpoint(out);
    return [
      state.step,
      [...weights].map(([name, values]) => [name, [...values].reduce((sum, x) => sum + Math.abs(x), 0)]),
    ];
  });
}

const line = (rtt: number) => `${JSON.stringify({ src: "10.0.0.1", dst: "10.0.0.2", time: 1.7e9, rtt })}\n`;

/** Writes two small files of measurements, `old.csv` and `new.csv`. */
function writeMeasurements(folder: TemporaryFolder): void {
  for (const [name, rtt] of [["old", 10], ["new", 20]] as const) {
    // Two of the lines are rejected.
    const rows = Array.from({ length: 60 }, (_, i) => `10.0.${i % 20}.1,10.0.1.${i},${1.7e9 + i},${rtt}\n`);
    Deno.writeTextFileSync(folder.at(`${name}.csv`), `src,dst,time,rtt\n${rows.join("")}x,10.0.1.1,1,1\n`);
  }
}

/** The data stages, run on `old.csv`, `new.csv` and the output of earlier stages. */
const DATA_STAGES: Record<string, {
  /** The ending of the output's name. */
  end?: string;
  args: (at: (name: string) => string, which: "old" | "new") => string[];
}> = {
  import: {
    end: ".parquet",
    args: (at, which) => ["--input", at(`${which}.csv`), "--max-reject-ratio", "0.5"],
  },
  shard: {
    args: (at, which) => [
      ...["--input", at(`${which}.parquet`), "--train-shards", "2", "--val-shards", "1"],
      ...["--test-shards", "1", "--workers", "1"],
    ],
  },
  "probe-rows": {
    args: (at, which) => ["--input", at(`${which}.parquet`), "--shards", "2", "--workers", "1"],
  },
  pretokenize: {
    args: (at, which) => ["--input", at(`${which}-rows`), "--sequences-per-file", "5"],
  },
  synth: {
    end: ".parquet",
    args: (_at, which) => [
      ...["--rows", "400", "--probes", "4", "--destinations", "4", "--workers", "1"],
      ...["--seed", which === "old" ? "1" : "2"],
    ],
  },
};

for (const [stage, { end = "", args }] of Object.entries(DATA_STAGES)) {
  for (const isFirst of [true, false]) {
    Deno.test(`${stage}${isFirst ? "" : " --overwrite"} survives a kill at any change`, async () => {
      using folder = new TemporaryFolder();
      const at = (name: string) => folder.at(name);
      writeMeasurements(folder);
      for (const which of ["old", "new"] as const) {
        const words = (
          name: string,
          ...more: string[]
        ) => [name, ...DATA_STAGES[name].args(at, which), ...more];
        await run(words("import", "--output", at(`${which}.parquet`)));
        if (stage === "pretokenize") await run(words("probe-rows", "--output", at(`${which}-rows`)));
      }
      const read = end === "" ? readData : (out: string) => readOutputs(`${out}${end}`);
      const overwrite = isFirst ? [] : ["--overwrite"];
      await killEverywhere(folder, {
        args: (out, which) => [stage, ...args(at, which), "--output", `${out}${end}`, ...overwrite],
        read,
        isFirst,
        keepsFiles: end === "",
      });
    });
  }
}

Deno.test("fetch prometheus --overwrite survives a kill at any change", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  const span = ["--start", "2020-10-07T03:00:00", "--stop", "2020-10-07T03:20:00", "--window", "8m"];
  await killEverywhere(folder, {
    args: (out, which) => [
      ...["fetch", "prometheus", "--url", server.url, "--query", "probe_duration_seconds", ...span],
      ...["--step", which === "old" ? "15s" : "30s", "--output", out, "--overwrite"],
    ],
    read: readData,
  });
});

Deno.test("query matrix and eval --overwrite survive a kill at any change", async (t) => {
  using folder = new TemporaryFolder();
  writeRowCheckpoint(folder.at("run"));
  Deno.writeTextFileSync(folder.at("nodes.txt"), "10.0.0.1\n10.0.0.2\n");
  await t.step("query matrix", async () => {
    await killEverywhere(folder, {
      args: (out, which) => [
        ...["query", "matrix", "--checkpoint", folder.at("run"), "--nodes", folder.at("nodes.txt")],
        ...["--quantiles", which === "old" ? "0.1" : "0.2", "--output", `${out}.csv`, "--overwrite"],
      ],
      read: (out) => readOutputs(`${out}.csv`),
    });
  });
  for (const name of ["old", "new"]) Deno.removeSync(folder.at(name), { recursive: true });
  await t.step("eval", async () => {
    await writeRows(folder.at("rows"), "train", syntheticRows(1, 10, 10));
    await writeRows(folder.at("rows"), "test", syntheticRows(2, 4, 10));
    await killEverywhere(folder, {
      args: (out, which) => [
        ...["eval", "--checkpoint", folder.at("run"), "--data", folder.at("rows"), "--output", out],
        ...[
          "--max-measurements",
          which === "old" ? "3" : "2",
          "--baselines",
          "none",
          "--history",
          "train",
          "--overwrite",
        ],
      ],
      // The page also shows durations.
      read: (out) => readData(out, /json$/),
      stride: 2,
    });
  });
});

Deno.test("export --overwrite survives a kill at any change", async () => {
  using folder = new TemporaryFolder();
  writeRowCheckpoint(folder.at("run"));
  const numRefused = await killEverywhere(folder, {
    args: (out, which) => {
      const dtype = which === "old" ? "f32" : "f16";
      return ["export", "--checkpoint", folder.at("run"), "--output", out, "--dtype", dtype, "--overwrite"];
    },
    read: (out) => readOutputs(out, ["site.json", "index.html"]),
    stride: 2,
  });
  assert(numRefused > 0);
});

/** Writes a checkpoint, and measurements for two runs of `adapt`. @returns The arguments of `adapt`. */
function adaptation(folder: TemporaryFolder): (out: string, ...more: string[]) => string[] {
  writeRowCheckpoint(folder.at("run"));
  for (const [name, text] of Object.entries(MEASURED)) {
    Deno.writeTextFileSync(folder.at(`${name}.jsonl`), text);
  }
  return (out, ...more) => [
    ...["adapt", "--checkpoint", folder.at("run"), "--output", out, "--steps", "2", "--overwrite"],
    ...more,
  ];
}

const MEASURED = { old: line(10), new: line(70) };

for (
  const [name, flags] of Object.entries({
    "adapt --merge of what adapt wrote": { old: [], new: ["--merge"] },
    "adapt of what adapt --merge wrote": { old: ["--merge"], new: [] },
  })
) {
  Deno.test(`${name} --overwrite survives a kill at any change`, async () => {
    using folder = new TemporaryFolder();
    const args = adaptation(folder);
    await killEverywhere(folder, {
      args: (out, which) => args(out, "--input", folder.at(`${which}.jsonl`), ...flags[which]),
      read: readWeights,
    });
  });
}

Deno.test("adapt --follow survives a kill at any change", async () => {
  using folder = new TemporaryFolder();
  const args = adaptation(folder);
  await killEverywhere(folder, {
    args: (out) => args(out, "--follow"),
    input: MEASURED,
    read: readWeights,
    readSteps: async () => {
      await run(args(folder.at("empty"), "--follow"));
      return [await readWeights(folder.at("empty"))];
    },
  });
});

Deno.test("train --fresh survives a kill at any change", async () => {
  using folder = new TemporaryFolder();
  // Few rows, whose pool is fitted quickly.
  await writeRows(folder.at("rows"), "train", syntheticRows(1, 10, 10));
  await writeRows(folder.at("rows"), "val", syntheticRows(2, 4, 10));
  const settings = { "train.checkpointEverySteps": 1, "train.keepCheckpoints": 9, "train.evalEverySteps": 2 };
  const runs = new TrainingRuns(folder.path);
  const numRefused = await killEverywhere(folder, {
    args: (out, which) => {
      const seed = which === "old" ? "1" : "2";
      const pool = ["--pool-measurements", "2000"];
      return runs.arguments(
        out,
        settings,
        "--steps",
        "2",
        "--workers",
        "0",
        "--seed",
        seed,
        "--fresh",
        ...pool,
      );
    },
    read: readWeights,
    readSteps: (out) =>
      Promise.all(
        listCheckpoints(join(out, "checkpoints")).map(({ step }) =>
          readWeights(join(out, "checkpoints", stepName(step)))
        ),
      ),
    stride: 3,
  });
  assert(numRefused > 0);
});

Deno.test("slurm --overwrite, killed at any change, leaves each script old or new", async () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("data.csv"), "src,dst,time,rtt\n10.0.0.1,10.0.0.2,1700000000,10\n");
  await run(["import", "--input", folder.at("data.csv"), "--output", folder.at("data.parquet")]);
  const scripts = (out: string) => {
    const jobs = join(out, "jobs");
    return [...Deno.readDirSync(jobs)].map(({ name }) => name).filter((name) => name.endsWith(".sbatch"))
      .sort()
      .map((name) => Deno.readTextFileSync(join(jobs, name)).replaceAll(/killed|old|new/g, ""));
  };
  const timeOf = (script: string) => /--time=(\S+)/.exec(script)?.[1];
  await killEverywhere(folder, {
    args: (out, which) => [
      ...["slurm", "--input", folder.at("data.parquet"), "--output", out, "--overwrite"],
      ...["--time", which === "old" ? "1:00:00" : "2:00:00"],
    ],
    // The scripts are separate files.
    read: (out) => Promise.resolve([...new Set(scripts(out).map(timeOf))].sort()),
    readSteps: () => Promise.resolve([["1:00:00", "2:00:00"]]),
  });
});
