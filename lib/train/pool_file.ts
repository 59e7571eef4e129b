/**
 * `pool.safetensors` of a checkpoint: the weights of its pool and what that remembers of the training data, see
 * lib/model/pool/README.md. It is made after the checkpoint, of which it names the weights.
 *
 * @module
 */
import { join } from "@std/path";
import { FormatError } from "../base/errors.ts";
import { exists } from "../io/files/inputs.ts";
import { readSafetensors, sha256OfTensors, writeSafetensors } from "../io/safetensors.ts";
import { checkFormatVersion, FORMAT_METADATA } from "../model/checkpoint_format.ts";
import { faultOfTensors } from "../model/finite.ts";
import { poolShapes } from "../model/pool/pool.ts";

/** The file's name in a checkpoint's folder. */
export const POOL_FILE = "pool.safetensors";

/** Writes the file. @param modelSha256 That of the checkpoint's model.safetensors. */
export function writePool(
  folder: string,
  tensors: ReadonlyMap<string, Float32Array>,
  modelSha256: string,
): void {
  const metadata = { ...FORMAT_METADATA, model_sha256: modelSha256, sha256: sha256OfTensors(tensors) };
  writeSafetensors(join(folder, POOL_FILE), {
    tensors: new Map(tensors),
    shapes: poolShapes(tensors),
    metadata,
  });
}

/**
 * The tensors of a checkpoint's pool.
 *
 * @param modelSha256 That of its model.safetensors.
 * @returns Undefined if it has none.
 * @throws {FormatError} If the file is damaged or of another checkpoint.
 */
export function readPool(folder: string, modelSha256: string): Map<string, Float32Array> | undefined {
  const path = join(folder, POOL_FILE);
  if (!exists(path)) return undefined;
  const { tensors, metadata } = readSafetensors(path);
  checkFormatVersion(metadata.format_version, path);
  const fault = metadata.sha256 !== sha256OfTensors(tensors)
    ? "its checksum does not match, it was damaged or cut short"
    : metadata.model_sha256 !== modelSha256
    ? "it is of another checkpoint"
    : faultOfTensors(tensors);
  if (fault === undefined) return tensors;
  throw new FormatError(`${fault}; delete it, the model answers without it`, { path });
}
