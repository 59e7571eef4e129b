/** Training by several ranks in real processes: with equal losses and bits; stopped, resumed, refused. */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertLess,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { join } from "@std/path";
import type { TensorArray } from "../../../lib/base/safetensors_header.ts";
import { readMetrics } from "../../../lib/train/metrics.ts";
import { readSafetensors } from "../../../lib/io/safetensors.ts";
import { loadCheckpoint } from "../../../lib/train/checkpoint.ts";
import { outputOf, type ProcessResult, runStageProcess, succeeded } from "../../cli/process.ts";
import { copyFolder } from "../../io/files/temporary_folder.ts";
import { isDawnMissing } from "../../tensor/dawn.ts";
import {
  checkpointOf,
  metricsOf,
  STEPS,
  tensorHashes,
  TrainingRuns,
  writeTrainingRows,
} from "../training_runs.ts";
import type { Settings } from "../small_run.ts";
import { type Launcher, launchers } from "./launchers.ts";

const folder = Deno.makeTempDirSync();
const runs = new TrainingRuns(folder);
/** Evaluated often, so that a signal arrives long before the end. */
const SETTINGS = { "train.evalEverySteps": 2 };
const FOUND = launchers();
const [first] = FOUND;

Deno.test.beforeAll(() => writeTrainingRows(runs.data));

Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

interface Together {
  launcher?: Launcher;
  numRanks?: number;
  settings?: Settings;
  more?: string[];
}

async function trainTogether(run: string, together: Together = {}): Promise<ProcessResult> {
  const { launcher = first, numRanks = 2, settings = {}, more = [] } = together;
  const args = runs.arguments(run, { ...SETTINGS, ...settings }, ...more);
  return await runStageProcess(args, launcher.options(numRanks));
}

/** The losses of two runs differ only by the order of sums in float32, which later steps magnify. */
function assertAlike(run: string, reference: string, tolerance: number): void {
  const [actual, expected] = [metricsOf(run), metricsOf(reference)];
  assertEquals(actual.length, expected.length);
  for (const name of ["train/loss", "train/grad_norm", "train/padding", "eval/loss"]) {
    expected.forEach((record, i) => {
      const [a, b] = [Number(actual[i][name] ?? 0), Number(record[name] ?? 0)];
      assertLess(Math.abs(a - b), tolerance * Math.abs(b) + 1e-9, `${name} of step ${i + 1}: ${a}, ${b}`);
    });
  }
}

const alone = join(folder, "alone");
const two = join(folder, "two ranks");
/** What the run of two ranks reports. */
let ofTwo: { eval_loss: number; sent_bytes: number } | undefined;

Deno.test(
  { name: "2 and 4 ranks match the losses of one process, and report once", ignore: !first },
  async () => {
    await succeeded(runs.train(alone, SETTINGS));
    for (
      const [run, launcher, numRanks] of [
        [two, first, 2],
        [join(folder, "four"), FOUND.at(-1) ?? first, 4],
      ] as const
    ) {
      const result = await succeeded(trainTogether(run, { launcher, numRanks, more: ["--json"] }));
      const json = JSON.parse(result.stdout);
      assertEquals(json.step, STEPS);
      if (run === two) ofTwo = json;
      assertMatch(result.stderr, new RegExp(`^${numRanks} ranks with `, "m"));
      assertEquals(result.stderr.match(/validation loss/g)?.length, STEPS / 2);
      assertAlike(run, alone, 1e-3);
      assertNotEquals(tensorHashes(run), tensorHashes(alone));
    }
  },
);

Deno.test(
  { name: "ranks learn from a teacher as one process does", ignore: !first },
  async () => {
    const more = ["--teacher", alone, "--steps", "10", "--set", "train.teacherWeight=1"];
    const [one, both] = [join(folder, "one taught"), join(folder, "both taught")];
    await succeeded(runs.train(one, SETTINGS, ...more));
    await succeeded(trainTogether(both, { more }));
    assertAlike(both, one, 1e-3);
  },
);

for (const launcher of FOUND) {
  Deno.test(`a signal to one rank of ${launcher.name} stops all, and the run resumes bit for bit`, async () => {
    const run = join(folder, `stopped ${launcher.name}`);
    const stopped = await runs.signalAtStep(run, 3, {
      signals: ["SIGTERM"],
      settings: SETTINGS,
      process: launcher.options(2),
      target: () => pidOfRank(launcher, 1, run),
    });
    assertEquals(stopped.code, 75, stopped.stderr);
    assertMatch(stopped.stderr, /^error: stopped by SIGTERM; run the same command again to continue$/m);
    assertLess(metricsOf(run).length, STEPS);
    const resumed = await succeeded(trainTogether(run, { launcher }));
    assertMatch(resumed.stderr, /^resuming after step \d+ of 40$/m);
    assertEquals(tensorHashes(run), tensorHashes(two));
    assertEquals(metricsOf(run), metricsOf(two));
  });
}

Deno.test(
  { name: "a run of two ranks resumes with one and with four, on the same batches", ignore: !first },
  async () => {
    const run = join(folder, "changing ranks");
    const settings = { ...SETTINGS, "train.microBatchSize": 1 };
    const stopAt = (step: number, numRanks: number) =>
      runs.signalAtStep(run, step, {
        signals: ["SIGTERM"],
        settings,
        ...(numRanks === 1
          ? {}
          : { process: first.options(numRanks), target: () => pidOfRank(first, 0, run) }),
      });
    assertEquals((await stopAt(3, 2)).code, 75);
    assertEquals((await stopAt(12, 1)).code, 75);
    await succeeded(trainTogether(run, { numRanks: 4, settings }));
    assertAlike(run, alone, 1e-3);
  },
);

Deno.test({ name: "exchanging gradients as f16 changes losses little", ignore: !first }, async () => {
  const run = join(folder, "f16");
  await succeeded(trainTogether(run, { more: ["--set", "train.exchangeDtype=f16"] }));
  assertAlike(run, alone, 2e-2);
});

Deno.test({
  name: "non-finite steps are skipped by all ranks, and too many stop the run",
  ignore: !first,
}, async () => {
  const run = join(folder, "not finite");
  const settings = { "optim.groups.head.learningRate": 1000, "optim.groups.matrices.learningRate": 1000 };
  const { code, stderr } = await trainTogether(run, {
    settings: { ...settings, "train.maxSkippedSteps": 3 },
  });
  assertEquals(code, 1, stderr);
  assertEquals(
    stderr.match(/^error: Cannot continue training: .* was not finite in \d+ steps in a row/gm)?.length,
    1,
    stderr,
  );
  assertLess(2, Number(readMetrics(join(run, "metrics.jsonl")).at(-1)?.["train/skipped_steps"]));
});

Deno.test({ name: "ranks that cannot train together report the reason", ignore: !first }, async () => {
  const odd = { "train.batchSize": 3, "train.microBatchSize": 1, "train.evalSequences": 3 };
  const cases: [Settings, string[], number, RegExp][] = [
    [odd, [], 2, /train.batchSize.*found 3, expected a multiple of the number of ranks \(2\)/],
    [
      {},
      ["--mpi-library", "/nowhere/libmpi.so"],
      1,
      /^error: Cannot load an MPI library: \/nowhere\/libmpi.so: .*; correct --mpi-library$/,
    ],
    [
      {},
      ["--set", "train.exchangeDtype=i8"],
      2,
      /train.exchangeDtype.*found i8 for gradients, expected f32 or f16/,
    ],
    [{}, ["--profile"], 2, /Cannot use --profile with several ranks/],
  ];
  for (const [settings, more, wanted, message] of cases) {
    const { code, stderr } = await trainTogether(join(folder, "refused"), { settings, more });
    assertEquals(code, wanted, stderr);
    assertMatch(stderr.split("\n").find((line) => line.startsWith("error: ")) ?? "", message);
  }
});

async function trainEach(argumentsOfRanks: readonly string[][]): Promise<ProcessResult> {
  const { launcher: [command, ...words] = [], flags = [], env = {} } = first.options(1);
  const main = new URL("../../../tasks/main.ts", import.meta.url).pathname;
  const program = [Deno.execPath(), "run", "--no-prompt", "--allow-read", "--allow-write", ...flags, main];
  const args = argumentsOfRanks.flatMap((own, i) => [...(i > 0 ? [":"] : []), "-n", "1", ...program, ...own]);
  const options = words.filter((word) => word !== "-n" && word !== "1");
  return await outputOf(
    new Deno.Command(command, {
      args: [...options, ...args],
      env: { NO_COLOR: "1", ...env },
      stdout: "piped",
      stderr: "piped",
    }).spawn(),
  );
}

Deno.test({
  name: "ranks with different options are refused, naming the first difference",
  ignore: !first,
}, async () => {
  const run = join(folder, "differing");
  const { code, stderr } = await trainEach([
    runs.arguments(run, SETTINGS),
    runs.arguments(run, { "train.evalEverySteps": 9 }),
  ]);
  assertEquals(code, 1, stderr);
  assertEquals(stderr.split("\n").filter((line) => line.startsWith("error: ")), [
    "error: Cannot train together: rank 1 has train.evalEverySteps 9, the first rank 2; start all ranks with the same program, options and data",
  ]);
});

Deno.test({
  name: "all ranks use the engine of the first",
  ignore: !first || isDawnMissing(),
}, async () => {
  const run = join(folder, "engines");
  const argumentsOf = (engine: string) => runs.arguments(run, SETTINGS, "--steps", "4", "--engine", engine);
  await succeeded(trainEach([argumentsOf("dawn"), argumentsOf("deno")]));
  assertEquals(loadCheckpoint(run).state.engine, "dawn");
});

/** The tensors of a run's last checkpoint, without those that training does not set. */
function tensorsOf(run: string, file: "model" | "optimizer", step: number): Map<string, TensorArray> {
  return readSafetensors(join(checkpointOf(run, step), `${file}.safetensors`)).tensors;
}

const LOCAL = ["--set", "train.syncEverySteps=5", "train.outerMomentum=0.6"];

Deno.test(
  { name: "ranks with local steps follow their mean with Nesterov momentum", ignore: !first },
  async () => {
    const [still, moved] = ["still", "moved"].map((name) => join(folder, name));
    for (const [run, rate] of [[still, "0"], [moved, "0.7"]]) {
      const more = [...LOCAL, `train.outerLearningRate=${rate}`, "--steps", "5"];
      await succeeded(trainTogether(run, { more }));
    }
    const [start, end, state] = [
      tensorsOf(still, "model", 5),
      tensorsOf(moved, "model", 5),
      tensorsOf(moved, "optimizer", 5),
    ];
    for (const [name, initial] of start) {
      const mean = state.get(`${name}.outer_momentum`);
      if (!mean) continue;
      assert(mean.some((value) => value !== 0), name);
      const reached = end.get(name) ?? [];
      initial.forEach((value, i) => assertAlmostEquals(reached[i], value + 0.7 * 1.6 * mean[i], 1e-6));
    }
  },
);

Deno.test(
  { name: "ranks with local steps learn about as much and send less", ignore: !first },
  async () => {
    assert(ofTwo, "the run of two ranks comes first");
    const { eval_loss: loss, sent_bytes: sentBytes } = ofTwo;
    for (const format of ["f32", "i8"]) {
      const run = join(folder, `local ${format}`);
      const more = [...LOCAL, `train.exchangeDtype=${format}`, "--json"];
      const { stdout } = await succeeded(trainTogether(run, { more }));
      const local = JSON.parse(stdout);
      assertLess(Math.abs(local.eval_loss - loss), 0.25 * loss);
      assertLess(local.sent_bytes, sentBytes / (format === "i8" ? 8 : 2));
      const evaluated = metricsOf(run).filter((record) => "eval/loss" in record);
      assertEquals(evaluated.map(({ step }) => step), [5, 10, 15, 20, 25, 30, 35, 40]);
    }
  },
);

Deno.test({
  name: "ranks with local steps stop when synchronised and resume bit for bit",
  ignore: !first,
}, async () => {
  const more = [...LOCAL, "train.exchangeDtype=i8"];
  const run = join(folder, "local stopped");
  const stopped = await runs.signalAtStep(run, 3, {
    signals: ["SIGUSR2"],
    settings: SETTINGS,
    more,
    process: first.options(2),
    target: () => pidOfRank(first, 1, run),
  });
  assertEquals(stopped.code, 75, stopped.stderr);
  const step = metricsOf(run).at(-1)?.step ?? 0;
  assertEquals([step % 5, step > 0, step < STEPS], [0, true, true]);
  const [damaged, fewer] = ["damaged", "fewer"].map((name) => join(folder, name));
  for (const copy of [damaged, fewer]) copyFolder(run, copy);
  const state = join(checkpointOf(damaged, step), "rank-1-of-2.safetensors");
  const bytes = Deno.readFileSync(state);
  bytes[bytes.length - 1] ^= 1;
  Deno.writeFileSync(state, bytes);
  for (const [path, numRanks] of [[run, 2], [damaged, 2], [fewer, 4]] as const) {
    const { stderr } = await succeeded(trainTogether(path, { numRanks, more }));
    assertEquals(metricsOf(path).length, STEPS);
    assertEquals(
      /no optimizer states of \d ranks in .*: all start from rank 0's/.test(stderr),
      path !== run,
    );
  }
  const undisturbed = join(folder, "local i8");
  assertEquals(tensorHashes(run), tensorHashes(undisturbed));
  assertEquals(metricsOf(run), metricsOf(undisturbed));
  assertNotEquals(tensorHashes(damaged), tensorHashes(undisturbed));
});

/** Finds a rank's process by its launcher's variable, in a shell, as Deno may not read about processes. */
function pidOfRank({ rankVariable }: Launcher, rank: number, run: string): number {
  const script = 'for file in $(grep -lzsx "$1" /proc/[0-9]*/environ); do ' +
    'grep -qzsxF "$2" "${file%environ}cmdline" && echo "$file"; done';
  const args = ["-c", script, "sh", `${rankVariable}=${rank}`, run];
  const { stdout } = new Deno.Command("sh", { args }).outputSync();
  const [, , pid] = new TextDecoder().decode(stdout).split("/");
  if (pid === undefined) throw new Error(`no process of rank ${rank}`);
  return Number(pid);
}
