/**
 * What each rank of local steps keeps for itself: a file of each rank in the folder of a checkpoint. As many ranks
 * continue from it bit by bit.
 *
 * @module
 */
import { join } from "@std/path";
import { ensure, FormatError } from "../errors.ts";
import { exists } from "../files/inputs.ts";
import type { Communicator } from "../mpi/communicator.ts";
import { readSafetensors, sha256OfTensors, writeSafetensors } from "../tensor_files/safetensors.ts";

type State = ReadonlyMap<string, Float32Array>;

/**
 * Writes the state of every rank. Returns when all have written theirs.
 *
 * @param folder The checkpoint's folder, as the first rank has it.
 * @param own The state of this rank.
 * @throws {UserError} If the disk is full.
 */
export async function saveRankState(
  ranks: Communicator,
  folder: string | null,
  own: State,
): Promise<void> {
  const written = await ranks.fromFirst(() => folder);
  ensure(written !== null, "the first rank writes the checkpoint");
  const shapes = new Map([...own].map(([name, { length }]) => [name, [length]]));
  const metadata = { format: "pt", sha256: sha256OfTensors(own) };
  writeSafetensors(rankFile(written, ranks), { shapes, tensors: new Map(own), metadata });
  await ranks.sumOf(0);
}

/**
 * Reads the state of this rank.
 *
 * @param folder The checkpoint's folder.
 * @returns undefined if the file of any rank is missing or damaged, as in a checkpoint of another number of ranks.
 */
export async function loadRankState(ranks: Communicator, folder: string): Promise<State | undefined> {
  const own = readWhole(rankFile(folder, ranks));
  const [numRead] = await ranks.sumOf(own ? 1 : 0);
  return numRead === ranks.size ? own : undefined;
}

function rankFile(folder: string, { rank, size }: Communicator): string {
  return join(folder, `rank-${rank}-of-${size}.safetensors`);
}

function readWhole(path: string): State | undefined {
  if (!exists(path)) return undefined;
  try {
    const { tensors, metadata } = readSafetensors(path);
    return metadata.sha256 === sha256OfTensors(tensors) ? tensors : undefined;
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
