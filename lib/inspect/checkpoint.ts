/**
 * Inspects checkpoints and safetensors files: tensors, shapes, parameters, configuration, state.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { formatBytes, formatCount } from "../text/quantities.ts";
import { FormatError } from "../errors.ts";
import { exists, fingerprint } from "../files/inputs.ts";
import { readState } from "../train/checkpoint_files.ts";
import { readSafetensorsHeader } from "../tensor_files/safetensors.ts";
import { type Fact, formatPairs, formatValue, type Report, type Section, type Target } from "./report.ts";

/** How many of the last losses are shown. */
const SHOWN_LOSSES = 5;

/**
 * Reads a checkpoint's state and the headers of its tensors.
 *
 * @throws {FormatError} If a file is damaged, or has another size than the state says.
 */
export function inspectCheckpoint({ path, files: [folder] }: Target): Report {
  const { files } = readState(folder);
  const model = readTensorFile(join(folder, "model.safetensors"), files.model.sizeBytes);
  const optimizerPath = join(folder, "optimizer.safetensors");
  const optimizer = exists(optimizerPath)
    ? readTensorFile(optimizerPath, files.optimizer.sizeBytes)
    : undefined;
  return {
    kind: "checkpoint",
    path,
    facts: [
      ["parameters", `${formatCount(model.numElements)} in ${model.numTensors} tensors`, {
        parameters: model.numElements,
      }],
      [
        "optimizer",
        optimizer
          ? `${formatCount(optimizer.numElements)} numbers in ${optimizer.numTensors} tensors`
          : "none",
        { optimizerTensors: optimizer?.numTensors ?? 0 },
      ],
      ...stateFacts(folder),
    ],
    sections: [tensorSection(model)],
  };
}

/** Reads the header of a safetensors file. @throws {FormatError} If it is damaged. */
export function inspectSafetensors({ path, files: [file] }: Target): Report {
  const tensors = readTensorFile(file);
  const { numTensors, numElements, sizeBytes, metadata } = tensors;
  const entries = Object.entries(metadata).map(([key, value]) => `${key}: ${value}`);
  return {
    kind: "safetensors",
    path,
    facts: [
      ["elements", `${formatCount(numElements)} in ${numTensors} tensors`, { elements: numElements }],
      ["size", formatBytes(sizeBytes)],
      ["metadata", Object.keys(metadata).join(", ") || "none"],
    ],
    sections: [tensorSection(tensors), ["metadata", entries, { metadata }]],
  };
}

/** Reads a `state.json` by itself. @throws {FormatError} If it is damaged. */
export function inspectState({ path, files: [file] }: Target): Report {
  return { kind: "checkpoint state", path, facts: stateFacts(dirname(file)) };
}

function stateFacts(folder: string): Fact[] {
  const { step, version, seed, config, losses, evalLoss, numSkippedSteps, position, dataFingerprint } =
    readState(folder);
  const last = losses.slice(-SHOWN_LOSSES).map(({ step, loss }) =>
    `${step}: ${loss === null ? "not finite" : formatValue(loss)}`
  );
  const evaluated = evalLoss === null
    ? "not evaluated"
    : `${formatValue(evalLoss)} nats = ${formatValue(evalLoss / Math.LN2)} bits per token`;
  const { epoch, block, sequence } = position;
  return [
    ["step", `${step}, written by version ${version}`, { step, version, dataFingerprint }],
    ["last losses", `${last.join(", ") || "none"} (nats per token)`, { losses }],
    ["validation loss", evaluated, { evalLoss }],
    ["skipped steps", `${numSkippedSteps}`, { numSkippedSteps }],
    ["data position", `epoch ${epoch}, block ${block}, sequence ${sequence}`, { position }],
    ["seed", `${seed}`, { seed }],
    ["model", formatPairs(config.model), { config }],
  ];
}

interface TensorFile {
  sizeBytes: number;
  numTensors: number;
  numElements: number;
  shapes: Record<string, number[]>;
  metadata: Record<string, string>;
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
  const numElements = sizes.reduce((sum, size) => sum + size, 0);
  return { sizeBytes, numTensors: sizes.length, numElements, shapes: Object.fromEntries(shapes), metadata };
}

function tensorSection({ shapes }: TensorFile): Section {
  const entries = Object.entries(shapes);
  const width = Math.max(0, ...entries.map(([name]) => name.length)) + 2;
  return ["tensors", entries.map(([name, shape]) => `${name.padEnd(width)}[${shape.join(", ")}]`), {
    tensors: shapes,
  }];
}
