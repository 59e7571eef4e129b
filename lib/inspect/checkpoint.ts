/**
 * Inspects checkpoints and safetensors files: tensors, shapes, parameters, configuration, state.
 *
 * @module
 */
import { join } from "@std/path";
import { formatBytes, formatCount } from "../text/quantities.ts";
import { FormatError } from "../errors.ts";
import { exists, fingerprint } from "../files/inputs.ts";
import { type CheckpointState, readState } from "../train/checkpoint_state.ts";
import { readSafetensorsHeader } from "../tensor_files/safetensors.ts";
import type { Target } from "./detect.ts";
import { formatValue } from "./format.ts";
import type { Report } from "./report.ts";

/** How many of the last losses are shown. */
const SHOWN_LOSSES = 5;
const NATS_PER_BIT = Math.LN2;

interface TensorFile {
  numTensors: number;
  numElements: number;
  shapes: Record<string, number[]>;
  metadata: Record<string, string>;
}

/**
 * Reads a checkpoint's state and the headers of its tensors.
 *
 * @throws {FormatError} If a file is damaged, or has another size than the state says.
 */
export function inspectCheckpoint({ path, files: [folder] }: Target): Report {
  const state = readState(folder);
  const model = readTensorFile(join(folder, "model.safetensors"), state.files.model.sizeBytes);
  const optimizerPath = join(folder, "optimizer.safetensors");
  const optimizer = exists(optimizerPath)
    ? readTensorFile(optimizerPath, state.files.optimizer.sizeBytes)
    : undefined;
  const { facts, json } = describeState(state);
  return {
    kind: "checkpoint",
    path,
    facts: [
      ["parameters", `${formatCount(model.numElements)} in ${model.numTensors} tensors`],
      [
        "optimizer",
        optimizer
          ? `${formatCount(optimizer.numElements)} numbers in ${optimizer.numTensors} tensors`
          : "none",
      ],
      ...facts,
    ],
    sections: [{ heading: "tensors", lines: describeShapes(model.shapes) }],
    json: {
      parameters: model.numElements,
      tensors: model.shapes,
      optimizerTensors: optimizer?.numTensors ?? 0,
      ...json,
      config: state.config,
    },
  };
}

/** Reads the header of a safetensors file. @throws {FormatError} If it is damaged. */
export function inspectSafetensors({ path, files: [file] }: Target): Report {
  const { numTensors, numElements, shapes, metadata } = readTensorFile(file);
  return {
    kind: "safetensors",
    path,
    facts: [
      ["elements", `${formatCount(numElements)} in ${numTensors} tensors`],
      ["size", formatBytes(fingerprint(file).sizeBytes)],
      ["metadata", Object.keys(metadata).join(", ") || "none"],
    ],
    sections: [
      { heading: "tensors", lines: describeShapes(shapes) },
      { heading: "metadata", lines: Object.entries(metadata).map(([key, value]) => `${key}: ${value}`) },
    ],
    json: { elements: numElements, tensors: shapes, metadata },
  };
}

/** Reads a `state.json` by itself. @throws {FormatError} If it is damaged. */
export function inspectState({ path, files: [file] }: Target): Report {
  const state = readState(join(file, ".."));
  const { facts, json } = describeState(state);
  return { kind: "checkpoint state", path, facts, sections: [], json: { ...json, config: state.config } };
}

function describeState(state: CheckpointState): Pick<Report, "facts" | "json"> {
  const { losses, evalLoss, position } = state;
  const last = losses.slice(-SHOWN_LOSSES).map(({ step, loss }) =>
    `${step}: ${loss === null ? "not finite" : formatValue(loss)}`
  );
  const facts: Report["facts"] = [
    ["step", `${state.step}, written by version ${state.version}`],
    ["last losses", `${last.join(", ") || "none"} (nats per token)`],
    [
      "validation loss",
      evalLoss === null
        ? "not evaluated"
        : `${formatValue(evalLoss)} nats = ${formatValue(evalLoss / NATS_PER_BIT)} bits per token`,
    ],
    ["skipped steps", `${state.numSkippedSteps}`],
    ["data position", `epoch ${position.epoch}, block ${position.block}, sequence ${position.sequence}`],
    ["seed", `${state.seed}`],
    ["model", describeSection(state.config.model)],
  ];
  const { step, version, seed, numSkippedSteps, dataFingerprint } = state;
  return {
    facts,
    json: { step, version, seed, evalLoss, losses, numSkippedSteps, position, dataFingerprint },
  };
}

function readTensorFile(path: string, wantedBytes?: number): TensorFile {
  const { shapes, metadata } = readSafetensorsHeader(path);
  const { sizeBytes } = fingerprint(path);
  if (wantedBytes !== undefined && sizeBytes !== wantedBytes) {
    throw new FormatError(
      `it has ${sizeBytes} bytes and state.json says ${wantedBytes}; use another checkpoint of the run`,
      { path },
    );
  }
  const sizes = [...shapes.values()].map((shape) => shape.reduce((product, extent) => product * extent, 1));
  return {
    numTensors: sizes.length,
    numElements: sizes.reduce((sum, size) => sum + size, 0),
    shapes: Object.fromEntries(shapes),
    metadata,
  };
}

function describeShapes(shapes: Record<string, number[]>): string[] {
  const entries = Object.entries(shapes);
  const width = Math.max(0, ...entries.map(([name]) => name.length)) + 2;
  return entries.map(([name, shape]) => `${name.padEnd(width)}[${shape.join(", ")}]`);
}

function describeSection(section: object): string {
  return Object.entries(section).map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(", ");
}
