/**
 * The communication between a run's ranks. All ranks make the same calls in the same order, one at a time.
 *
 * Calls wait in a runtime thread, so that signals and the GPU are handled meanwhile.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { printLog } from "../../base/printed.ts";
import type { Launch } from "./launch.ts";

const WITH_SRUN =
  "start with srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH); srun --mpi=list shows what is available";

/** After how long a wait is reported, and how often, s. */
const LONG_WAIT_S = 60;

/** @internal Waits, and reports a long wait: MPI waits forever for a rank that is stopped or unreachable. */
export async function withWaitReports<T>(turn: Promise<T>, log: (line: string) => void): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const reportAfter = (waitedS: number) => {
    timer = setTimeout(() => {
      log(
        `waiting for the other ranks for ${waitedS} s; if this goes on, one of them hangs: ` +
          "end the job, then run the same command again to continue",
      );
      reportAfter(waitedS + LONG_WAIT_S);
    }, 1000 * LONG_WAIT_S);
  };
  reportAfter(LONG_WAIT_S);
  return await turn.finally(() => clearTimeout(timer));
}

/** @internal Connects the ranks of a run. */
export class Communicator {
  readonly #mpi: MpiLibrary;
  #last: Promise<unknown> = Promise.resolve();
  #numSentBytes = 0;

  private constructor(mpi: MpiLibrary, readonly rank: number, readonly size: number) {
    this.#mpi = mpi;
  }

  /**
   * Joins the ranks.
   *
   * @param launch How this process was launched.
   * @param path The library (default: found by `launch`).
   * @throws {UserError} If there is no library, or it reports a different number of ranks than the launcher.
   */
  static open(launch: Launch, path?: string): Communicator {
    const { variable, numRanks } = launch;
    const isOfSlurm = variable.startsWith("SLURM_");
    if (isOfSlurm && launch.mpi === undefined && path === undefined) {
      // Otherwise Open MPI would end the process with a page of text.
      throw new UserError(
        `Cannot train together: ${variable} is ${numRanks}, but srun does not connect the ranks by MPI; ${WITH_SRUN}`,
      );
    }
    const mpi = loadMpi(path, launch);
    const { rank, size } = init(mpi);
    if (size !== numRanks) {
      check(mpi.symbols.MPI_Finalize());
      const how = isOfSlurm
        ? WITH_SRUN
        : "use the mpirun of the same MPI, or give its library as --mpi-library";
      throw new UserError(
        `Cannot train together: ${variable} is ${numRanks}, but ${mpi.version} finds ${size} ` +
          `rank${size === 1 ? "" : "s"}; ${how}`,
      );
    }
    return new Communicator(mpi, rank, size);
  }

  /** Name and version. */
  get library(): string {
    return this.#mpi.version;
  }

  /** A lower bound of the bytes this rank has sent: a sum over n ranks sends 2 (n - 1) / n times its size. */
  get numSentBytes(): number {
    return this.#numSentBytes;
  }

  /** Sums numbers over all ranks. @param to Receives the sums; same type as `from`, different memory. */
  async sum<T extends Float32Array | Float64Array>(from: T, to: T): Promise<T> {
    const { symbols, handles: { world, sum, float32, float64 } } = this.#mpi;
    this.#count(2 * from.byteLength / this.size);
    const type = from instanceof Float32Array ? float32 : float64;
    await this.#inTurn(() =>
      symbols.MPI_Allreduce(bytesOf(from), bytesOf(to), from.length, type, sum, world)
    );
    return to;
  }

  /** Sums numbers over all ranks in float64. */
  async sumOf(...values: number[]): Promise<number[]> {
    return [...await this.sum(Float64Array.from(values), new Float64Array(values.length))];
  }

  /**
   * Sends a part to each rank, then the answer to the received parts to all ranks, in one call.
   *
   * @param parts (size, n) bytes: a part for each rank.
   * @param received (size, n) bytes: receives a part from each rank.
   * @param between Computes this rank's answer, (n) bytes, from the received parts.
   * @param answers (size, n) bytes: receives the answers of all ranks.
   */
  async exchange(
    parts: Uint8Array,
    received: Uint8Array,
    { between, answers }: { between: () => Uint8Array; answers: Uint8Array },
  ): Promise<void> {
    const { symbols, handles: { world, bytes } } = this.#mpi;
    const size = parts.length / this.size;
    this.#count(2 * size);
    await this.#inTurn(async () => {
      check(await symbols.MPI_Alltoall(bytesOf(parts), size, bytes, bytesOf(received), size, bytes, world));
      return await symbols.MPI_Allgather(
        bytesOf(between()),
        size,
        bytes,
        bytesOf(answers),
        size,
        bytes,
        world,
      );
    });
  }

  /** Sends a JSON value from rank 0 to all. @param make Called on rank 0 only. */
  async fromFirst<T>(make: () => T): Promise<T> {
    const own = this.rank === 0 ? new TextEncoder().encode(JSON.stringify(make())) : new Uint8Array();
    const length = Float64Array.of(own.length);
    await this.#broadcast(length);
    const text = this.rank === 0 ? own : new Uint8Array(length[0]);
    await this.#broadcast(text);
    return JSON.parse(new TextDecoder().decode(text));
  }

  /** Ends the processes of all ranks, for errors that only one rank has. */
  abort(exitCode: number): void {
    this.#mpi.symbols.MPI_Abort(this.#mpi.handles.world, exitCode);
  }

  /** Leaves MPI together with all other ranks, because a launcher kills the others once one has exited. */
  async close(): Promise<void> {
    const { symbols, handles: { world } } = this.#mpi;
    await this.#inTurn(() => symbols.MPI_Barrier(world));
    check(symbols.MPI_Finalize());
  }

  #count(bytesPerRank: number): void {
    this.#numSentBytes += bytesPerRank * (this.size - 1);
  }

  /** Sends rank 0's bytes to all. */
  async #broadcast(buffer: ArrayBufferView): Promise<void> {
    const { symbols, handles: { world, bytes } } = this.#mpi;
    await this.#inTurn(() => symbols.MPI_Bcast(bytesOf(buffer), buffer.byteLength, bytes, 0, world));
  }

  /** Calls the library after earlier calls have finished. @param call Returns an error code or 0. */
  async #inTurn(call: () => Promise<number>): Promise<void> {
    const turn = this.#last.then(call).then(check);
    this.#last = turn.catch(() => {});
    // Two ranks report, because one of them may be the one that hangs.
    await (this.rank < 2 ? withWaitReports(turn, (line) => printLog(`rank ${this.rank}: ${line}`)) : turn);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}

// Finds and loads the machine's MPI library, and declares its functions.
//
// There are two binary interfaces. Open MPI's handles are addresses of its variables. MPICH's handles, which
// Intel MPI, MVAPICH and Cray MPICH share, are 32-bit numbers (MPICH ABI Compatibility Initiative, 2013). The
// functions are those of the MPI standard 3.1. By MPI's default, errors end the process with a message from
// the library.

type MpiAbi = "Open MPI" | "MPICH";

const NAMES: Record<MpiAbi, string[]> = {
  "Open MPI": ["libmpi.so.40", "libmpi.so.80", "libmpi.40.dylib"],
  "MPICH": ["libmpich.so.12", "libmpi.so.12", "libmpi.12.dylib"],
};

/** `MPI_THREAD_MULTIPLE`: several threads may call. Both interfaces use the same number. */
const THREAD_MULTIPLE = 3;
const MAX_VERSION_BYTES = 8192;

/** A pointer in Open MPI, a number in MPICH. The functions' types are the same otherwise. */
type Handle = Deno.PointerValue;
type Symbols = Deno.DynamicLibrary<ReturnType<typeof functions<"pointer">>>["symbols"];

/** Handles of the library: all ranks, data types, the sum. */
interface Handles {
  world: Handle;
  bytes: Handle;
  float32: Handle;
  float64: Handle;
  sum: Handle;
}

/** Buffers must not change until a promise settles. */
interface MpiLibrary {
  readonly version: string;
  readonly handles: Handles;
  readonly symbols: Symbols;
}

/**
 * @param path The library's file (default: the usual names of the launcher's MPI).
 * @throws {UserError} If there is no such file, or it is not an MPI library.
 */
function loadMpi(path: string | undefined, { mpi }: Pick<Launch, "mpi">): MpiLibrary {
  const order: MpiAbi[] = mpi === "MPICH" ? ["MPICH", "Open MPI"] : ["Open MPI", "MPICH"];
  const names = path === undefined ? order.flatMap((abi) => NAMES[abi]) : [path];
  let reason = "";
  for (const name of names) {
    try {
      const version = versionOf(name);
      return bind(name, version.startsWith("Open MPI") ? "Open MPI" : "MPICH", version);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      reason ||= (error as Error).message.replace(
        /^Could not open library: (?:Could not open library: )?/,
        "",
      );
    }
  }
  throw new UserError(
    `Cannot load an MPI library: ${reason}; ` +
      (path === undefined
        ? `expected ${mpi ?? "Open MPI or MPICH"}; load its module or give its file as --mpi-library`
        : "expected a file such as libmpi.so.40 or libmpich.so.12; correct --mpi-library"),
  );
}

function versionOf(name: string): string {
  const library = Deno.dlopen(name, {
    MPI_Get_library_version: { parameters: ["buffer", "buffer"], result: "i32" },
  });
  const text = new Uint8Array(MAX_VERSION_BYTES);
  const length = new Int32Array(1);
  library.symbols.MPI_Get_library_version(text, length);
  return new TextDecoder().decode(text.subarray(0, text.indexOf(0))).split(/[\n,]/)[0].replace(/\s+/g, " ")
    .trim();
}

/** Declares the functions. @param handle The type of the interface's handles. */
function functions<T extends "pointer" | "i32">(handle: T) {
  const result = "i32";
  const blocking = <P extends readonly Deno.NativeType[]>(
    ...parameters: P
  ) => ({ parameters, result } as const);
  const waiting = <P extends readonly Deno.NativeType[]>(
    ...parameters: P
  ) => ({ parameters, result, nonblocking: true } as const);
  return {
    MPI_Init_thread: blocking("pointer", "pointer", "i32", "buffer"),
    MPI_Comm_size: blocking(handle, "buffer"),
    MPI_Comm_rank: blocking(handle, "buffer"),
    MPI_Allreduce: waiting("buffer", "buffer", "i32", handle, handle, handle),
    MPI_Alltoall: waiting("buffer", "i32", handle, "buffer", "i32", handle, handle),
    MPI_Allgather: waiting("buffer", "i32", handle, "buffer", "i32", handle, handle),
    MPI_Bcast: waiting("buffer", "i32", handle, "i32", handle),
    MPI_Barrier: waiting(handle),
    MPI_Abort: blocking(handle, "i32"),
    MPI_Finalize: blocking(),
  } as const;
}

function bind(name: string, abi: MpiAbi, version: string): MpiLibrary {
  if (abi === "MPICH") {
    const { symbols } = Deno.dlopen(name, functions("i32"));
    // MPICH's mpi.h has fixed numbers.
    const numbers = {
      world: 0x44000000,
      bytes: 0x4c00010d,
      float32: 0x4c00040a,
      float64: 0x4c00080b,
      sum: 0x58000003,
    };
    return { version, handles: numbers as unknown as Handles, symbols: symbols as unknown as Symbols };
  }
  const { symbols } = Deno.dlopen(name, functions("pointer"));
  const address = (variable: string) => {
    const found = Deno.dlopen(name, { [variable]: { type: "pointer" } }).symbols as Record<string, unknown>;
    return found[variable] as Handle;
  };
  const handles = {
    world: address("ompi_mpi_comm_world"),
    bytes: address("ompi_mpi_byte"),
    float32: address("ompi_mpi_float"),
    float64: address("ompi_mpi_double"),
    sum: address("ompi_mpi_op_sum"),
  };
  return { version, handles, symbols };
}

/** @returns The rank of this process, and the number of ranks. */
function init({ version, symbols, handles: { world } }: MpiLibrary): { rank: number; size: number } {
  const numbers = new Int32Array(3);
  check(symbols.MPI_Init_thread(null, null, THREAD_MULTIPLE, numbers.subarray(0, 1)));
  if (numbers[0] !== THREAD_MULTIPLE) {
    throw new UserError(
      `Cannot use ${version}: it was built without MPI_THREAD_MULTIPLE; give another library as --mpi-library`,
    );
  }
  check(symbols.MPI_Comm_size(world, numbers.subarray(1, 2)));
  check(symbols.MPI_Comm_rank(world, numbers.subarray(2)));
  return { rank: numbers[2], size: numbers[1] };
}

function check(code: number): void {
  if (code !== 0) {
    throw new UserError(`Cannot continue: MPI returned error ${code}; run the same command again`);
  }
}
