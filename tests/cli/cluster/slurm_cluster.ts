/**
 * A real SLURM on this machine, for tests. Its daemons, one per virtual node, run in a folder of the test and
 * end with it.
 *
 * @module
 */
import { exists } from "../../../lib/io/files/inputs.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { until } from "../../until.ts";
import { join } from "@std/path";
import { succeed } from "../process.ts";
import { folderHashes } from "../../data/probe_rows/stage_fixtures.ts";
import { smallSettings } from "../../train/small_run.ts";

/** Daemons that a killed test leaves behind exit after this time. */
const LIFE_S = 240;
const HOST = Deno.hostname().split(".")[0];
const PROGRAMS = ["sbatch", "slurmctld", "slurmd", "munged"];

/** Why SLURM cannot be started here, which it also prints; undefined if it can. */
export function slurmIsMissing(): string | undefined {
  const reason = missingOfSlurm();
  if (reason !== undefined) console.log(`tests of a real SLURM are left out: ${reason}`);
  return reason;
}

function missingOfSlurm(): string | undefined {
  const missing = PROGRAMS.filter((name) =>
    !new Deno.Command("which", { args: [name] }).outputSync().success
  );
  if (missing.length > 0) {
    return `there is no ${missing.join(", ")} (Debian: apt-get install slurm-wlm munge)`;
  }
  return Deno.uid() === 0 ? undefined : "only root can start its daemons";
}

/** Each has one processor; memory is not limited. */
const NODES = ["n1", "n2"];

function configOf(folder: string): string {
  const port = 20_000 + crypto.getRandomValues(new Uint16Array(1))[0] % 10_000;
  const memoryMb = Math.floor(0.9 * Deno.systemMemoryInfo().total / 2 ** 20);
  const node = `NodeAddr=127.0.0.1 NodeHostname=${HOST} CPUs=1 RealMemory=${memoryMb} State=UNKNOWN`;
  return `ClusterName=test
SlurmctldHost=${HOST}(127.0.0.1)
SlurmUser=root
SlurmctldPort=${port}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=${folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool.%n
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd.%n.pid
TmpFS=${folder}/tmp.%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,requeue_delay=0
ReturnToService=2
KillWait=5
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
${NODES.map((name, i) => `NodeName=${name} Port=${port + 1 + i} ${node}`).join("\n")}
PartitionName=test Nodes=${NODES.join(",")} Default=YES MaxTime=INFINITE State=UP
`;
}

export class SlurmCluster implements AsyncDisposable {
  readonly #folder: TemporaryFolder;
  readonly #daemons: Deno.ChildProcess[] = [];
  readonly env: Record<string, string>;

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder;
    this.env = { SLURM_CONF: folder.at("slurm.conf") };
  }

  static async start(): Promise<SlurmCluster> {
    const folder = new TemporaryFolder();
    const cluster = new SlurmCluster(folder);
    // The daemons check who else can access their folder.
    Deno.chmodSync(folder.path, 0o755);
    const folders = NODES.flatMap((node) => [`spool.${node}`, `tmp.${node}`]);
    for (const name of ["state", ...folders]) Deno.mkdirSync(folder.at(name));
    Deno.writeFileSync(folder.at("munge.key"), crypto.getRandomValues(new Uint8Array(128)), { mode: 0o600 });
    Deno.writeTextFileSync(folder.at("slurm.conf"), configOf(folder.path));
    const files = ["key-file=munge.key", "socket=munge.socket", "pid-file=munge.pid", "seed-file=munge.seed"];
    const options = [...files, "log-file=munge.log"].map((option) =>
      `--${option.replace("=", `=${folder.path}/`)}`
    );
    cluster.#run("munged", "--foreground", "--force", ...options);
    await until("munged", () => exists(folder.at("munge.socket")));
    cluster.#run("slurmctld", "-D", "-c");
    for (const node of NODES) cluster.#run("slurmd", "-D", "-N", node);
    const states = () => cluster.command("sinfo", "-h", "-N", "-o", "%T").trim().split("\n");
    await until("SLURM", () => states().every((state) => state === "idle"));
    return cluster;
  }

  /** Runs a SLURM command. @returns Its standard output. */
  command(name: string, ...args: string[]): string {
    return new TextDecoder().decode(new Deno.Command(name, { args, env: this.env }).outputSync().stdout);
  }

  /** The state of a job, such as RUNNING; for an array, the states of its tasks. */
  stateOf(id: number): string {
    return this.command("squeue", "--noheader", "--states=all", `--jobs=${id}`, "--format=%T").trim();
  }

  /** How often SLURM has requeued a job. */
  restartsOf(id: number): number {
    return Number(/Restarts=(\d+)/.exec(this.command("scontrol", "show", "job", String(id)))?.[1]);
  }

  /** Kills processes of a job: SLURM's daemon for it, the script's shell, or the stage. */
  kill(job: number, ...which: ("daemon" | "shell" | "stage")[]): void {
    const script = `/job${String(job).padStart(5, "0")}/slurm_script`;
    const processes = this.command("ps", "-eo", "pid=,ppid=,args=").split("\n").map((line) => {
      const [pid, parent, ...args] = line.trim().split(/\s+/);
      return { pid, parent, args: args.join(" ") };
    });
    const shell = processes.find(({ args }) => args.includes(this.#folder.path) && args.endsWith(script));
    const stage = processes.find(({ parent, args }) => parent === shell?.pid && args.includes("ping-llm"));
    if (!shell || !stage) return;
    const pids = { daemon: shell.parent, shell: shell.pid, stage: stage.pid };
    this.command("kill", "-9", ...which.map((name) => pids[name]));
  }

  /** Takes the node away from a running job and returns it. Meanwhile the job may start on another node. */
  async loseNode(job: number): Promise<void> {
    const nodeOf = () =>
      this.command("squeue", "--noheader", "--states=RUNNING", `--jobs=${job}`, "--format=%N").trim();
    const name = nodeOf();
    if (name === "") return;
    const node = `NodeName=${name}`;
    this.command("scontrol", "update", node, "State=DOWN", "Reason=trial");
    await until("the job's end there", () => nodeOf() !== name);
    this.command("scontrol", "update", node, "State=RESUME");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.command("scancel", "--user=root", "--full", "--signal=KILL");
    this.command("scancel", "--user=root");
    await until("jobs to end", () => this.command("squeue", "--noheader") === "");
    for (const daemon of this.#daemons.reverse()) {
      daemon.kill("SIGTERM");
      await daemon.status;
    }
    this.#folder[Symbol.dispose]();
  }

  #run(name: string, ...args: string[]): void {
    const options = { args: ["--kill-after=5", String(LIFE_S), name, ...args], env: this.env };
    const silent = { stdin: "null", stdout: "null", stderr: "null" } as const;
    this.#daemons.push(new Deno.Command("timeout", { ...options, ...silent }).spawn());
  }
}

/** Default number of training steps, enough for signals to arrive before the end. */
const STEPS = 400;
const SMALL = smallSettings({
  "train.logEverySteps": 1,
  "train.checkpointEverySteps": 100_000,
  "model.coordinates": null,
});
export const SHARDS = ["--train-shards", "4", "--val-shards", "1", "--test-shards", "1"];
export function trainingOf(steps = STEPS): string[] {
  return ["--steps", String(steps), ...SMALL];
}

/** A small cluster, with options that keep its jobs short. */
const CLUSTER = {
  gpus: 0,
  cpus: 1,
  memoryGb: 2,
  signalSeconds: 60,
  setup: ["export NO_COLOR=1"],
  "shard": { tasks: 2, args: SHARDS },
  "probe-rows": { tasks: 2, args: ["--shards", "2"] },
  "train": { args: trainingOf() },
  "eval": { args: ["--max-measurements", "20", "--contexts", "0", "--baselines", "none"] },
};
export const SCRIPTS = ["01-shard", "02-probe-rows", "03-train", "04-eval"];

/** Makes a folder with measurements and a cluster configuration. Its name needs shell quotes. */
export async function prepared(): Promise<TemporaryFolder> {
  const folder = new TemporaryFolder();
  const args = ["--rows", "4000", "--probes", "20", "--destinations", "8"];
  await succeed("synth", "--output", folder.at("in put/m.parquet"), ...args);
  Deno.writeTextFileSync(folder.at("cluster.json"), JSON.stringify(CLUSTER));
  return folder;
}

export function slurmArguments(folder: TemporaryFolder, output: string): string[] {
  const files = ["--input", folder.at("in put/*.parquet"), "--config", folder.at("cluster.json")];
  return [...files, "--split-by", "row", "--output", output];
}

/** Paths of a chain's scripts. */
export function jobsOf(output: string): string[] {
  return SCRIPTS.map((name) => join(output, "jobs", `${name}.sbatch`));
}

export function bash(...args: string[]): Deno.ChildProcess {
  return new Deno.Command("bash", { args, stdin: "null", stdout: "piped", stderr: "piped" }).spawn();
}

/** Weights and state of a finished run, without its path and duration. */
export function finalState(run: string, steps = STEPS): unknown {
  const checkpoint = join(run, "checkpoints", `step-${String(steps).padStart(8, "0")}`);
  const hashes = folderHashes(checkpoint);
  return ["model.safetensors", "optimizer.safetensors"].map((name) => hashes[name] ?? name);
}

/** Waits until a run has done some steps. */
export async function untilTraining(run: string): Promise<void> {
  const metrics = join(run, "metrics.jsonl");
  await until("training", () => exists(metrics) && Deno.readTextFileSync(metrics).split("\n").length > 10);
}
