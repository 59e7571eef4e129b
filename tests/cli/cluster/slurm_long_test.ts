/** `slurm` as users run it: its scripts by hand, and submitted to a real SLURM if there is one. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { UserError } from "../../../lib/base/errors.ts";
import type { Stage } from "../../../lib/cli/stage.ts";
import { WORK } from "../../../lib/io/files/array_task.ts";
import { LOCK } from "../../../lib/io/files/output_lock.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { MeasurementParquetWriter } from "../../../lib/data/measurement_files/parquet_writer.ts";
import { slurmStage } from "../../../tasks/slurm.ts";
import { shardStage } from "../../../tasks/split_stages.ts";
import { outputOf, type ProcessResult, runDeno, runStageProcess, succeed, succeeded } from "../process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes } from "../../data/probe_rows/stage_fixtures.ts";
import { sampleBatch } from "../../data/probe_rows/sample_parquet.ts";
import {
  bash,
  finalState,
  jobsOf,
  prepared,
  SCRIPTS,
  SHARDS,
  slurmArguments,
  SlurmCluster,
  slurmIsMissing,
  trainingOf,
  untilTraining,
} from "./slurm_cluster.ts";
import { until } from "../../until.ts";

const MAIN = fromFileUrl(new URL("../../../tasks/main.ts", import.meta.url));

Deno.test("slurm --dry-run prints scripts for each way of splitting, and writes nothing", async () => {
  using folder = await prepared();
  const args = [...slurmArguments(folder, folder.at("out")), "--split-by=row,time"].filter((arg) =>
    arg !== "--split-by" && arg !== "row"
  );
  const cluster = "--partition gpu --account net --time 1-00:00:00 --gpus 2 --dry-run".split(" ");
  const more = [
    "--set",
    "eval.time=90",
    'shard.options=["--qos=long"]',
    "--container",
    "apptainer exec --nv i.sif",
  ];
  const { stdout } = await succeed("slurm", ...args, ...cluster, ...more, "--program", "/opt/ping llm");
  assert(!exists(folder.at("out")));
  assertEquals(stdout.match(/^# ==> .* <==$/gm)?.length, 8);
  assertEquals(stdout.match(/^#SBATCH --gres=gpu:2$/gm)?.length, 4);
  assertEquals(stdout.match(/^#SBATCH --qos=long$/gm)?.length, 2);
  for (const option of ["partition=gpu", "account=net", "cpus-per-task=1", "mem=2G"]) {
    assertEquals(stdout.match(new RegExp(`^#SBATCH --${option}$`, "gm"))?.length, 8, option);
  }
  for (const [time, jobs] of [["1-00:00:00", 6], ["90", 2]]) {
    assertEquals(stdout.match(new RegExp(`^#SBATCH --time=${time}$`, "gm"))?.length, jobs);
  }
  assertStringIncludes(stdout, `exec apptainer exec --nv i.sif \\\n    '/opt/ping llm' train \\\n`);
  assertStringIncludes(stdout, `--data ${folder.at("out/time/rows")} \\\n`);
});

const hasShellcheck = new Deno.Command("which", { args: ["shellcheck"] }).outputSync().success;
if (!hasShellcheck) console.log("shellcheck is left out: it is not installed (Debian: shellcheck)");

Deno.test("bash and shellcheck accept slurm's scripts, whatever the paths", async () => {
  using folder = await prepared();
  const output = folder.at(`it's "50 %" of $HOME \\`);
  const { stdout } = await succeed("slurm", ...slurmArguments(folder, output));
  for (const [i, path] of jobsOf(output).entries()) {
    assertStringIncludes(stdout, `'${path.replaceAll("'", "'\\''")}'`);
    assertEquals((await outputOf(bash("-n", path))).stderr, "");
    const log = /^#SBATCH --output="(.*)"$/m.exec(Deno.readTextFileSync(path))?.[1];
    const number = i < 2 ? "%A_%a" : "%j";
    const escaped = join(output, "jobs", SCRIPTS[i]).replaceAll("%", "%%").replace(/["\\]/g, "\\$&");
    assertEquals(log, `${escaped}-${number}.log`);
  }
  if (!hasShellcheck) return;
  // SC2016: the path contains a $ that does not start a variable.
  const checked = new Deno.Command("shellcheck", { args: ["--exclude=SC2016", ...jobsOf(output)] })
    .outputSync();
  assertEquals(new TextDecoder().decode(checked.stdout), "");
});

/** The one-line error of a stage. */
async function refusalOf(
  stage: Stage,
  args: readonly string[],
): Promise<{ message: string; exitCode: number }> {
  const { message, exitCode } = await assertRejects(() => stage.run(args), UserError);
  assert(!message.includes("\n"), message);
  return { message, exitCode };
}

Deno.test("slurm keeps foreign scripts and those of other options, and --overwrite replaces only its own", async () => {
  using folder = await prepared();
  const [output, args] = [folder.at("out"), slurmArguments(folder, folder.at("out"))];
  await succeed("slurm", ...args);
  const before = folderHashes(output);
  await succeed("slurm", ...args);
  const refused = await runStageProcess(["slurm", ...args, "--partition", "gpu"]);
  assertEquals(refused.code, 1);
  assertMatch(
    refused.stderr,
    /^error: Cannot write .*01-shard.sbatch: it was made with other options or edited by/,
  );
  assertEquals(folderHashes(output), before);
  Deno.writeTextFileSync(jobsOf(output)[3], "#!/bin/bash\necho mine\n");
  const foreign = await runStageProcess(["slurm", ...args, "--partition", "gpu", "--overwrite"]);
  assertMatch(
    foreign.stderr,
    /^error: Cannot write .*04-eval.sbatch: a file that slurm did not write exists already/,
  );
  assertEquals(foreign.code, 1);
  Deno.removeSync(jobsOf(output)[3]);
  await succeed("slurm", ...args, "--partition", "gpu", "--overwrite");
  for (const path of jobsOf(output)) assertMatch(Deno.readTextFileSync(path), /^#SBATCH --partition=gpu$/m);
});

Deno.test("slurm rejects invalid options and inputs with a one-line error", async () => {
  using folder = await prepared();
  const args = slurmArguments(folder, folder.at("out"));
  Deno.writeTextFileSync(folder.at("broken.json"), "{");
  const wrong: [number, RegExp, ...string[]][] = [
    [2, /--submit and --dry-run together/, "--submit", "--dry-run"],
    [2, /config key partition: found "a b", expected a word of letters/, "--partition", "a b"],
    [2, /config key time: found "soon", expected a time such as/, "--time", "soon"],
    [2, /config key train.gpuz: the key is unknown; did you mean gpus\?/, "--set", "train.gpuz=1"],
    [2, /config key gpus: found "two"/, "--set", "gpus=two"],
    [2, /config key shard.tasks: found 5000, expected at most 1000/, "--set", "shard.tasks=5000"],
    [2, /config key train.args: slurm sets --run itself/, "--set", 'train.args=["--run","x"]'],
    [2, /config key options.0: found "qos", expected an option of sbatch/, "--set", 'options=["qos"]'],
    [2, /option --stepss: .* did you mean steps\?.* \(of train\)/, "--set", 'train.args=["--stepss","9"]'],
    [
      2,
      /--max-measurements few: expected an integer \(of eval\)/,
      "--set",
      'eval.args=["--max-measurements","few"]',
    ],
    [2, /the path contains a line break/, "--output", folder.at("a\nb")],
    [2, /Cannot use --split-by rows: expected distinct values from probe/, "--split-by", "rows"],
    [2, /Cannot use --split-by time,time/, "--split-by", "time,time"],
    [1, /Cannot read .*none.json: no such file/, "--config", folder.at("none.json")],
    [
      1,
      /Cannot read .*broken.json: it is not JSON, expected a cluster's configuration/,
      "--config",
      folder.at("broken.json"),
    ],
    [1, /Cannot read .*nothing: no such file/, "--input", folder.at("nothing")],
    [2, /Cannot write to .*: it contains the input .*/, "--output", folder.at("in put")],
  ];
  for (const [exitCode, message, option, ...values] of wrong) {
    const at = args.indexOf(option);
    const kept = at < 0 ? args : args.toSpliced(at, 2);
    const refusal = await refusalOf(slurmStage, [...kept, option, ...values]);
    assertMatch(refusal.message, message);
    assertEquals(refusal.exitCode, exitCode, refusal.message);
  }
  assert(!exists(folder.at("out")));
});

Deno.test("slurm rejects the same inputs as shard, before it writes a script", async () => {
  using folder = await prepared();
  const whole = folder.at("in put/m.parquet");
  const at = (name: string) => folder.at(`${name}.parquet`);
  const [text, cut, other, plain] = ["text", "cut/m", "other", "plain"].map(at);
  Deno.writeTextFileSync(text, "src_addr,dst_addr\n");
  Deno.mkdirSync(folder.at("cut"));
  Deno.writeFileSync(cut, Deno.readFileSync(whole).subarray(0, 1000));
  Deno.copyFileSync(`${whole}.manifest.json`, `${cut}.manifest.json`);
  const columnData = [{ name: "event_time", data: [1], type: "INT32" as const }];
  Deno.writeFileSync(other, new Uint8Array(parquetWriteBuffer({ columnData })));
  const writer = MeasurementParquetWriter.create(plain, { optionalColumns: [] });
  writer.append(sampleBatch({ numRows: 9 }));
  writer.close();
  const wrong: [RegExp, string, string[]][] = [
    [/it does not start with PAR1/, text, []],
    [/as m.parquet.manifest.json says/, cut, []],
    [/src_addr/, other, []],
    [/prb_id/, plain, ["--group-by", "prb_id"]],
  ];
  for (const [message, path, shardArgs] of wrong) {
    const asked = ["--input", path, "--output", folder.at("asked"), ...shardArgs];
    const expected = await refusalOf(shardStage, asked);
    assertMatch(expected.message, message);
    const set = ["--set", `shard.args=${JSON.stringify(shardArgs)}`];
    for (const dryRun of [[], ["--dry-run"]]) {
      const slurm = ["--input", whole, path, "--output", folder.at("out"), ...set, ...dryRun];
      assertEquals(await refusalOf(slurmStage, slurm), expected);
    }
    assert(!exists(folder.at("out")));
  }
});

Deno.test("slurm's scripts report a stage as stopped if a signal ended it before it could listen", async () => {
  using folder = await prepared();
  const program = folder.at("program");
  await succeed("slurm", ...slurmArguments(folder, folder.at("out")), "--program", program);
  for (const signal of ["USR2", "TERM"]) {
    Deno.writeTextFileSync(program, `#!/bin/sh\nkill -s ${signal} $$\n`, { mode: 0o755 });
    const { code, stdout } = await outputOf(bash(jobsOf(folder.at("out"))[2]));
    assertEquals(code, 75);
    assertMatch(stdout, /: stopped; run this script again to continue$/m);
  }
});

async function submit(args: readonly string[], env: Record<string, string>): Promise<ProcessResult> {
  const flags = ["--allow-read", "--allow-write", "--allow-run"];
  return await runDeno([...flags, MAIN, "slurm", ...args, "--submit", "--json"], { env });
}

Deno.test("slurm --submit reports why it cannot run sbatch as a one-line error", async () => {
  using folder = await prepared();
  const args = slurmArguments(folder, folder.at("out"));
  Deno.mkdirSync(folder.at("bin"));
  const none = await submit(args, { PATH: folder.at("bin") });
  assertMatch(none.stderr, /^error: Cannot submit: sbatch is not on PATH, .*\n$/);
  assertEquals(none.code, 1);
  assert(exists(jobsOf(folder.at("out"))[0]));
});

function processOf(run: string): number | undefined {
  const lock = join(run, WORK, LOCK);
  return exists(lock) ? Number(/process (\d+)/.exec(Deno.readTextFileSync(lock))?.[1]) : undefined;
}

/** The result of an undisturbed training. */
let undisturbed: { folder: TemporaryFolder; output: string } | undefined;

Deno.test("slurm's scripts run by hand in order, resume a stopped training and report a killed one", async () => {
  const folder = await prepared();
  const output = folder.at("by hand");
  undisturbed = { folder, output };
  await succeed("slurm", ...slurmArguments(folder, output));
  const [shard, rows, train, evaluate] = jobsOf(output);
  for (const script of [shard, rows]) {
    const { code, stdout, stderr } = await outputOf(bash(script));
    assertEquals([code, stdout.match(/: done$/gm)?.length], [0, 2], stderr);
  }
  const alone = folder.at("alone");
  const plain = ["--input", folder.at("in put/m.parquet"), "--split-by", "row", ...SHARDS];
  await succeed("shard", ...plain, "--output", join(alone, "shards"));
  await succeed(
    "probe-rows",
    "--input",
    join(alone, "shards"),
    "--output",
    join(alone, "rows"),
    "--shards",
    "2",
  );
  const records = (root: string) =>
    Object.entries(folderHashes(join(root, "rows"))).filter(([name]) => name.endsWith(".arrayrecord"));
  assert(records(alone).length > 2);
  assertEquals(records(output), records(alone));

  const run = join(output, "train");
  for (const signal of ["SIGTERM", "SIGUSR2"] as const) {
    const stopped = bash(train);
    await untilTraining(run);
    stopped.kill(signal);
    const { code, stdout, stderr } = await outputOf(stopped);
    assertEquals(code, 75, stderr);
    assertMatch(stdout, /: stopped; run this script again to continue$/m);
    Deno.removeSync(join(run, "metrics.jsonl"));
  }
  const killed = bash(train);
  await untilTraining(run);
  Deno.kill(processOf(run) ?? 0, "SIGKILL");
  const { code, stderr } = await outputOf(killed);
  assertEquals(code, 137, stderr);
  assertMatch(stderr, /^error: the stage was killed, probably for exceeding --mem=2G; /m);
  for (const script of [train, evaluate]) {
    await succeeded(outputOf(bash(script)));
  }
  await succeed("train", "--data", join(alone, "rows"), "--run", join(alone, "train"), ...trainingOf());
  assertEquals(finalState(run), finalState(join(alone, "train")));
  const status = await runStageProcess(["status", output]);
  assertEquals(status.code, 0, status.stdout);
});

Deno.test("a chain under SLURM matches one run by hand, though its training is signalled and requeued", {
  ignore: slurmIsMissing() !== undefined,
}, async () => {
  assert(undisturbed !== undefined, "the run by hand comes first");
  const { folder, output: byHand } = undisturbed;
  await using slurm = await SlurmCluster.start();
  const wrong = [...slurmArguments(folder, folder.at("wrong")), "--partition", "nowhere"];
  const refused = await submit(wrong, slurm.env);
  assertMatch(
    refused.stderr,
    /^error: Cannot submit .*01-shard.sbatch: sbatch printed `.*Invalid partition.*`, .*\n$/,
  );
  assertEquals(refused.code, 1);
  const output = folder.at("under SLURM");
  const { stdout } = await succeeded(submit(slurmArguments(folder, output), slurm.env));
  const { jobs: [, , train, evaluate] } = JSON.parse(stdout) as { jobs: number[] };
  const log = join(output, `jobs/03-train-${train}.log`);
  // Once for each way to send a signal: to the shell, and to all of its processes.
  for (const how of ["--batch", "--full"]) {
    await untilTraining(join(output, "train"));
    Deno.removeSync(join(output, "train/metrics.jsonl"));
    slurm.command("scancel", "--signal=USR2", how, String(train));
    await until("the requeue", () => slurm.stateOf(train) === "PENDING");
  }
  await until("the end", () => /COMPLETED|FAILED|CANCELLED/.test(slurm.stateOf(evaluate)));
  const text = Deno.readTextFileSync(log);
  assertEquals([slurm.stateOf(train), slurm.stateOf(evaluate)], ["COMPLETED", "COMPLETED"], text);
  for (const restart of [0, 1, 2]) {
    assertMatch(text, new RegExp(`job ${train}, restart ${restart} of at most 100, on `));
  }
  const [first, second] = [...text.matchAll(/^resuming after step (\d+) of/gm)].map(([, step]) =>
    Number(step)
  );
  assert(first > 0 && second > first, text);
  assertEquals(text.match(/with everything saved; requeueing job/g)?.length, 2, text);
  assertEquals(finalState(join(output, "train")), finalState(join(byHand, "train")));
  assert(exists(join(output, "eval/report.html")));

  // A cancelled job saves everything and stays cancelled.
  const cancelled = folder.at("cancelled");
  await succeed("slurm", ...slurmArguments(folder, cancelled));
  for (const script of jobsOf(cancelled).slice(0, 2)) await succeeded(outputOf(bash(script)));
  const id = Number(slurm.command("sbatch", "--parsable", jobsOf(cancelled)[2]));
  await untilTraining(join(cancelled, "train"));
  slurm.command("scancel", String(id));
  await until("the end", () => /CANCELLED|PENDING/.test(slurm.stateOf(id)));
  const ended = Deno.readTextFileSync(join(cancelled, `jobs/03-train-${id}.log`));
  assertEquals(slurm.stateOf(id), "CANCELLED", ended);
  assertMatch(ended, /^step \d+: saved [^]*: stopped by SLURM with everything saved$/m);
});

globalThis.addEventListener("unload", () => undisturbed?.folder[Symbol.dispose]());
