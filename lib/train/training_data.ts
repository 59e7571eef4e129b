/**
 * `training_data.safetensors` of a checkpoint: the addresses and pairs that it was trained on, and where these data come from.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import * as z from "zod";
import { type DataSummary, KnownAddresses, type TrainingData } from "../addresses/known_addresses.ts";
import { FormatError } from "../errors.ts";
import { isClosed } from "../files/listed_outputs.ts";
import { type Manifest, manifestPathBeside, readManifest } from "../files/manifest.ts";
import { readManifests } from "../files/task_manifests.ts";
import { halvesOf, ofHalves } from "../model/row_table.ts";
import {
  type SafetensorsContent,
  type SafetensorsFile,
  writeSafetensors,
} from "../tensor_files/safetensors.ts";

/** The file's name in a checkpoint's folder. */
export const TRAINING_DATA_FILE = "training_data.safetensors";

const COLUMNS = ["v4", "v6", "seen", "pairs"] as const;

const seconds = z.number().nullable();
const metadataSchema = z.object({
  origin: z.string(),
  isSynthetic: z.boolean().nullable(),
  startS: seconds,
  endS: seconds,
  measurements: z.int(),
  sources: z.int(),
  destinations: z.int(),
  isTruncated: z.boolean(),
});

/** Writes the file into a checkpoint's folder. */
export function writeTrainingData(folder: string, { summary, known }: TrainingData): SafetensorsFile {
  const tensors = new Map(COLUMNS.map((name) => [name, halvesOf(known.columns[name])]));
  const shapes = new Map(COLUMNS.map((name) => [name, [known.columns[name].length, 2]]));
  const summaryJson = JSON.stringify({ ...summary, isTruncated: known.isTruncated });
  const metadata = { format: "pt", summary: summaryJson };
  return writeSafetensors(join(folder, TRAINING_DATA_FILE), { shapes, tensors, metadata });
}

/** Decodes the file's content. @throws {FormatError} If it is none. */
export function decodeTrainingData({ tensors, metadata }: SafetensorsContent, path: string): TrainingData {
  try {
    const { isTruncated, ...summary } = metadataSchema.parse(JSON.parse(metadata.summary));
    const [v4, v6, seen, pairs] = COLUMNS.map((name) => ofHalves(tensors.get(name) ?? new Float32Array()));
    return { summary, known: new KnownAddresses({ v4, v6, seen, pairs }, isTruncated) };
  } catch (cause) {
    throw new FormatError("it is no table of training data; use an earlier checkpoint", { path, cause });
  }
}

/** How many stages before the probe rows are looked for. */
const MAX_STAGES = 6;
/** The most files that an origin names. */
const MAX_NAMED = 3;

/**
 * Says where probe rows come from, as far as the manifests of the stages before them are there.
 *
 * @param folder A folder as `probe-rows` writes it.
 */
export function originOf(folder: string): Pick<DataSummary, "origin" | "isSynthetic"> {
  let manifests = readManifests(folder).map(({ manifest }) => manifest);
  for (let stage = 0; stage < MAX_STAGES && manifests.length > 0; stage++) {
    const [{ stage: name, inputs, inputManifests }] = manifests;
    if (name === "synth") return { origin: "synth", isSynthetic: true };
    const files = [...new Set((inputManifests ?? inputs).map(({ path }) => path))];
    const before = manifestsOf(files);
    if (before.length > 0 && stage < MAX_STAGES - 1) {
      manifests = before;
      continue;
    }
    const names = [...new Set(files.map((path) => basename(path)))];
    const others = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
    return {
      origin: `${names.slice(0, MAX_NAMED).join(", ")}${others}`,
      isSynthetic: name === "import" ? false : null,
    };
  }
  return { origin: "", isSynthetic: null };
}

/** The manifests of the stages that wrote files; of many files those of the first. */
function manifestsOf(files: readonly string[]): Manifest[] {
  const [first] = files;
  if (first === undefined) return [];
  if (/manifest[^/]*\.json$/.test(basename(first))) return readable(first);
  const folder = dirname(first);
  const places = [
    manifestPathBeside(first),
    join(folder, "manifest.json"),
    join(dirname(folder), "manifest.json"),
  ];
  return places.flatMap(readable).slice(0, 1);
}

/** Skips what is no manifest, and what the stage may not read: it may read its own inputs only. */
function readable(path: string): Manifest[] {
  try {
    return [readManifest(path)].filter((manifest) => manifest !== undefined);
  } catch (error) {
    if (error instanceof FormatError || isClosed(error)) return [];
    throw error;
  }
}
