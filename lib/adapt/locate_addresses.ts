/**
 * Coordinates of addresses that training did not know, from measurements with addresses that have coordinates.
 *
 * @module
 */
import type { AddressRows } from "../model/address_rows.ts";
import type { NodePlace } from "../model/node_coordinates.ts";
import { NO_ROW } from "../model/row_table.ts";
import { formatAddress } from "../addresses/ip.ts";
import { decodeRttCode } from "../tokens/rtt_code.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";

/**
 * Gives coordinates to addresses, each from its measurements with addresses that had coordinates before. Addresses of
 * training keep theirs. Addresses of earlier adaptations get new ones from these measurements only.
 *
 * @param rows The model's, which are changed.
 * @param measurements Replies only.
 * @param options `addresses`: as `formatAddress` writes them; `adaptedNodes`: numbers of earlier adaptations.
 * @returns The numbers of the addresses that got coordinates, ascending.
 */
export function locateAddresses(
  rows: AddressRows,
  measurements: readonly TokenMeasurement[],
  { addresses, adaptedNodes }: { addresses: ReadonlySet<string>; adaptedNodes: ReadonlySet<number> },
): Uint32Array {
  const { coordinates } = rows;
  const places = new Map<number, NodePlace>();
  if (!coordinates) return new Uint32Array();
  const asked = [...rttsOf(measurements, addresses)].map((own) => ({
    ...own,
    node: rows.nodeOf(own.address),
  }))
    .filter(({ node }) => adaptedNodes.has(node) || !coordinates.hasPlace(node));
  // Addresses that are located now do not help to locate each other.
  const without = new Set(asked.map(({ node }) => node));
  const found: { address: Uint8Array; place: NodePlace }[] = [];
  for (const { address, rttsMs } of asked) {
    const known = [...rttsMs.values()].map(({ other, ms }) => ({
      node: rows.nodeOf(other),
      rttMs: medianOf(ms),
    }));
    const place = coordinates.locate(known, without);
    if (place) found.push({ address, place });
  }
  for (const { address, place } of found) {
    const node = rows.claimNode(address);
    if (node !== NO_ROW) places.set(node, place);
  }
  coordinates.put(places);
  return Uint32Array.from(places.keys()).sort();
}

/** The RTTs of an address, by the other end. */
interface OwnRtts {
  readonly address: Uint8Array;
  readonly rttsMs: Map<string, { other: Uint8Array; ms: number[] }>;
}

function rttsOf(
  measurements: readonly TokenMeasurement[],
  addresses: ReadonlySet<string>,
): Iterable<OwnRtts> {
  const all = new Map<string, OwnRtts>();
  for (const { source, destination, rttCode } of measurements) {
    for (const [address, other] of [[source, destination], [destination, source]]) {
      const [text, otherText] = [address, other].map(formatAddress);
      if (rttCode === null || text === otherText || !addresses.has(text)) continue;
      const own = all.get(text) ?? { address, rttsMs: new Map() };
      all.set(text, own);
      const known = own.rttsMs.get(otherText) ?? { other, ms: [] };
      own.rttsMs.set(otherText, known);
      known.ms.push(decodeRttCode(rttCode));
    }
  }
  return all.values();
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1];
}
