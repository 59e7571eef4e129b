/** Inspects checkpoints, run directories, metrics and safetensors files. @module */
import { dirname, join } from "@std/path";
import { formatBytes, formatCount, formatLoss } from "../../base/text.ts";
import { FormatError } from "../../base/errors.ts";
import { tensorOf } from "../../base/safetensors_header.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { addressNumber, lengthOf, PlaceTable } from "../../data/addresses/place_table.ts";
import { AddressEmbeddings } from "../../model/address_embeddings.ts";
import { PLACE_TABLE } from "../../model/model_config.ts";
import { CHECKPOINTS, stepName } from "../../io/files/checkpoint_folder.ts";
import { exists, fingerprint } from "../../io/files/inputs.ts";
import { readManifest } from "../../io/files/manifest.ts";
import { listCheckpoints } from "../../train/checkpoint.ts";
import { type CountsJson, countsJson, dataJson } from "../../data/addresses/known_addresses.ts";
import { readUpdate } from "../../train/adapted_checkpoint.ts";
import { readCheckpoint, readState, readTrainingData } from "../../train/checkpoint_files.ts";
import { readMetrics } from "../../train/metrics.ts";
import { readSafetensorsHeader } from "../../io/safetensors.ts";
import { inspectManifest } from "./json_files.ts";
import {
  type Fact,
  formatPairs,
  formatValue,
  type Json,
  type Report,
  type Section,
  type Target,
} from "./report.ts";

const SHOWN_LOSSES = 5;
/** The most addresses to list that are not where databases place them. */
const SHOWN_MISPLACED = 5;

/** @throws {FormatError} If a file is damaged, or its size differs from the state. */
export function inspectCheckpoint({ path, files: [folder] }: Target): Report {
  const { files } = readState(folder);
  const model = readTensorFile(join(folder, "model.safetensors"), files.model.sizeBytes);
  const parameters = `${formatCount(model.numElements)} in ${model.numTensors} tensors`;
  let optimizer = "none";
  let optimizerTensors = 0;
  const optimizerPath = join(folder, "optimizer.safetensors");
  if (exists(optimizerPath)) {
    const { numElements, numTensors } = readTensorFile(optimizerPath, files.optimizer.sizeBytes);
    optimizer = `${formatCount(numElements)} numbers in ${numTensors} tensors`;
    optimizerTensors = numTensors;
  }
  const facts: Fact[] = [
    ["parameters", parameters, { parameters: model.numElements }],
    ["optimizer", optimizer, { optimizerTensors }],
    dataFact(folder),
    ...placesFact(folder),
    ...stateFacts(folder),
  ];
  return { kind: "checkpoint", path, facts, sections: [tensorSection(model.shapes)] };
}

/** The data that the checkpoint was trained on, and adapted to. */
function dataFact(folder: string): Fact {
  const json = dataJson(readTrainingData(folder));
  const { origin, is_synthetic: isSynthetic, adaptation } = json;
  const kind = isSynthetic ? "synthetic, " : isSynthetic === false ? "real, " : "";
  const adapted = adaptation ? `; adapted to ${describeCounts(adaptation)}` : "";
  const text = `${kind}${origin || "origin not known"}: ${describeCounts(json)}${adapted}`;
  return ["training data", text, { data: json }];
}

/** The places in the checkpoint, and the training addresses that are not where it places them. */
function placesFact(folder: string): Fact[] {
  const { config: { model } } = readState(folder);
  if (!model.places) return [];
  const { weights, trainingData } = readCheckpoint(folder);
  const table = PlaceTable.decode(tensorOf(weights, PLACE_TABLE, "U8"), PLACE_TABLE);
  const rows = new AddressEmbeddings(model);
  rows.load(weights);
  const addresses = Array.from(trainingData.known.addresses(), ({ bytes }) => bytes);
  const located =
    addresses.filter((address) => table.locate(addressNumber(address), lengthOf(address)).position).length;
  const misplaced = addresses.filter((address) => rows.isMisplaced(address)).map(formatAddress);
  const { sites, networks } = table.numRanges;
  const { v4, v6 } = table.prefixLengths;
  const shown = misplaced.slice(0, SHOWN_MISPLACED).join(", ");
  const rest = misplaced.length > SHOWN_MISPLACED ? ", …" : "";
  const text = [
    `${formatCount(sites)} ranges of ${formatCount(table.numSites)} places and ${formatCount(networks)} ` +
    "of networks",
    `by /${v4} and /${v6}, ${table.stepDegrees} degrees, ${formatBytes(3 * model.places.tableSize)}`,
    `${formatCount(located)} of ${formatCount(addresses.length)} addresses of the training data have a place`,
    `${misplaced.length} are not where it says${misplaced.length > 0 ? `: ${shown}${rest}` : ""}`,
  ].join("; ");
  const places = {
    ranges: sites,
    networkRanges: networks,
    sites: table.numSites,
    bytes: 3 * model.places.tableSize,
    addresses: addresses.length,
    located,
    misplaced,
  };
  return [["places", text, { places }]];
}

function describeCounts({ start, end, measurements, sources, destinations }: CountsJson): string {
  const of = (count: number, what: string) => `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
  const period = start && end ? `, ${start.slice(0, 10)} to ${end.slice(0, 10)}` : "";
  return `${of(measurements, "measurement")} of ${of(sources, "source")} to ` +
    `${of(destinations, "destination")}${period}`;
}

/**
 * Reports how an adapted checkpoint differs from its base, which is not read.
 *
 * @throws {FormatError} If it is damaged.
 */
export function inspectAdapted({ path, files: [folder] }: Target): Report {
  const { base, baseSha256, numRows, numNodes, adaptation } = readUpdate(folder);
  const counts = adaptation && countsJson(adaptation.summary);
  const manifest = join(folder, "manifest.json");
  return {
    kind: "adapted checkpoint",
    path,
    facts: [
      ["base", base, { base, baseSha256 }],
      ["adapted to", counts ? describeCounts(counts) : "nothing", { adaptation: counts ?? null }],
      ["changed", `${numRows} embeddings, ${numNodes} nodes of coordinates`, {
        rows: numRows,
        nodes: numNodes,
      }],
      ...(exists(manifest) ? inspectManifest({ path, files: [manifest] }).facts : []),
    ],
  };
}

/** @throws {FormatError} If the header is damaged. */
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
    sections: [tensorSection(tensors.shapes), ["metadata", entries, { metadata }]],
  };
}

/** @throws {FormatError} If it is damaged. */
export function inspectState({ path, files: [file] }: Target): Report {
  return { kind: "checkpoint state", path, facts: stateFacts(dirname(file)) };
}

function stateFacts(folder: string): Fact[] {
  const { step, version, seed, config, losses, evalLoss, numSkippedSteps, position, dataFingerprint } =
    readState(folder);
  const last = losses.slice(-SHOWN_LOSSES).map(({ step, loss }) =>
    `${step}: ${loss === null ? "not finite" : formatLoss(loss)}`
  );
  const evaluated = evalLoss === null ? "not evaluated" : `${formatLoss(evalLoss)} per token`;
  const { epoch, block, sequence } = position;
  return [
    ["step", `${step}, written by version ${version}`, { step, version, dataFingerprint }],
    ["last losses", `${last.join(", ") || "none"} per token`, { losses }],
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
  shapes: ReadonlyMap<string, number[]>;
  metadata: Record<string, string>;
}

function readTensorFile(path: string, wantedBytes?: number): TensorFile {
  const { shapes, metadata } = readSafetensorsHeader(path);
  const { sizeBytes } = fingerprint(path);
  if (wantedBytes !== undefined && sizeBytes !== wantedBytes) {
    throw new FormatError(
      `it has ${sizeBytes} bytes, but state.json states ${wantedBytes}; use another checkpoint of the run`,
      { path },
    );
  }
  const sizes = [...shapes.values()].map((shape) => shape.reduce((product, extent) => product * extent, 1));
  const numElements = sizes.reduce((sum, size) => sum + size, 0);
  return { sizeBytes, numTensors: sizes.length, numElements, shapes, metadata };
}

function tensorSection(shapes: ReadonlyMap<string, number[]>): Section {
  const entries = [...shapes];
  const width = Math.max(0, ...entries.map(([name]) => name.length)) + 2;
  return ["tensors", entries.map(([name, shape]) => `${name.padEnd(width)}[${shape.join(", ")}]`), {
    tensors: Object.fromEntries(entries),
  }];
}

/** @throws {FormatError} If its manifest, its metrics or the table of training data are damaged. */
export function inspectRun({ path, files: [folder] }: Target): Report {
  const nested = join(folder, CHECKPOINTS);
  const checkpointsDir = exists(nested) ? nested : folder;
  const states = listCheckpoints(checkpointsDir);
  const checkpoints = states.map(({ step }) => stepName(step));
  const manifest = readManifest(join(folder, "manifest.json"));
  const complete = manifest?.complete ?? null;
  const metricsPath = join(folder, "metrics.jsonl");
  const [best] = states.filter(({ evalLoss }) => evalLoss !== null)
    .sort((a, b) => (a.evalLoss ?? 0) - (b.evalLoss ?? 0));
  const bestCheckpoint = best ? stepName(best.step) : null;
  const bestText = best && `${bestCheckpoint}, validation loss ${formatLoss(best.evalLoss ?? NaN)}`;
  const facts: Fact[] = [
    ["state", complete === null ? "no manifest" : complete ? "complete" : "not complete", { complete }],
    ["checkpoints", checkpoints.join(", ") || "none", { checkpoints }],
    ["best checkpoint", bestText, { bestCheckpoint }],
  ];
  const latest = states.at(-1);
  if (latest) facts.push(dataFact(join(checkpointsDir, stepName(latest.step))));
  if (exists(metricsPath)) facts.push(...metricsFacts(metricsPath));
  return { kind: "run", path, facts };
}

/** @throws {FormatError} If a line is not a metrics record. */
export function inspectMetrics({ path, files: [file] }: Target): Report {
  return { kind: "metrics", path, facts: metricsFacts(file) };
}

function metricsFacts(path: string): Fact[] {
  const records = readMetrics(path);
  const firstStep = records[0]?.step ?? null;
  const lastStep = records.at(-1)?.step ?? null;
  const metrics: Json = {};
  const steps = records.length === 0 ? "none" : `${records.length}, ${firstStep} to ${lastStep}`;
  const facts: Fact[] = [
    ["logged steps", steps, { loggedSteps: records.length, firstStep, lastStep, metrics }],
  ];
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  names.delete("step");
  for (const name of names) {
    const values = records.map((record) => record[name]).filter((value) => typeof value === "number");
    if (values.length === 0) {
      metrics[name] = { count: 0, first: null, last: null, min: null, max: null };
      continue;
    }
    const first = values[0];
    const last = values[values.length - 1];
    const min = values.reduce((a, b) => Math.min(a, b));
    const max = values.reduce((a, b) => Math.max(a, b));
    metrics[name] = { count: values.length, first, last, min, max };
    const [from, to, least, most] = [first, last, min, max].map(formatValue);
    facts.push([name, `${from} to ${to}, min ${least}, max ${most}`]);
  }
  return facts;
}
