/**
 * Forged checkpoints, with wrong numbers but valid checksums, and questions to them. Each must end with a
 * one-line error or a possible answer.
 *
 * @module
 */
import { basename, fromFileUrl, join } from "@std/path";
import { isObject } from "../../lib/base/collections.ts";
import { named } from "../../lib/base/errors.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { AddressCounts, dataJson } from "../../lib/data/addresses/known_addresses.ts";
import { openPlaces } from "../../lib/data/addresses/places/open_places.ts";
import { PlaceTable } from "../../lib/data/addresses/place_table.ts";
import { END_TIME_US, MIN_TIME_US } from "../../lib/data/formats/batch.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { STATE_FILE } from "../../lib/io/files/checkpoint_folder.ts";
import { readSafetensors, sha256OfTensors, writeSafetensors } from "../../lib/io/safetensors.ts";
import { AddressEmbeddings } from "../../lib/model/address_embeddings.ts";
import { embeddingUpdateOf } from "../../lib/model/embedding_update.ts";
import { type ModelConfig, parseModelConfig, PLACE_TABLE } from "../../lib/model/model_config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { fitPool } from "../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../lib/model/pool/pool_tables.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { sampleMeasurements } from "../../lib/query/score/sample.ts";
import { PingService } from "../../lib/serve/api/ping_service.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { baseOf, UPDATE_FILE, writeUpdate } from "../../lib/train/adapted_checkpoint.ts";
import { loadCheckpoint, loadResumable } from "../../lib/train/checkpoint.ts";
import { POOL_FILE, readState, writePool, writeState } from "../../lib/train/checkpoint_files.ts";
import { TRAINING_DATA_FILE } from "../../lib/train/training_data.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { INFO } from "../serve/api/tiny_service.ts";
import { writeUntrainedRun } from "../train/untrained_run.ts";

const SOURCES = ["109.128.162.1", "109.90.179.1", "141.30.234.1", "145.224.72.1", "98.97.22.1"];
const DESTINATIONS = ["91.51.207.1", "93.181.36.1", "216.147.122.1", "34.151.112.1", "47.186.3.1"];
const IPV6 = ["2001:db8::1", "2001:db8::2"];
/** Has a place, but was not measured. */
const UNKNOWN = "92.117.79.9";
const TIME_S = 1_700_000_000;

/** Folders of a checkpoint with every kind of file, and of one adapted from it. */
export interface Whole {
  readonly run: string;
  readonly adapted: string;
}

export async function writeWhole(folder: string): Promise<Whole> {
  const paths = ["city", "asn"].map((name) =>
    fromFileUrl(new URL(`../data/places/${name}.csv`, import.meta.url))
  );
  const places = PlaceTable.of(await openPlaces(paths)).encode();
  const model = parseModelConfig({
    numLayers: 1,
    width: 32,
    numHeads: 1,
    headDim: 32,
    mlpWidth: 32,
    sequenceLength: 128,
    prefixVectors: { rows: 512 },
    pairVectors: { rows: 64 },
    coordinates: { nodes: 32, rank: 2 },
    places: { tableSize: places.length / 3, sources: ["city.csv"] },
  });
  const { weights, rows, tables, counts } = learn(model, places);
  const config = loadConfig(
    "demo",
    Object.entries(model).map(([key, value]) => `model.${key}=${JSON.stringify(value)}`),
  );
  const trainingData = {
    known: counts.table(),
    summary: counts.summary({ origin: "a.parquet", isSynthetic: true }),
  };
  const run = join(folder, "run");
  writeUntrainedRun(run, { config, weights, trainingData });
  const checkpoint = loadCheckpoint(run);
  writePool(checkpoint.directory, tables.save(fitPool([])), checkpoint.state.files.model.sha256);
  const adapted = join(folder, "adapted");
  Deno.mkdirSync(adapted, { recursive: true });
  const ends = [SOURCES[0], DESTINATIONS[0]].map(addressBytes);
  const update = embeddingUpdateOf(
    model,
    weights,
    Uint32Array.of(...ends.map((end) => rows.rowOfAddress(end)), rows.rowOfPair(ends[0], ends[1])).sort(),
    Uint32Array.from(ends, (end) => rows.nodeOf(end)).sort(),
  );
  const { known, summary } = trainingData;
  const options = { from: baseOf(checkpoint), config: model, adaptation: { known, summary } };
  writeUpdate(join(adapted, UPDATE_FILE), update, options);
  return { run, adapted };
}

/** Makes a model's weights, and what it remembers of some measurements. */
function learn(model: ModelConfig, places: Uint8Array) {
  const weights = initialParameters(model, 7);
  const rows = new AddressEmbeddings(model);
  rows.load(weights.set(PLACE_TABLE, places));
  const tables = new PoolTables((address) => rows.placeOf(addressBytes(address)));
  const counts = new AddressCounts();
  const pairs: { a: number; b: number; rttMs: number }[] = [];
  const measure = (src: string, dst: string, rttMs: number) => {
    const [source, destination] = [src, dst].map(addressBytes);
    const pair = rows.claim(source, destination);
    const [a, b] = [source, destination].map((end) => rows.claimNode(end));
    pairs.push({ a, b, rttMs });
    for (let i = 0; i < 4; i++) {
      const [timeS, rttCode] = [TIME_S + 600 * i, encodeRttCode(rttMs * (1 + i / 50))];
      const result = i === 2 ? null : rttCode;
      if (result !== null) rows.remember(pair, { rttCode, timeS });
      tables.add(PoolTables.endOf(source), PoolTables.endOf(destination), result, timeS);
      counts.add(counts.id(source), counts.id(destination), timeS);
    }
  };
  SOURCES.forEach((src, i) => DESTINATIONS.forEach((dst, j) => measure(src, dst, 10 + 15 * Math.abs(i - j))));
  measure(IPV6[0], IPV6[1], 40);
  rows.coordinates?.fit({
    a: Uint32Array.from(pairs, ({ a }) => a),
    b: Uint32Array.from(pairs, ({ b }) => b),
    rttMs: Float64Array.from(pairs, ({ rttMs }) => rttMs),
  });
  rows.save(weights);
  return { weights, rows, tables, counts };
}

/** A tensor of a checkpoint, or a number in JSON. */
export interface Target {
  readonly file: string;
  /** The tensor, or the keys to the number; in metadata, the metadata's key and a space precede them. */
  readonly name: string;
  readonly length: number;
  /** Numbers per row. */
  readonly width: number;
}

/** All tensors and numbers of a checkpoint. */
export function targetsOf({ run, adapted }: Whole): Target[] {
  const { directory } = loadCheckpoint(run);
  const files = ["model", "optimizer", "training_data", "pool"].map((name) => `${name}.safetensors`);
  const paths = [...files.map((name) => join(directory, name)), join(adapted, UPDATE_FILE)];
  const ofNumber = (file: string, name: string): Target => ({ file, name, length: 1, width: 1 });
  const inFiles = paths.flatMap((file) => {
    const { tensors, shapes, metadata } = readSafetensors(file);
    const ofTensors = [...tensors].map(([name, { length }]): Target => ({
      file,
      name,
      length,
      width: named(shapes, name).at(-1) ?? 1,
    }));
    const summaries = Object.keys(metadata).filter((name) => name.endsWith("summary"));
    return [
      ...ofTensors.filter(({ length }) => length > 0),
      ...summaries.flatMap((key) =>
        numbersIn(JSON.parse(metadata[key])).map((keys) => ofNumber(file, `${key} ${keys}`))
      ),
    ];
  });
  const { config: _, ...state } = readState(directory);
  return [...inFiles, ...numbersIn(state).map((keys) => ofNumber(join(directory, STATE_FILE), keys))];
}

/** The keys to each number in JSON, such as `position.block`. */
function numbersIn(value: unknown, at = ""): string[] {
  if (typeof value === "number") return [at];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => numbersIn(each, at === "" ? key : `${at}.${key}`));
}

export const VALUES = [0, -1, 0.5, 1e9, NaN];

/** A change to a checkpoint: some elements of a tensor are replaced by a value. */
export interface Forgery extends Target {
  readonly value: number;
  readonly first: number;
  readonly step: number;
  readonly count: number;
}

/** The forgery of a case: targets and values in turn; one element, one column or all elements. */
export function forgeryOf(targets: readonly Target[], seed: number, index: number): Forgery {
  const target = targets[index % targets.length];
  const value = VALUES[(index + Math.floor(index / targets.length)) % VALUES.length];
  const random = new RandomStream(seed, "tests/fuzz/forged", index);
  const { length, width } = target;
  const first = random.below(length);
  const extent = random.below(4);
  if (extent === 0) return { ...target, value, first: 0, step: 1, count: length };
  if (extent === 1) return { ...target, value, first: first % width, step: width, count: length / width };
  return { ...target, value, first, step: 1, count: 1 };
}

export function describeForgery({ file, name, value, first, step, count }: Forgery): string {
  return `${basename(file)} ${name}, ${count} from ${first} by ${step} = ${value}`;
}

/** Uses a checkpoint with a forgery, then repairs it. */
export async function withForged<T>(
  { run }: Whole,
  forged: Forgery,
  use: () => T | Promise<T>,
): Promise<T> {
  const { directory } = loadCheckpoint(run);
  const kept = [forged.file, join(directory, STATE_FILE), join(directory, POOL_FILE)]
    .map((path) => [path, Deno.readFileSync(path)] as const);
  try {
    forge(directory, forged);
    return await use();
  } finally {
    for (const [path, bytes] of kept) Deno.writeFileSync(path, bytes);
  }
}

/** Writes a forgery with valid checksums. @param directory The checkpoint's folder. */
function forge(directory: string, { file, name, value, first, step, count }: Forgery): void {
  const state = readState(directory);
  if (file.endsWith(STATE_FILE)) return writeState(directory, withNumber(state, name.split("."), value));
  const { tensors, shapes, metadata } = readSafetensors(file);
  const [summary, keys] = name.split(" ");
  if (keys) {
    metadata[summary] = JSON.stringify(withNumber(JSON.parse(metadata[summary]), keys.split("."), value));
  } else {
    const values = named(tensors, name);
    for (let i = 0; i < count; i++) values[first + i * step] = value;
  }
  if (metadata.sha256) metadata.sha256 = sha256OfTensors(tensors);
  const written = writeSafetensors(file, { tensors, shapes, metadata });
  const parts: Record<string, keyof typeof state.files> = {
    "model.safetensors": "model",
    "optimizer.safetensors": "optimizer",
    [TRAINING_DATA_FILE]: "trainingData",
  };
  const part = parts[basename(file)];
  if (part) writeState(directory, { ...state, files: { ...state.files, [part]: written } });
  if (part === "model") {
    writePool(directory, readSafetensors(join(directory, POOL_FILE)).tensors, written.sha256);
  }
}

function withNumber<T>(json: T, [key, ...keys]: string[], value: number): T {
  const inner = (json as Record<string, unknown>)[key];
  const changed = keys.length === 0 ? value : withNumber(inner, keys, value);
  return (Array.isArray(json) ? json.with(Number(key), changed) : { ...json, [key]: changed }) as T;
}

/**
 * Asks a checkpoint all kinds of questions.
 *
 * @param forged Determines which files to read.
 * @returns The impossible values in the answers.
 * @throws {UserError} If the checkpoint or a question is refused.
 */
export async function askForged(
  { run, adapted }: Whole,
  { file }: Forgery,
  registry: KernelRegistry,
): Promise<string[]> {
  if (file.endsWith("optimizer.safetensors")) {
    return [...loadResumable(run).optimizer].flatMap(([name, values]) =>
      name.endsWith("exp_avg_sq") && values.some((value) => value < 0) ? [`${name} is below 0`] : []
    );
  }
  const { config, state, weights, trainingData, pool } = loadCheckpoint(
    file.endsWith(UPDATE_FILE) ? adapted : run,
  );
  const model = PingModel.of(config.model, registry, { weights, trainingData, pool });
  const service = new PingService(model, { info: INFO });
  const [src, time] = [SOURCES[0], TIME_S + 3600];
  const source = addressBytes(src);
  const measured = [...DESTINATIONS, UNKNOWN].map((dst) => ({ src, dst, time, rtt: 20 }));
  const { step, position, numSkippedSteps, numSkippedInRow } = state;
  const answers: Record<string, () => unknown> = {
    state: () => ({ step, position, numSkippedSteps, numSkippedInRow }),
    data: () => dataJson(trainingData),
    rtt: () => service.rtt({ src, dst: DESTINATIONS[0], time, at: [20], cdf: 8 }),
    rtts: () =>
      service.rttBatch([
        { src, dst: UNKNOWN },
        { src: UNKNOWN, dst: DESTINATIONS[1], time },
        { src: SOURCES[1], dst: SOURCES[2] },
        { src: IPV6[0], dst: IPV6[1] },
      ]),
    ofPlace: () => service.rtt({ src: "DE", dst: DESTINATIONS[1], draws: 4 }),
    destinations: () => service.destinations({ src, rtt: [10, 40], candidates: 4, max_expansions: 16 }),
    nearest: () => service.nearest({ src, candidates: DESTINATIONS, time }),
    likelihood: () => service.likelihood(measured[0]),
    scores: () => service.score(measured),
    samples: () =>
      Array.fromAsync(
        sampleMeasurements(model, { source, timeS: time, context: [] }, { count: 4, seed: 1 }),
      ),
    place: () => service.place({ src, context: measured }),
    contradicted: () => service.place({}),
    places: () => service.places({ q: "Ber" }),
  };
  const faults: string[] = [];
  for (const [name, ask] of Object.entries(answers)) faults.push(...impossible(await ask(), name));
  return faults;
}

/** Keys of probabilities, of Unix times in seconds, and of other nonnegative numbers. */
const PROBABILITY = /^(p_|pFailed|probability$|cdf$|canonical|unlisted|prior_mass)/;
const TIME = /^(time|timeS|last_seen|start|end)$/;
const LEAST_ZERO =
  /(ms|Ms|rtt|measurements|step|in_adaptation|sources|destinations|numSkipped\w*|epoch|block|sequence|bits|Bits)$/;
/** Keys of numbers that must not be missing. */
const PRESENT = /(mean|median|quantile|p_failed)/;
const [LEAST_S, END_S] = [MIN_TIME_US, END_TIME_US].map((us) => us / 1e6);
const ROUNDING = 1e-6;

/** The impossible numbers in an answer. @param at Its position, for messages. */
function impossible(answer: unknown, at: string): string[] {
  const key = at.slice(at.lastIndexOf(".") + 1);
  // Bits per part of a measurement have the part's name.
  const isTime = TIME.test(key) && !at.includes("block_bits");
  const value = typeof answer === "string" && isTime ? Date.parse(answer) / 1000 : answer;
  if (typeof value === "number") {
    const isPossible = Number.isFinite(value) &&
      (!PROBABILITY.test(key) || (value >= -ROUNDING && value <= 1 + ROUNDING)) &&
      (!isTime || (value >= LEAST_S && value < END_S)) &&
      (value >= 0 || !(LEAST_ZERO.test(key) || /quantiles_ms|block_bits/.test(at)));
    return isPossible ? [] : [`${at} is ${answer}`];
  }
  if (answer === null && PRESENT.test(key)) return [`${at} is null`];
  if (Array.isArray(answer)) return answer.flatMap((each, i) => impossible(each, `${at}.${i}`));
  if (!isObject(answer) || ArrayBuffer.isView(answer)) return [];
  return Object.entries(answer).flatMap(([key, each]) => impossible(each, `${at}.${key}`));
}
