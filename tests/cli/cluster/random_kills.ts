/**
 * Runs the executable from measurements to an evaluated model with one `slurm --submit` on a real SLURM,
 * while jobs are signalled, killed or lose one of the two nodes at random. The files must be the same as
 * those of an undisturbed chain.
 *
 *     deno run -A tests/cli/cluster/random_kills.ts --runs 20
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { command } from "../../../lib/cli/command.ts";
import { option } from "../../../lib/cli/options.ts";
import { defineStage, runStage } from "../../../lib/cli/stage.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { comparableFiles } from "../../fuzz/trials.ts";
import { SlurmCluster } from "./slurm_cluster.ts";
import { until } from "../../until.ts";
import { smallSettings } from "../../train/small_run.ts";

const ATLAS = fromFileUrl(new URL("../../fuzz/atlas.jsonl.bz2", import.meta.url));
const CHECKOUT = fromFileUrl(new URL("../../../", import.meta.url));
/** The stages in order. A job of a stage is killed within this many seconds of its start. */
const STAGES = { "shard": 1, "probe-rows": 1, "train": 6, "eval": 6 };
const SETTINGS = smallSettings({
  "train.evalSequences": 4,
  "train.logEverySteps": 1,
  "train.checkpointEverySteps": 25,
});
const CLUSTER = {
  gpus: 0,
  cpus: 1,
  memoryGb: 2,
  setup: ["export NO_COLOR=1"],
  "shard": { tasks: 3, args: ["--train-shards", "8", "--val-shards", "1", "--test-shards", "1"] },
  "probe-rows": { tasks: 3, args: ["--shards", "8"] },
  "train": { args: ["--steps", "200", ...SETTINGS] },
  "eval": { args: ["--max-measurements", "20", "--contexts", "0", "--baselines", "none"] },
};
const MAX_SUBMISSIONS = 12;

const sleep = (seconds: number) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

const KILLS: Record<string, (slurm: SlurmCluster, job: number) => unknown> = {
  "SIGUSR2 to the script": (slurm, job) => slurm.command("scancel", "--signal=USR2", "--batch", `${job}`),
  "SIGTERM to all": (slurm, job) => slurm.command("scancel", "--signal=TERM", "--full", `${job}`),
  "SIGKILL to all": (slurm, job) => slurm.command("scancel", "--signal=KILL", "--full", `${job}`),
  "scancel": (slurm, job) => slurm.command("scancel", `${job}`),
  "kill -9 of the stage": (slurm, job) => slurm.kill(job, "stage"),
  "kill -9 of the script": (slurm, job) => slurm.kill(job, "shell"),
  "node down and up": (slurm, job) => slurm.loseNode(job),
  "kill -9 of all, node down and up": (slurm, job) => {
    slurm.kill(job, "daemon", "shell", "stage");
    return slurm.loseNode(job);
  },
  // The stage keeps running, unnoticed, while SLURM starts it again.
  "kill -9 of the job's daemon, node down and up": (slurm, job) => {
    slurm.kill(job, "daemon");
    return slurm.loseNode(job);
  },
};

/** Kills running jobs, each of its drawn stage or a later one. @returns How they were killed. */
async function killJobs(slurm: SlurmCluster, random: RandomStream, signal: AbortSignal): Promise<string[]> {
  const numKills = 2 + random.below(3);
  const drawn = Array.from({ length: numKills }, () => random.below(Object.keys(STAGES).length)).sort();
  const done: string[] = [];
  for (const first of drawn) {
    const kind = Object.keys(KILLS)[random.below(Object.keys(KILLS).length)];
    const [delayS, choice] = [Object.values(STAGES)[first] * random.float64(), random.float64()];
    const names = Object.keys(STAGES).slice(first).map((name) => `ping-llm-${name}`).join();
    const query = ["--noheader", "--states=RUNNING", `--name=${names}`, "--format=%A %j"];
    const untilRunning = async () => {
      for (let jobs = ""; !signal.aborted; jobs = slurm.command("squeue", ...query).trim()) {
        if (jobs !== "") return jobs.split("\n");
        await sleep(0.1);
      }
      return [];
    };
    await untilRunning();
    await sleep(delayS);
    const jobs = await untilRunning();
    if (jobs.length === 0) break;
    const [job, name] = jobs[Math.floor(choice * jobs.length)].split(" ");
    const [state, restarts] = [() => slurm.stateOf(Number(job)), () => slurm.restartsOf(Number(job))];
    const before = restarts();
    await KILLS[kind](slurm, Number(job));
    await until(`the end of job ${job}`, () => restarts() > before || !/RUNNING|COMPLETING/.test(state()));
    // Otherwise the kill came too late.
    if (restarts() > before || state() !== "COMPLETED") {
      done.push(`${name.replace("ping-llm-", "")}: ${kind}`);
    }
  }
  return done;
}

/** Runs a chain under SLURM, submitting it until it is done. */
async function runChain(program: string, folder: string, output: string, random?: RandomStream) {
  await using slurm = await SlurmCluster.start();
  const ended = new AbortController();
  const kills = random === undefined ? Promise.resolve([]) : killJobs(slurm, random, ended.signal);
  const files = ["--input", join(folder, "in"), "--config", join(folder, "cluster.json"), "--output", output];
  const args = ["slurm", ...files, "--split-by", "row", "--submit", "--json"];
  let submissions = 0;
  for (let state = ""; state !== "COMPLETED"; submissions++) {
    assert(submissions < MAX_SUBMISSIONS, `${output} is not done after ${submissions} submissions`);
    const { jobs } = JSON.parse(run(program, args, slurm.env)) as { jobs: number[] };
    await until("the end of the chain", () => slurm.command("squeue", "--noheader") === "", 200);
    state = slurm.stateOf(jobs[jobs.length - 1]);
  }
  ended.abort();
  const logs = [...Deno.readDirSync(join(output, "jobs"))].filter(({ name }) => name.endsWith(".log"))
    .map(({ name }) => Deno.readTextFileSync(join(output, "jobs", name))).join("\n");
  assert(!logs.includes("\n    at "), `${output}: a stack trace is in a log`);
  return { kills: await kills, submissions, resumed: logs.match(/^resuming after step/gm)?.length ?? 0 };
}

function run(program: string, args: string[], env: Record<string, string> = {}): string {
  const { code, stdout, stderr } = new Deno.Command(program, { args, env, cwd: CHECKOUT }).outputSync();
  const text = new TextDecoder();
  assertEquals(code, 0, `${args.join(" ")}: ${text.decode(stderr)}`);
  return text.decode(stdout);
}

/** The chain's outputs without scripts, logs and manifests, and reports without paths and times. */
function madeFiles(output: string): Record<string, unknown> {
  const { run: _, ...report } = JSON.parse(Deno.readTextFileSync(join(output, "eval/report.json")));
  const files = Object.entries(comparableFiles(output)).filter(([path]) =>
    !/^jobs\/|manifest[^/]*\.json$/.test(path)
  );
  return { ...Object.fromEntries(files), report };
}

const randomKills = defineStage(
  command({
    name: "random kills",
    summary: "kills jobs of the chain under SLURM at random and compares what it makes",
    example: "--runs 20 --seed 1",
    options: {
      runs: option.integer("disturbed chains, each with two to four kills", { default: 20, min: 1 }),
      from: option.integer("number of the first, to see one again", { default: 0, min: 0 }),
      input: option.texts("files or folders of RIPE Atlas results", { value: "PATH" }),
    },
  }),
  async ({ runs, from, seed, input }, { log, signal }) => {
    const folder = Deno.makeTempDirSync({ prefix: "ping-llm-kills-" });
    const program = join(folder, "ping-llm");
    run(Deno.execPath(), ["task", "--quiet", "compile", "--output", program]);
    for (const [i, path] of (input.length > 0 ? input : [ATLAS]).entries()) {
      run(program, ["import", "--input", path, "--output", join(folder, `in/${i}.parquet`)]);
    }
    Deno.writeTextFileSync(join(folder, "cluster.json"), JSON.stringify(CLUSTER));
    await runChain(program, folder, join(folder, "undisturbed"));
    const wanted = madeFiles(join(folder, "undisturbed"));
    for (let number = from; number < from + runs; number++) {
      signal.throwIfAborted();
      const output = join(folder, `run-${number}`);
      const random = new RandomStream(seed, "tests/cluster/random_kills", number);
      const startMs = performance.now();
      const result = await runChain(program, folder, output, random);
      const seconds = Math.round((performance.now() - startMs) / 1000);
      log(`run ${number}: ${seconds} s, ${JSON.stringify(result)}`);
      assertEquals(madeFiles(output), wanted, output);
    }
    Deno.removeSync(folder, { recursive: true });
    return { text: `${runs} runs made the same files`, json: { runs, seed } };
  },
);

if (import.meta.main) await runStage(randomKills, Deno.args);
