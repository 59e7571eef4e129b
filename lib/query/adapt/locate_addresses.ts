/**
 * Coordinates of addresses that training did not know, from measurements with addresses that have coordinates.
 *
 * @module
 */
import { quantileOfSample } from "../../base/sample_statistics.ts";
import type { AddressEmbeddings } from "../../model/address_embeddings.ts";
import type { LocatedNode } from "../../model/coordinates/coordinates.ts";
import { NO_ROW } from "../../model/embedding_table.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";

/** How long addresses are located until a signal is heard, in ms. */
const MAX_DEAF_MS = 50;

/** How addresses are located. */
export interface LocateOptions {
  /** Checked between addresses. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each address with how many are done, and of how many. */
  readonly onLocated?: (done: number, total: number) => void;
}

/**
 * Gives coordinates to addresses, each from its measurements with addresses that had coordinates before. Addresses of
 * training keep theirs. Addresses of earlier adaptations get new ones from these measurements only.
 *
 * @param rows The model's, which are changed.
 * @param measurements Replies only.
 * @param options `addresses`: as `formatAddress` writes them; `adaptedNodes`: numbers of earlier adaptations.
 * @returns The numbers of the addresses that got coordinates, ascending.
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
  // Addresses that are located now do not help to locate each other.
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
    const place = coordinates.locate(known, without);
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

/** The RTTs of each address, by the other end. */
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
      const { rttsMs } = all.getOrInsertComputed(text, () => ({ address, rttsMs: new Map() }));
      rttsMs.getOrInsertComputed(otherText, () => ({ other, ms: [] })).ms.push(decodeRttCode(rttCode));
    }
  }
  return all.values();
}
