/**
 * `state.json` of a checkpoint: all that a run needs to continue besides the tensors, and checksums of the three files,
 * so that damage is found before it is trained on.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { z } from "zod";
import { ConfigError, FormatError } from "../errors.ts";
import { readText } from "../files/inputs.ts";
import { writeJsonAtomic } from "../files/atomic.ts";
import type { DataPosition } from "../loader/batches.ts";
import { parseRunConfig, type RunConfig } from "./run_config.ts";
import type { SafetensorsFile } from "../tensor_files/safetensors.ts";

/** What `state.json` says. */
export interface CheckpointState {
  /** Software version that wrote it. */
  version: string;
  /** Optimizer steps done. */
  step: number;
  /** Seed of the initial weights and of the data's order and sampling. */
  seed: number;
  /** The run's whole configuration. */
  config: RunConfig;
  /** Fingerprint of the training and validation data; see data_fingerprint.ts. */
  dataFingerprint: string;
  /** Where the loader continues, and how many rows a block has. */
  position: DataPosition & { blockRows: number };
  /** The last steps' training losses in nats per token; null where not finite. */
  losses: { step: number; loss: number | null }[];
  /** Loss on the validation batches after this step in nats per token; null where it was not evaluated. */
  evalLoss: number | null;
  /** Steps whose update was skipped, in all. */
  numSkippedSteps: number;
  /** Steps whose update was skipped, in a row up to this one. */
  numSkippedInRow: number;
  /** Sizes and checksums of the tensor files. */
  files: { model: SafetensorsFile; optimizer: SafetensorsFile };
}

/** The base of an adapted checkpoint. */
export interface AdaptedFrom {
  /** The base checkpoint's folder. */
  readonly base: string;
  /** SHA-256 of its model.safetensors. */
  readonly baseSha256: string;
}

/** A checkpoint as read for a query or an evaluation. */
export interface LoadedCheckpoint {
  /** The folder it was read from. */
  directory: string;
  /** The run's whole configuration. */
  config: RunConfig;
  /** Step, losses, checksums and what else the run needs to continue. */
  state: CheckpointState;
  /** Parameters by name, row-major. */
  weights: Map<string, Float32Array>;
  /** Only of an adapted checkpoint: its base, and the rows and nodes that differ. */
  adapted?: AdaptedFrom & { rows: ReadonlySet<number>; nodes: ReadonlySet<number> };
}

const fileSchema = z.object({ sizeBytes: z.number(), sha256: z.string() });

const stateSchema: z.ZodType<Omit<CheckpointState, "config"> & { config: unknown }> = z.object({
  version: z.string(),
  step: z.int().min(0),
  seed: z.int(),
  config: z.record(z.string(), z.unknown()),
  dataFingerprint: z.string(),
  position: z.object({ epoch: z.int(), block: z.int(), sequence: z.int(), blockRows: z.int() }),
  losses: z.array(z.object({ step: z.int(), loss: z.number().nullable() })),
  evalLoss: z.number().nullable(),
  numSkippedSteps: z.int(),
  numSkippedInRow: z.int(),
  files: z.object({ model: fileSchema, optimizer: fileSchema }),
});

/** Writes `state.json` into a folder. */
export function writeState(folder: string, state: CheckpointState): void {
  writeJsonAtomic(join(folder, "state.json"), { sha256: stateSha256(state), ...state });
}

/**
 * Reads `state.json` of a folder.
 *
 * @throws {UserError} If there is none.
 * @throws {FormatError} If it is damaged, or this version of the program does not know its configuration.
 */
export function readState(folder: string): CheckpointState {
  const path = join(folder, "state.json");
  const text = readText(path);
  const { sha256, state } = parseState(text, path);
  if (sha256 !== stateSha256(state)) {
    throw new FormatError("its checksum does not match, it was damaged or edited", { path });
  }
  return { ...state, config: configOf(state.config, path) };
}

function configOf(value: unknown, path: string): RunConfig {
  try {
    return parseRunConfig(value);
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw new FormatError(`${cause.message}; use the version of the program that wrote it`, { path, cause });
  }
}

function parseState(
  text: string,
  path: string,
): { sha256: string; state: z.infer<typeof stateSchema> } {
  try {
    const { sha256, ...rest } = z.looseObject({ sha256: z.string() }).parse(JSON.parse(text));
    return { sha256, state: stateSchema.parse(rest) };
  } catch (cause) {
    throw new FormatError("it is no checkpoint state, it was damaged or cut short", { path, cause });
  }
}

/** Hashes the JSON with sorted keys, so that neither layout nor order counts. */
function stateSha256(state: unknown): string {
  const sorted = JSON.stringify(
    state,
    (_key, value) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1))
        : value,
  );
  return createHash("sha256").update(sorted).digest("hex");
}
