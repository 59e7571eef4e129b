/** Training by several ranks on the nodes of a real SLURM. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { outputOf, runStageProcess, succeed, succeeded } from "../process.ts";
import { launchers } from "../../train/mpi/launchers.ts";
import {
  bash,
  finalState,
  jobsOf,
  prepared,
  slurmArguments,
  SlurmCluster,
  slurmIsMissing,
  trainingOf,
  untilTraining,
} from "./slurm_cluster.ts";
import { until } from "../../until.ts";

/** Enough steps for a signal to arrive before the end. */
const STEPS = 150;
const TRAINING = JSON.stringify(trainingOf(STEPS));

Deno.test("slurm requests ranks, with memory and processors for each", async () => {
  using folder = await prepared();
  const sets = ["--set", "train.ranks=6", "train.mpi=pmi2", "train.gpus=1", "train.cpus=4"];
  const { stdout } = await succeed(
    "slurm",
    ...slurmArguments(folder, folder.at("out")),
    ...sets,
    "--dry-run",
  );
  const script = stdout.split("# ==> ").find((text) => text.includes("03-train")) ?? "";
  for (const option of ["ntasks=6", "cpus-per-task=4", "mem-per-cpu=512M", "gpus-per-task=1"]) {
    assertMatch(script, new RegExp(`^#SBATCH --${option}$`, "m"));
  }
  assertMatch(script, /^ {2}exec srun --mpi=pmi2 --kill-on-bad-exit=1 /m);
  assertEquals(stdout.match(/^ {2}exec srun /gm)?.length, 1);
});

const launcher = launchers().find(({ name }) => name === "mpirun.openmpi");

Deno.test("two ranks on two SLURM nodes, signalled and requeued, match two of mpirun", {
  ignore: slurmIsMissing() !== undefined || !launcher,
}, async () => {
  assert(launcher);
  using folder = await prepared();
  await using slurm = await SlurmCluster.start();
  const output = folder.at("ranks");
  const submitted = async (mpi: string, name: string) => {
    const sets = ["--set", "train.ranks=2", `train.mpi=${mpi}`, "train.memoryGb=1", `train.args=${TRAINING}`];
    await succeed("slurm", ...slurmArguments(folder, folder.at(name)), ...sets);
    return jobsOf(folder.at(name))[2];
  };
  const script = await submitted("pmix", "ranks");
  for (const each of jobsOf(output).slice(0, 2)) await succeeded(outputOf(bash(each)));
  const id = Number(slurm.command("sbatch", "--parsable", script));
  await untilTraining(join(output, "train"));
  slurm.command("scancel", "--signal=USR2", "--batch", String(id));
  await until("the requeue", () => slurm.restartsOf(id) === 1);
  await until("the end", () => /COMPLETED|FAILED|CANCELLED/.test(slurm.stateOf(id)));
  const text = Deno.readTextFileSync(join(output, `jobs/03-train-${id}.log`));
  assertEquals(slurm.stateOf(id), "COMPLETED", text);
  assertEquals(text.match(/^2 ranks with Open MPI/gm)?.length, 2, text);
  assertMatch(text, /^resuming after step [1-9]\d* of/m);
  const args = ["train", "--data", join(output, "rows"), "--run", folder.at("by hand"), ...trainingOf(STEPS)];
  await succeeded(runStageProcess(args, launcher.options(2)));
  assertEquals(finalState(join(output, "train"), STEPS), finalState(folder.at("by hand"), STEPS));

  // With --mpi=none each rank is alone.
  const alone = await submitted("none", "alone");
  const refused = Number(slurm.command("sbatch", "--parsable", alone));
  await until("the end", () => /COMPLETED|FAILED|CANCELLED/.test(slurm.stateOf(refused)));
  const log = Deno.readTextFileSync(join(folder.at("alone"), `jobs/03-train-${refused}.log`));
  assertMatch(
    log,
    /^error: Cannot train together: SLURM_STEP_NUM_TASKS is 2, but srun does not connect the ranks by MPI; start with srun --mpi=pmix/m,
  );
});
