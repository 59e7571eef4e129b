/**
 * The communication of a run's ranks: one call at a time, in the same order on all ranks.
 *
 * Calls wait in a thread of the runtime, so that signals and the GPU are handled meanwhile.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { Launch } from "./launch.ts";
import { loadMpi, type MpiLibrary } from "./library.ts";

const WITH_SRUN =
  "start with srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH); srun --mpi=list shows what is available";

/** All ranks of a run. */
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
   * @param launch The facts about this process's launch.
   * @param path The library (default: found by `launch`).
   * @throws {UserError} If there is no library, or its number of ranks differs from the started ones.
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
    mpi.init();
    const size = mpi.size();
    if (size !== numRanks) {
      mpi.finalize();
      const how = isOfSlurm
        ? WITH_SRUN
        : "use the mpirun of the same MPI, or give its library as --mpi-library";
      throw new UserError(
        `Cannot train together: ${variable} is ${numRanks}, but ${mpi.version} finds ${size} ` +
          `rank${size === 1 ? "" : "s"}; ${how}`,
      );
    }
    return new Communicator(mpi, mpi.rank(), size);
  }

  /** Name and version of the library. */
  get library(): string {
    return this.#mpi.version;
  }

  /**
   * The least number of bytes that this rank has sent to others: a sum over n ranks sends 2 (n - 1) / n times its
   * size.
   */
  get numSentBytes(): number {
    return this.#numSentBytes;
  }

  /**
   * Sums numbers over all ranks.
   *
   * @param from This rank's numbers.
   * @param to Takes the sums; same type, different memory.
   */
  async sum<T extends Float32Array | Float64Array>(from: T, to: T): Promise<T> {
    const { float32, float64 } = this.#mpi.handles;
    this.#count(2 * from.byteLength / this.size);
    const type = from instanceof Float32Array ? float32 : float64;
    await this.#inTurn(() => this.#mpi.allReduce(bytesOf(from), bytesOf(to), from.length, type));
    return to;
  }

  /** Sums numbers over all ranks, in float64. */
  async sumOf(...values: number[]): Promise<number[]> {
    return [...await this.sum(Float64Array.from(values), new Float64Array(values.length))];
  }

  /**
   * Sends a part to each rank, and the answer to the received parts to all ranks, as one call.
   *
   * @param parts (size, n) bytes: a part for each rank.
   * @param received (size, n) bytes: takes a part from each rank.
   * @param between Computes this rank's answer, (n) bytes, from the received parts.
   * @param answers (size, n) bytes: takes the answers of all ranks.
   */
  async exchange(
    parts: Uint8Array,
    received: Uint8Array,
    { between, answers }: { between: () => Uint8Array; answers: Uint8Array },
  ): Promise<void> {
    const bytesPerRank = parts.length / this.size;
    this.#count(2 * bytesPerRank);
    await this.#inTurn(async () => {
      await this.#mpi.allToAll(bytesOf(parts), bytesOf(received), bytesPerRank);
      await this.#mpi.allGather(bytesOf(between()), bytesOf(answers), bytesPerRank);
    });
  }

  /** Sends a JSON value from the first rank to all. @param make Called on the first rank only. */
  async fromFirst<T>(make: () => T): Promise<T> {
    const own = this.rank === 0 ? new TextEncoder().encode(JSON.stringify(make())) : new Uint8Array();
    const length = Float64Array.of(own.length);
    await this.#inTurn(() => this.#mpi.broadcast(bytesOf(length), length.byteLength, 0));
    const text = this.rank === 0 ? own : new Uint8Array(length[0]);
    await this.#inTurn(() => this.#mpi.broadcast(bytesOf(text), text.length, 0));
    return JSON.parse(new TextDecoder().decode(text));
  }

  /** Ends the processes of all ranks, for errors that only one rank has. */
  abort(exitCode: number): void {
    this.#mpi.abort(exitCode);
  }

  /** Leaves MPI when all ranks do: a launcher ends the others when one has exited. */
  async close(): Promise<void> {
    await this.#inTurn(() => this.#mpi.barrier());
    this.#mpi.finalize();
  }

  #count(bytesPerRank: number): void {
    this.#numSentBytes += bytesPerRank * (this.size - 1);
  }

  async #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(call);
    this.#last = turn.catch(() => {});
    return await turn;
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
