/**
 * Reads from the environment how many ranks a launcher (`mpirun`, `mpiexec`, `srun`) started.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";

export interface Launch {
  /** Number of processes started together, 2 or more. */
  numRanks: number;
  /** Rank of this process, from 0. */
  rank: number;
  /** The environment variable with the number of processes. */
  variable: string;
  /** The launcher's MPI; undefined if unknown. */
  mpi: "Open MPI" | "MPICH" | undefined;
}

/** Variables with the number of ranks and this process's rank, the most reliable first. */
const LAUNCHERS = [
  { size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK", mpi: "Open MPI" },
  { size: "PMI_SIZE", rank: "PMI_RANK", mpi: "MPICH" },
  { size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID", mpi: undefined },
] as const;
/** `srun --mpi=pmix` sets the first, `--mpi=pmi2` the second. */
const PMIX = "PMIX_RANK";
const PMI2 = "PMI_FD";

export const LAUNCH_VARIABLES: readonly string[] = [
  ...LAUNCHERS.flatMap(({ size, rank }) => [size, rank]),
  PMIX,
  PMI2,
];

/** Undefined for a single process. @throws {UserError} If a variable is not a number. */
export function launchOf(env: (name: string) => string | undefined): Launch | undefined {
  const launcher = LAUNCHERS.find(({ size }) => env(size) !== undefined);
  if (!launcher) return undefined;
  const numRanks = numberIn(env, launcher.size);
  if (numRanks === 1) return undefined;
  const ofSlurm = env(PMIX) !== undefined ? "Open MPI" : env(PMI2) !== undefined ? "MPICH" : undefined;
  return {
    numRanks,
    rank: numberIn(env, launcher.rank),
    variable: launcher.size,
    mpi: launcher.mpi ?? ofSlurm,
  };
}

function numberIn(env: (name: string) => string | undefined, name: string): number {
  const text = env(name) ?? "nothing";
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new UserError(
    `Cannot determine the ranks: ${name} is ${text}, expected a number; start with mpirun or srun, or unset ${name}`,
  );
}
