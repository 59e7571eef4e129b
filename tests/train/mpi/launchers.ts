/** The MPI implementations on this machine, and how they start ranks. @module */
import { LAUNCH_VARIABLES } from "../../../lib/train/mpi/launch.ts";
import type { ProcessOptions } from "../../cli/process.ts";

export interface Launcher {
  name: string;
  /** The command that starts a number of ranks. */
  options(numRanks: number): ProcessOptions;
  /** A variable with the rank's number, which only ranks have. */
  rankVariable: string;
  /** A variable with the number of ranks. */
  sizeVariable: string;
  library: string;
}

const FLAGS = ["--allow-ffi", `--allow-env=${LAUNCH_VARIABLES.join()}`];

const KNOWN: Launcher[] = [
  {
    name: "mpirun.openmpi",
    options: (numRanks) => ({
      launcher: ["mpirun.openmpi", "--oversubscribe", "-n", String(numRanks)],
      flags: FLAGS,
      // A launcher that root may use, without any network except the loopback.
      env: {
        OMPI_ALLOW_RUN_AS_ROOT: "1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1",
        OMPI_MCA_btl: "vader,self",
        OMPI_MCA_oob_tcp_if_include: "lo",
      },
    }),
    rankVariable: "OMPI_COMM_WORLD_RANK",
    sizeVariable: "OMPI_COMM_WORLD_SIZE",
    library: "libmpi.so.40",
  },
  {
    name: "mpirun.mpich",
    options: (numRanks) => ({ launcher: ["mpirun.mpich", "-n", String(numRanks)], flags: FLAGS }),
    rankVariable: "PMI_RANK",
    sizeVariable: "PMI_SIZE",
    library: "libmpich.so.12",
  },
];

/** The installed launchers; prints which ones are missing. */
export function launchers(): Launcher[] {
  return KNOWN.filter(({ name }) => {
    const isThere = new Deno.Command("which", { args: [name] }).outputSync().success;
    if (!isThere) {
      console.log(`tests with ${name} are left out: it is not installed (Debian: openmpi-bin, mpich)`);
    }
    return isThere;
  });
}

/** The numbers that each rank contributes, of many magnitudes. */
export function numbersOf(rank: number, length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, (_, i) => Math.sin(i + 7 * rank) * Math.exp(9 * Math.sin(i / 900)));
}
