/**
 * `training_data.safetensors` of a checkpoint: the addresses and pairs that it was trained on, and where these data come
 * from. An adapted checkpoint has such a table of what it was adapted to.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import * as z from "zod";
import {
  type DataSummary,
  KnownAddresses,
  type MeasuredData,
  type TrainingData,
} from "../data/addresses/known_addresses.ts";
import { FormatError } from "../base/errors.ts";
import { isClosed } from "../io/files/checked_outputs.ts";
import { type Manifest, manifestPathBeside, readManifest } from "../io/files/manifest.ts";
import { readManifests } from "../io/files/task_manifests.ts";
import { FORMAT_METADATA } from "../model/checkpoint_format.ts";
import { halvesOf, ofHalves } from "../model/embedding_table.ts";
import { type SafetensorsContent, type SafetensorsFile, writeSafetensors } from "../io/safetensors.ts";

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
export function writeTrainingData(folder: string, { adaptation, ...trained }: TrainingData): SafetensorsFile {
  const [{ tensors, shapes, metadata }, adapted] = [contentOf(trained), adaptationContent(adaptation)];
  return writeSafetensors(join(folder, TRAINING_DATA_FILE), {
    shapes: new Map([...shapes, ...adapted.shapes]),
    tensors: new Map([...tensors, ...adapted.tensors]),
    metadata: { ...FORMAT_METADATA, ...metadata, ...adapted.metadata },
  });
}

/** Decodes the file's content. @throws {FormatError} If it is invalid. */
export function decodeTrainingData(content: SafetensorsContent, path: string): TrainingData {
  return { ...dataOf(content, path), adaptation: decodeAdaptation(content, path) };
}

/** The measurements of an adaptation as a part of a file; it is empty where there are none. */
export function adaptationContent(data: MeasuredData | undefined): SafetensorsContent {
  return data ? contentOf(data, ADAPTATION) : { shapes: new Map(), tensors: new Map(), metadata: {} };
}

/** Decodes it; undefined where the file has none. @throws {FormatError} If it is damaged. */
export function decodeAdaptation(content: SafetensorsContent, path: string): MeasuredData | undefined {
  return `${ADAPTATION}summary` in content.metadata ? dataOf(content, path, ADAPTATION) : undefined;
}

/** How names of the tensors and metadata of an adaptation begin. */
const ADAPTATION = "adaptation.";

function contentOf({ summary, known }: MeasuredData, prefix = ""): SafetensorsContent {
  const { columns, isTruncated } = known;
  const tensors = COLUMNS.map((name) => [`${prefix}${name}`, halvesOf(columns[name])] as const);
  return {
    tensors: new Map(tensors),
    shapes: new Map(tensors.map(([name, { length }]) => [name, [length / 2, 2]])),
    metadata: { [`${prefix}summary`]: JSON.stringify({ ...summary, isTruncated }) },
  };
}

function dataOf({ tensors, metadata }: SafetensorsContent, path: string, prefix = ""): MeasuredData {
  try {
    const { isTruncated, ...summary } = metadataSchema.parse(JSON.parse(metadata[`${prefix}summary`]));
    const [v4, v6, seen, pairs] = COLUMNS.map((name) =>
      ofHalves(tensors.get(`${prefix}${name}`) ?? new Float32Array())
    );
    return { summary, known: new KnownAddresses({ v4, v6, seen, pairs }, isTruncated) };
  } catch (cause) {
    throw new FormatError(
      `it has no table of ${prefix === "" ? "training data" : "the adaptation"}; use an earlier checkpoint`,
      { path, cause },
    );
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
