/**
 * A real SLURM of one node on this machine, for a test: its daemons run in a folder of the test and end with it.
 *
 * @module
 */
import { exists } from "../../lib/files/inputs.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";

/** Daemons that a killed test leaves behind end by themselves after so long. */
const LIFE_S = 240;
const HOST = Deno.hostname().split(".")[0];
const PROGRAMS = ["sbatch", "slurmctld", "slurmd", "munged"];

/** Why no SLURM can be started here; undefined where one can. */
export function slurmIsMissing(): string | undefined {
  const missing = PROGRAMS.filter((name) =>
    !new Deno.Command("which", { args: [name] }).outputSync().success
  );
  if (missing.length > 0) {
    return `there is no ${missing.join(", ")} (Debian: apt-get install slurm-wlm munge)`;
  }
  return Deno.uid() === 0 ? undefined : "only root can start its daemons";
}

function configOf(folder: string): string {
  const port = 20_000 + crypto.getRandomValues(new Uint16Array(1))[0] % 10_000;
  const memoryMb = Math.floor(0.9 * Deno.systemMemoryInfo().total / 2 ** 20);
  return `ClusterName=test
SlurmctldHost=${HOST}(127.0.0.1)
SlurmUser=root
SlurmctldPort=${port}
SlurmdPort=${port + 1}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=${folder}/munge.socket,cred_expire=10
CredType=cred/munge
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd.pid
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
NodeName=${HOST} NodeAddr=127.0.0.1 NodeHostname=${HOST} CPUs=2 RealMemory=${memoryMb} State=UNKNOWN
PartitionName=test Nodes=${HOST} Default=YES MaxTime=INFINITE State=UP
`;
}

/** It, and its commands. */
export class SlurmCluster implements AsyncDisposable {
  readonly #folder: TemporaryFolder;
  readonly #daemons: Deno.ChildProcess[] = [];
  /** What its commands need in their environment. */
  readonly env: Record<string, string>;

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder;
    this.env = { SLURM_CONF: folder.at("slurm.conf") };
  }

  /** Starts it. */
  static async start(): Promise<SlurmCluster> {
    const folder = new TemporaryFolder();
    const cluster = new SlurmCluster(folder);
    // Its daemons ask who else may reach their folder.
    Deno.chmodSync(folder.path, 0o755);
    for (const name of ["state", "spool"]) Deno.mkdirSync(folder.at(name));
    Deno.writeFileSync(folder.at("munge.key"), crypto.getRandomValues(new Uint8Array(128)), { mode: 0o600 });
    Deno.writeTextFileSync(folder.at("slurm.conf"), configOf(folder.path));
    const files = ["key-file=munge.key", "socket=munge.socket", "pid-file=munge.pid", "seed-file=munge.seed"];
    const options = [...files, "log-file=munge.log"].map((option) =>
      `--${option.replace("=", `=${folder.path}/`)}`
    );
    cluster.#run("munged", "--foreground", "--force", ...options);
    await until("munged", () => exists(folder.at("munge.socket")));
    cluster.#run("slurmctld", "-D", "-c");
    cluster.#run("slurmd", "-D", "-N", HOST);
    await until("SLURM", () => cluster.command("sinfo", "-h", "-o", "%T").includes("idle"));
    return cluster;
  }

  /** Runs one of its commands. @returns What it printed on standard output. */
  command(name: string, ...args: string[]): string {
    return new TextDecoder().decode(new Deno.Command(name, { args, env: this.env }).outputSync().stdout);
  }

  /** The state of a job, such as RUNNING; of an array those of its tasks. */
  stateOf(id: number): string {
    return this.command("squeue", "--noheader", "--states=all", `--jobs=${id}`, "--format=%T").trim();
  }

  /** Kills processes of a job: SLURM's daemon of it, the script's shell, the stage. */
  kill(job: number, ...which: ("daemon" | "shell" | "stage")[]): void {
    const script = this.#folder.at(`spool/job${String(job).padStart(5, "0")}/slurm_script`);
    const processes = this.command("ps", "-eo", "pid=,ppid=,args=").split("\n").map((line) => {
      const [pid, parent, ...args] = line.trim().split(/\s+/);
      return { pid, parent, args: args.join(" ") };
    });
    const shell = processes.find(({ args }) => args.endsWith(script));
    const stage = processes.find(({ parent, args }) => parent === shell?.pid && args.includes("ping-llm"));
    if (!shell || !stage) return;
    const pids = { daemon: shell.parent, shell: shell.pid, stage: stage.pid };
    this.command("kill", "-9", ...which.map((name) => pids[name]));
  }

  /** Takes the node away from a job, and gives it back. */
  async loseNode(job: number): Promise<void> {
    const node = `NodeName=${HOST}`;
    this.command("scontrol", "update", node, "State=DOWN", "Reason=trial");
    await until("the job's end", () => this.stateOf(job) !== "RUNNING");
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

/** Waits until something holds. @param what For the error after a minute and a half. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  seconds = 90,
): Promise<void> {
  for (const endMs = performance.now() + 1000 * seconds; !(await holds());) {
    if (performance.now() > endMs) throw new Error(`${what}: not after ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
