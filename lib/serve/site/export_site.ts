/** Writes a site: the page together with the model, as files for any web server. @module */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import type { ModelInfo } from "../api/schemas.ts";
import { ensure, named, UserError } from "../../base/errors.ts";
import { tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { writeFileAtomic } from "../../io/files/atomic.ts";
import { FORMAT_METADATA, FORMAT_VERSION } from "../../model/checkpoint_format.ts";
import { withPlaceTable } from "../../train/run_places.ts";
import { AddressCounts, type MeasuredData, type TrainingData } from "../../data/addresses/known_addresses.ts";
import { type AddressNames, namesCsv } from "../../data/addresses/address_names.ts";
import { PlaceTable } from "../../data/addresses/place_table.ts";
import { faultOfTensors } from "../../model/finite.ts";
import { modelShapes, PLACE_TABLE } from "../../model/model_config.ts";
import { trainingDataContent } from "../../model/training_tables.ts";
import { TRAINING_DATA_FILE, writeTrainingData } from "../../train/training_data.ts";
import { poolShapes } from "../../model/pool/pool.ts";
import { sha256OfTensors, writeSafetensors } from "../../io/safetensors.ts";
import type { LoadedCheckpoint } from "../../train/checkpoint_files.ts";
import { PAGE } from "../page_files.ts";
import { type Site, SITE_FILE } from "../api/site_file.ts";

const WEIGHTS = "model.safetensors";
/** The smallest magnitude that rounds to infinity: halfway from the largest float16 to 2 ** 16. */
const HALF_LIMIT = 65_520;
/** Tells the page that the model is next to it. */
const META = `<meta name="ping-llm-site" content="${SITE_FILE}">`;

export interface SiteContent {
  readonly checkpoint: LoadedCheckpoint;
  /** Tensors of the model's pool, if answers should use it. */
  readonly pool: Tensors | undefined;
  readonly info: ModelInfo;
  readonly calibration: readonly number[] | null;
  readonly dtype: Site["dtype"];
  readonly names: AddressNames;
}

/** Maximum size of the table of places, because browsers download it. */
const MAX_PLACE_BYTES = 3 * 2 ** 20;

/** Maximum addresses and pairs of training data for the same reason: at most 8 MiB. */
const [MAX_ADDRESSES, MAX_PAIRS] = [2 ** 16, 2 ** 17];

/**
 * Reduces a checkpoint for a site: a smaller table of places if the checkpoint's own is larger than
 * `maxBytes`, and only the most measured addresses and pairs.
 */
export function siteCheckpoint(checkpoint: LoadedCheckpoint, maxBytes = MAX_PLACE_BYTES): LoadedCheckpoint {
  const { config, weights, trainingData } = checkpoint;
  const { places } = config.model;
  const small = { ...checkpoint, trainingData: mostMeasured(trainingData) };
  if (!places || 3 * places.tableSize <= maxBytes) return small;
  const known = Array.from(trainingData.known.addresses(), ({ bytes }) => bytes);
  const table = PlaceTable.decode(tensorOf(weights, PLACE_TABLE, "U8"), PLACE_TABLE);
  return withPlaceTable(small, table.within(maxBytes, known));
}

function mostMeasured({ adaptation, ...trained }: TrainingData): TrainingData {
  const small = (data: MeasuredData): MeasuredData => {
    if (data.known.numAddresses <= MAX_ADDRESSES && data.known.numPairs <= MAX_PAIRS) return data;
    return { ...data, known: AddressCounts.of(data).table(MAX_ADDRESSES, MAX_PAIRS) };
  };
  return { ...small(trained), adaptation: adaptation && small(adaptation) };
}

/** SHA-256 of the site's content except the network's weights, hexadecimal. */
export function digestOfSite(content: SiteContent, page: ReadonlyMap<string, Uint8Array>): string {
  const hash = createHash("sha256").update(JSON.stringify(describe(content)));
  hash.update(sha256OfTensors(trainingDataContent(content.checkpoint.trainingData).tensors));
  if (content.pool) hash.update(sha256OfTensors(content.pool));
  for (const [name, bytes] of [...page].sort(([a], [b]) => a < b ? -1 : 1)) hash.update(name).update(bytes);
  return hash.digest("hex");
}

/**
 * Writes the files of a site and returns their names.
 *
 * @throws {UserError} If the weights do not fit float16 or the disk is full.
 */
export function writeSite(
  folder: string,
  content: SiteContent,
  page: ReadonlyMap<string, Uint8Array>,
): string[] {
  const { trainingData } = content.checkpoint;
  const site: Site = {
    ...describe(content),
    weights: [{ path: WEIGHTS, ...writeWeights(join(folder, WEIGHTS), content) }],
    trainingData: { path: TRAINING_DATA_FILE, ...writeTrainingData(folder, trainingData) },
  };
  const write = (name: string, bytes: Uint8Array | string) => {
    writeFileAtomic(join(folder, name), bytes);
    return name;
  };
  return [
    WEIGHTS,
    TRAINING_DATA_FILE,
    write(SITE_FILE, JSON.stringify(site)),
    ...[...page].map(([name, bytes]) => write(name, name === PAGE ? withMeta(bytes) : bytes)),
  ];
}

/** The site's description of its model, without the files. */
function describe(
  { info: model, calibration, dtype, names }: SiteContent,
): Omit<Site, "weights" | "trainingData"> {
  return {
    formatVersion: FORMAT_VERSION,
    model,
    calibration: calibration && [...calibration],
    dtype,
    ...(names.size > 0 && { names: namesCsv(names.entries()) }),
  };
}

/** Stores only parameters as float16: other entries, such as keys and coordinates, need more digits. */
function writeWeights(path: string, { checkpoint: { config, weights }, pool, dtype }: SiteContent) {
  const shapes = new Map([...modelShapes(config.model).entries, ...(pool ? poolShapes(pool) : [])]);
  const tensors = new Map([...weights, ...(pool ?? [])]);
  const halves = new Set(dtype === "f16" ? modelShapes(config.model).parameters.keys() : []);
  const fault = faultOfTensors(new Map([...halves].map((name) => [name, named(tensors, name)])), HALF_LIMIT);
  if (fault) throw new UserError(`Cannot export with --dtype f16: ${fault}; use --dtype f32`);
  return writeSafetensors(path, { shapes, tensors, metadata: { ...FORMAT_METADATA }, halves });
}

function withMeta(page: Uint8Array): string {
  const text = new TextDecoder().decode(page);
  ensure(text.includes("<head>"), `${PAGE} has a head`);
  return text.replace("<head>", `<head>\n${META}`);
}
