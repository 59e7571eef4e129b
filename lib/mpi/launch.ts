/**
 * What the environment says of the ranks that a launcher started: `mpirun`, `mpiexec`, `srun`.
 *
 * @module
 */
import { UserError } from "../errors.ts";

/** How this process was started. */
export interface Launch {
  /** Processes that were started together, 2 or more. */
  numRanks: number;
  /** This one among them, from 0. */
  rank: number;
  /** What names their number. */
  variable: string;
  /** Whose library the launcher speaks to; undefined where it cannot be told. */
  mpi: "Open MPI" | "MPICH" | undefined;
}

/** Variables with the number of ranks and that of this one, the surest first. */
const LAUNCHERS = [
  { size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK", mpi: "Open MPI" },
  { size: "PMI_SIZE", rank: "PMI_RANK", mpi: "MPICH" },
  { size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID", mpi: undefined },
] as const;
/** `srun --mpi=pmix` sets the first, `--mpi=pmi2` the second. */
const [PMIX, PMI2] = ["PMIX_RANK", "PMI_FD"];

/** The variables that {@link launchOf} reads. */
export const LAUNCH_VARIABLES: readonly string[] = [
  ...LAUNCHERS.flatMap(({ size, rank }) => [size, rank]),
  PMIX,
  PMI2,
];

/**
 * How this process was started.
 *
 * @param env Gives a variable of the environment.
 * @returns undefined if alone.
 * @throws {UserError} If a variable is no number.
 */
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
    `Cannot tell the ranks: ${name} is ${text}, a number was wanted; start with mpirun or srun, or unset ${name}`,
  );
}
