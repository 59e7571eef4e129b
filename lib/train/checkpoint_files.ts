/**
 * The files of one checkpoint: `model.safetensors`, `optimizer.safetensors` and `state.json`, see lib/train/README.md.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { ensure, FormatError } from "../errors.ts";
import { checkpointShapes } from "../model/model_config.ts";
import { faultOfTensors, WEIGHT_LIMIT } from "../model/finite.ts";
import { LOSS_SCALE_STATE } from "../optim/optimizer.ts";
import { type CheckpointState, type LoadedCheckpoint, readState, writeState } from "./checkpoint_state.ts";
import { ByteFile } from "../files/byte_file.ts";
import {
  readSafetensors,
  type SafetensorsContent,
  type SafetensorsFile,
  writeSafetensors,
} from "../tensor_files/safetensors.ts";

/** What is saved; the checksums are added when it is written. */
export interface CheckpointContent {
  state: Omit<CheckpointState, "files">;
  /** The entries of `checkpointShapes`, by name. */
  weights: Map<string, Float32Array>;
  /** The optimizer's state, see lib/optim/README.md. */
  optimizer: Map<string, Float32Array>;
}

/** A checkpoint with all that is needed to continue training. */
export interface ResumableCheckpoint extends LoadedCheckpoint {
  /** The optimizer's state by name. */
  optimizer: Map<string, Float32Array>;
}

/** Writes the files of a checkpoint into a folder. @throws {UserError} If the disk is full. */
export function writeCheckpoint(folder: string, { state, weights, optimizer }: CheckpointContent): void {
  const metadata = { format: "pt", config: JSON.stringify(state.config), step: String(state.step) };
  const shapes = checkpointShapes(state.config.model);
  const write = (name: string, content: SafetensorsContent): SafetensorsFile =>
    writeSafetensors(join(folder, name), content);
  const optimizerShapes = new Map([...optimizer].map(([name, { length }]): [string, number[]] => {
    if (name === LOSS_SCALE_STATE) return [name, [length]];
    const shape = shapes.get(name.slice(0, name.lastIndexOf(".")));
    ensure(shape, `optimizer tensor ${name} belongs to no parameter`);
    return [name, length === shape[0] ? [length] : shape];
  }));
  const files = {
    model: write("model.safetensors", { shapes, tensors: weights, metadata }),
    optimizer: write("optimizer.safetensors", { shapes: optimizerShapes, tensors: optimizer, metadata }),
  };
  writeState(folder, { ...state, files });
}

/**
 * Reads a checkpoint's weights and state.
 *
 * @param directory Its folder.
 * @throws {UserError} If a file is missing.
 * @throws {FormatError} If it is damaged.
 */
export function readCheckpoint(directory: string): LoadedCheckpoint {
  const state = readState(directory);
  const path = join(directory, "model.safetensors");
  const { tensors: weights, shapes } = readVerified(path, state.files.model, WEIGHT_LIMIT);
  for (const [name, shape] of checkpointShapes(state.config.model)) {
    const found = shapes.get(name);
    if (found?.join() !== shape.join()) {
      throw new FormatError(`parameter ${name} has shape [${found ?? "none"}], [${shape}] was wanted`, {
        path,
      });
    }
  }
  return { directory, config: state.config, state, weights };
}

/** As {@link readCheckpoint}, with the optimizer's state. */
export function readResumable(directory: string): ResumableCheckpoint {
  const checkpoint = readCheckpoint(directory);
  const path = join(directory, "optimizer.safetensors");
  const { tensors: optimizer } = readVerified(path, checkpoint.state.files.optimizer);
  return { ...checkpoint, optimizer };
}

function readVerified(path: string, wanted: SafetensorsFile, limit = Infinity): SafetensorsContent {
  const sha256 = sha256OfFile(path);
  if (sha256 !== wanted.sha256) {
    throw new FormatError("its checksum does not match state.json, it was damaged or cut short", { path });
  }
  const content = readSafetensors(path);
  const fault = faultOfTensors(content.tensors, limit);
  if (fault) throw new FormatError(`${fault}; use an earlier checkpoint or another run`, { path });
  return content;
}

function sha256OfFile(path: string): string {
  using file = ByteFile.open(path);
  const hash = createHash("sha256");
  for (const chunk of file.chunks()) hash.update(chunk);
  return hash.digest("hex");
}
