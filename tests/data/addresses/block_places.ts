import { addressNumber, type Place, type PlaceSource } from "../../../lib/data/addresses/place_table.ts";

/** Places of the /24 blocks of IPv4 addresses. */
export function blockPlaces(places: Iterable<readonly [address: Uint8Array, place: Place]>): PlaceSource {
  const blockOf = (address: Uint8Array) => address.slice(0, 3).join(".");
  const blocks = new Map(Array.from(places, ([address, place]) => [blockOf(address), { address, place }]));
  return {
    locate: (address) => blocks.get(blockOf(address))?.place,
    visitBounds(length, visit) {
      if (length === 16) return;
      for (const { address } of blocks.values()) {
        const start = addressNumber(address) - address[3];
        for (const bound of [start, start + 256]) visit(bound);
      }
    },
  };
}
