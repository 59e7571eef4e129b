/**
 * Simulates job arrays of `shard` and `probe-rows` on a shared file system, with nodes that fail. Runs both
 * stages under strace on a small input, fits how the number of file operations grows, and simulates large
 * arrays.
 *
 *     deno run -A tests/cli/cluster/array_simulation.ts
 *
 * For a division that was not fitted (32 tasks, 26 shards) it predicts 610 and 1,554 operations per task
 * (counted: 610 and 1,647), and 9.4 and 4.9 s (measured: 9.2 and 4.7).
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { command } from "../../../lib/cli/command.ts";
import { option } from "../../../lib/cli/options.ts";
import { defineStage, runStage } from "../../../lib/cli/stage.ts";
import { RidgeSum } from "../../../lib/model/coordinates/ridge.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

const MAIN = fromFileUrl(new URL("../../../tasks/main.ts", import.meta.url));
/** Rows of the small input: large enough not to be hashed whole, as large inputs are not. */
const SMALL_ROWS = 1_600_000;
/** Rows per second of a task on two cores, from the table in README.md. */
const RATES = { "shard": 1.8e6, "probe-rows": 3.8e6 };
/** Operations per task for each concurrent task: three look-ups of its manifest. */
const SIBLING_OPERATIONS = 3;
/** Operations of `probe-rows` per part of all shards: three listings, 510 names at a time. */
const NAME_OPERATIONS = 3 / 510;
/**
 * Latency of an operation without load; sigma of the logarithm of run times; the share of stragglers and
 * their slowdown; time between two starts of a task.
 */
const [LATENCY_S, SIGMA, STRAGGLERS, STRAGGLERS_TAKE, RESTART_S] = [3e-4, 0.2, 0.02, 4, 60];

/** Sizes of a chain: input files, tasks and shards (of all splits) of `shard`, tasks of `probe-rows`. */
type Plan = [files: number, tasks: number, shards: number, rowTasks: number];
const FITTED: Plan[] = [[4, 4, 6, 4], [16, 4, 6, 4], [4, 64, 6, 4], [4, 4, 50, 4], [4, 16, 50, 16]];
const CHECKED: Plan = [8, 32, 26, 8];
const LARGE: Plan[] = [[1e3, 1e3, 1e3, 1e3], [1e3, 1e3, 250, 1e3], [1e3, 64, 256, 16], [1e3, 250, 64, 64]];

/** Shards of val; test has as many. */
const heldOutOf = (shards: number) => Math.ceil(shards / 10);

/** The average number of parts that a task of `probe-rows` reads for one file of train. */
function partsReadOf([, n, shards, rowTasks]: Plan): number {
  const train = shards - 2 * heldOutOf(shards);
  let divisor = train;
  let rest = rowTasks;
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  return n * (train + rowTasks - divisor) / rowTasks;
}

/** The quantities that the operations of a task grow with. */
const GROWTH = {
  "shard": ([files, , shards]: Plan) => [1, files, shards],
  // Manifests of `shard`, and the parts that the task reads.
  "probe-rows": (plan: Plan) => [1, plan[1], partsReadOf(plan)],
};
type StageName = keyof typeof GROWTH;
const STAGES = ["shard", "probe-rows"] as const;

/** Runs a stage, under strace if `trace` names a file for the output. */
async function run(args: string[], trace?: string): Promise<void> {
  const calls = "trace=%file,fsync,fdatasync,getdents64,flock";
  const strace = trace === undefined ? [] : ["strace", "-f", "-y", "-qq", "-e", calls, "-o", trace];
  const [program, ...rest] = [...strace, Deno.execPath(), "run", "-A", MAIN, ...args, "--quiet"];
  const { code, stderr } = await new Deno.Command(program, { args: rest, stdout: "null" }).output();
  assertEquals(code, 0, `${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

/** Arguments of an array's tasks, the first task last. */
function tasksOf(stage: StageName, [, tasks, shards, rowTasks]: Plan, input: string, output: string) {
  const held = heldOutOf(shards);
  const sizes = stage === "shard"
    ? ["--train-shards", shards - 2 * held, "--val-shards", held, "--test-shards", held]
    : ["--shards", rowTasks];
  const args = [stage, "--input", input, "--output", output, ...sizes.map(String)];
  const count = stage === "shard" ? tasks : rowTasks;
  return Array.from({ length: count }, (_, i) => [...args, "--task", `${count - i}/${count}`]);
}

/** Runs tasks two at a time. @returns Seconds for all of them, and per task on average. */
async function runTwoAtATime(tasks: string[][]): Promise<{ arrayS: number; taskS: number }> {
  const [queue, startMs] = [[...tasks], performance.now()];
  let sumMs = 0;
  const work = async () => {
    for (let args; (args = queue.shift()) !== undefined; sumMs += performance.now()) {
      sumMs -= performance.now();
      await run(args);
    }
  };
  await Promise.all([work(), work()]);
  return { arrayS: (performance.now() - startMs) / 1000, taskS: sumMs / 1000 / tasks.length };
}

/** Counts the requests of the first task of each array. It runs last and handles train shards. */
async function measure(plan: Plan) {
  using folder = new TemporaryFolder();
  const [input, shards, rows, trace] = ["input", "shards", "rows", "trace"].map((name) => folder.at(name));
  const size = ["--rows", String(SMALL_ROWS / plan[0]), "--probes", "500", "--destinations", "50"];
  for (let i = 0; i < plan[0]; i++) {
    await run(["synth", "--output", `${input}/${i}.parquet`, "--seed", String(i), ...size]);
  }
  const array = async (stage: StageName, from: string, to: string) => {
    const tasks = tasksOf(stage, plan, from, to);
    const times = await runTwoAtATime(tasks.slice(0, -1));
    await run(tasks[tasks.length - 1], trace);
    const lines = Deno.readTextFileSync(trace).split("\n").filter((line) => line.includes(folder.path));
    // A network file system's client resolves links and open files locally.
    const isOne = /^\d+ +(?!execve|readlink)\w+\((?!.*AT_EMPTY_PATH)/;
    return { ...times, operations: lines.filter((line) => isOne.test(line)).length };
  };
  const arrays = [await array("shard", input, shards), await array("probe-rows", shards, rows)];
  const manifest = `${rows}/manifest-00001-of-${String(plan[3]).padStart(5, "0")}.json`;
  return { arrays, manifestBytes: Deno.statSync(manifest).size };
}

/** Operations per unit of each quantity in {@link GROWTH}, by least squares of relative errors. */
function fit(stage: StageName, operations: number[]): Float64Array {
  const sum = new RidgeSum(GROWTH[stage](CHECKED).length);
  const shares = FITTED.map((plan, i) => GROWTH[stage](plan).map((value) => value / operations[i]));
  for (const each of shares) sum.add(Float64Array.from(each), 1);
  return sum.solve(1e-12);
}

/** `before`, `after`: operations of a task before and after its computation. */
type Load = Record<"tasks" | "before" | "after" | "computeS", number>;
/** Concurrent tasks, operations per second that they share, failures of a node per hour. */
type Cluster = Record<"slots" | "limit" | "failures" | "sigma", number>;

/** Simulates an array on a cluster, event by event. A task whose node fails starts over. */
function simulate({ tasks, before, after, computeS }: Load, cluster: Cluster, random: RandomStream) {
  const { slots, limit, failures, sigma } = cluster;
  const waiting: number[] = Array(tasks).fill(0);
  let running: { left: number[]; startS: number }[] = [];
  const ends: number[] = [];
  let nowS = 0;
  let lostS = 0;
  let busyS = 0;
  while (ends.length < tasks) {
    while (running.length < slots && waiting[0] <= nowS) {
      waiting.shift();
      const slow = sigma > 0 && random.float64() < STRAGGLERS ? STRAGGLERS_TAKE : 1;
      const seconds = slow * computeS * Math.exp(sigma * random.normal() - sigma ** 2 / 2);
      running.push({ left: [after, seconds, before], startS: nowS });
    }
    const numAsking = running.filter(({ left }) => left.length !== 2).length;
    const rate = Math.min(1 / LATENCY_S, limit / numAsking);
    const paceOf = (left: number[]) => left.length === 2 ? 1 : rate;
    const failsS = random.exponential() * 3600 / (failures * running.length);
    const readyS = running.length < slots && waiting.length > 0 ? waiting[0] - nowS : Infinity;
    const phasesS = running.map(({ left }) => left[left.length - 1] / paceOf(left));
    const nextS = Math.min(...phasesS, failsS, readyS);
    nowS = nextS === readyS ? waiting[0] : nowS + nextS;
    busyS += nextS * running.length;
    for (const { left } of running) {
      left[left.length - 1] -= nextS * paceOf(left);
      if (left[left.length - 1] < 1e-6) left.pop();
    }
    if (nextS === failsS) {
      const [{ startS }] = running.splice(random.below(running.length), 1);
      lostS += nowS - startS;
      waiting.push(nowS + RESTART_S);
    }
    ends.push(...running.filter(({ left }) => left.length === 0).map(() => nowS));
    running = running.filter(({ left }) => left.length > 0);
  }
  return { seconds: nowS, lost: lostS / busyS, tail: 1 - ends[Math.floor(0.95 * tasks)] / nowS };
}

function describe(load: Load, cluster: Omit<Cluster, "sigma">, random: RandomStream): string {
  const runs = Array.from({ length: 9 }, () => simulate(load, { ...cluster, sigma: SIGMA }, random));
  const { seconds, lost, tail } = runs.sort((a, b) => a.seconds - b.seconds)[4];
  const millions = (load.tasks * (load.before + load.after) / 1e6).toFixed(1);
  const [minutes, computes, failed, waited] = [seconds / 60, load.computeS / 60, 100 * lost, 100 * tail]
    .map((value) => value.toFixed(1));
  return `${millions} M operations, ${minutes} min (a task computes for ${computes}), ${failed} % lost to ` +
    `failures, ${waited} % waiting for the last twentieth`;
}

const arraySimulation = defineStage(
  command({
    name: "array simulation",
    summary: "measure the file-system load of shard and probe-rows tasks, and simulate large job arrays",
    example: "--rows 35e9 --slots 1000 --limit 20000",
    options: {
      rows: option.number("rows of the simulated input", { default: 35e9, min: 1 }),
      slots: option.integer("tasks that run at the same time", { default: 1000, min: 1 }),
      limit: option.number("operations per second that the file system can do", { default: 20_000, min: 1 }),
      failures: option.number("failures of a node per hour", { default: 0.01, min: 0 }),
    },
  }),
  async ({ rows, ...cluster }, { log }) => {
    const random = new RandomStream(cluster.seed, "tests/cluster/array_simulation");
    const measured: Awaited<ReturnType<typeof measure>>[] = [];
    for (const plan of [...FITTED, CHECKED]) measured.push(await measure(plan));
    const { manifestBytes, arrays } = measured[FITTED.length];
    const weights = STAGES.map((stage, i) => fit(stage, measured.map(({ arrays }) => arrays[i].operations)));
    const toldOf = (plan: Plan) =>
      STAGES.map((stage, i) => GROWTH[stage](plan).reduce((sum, value, j) => sum + value * weights[i][j], 0));
    for (const [i, { operations, arrayS, taskS }] of arrays.entries()) {
      const load = { tasks: [CHECKED[1], CHECKED[3]][i] - 1, before: 0, after: 0, computeS: taskS };
      const { seconds } = simulate(load, { slots: 2, limit: 1, failures: 0, sigma: 0 }, random);
      const growth = [...weights[i]].map((weight) => weight.toFixed(1)).join(", ");
      const told = `${toldOf(CHECKED)[i].toFixed(0)} and ${seconds.toFixed(1)} s`;
      log(
        `${STAGES[i]}: ${growth}; for ${CHECKED} predicted ${told}, measured ${operations} and ${
          arrayS.toFixed(1)
        } s`,
      );
    }
    const lines = LARGE.flatMap((plan) => {
      // The files that a task reads, and the manifests of all tasks.
      const [entries, checked] = [plan, CHECKED].map((each) => partsReadOf(each) + each[1]);
      const manifestsGb = plan[3] * entries * manifestBytes / checked / 1e9;
      const head = `${plan}: ${plan[1] * plan[2]} files, ${manifestsGb.toFixed(2)} GB of manifests`;
      // `shard` writes its files at the end.
      const loads = toldOf(plan).map((told, i) => {
        const tasks = plan[i === 0 ? 1 : 3];
        const after = i === 0 ? weights[0][2] * plan[2] : 0;
        const names = i === 0 ? 0 : NAME_OPERATIONS * plan[1] * plan[2];
        const before = told - after + names + SIBLING_OPERATIONS * Math.min(tasks, cluster.slots);
        return { tasks, before, after, computeS: rows / tasks / RATES[STAGES[i]] };
      });
      return [head, ...loads.map((load, i) => `  ${STAGES[i]}: ${describe(load, cluster, random)}`)];
    });
    return { text: lines.join("\n"), json: { lines } };
  },
);

if (import.meta.main) await runStage(arraySimulation, Deno.args);
