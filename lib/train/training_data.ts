/**
 * A checkpoint's `training_data.safetensors`: the addresses and pairs that it was trained on, and where these
 * data come from. An adapted checkpoint has such a table for the data it was adapted to.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import type { DataSummary, TrainingData } from "../data/addresses/known_addresses.ts";
import { getOrMake } from "../base/collections.ts";
import { FormatError } from "../base/errors.ts";
import { isClosed } from "../io/files/checked_outputs.ts";
import { type Manifest, manifestPathBeside, readManifest } from "../io/files/manifest.ts";
import { readManifests } from "../io/files/task_manifests.ts";
import { type SafetensorsFile, writeSafetensors } from "../io/safetensors.ts";
import { FORMAT_METADATA } from "../model/checkpoint_format.ts";
import { trainingDataContent } from "../model/training_tables.ts";

export const TRAINING_DATA_FILE = "training_data.safetensors";

/** Writes the file into a folder of a checkpoint or of a site. */
export function writeTrainingData(folder: string, data: TrainingData): SafetensorsFile {
  const { metadata, ...content } = trainingDataContent(data);
  return writeSafetensors(join(folder, TRAINING_DATA_FILE), {
    ...content,
    metadata: { ...FORMAT_METADATA, ...metadata },
  });
}

/** How many stages before the probe rows are searched. */
const MAX_STAGES = 6;
/** Maximum number of files that an origin names. */
const MAX_NAMED = 3;
/** Maximum number of files whose manifests are searched. */
const MAX_FILES = 64;

type Origin = Pick<DataSummary, "origin" | "isSynthetic">;

/**
 * Describes where probe rows come from, as far as earlier stages' manifests exist.
 *
 * @param folder A folder written by `probe-rows`, or one per campaign.
 */
export function originOf(folder: string | readonly string[]): Origin {
  const origins = [folder].flat().map(originOfCampaign);
  const kinds = new Set(origins.map(({ isSynthetic }) => isSynthetic));
  return {
    origin: [...new Set(origins.map(({ origin }) => origin).filter(Boolean))].join(", "),
    isSynthetic: kinds.size === 1 ? origins[0].isSynthetic : null,
  };
}

function originOfCampaign(folder: string): Origin {
  let manifests = readManifests(folder).map(({ manifest }) => manifest);
  for (let stage = 0; stage < MAX_STAGES && manifests.length > 0; stage++) {
    const [{ stage: name }] = manifests;
    if (name === "synth") return { origin: "synth", isSynthetic: true };
    const inputs = manifests.flatMap(({ inputs, inputManifests }) => inputManifests ?? inputs);
    const files = [...new Set(inputs.map(({ path }) => path))];
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

/** Reads the manifests of the stages that wrote files; if there are many files, of the first ones only. */
function manifestsOf(files: readonly string[]): Manifest[] {
  const found = new Map<string, Manifest[]>();
  for (const path of files.slice(0, MAX_FILES)) {
    const folder = dirname(path);
    const beside = [manifestPathBeside(path), join(folder, "manifest.json")];
    const places = /manifest[^/]*\.json$/.test(basename(path))
      ? [path]
      : [...beside, join(dirname(folder), "manifest.json")];
    places.find((place) => getOrMake(found, place, () => readable(place)).length > 0);
  }
  return [...found.values()].flat();
}

/** Skips files that are not manifests, and files outside the stage's inputs, which it may not read. */
function readable(path: string): Manifest[] {
  try {
    return [readManifest(path)].filter((manifest) => manifest !== undefined);
  } catch (error) {
    if (error instanceof FormatError || isClosed(error)) return [];
    throw error;
  }
}
