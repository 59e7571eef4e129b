/** Three cities with a network each, and rows of measurements between their hosts. @module */
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { addressNumber, type Place, PlaceTable } from "../../lib/data/addresses/place_table.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";

/** By the first bytes of their addresses. */
export const CITIES: Record<string, Place> = {
  "10.1.0": { latitude: 52.5, longitude: 13.5, countryCode: "DE", region: "Berlin" },
  "10.2.0": { latitude: 40.5, longitude: -74, countryCode: "US", region: "New York" },
  "10.3.0": { latitude: 35.5, longitude: 139.5, countryCode: "JP", region: "Tokyo" },
};

export const CITY_TABLE: PlaceTable = PlaceTable.of({
  locate: (address) => CITIES[address.slice(0, 3).join(".")],
  visitBounds: (length, visit) => {
    if (length === 16) return;
    for (const city of Object.keys(CITIES)) {
      const first = addressNumber(addressBytes(`${city}.0`));
      visit(first);
      visit(first + 256);
    }
  },
});

/** A row of measurements from one address. RTTs below 0 are missing replies. */
export function rowOf(
  source: string,
  rtts: readonly (readonly [destination: string, rttMs: number])[],
): ProbeRow {
  return {
    srcAddrs: [source],
    dstAddrs: rtts.map(([destination]) => destination),
    srcIndex: rtts.map(() => 0),
    dstIndex: rtts.map((_, i) => i),
    rttMs: Float32Array.from(rtts, ([, rttMs]) => rttMs),
    eventTimeUs: Float64Array.from(rtts, (_, i) => 1e6 * i),
  } as unknown as ProbeRow;
}
