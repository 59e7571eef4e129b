/**
 * The rows that a fit may change, and their initial values: rows of the given addresses and of their pairs,
 * except rows shared with other addresses.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { AddressEmbeddings } from "../../model/address_embeddings.ts";
import { EMBEDDING_KEYS, type ModelConfig } from "../../model/model_config.ts";
import { EMBEDDING_VALUES } from "../../model/embedding_update.ts";
import { NO_ROW } from "../../model/embedding_table.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import type { LocatedNode } from "../../model/coordinates/coordinates.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";

interface FreeRow {
  readonly row: number;
  /** Whether the row was known to training. */
  readonly isKnown: boolean;
  /** Initial value, (C). */
  readonly start: Float32Array;
}

export interface FreeRows {
  /** The model's rows, including those claimed for the addresses. */
  readonly addressEmbeddings: AddressEmbeddings;
  /** In the order of the measurements. */
  readonly free: readonly FreeRow[];
  /** Measurements that use free rows. */
  readonly measurements: readonly TokenMeasurement[];
  /** Addresses with free rows, as text. */
  readonly addresses: readonly string[];
  /** Addresses that did not fit in the table. */
  readonly withoutRow: readonly string[];
  /** Nodes located from these measurements, ascending. */
  readonly located: Uint32Array;
}

/** @internal Parts of the model that come from earlier adaptations, not from training. */
export interface AdaptedParts {
  /** Address embeddings. */
  readonly rows: ReadonlySet<number>;
  /** Nodes with coordinates. */
  readonly nodes: ReadonlySet<number>;
}

export interface RowModel {
  readonly config: ModelConfig;
  readonly weights: Tensors;
}

export function addressesOf(measurements: readonly TokenMeasurement[]): Map<string, Uint8Array> {
  const addresses = measurements.flatMap(({ source, destination }) => [source, destination]);
  return new Map(addresses.map((address) => [formatAddress(address), address]));
}

/** Whether a measurement is from or to one of `addresses`. @param addresses As `formatAddress` writes. */
export function usesAddress(
  { source, destination }: TokenMeasurement,
  addresses: ReadonlySet<string>,
): boolean {
  return addresses.has(formatAddress(source)) || addresses.has(formatAddress(destination));
}

/** Addresses in measurements that have no row, or whose row is in `rows` (unknown to training). */
export function unknownAddresses(
  model: RowModel,
  measurements: readonly TokenMeasurement[],
  rows: ReadonlySet<number> = new Set(),
): string[] {
  const addressEmbeddings = loadedEmbeddings(model);
  return [...addressesOf(measurements)].filter(([, address]) => {
    const row = addressEmbeddings.rowOfAddress(address);
    return row === NO_ROW || rows.has(row);
  }).map(([text]) => text);
}

/**
 * Claims rows for addresses and their pairs, and determines which rows may change.
 *
 * The row of a whole address may change. Rows of shorter prefixes are shared with other addresses, so they
 * may not change and none are claimed. The new row of an address starts from the mean row of the known
 * addresses in the measurements that share the longest prefix with it. New rows of pairs start from 0.
 *
 * @param measurements Replies only.
 * @param options `addresses`: as `formatAddress` writes them; `adapted`: parts changed by earlier
 *   adaptations.
 */
export async function freeRowsOf(
  model: RowModel,
  measurements: readonly TokenMeasurement[],
  options: LocateOptions & { addresses: ReadonlySet<string>; adapted: AdaptedParts },
): Promise<FreeRows> {
  const { addresses, adapted, ...locating } = options;
  const known = loadedEmbeddings(model);
  const addressEmbeddings = loadedEmbeddings(model);
  const free = new Map<number, FreeRow>();
  const withoutRow: string[] = [];
  const fitted: string[] = [];
  const all = addressesOf(measurements);
  const values = valuesOf(model);
  const knownAddresses = [...all.values()].map((address) => ({ address, row: known.rowOfAddress(address) }))
    .filter(({ row }) => row !== NO_ROW);
  const add = (row: number, isNew: boolean, start?: Float32Array) => {
    if (row === NO_ROW || free.has(row)) return;
    free.set(row, { row, isKnown: !isNew && !adapted.rows.has(row), start: start ?? values(row) });
  };
  for (const [text, address] of all) {
    if (!addresses.has(text)) continue;
    const isNew = known.rowOfAddress(address) === NO_ROW;
    const row = addressEmbeddings.rowOfAddress(address, { claims: true });
    add(row, isNew, isNew ? meanOfNearest(address, knownAddresses, values) : undefined);
    (row === NO_ROW ? withoutRow : fitted).push(text);
  }
  const chosen = measurements.filter((measurement) => usesAddress(measurement, addresses));
  for (const { source, destination } of chosen) {
    const isNew = known.rowOfPair(source, destination) === NO_ROW;
    add(addressEmbeddings.rowOfPair(source, destination, { claims: true }), isNew);
  }
  return {
    addressEmbeddings,
    free: [...free.values()],
    measurements: chosen,
    addresses: fitted,
    withoutRow,
    located: await locateAddresses(addressEmbeddings, chosen, {
      ...locating,
      addresses,
      adaptedNodes: adapted.nodes,
    }),
  };
}

/** Mean row of the known addresses nearest to an address; undefined if none has its IP version. */
function meanOfNearest(
  address: Uint8Array,
  known: readonly { address: Uint8Array; row: number }[],
  values: (row: number) => Float32Array,
): Float32Array | undefined {
  const sameVersion = known.filter((each) => each.address.length === address.length);
  const shared = sameVersion.map((each) => numShared(each.address, address));
  const most = shared.reduce((a, b) => Math.max(a, b), 0);
  const nearest = sameVersion.filter((_, i) => shared[i] === most);
  if (nearest.length === 0) return undefined;
  const sums = new Float64Array(values(nearest[0].row).length);
  for (const { row } of nearest) values(row).forEach((value, i) => sums[i] += value);
  return Float32Array.from(sums, (sum) => sum / nearest.length);
}

/** Length of the common prefix of two addresses, bytes. */
function numShared(a: Uint8Array, b: Uint8Array): number {
  const index = a.findIndex((byte, i) => byte !== b[i]);
  return index < 0 ? a.length : index;
}

function loadedEmbeddings({ config, weights }: RowModel): AddressEmbeddings {
  const rows = new AddressEmbeddings(config);
  rows.load(weights);
  return rows;
}

function valuesOf({ config: { width }, weights }: RowModel): (row: number) => Float32Array {
  const values = tensorOf(weights, EMBEDDING_VALUES, "F32");
  return (row) => values.slice(row * width, (row + 1) * width);
}

/** Returns a sentence for each address without a row; none if the model has no rows. */
export function rowNotes(model: RowModel): (addresses: readonly Uint8Array[]) => string[] {
  if (!model.config.prefixVectors || !model.weights.has(EMBEDDING_KEYS)) return () => [];
  const rows = loadedEmbeddings(model);
  return (addresses) =>
    addresses.filter((address) => rows.rowOfAddress(address) === NO_ROW).map((address) =>
      `${formatAddress(address)} has no embedding in the model: the answer is not based on its measurements`
    );
}

/** Maximum time between checks of the signal while locating addresses, ms. */
const MAX_DEAF_MS = 50;

interface LocateOptions {
  /** Checked between addresses. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each address with the number done and the total. */
  readonly onLocated?: (done: number, total: number) => void;
}

/**
 * Computes coordinates for addresses, each from its measurements with addresses that already had some.
 * Addresses known to training keep their coordinates; addresses from earlier adaptations get new ones.
 *
 * @param rows The model's rows, which are modified.
 * @param measurements Replies only.
 * @param options `addresses`: as `formatAddress` writes them; `adaptedNodes`: nodes from earlier adaptations.
 * @returns The located nodes, ascending.
 */
export async function locateAddresses(
  rows: AddressEmbeddings,
  measurements: readonly TokenMeasurement[],
  { addresses, adaptedNodes, signal, onLocated }: LocateOptions & {
    addresses: ReadonlySet<string>;
    adaptedNodes: ReadonlySet<number>;
  },
): Promise<Uint32Array> {
  const { coordinates } = rows;
  const places = new Map<number, LocatedNode>();
  if (!coordinates) return new Uint32Array();
  const asked = [...rttsOf(measurements, addresses)]
    .map((own) => ({ ...own, node: rows.nodeOf(own.address) }))
    .filter(({ node }) => adaptedNodes.has(node) || !coordinates.hasCoordinates(node));
  // Addresses that are being located do not help to locate each other.
  const without = new Set(asked.map(({ node }) => node));
  const found: { address: Uint8Array; place: LocatedNode }[] = [];
  let heardMs = performance.now();
  for (const [i, { address, rttsMs }] of asked.entries()) {
    if (performance.now() - heardMs > MAX_DEAF_MS) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      heardMs = performance.now();
    }
    signal?.throwIfAborted();
    const known = [...rttsMs.values()].map(({ other, ms }) => ({
      node: rows.nodeOf(other),
      rttMs: quantileOfSample(ms, 0.5),
    }));
    const place = coordinates.locate(known, { without, place: rows.nodeOfPlace(address) });
    if (place) found.push({ address, place });
    onLocated?.(i + 1, asked.length);
  }
  for (const { address, place } of found) {
    const node = rows.claimNode(address);
    if (node !== NO_ROW) places.set(node, place);
  }
  coordinates.put(places);
  return Uint32Array.from(places.keys()).sort();
}

/** RTTs of each address, by the other endpoint. */
function rttsOf(measurements: readonly TokenMeasurement[], addresses: ReadonlySet<string>) {
  const all = new Map<
    string,
    { address: Uint8Array; rttsMs: Map<string, { other: Uint8Array; ms: number[] }> }
  >();
  for (const { source, destination, rttCode } of measurements) {
    for (const [address, other] of [[source, destination], [destination, source]]) {
      const text = formatAddress(address);
      const otherText = formatAddress(other);
      if (rttCode === null || text === otherText || !addresses.has(text)) continue;
      const { rttsMs } = getOrMake(all, text, () => ({ address, rttsMs: new Map() }));
      getOrMake(rttsMs, otherText, () => ({ other, ms: [] })).ms.push(decodeRttCode(rttCode));
    }
  }
  return all.values();
}
