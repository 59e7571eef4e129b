/** Training data for tests of destinations. */
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { AddressCounts, type MeasuredData } from "../../../lib/data/addresses/known_addresses.ts";

/** Training data in which sources measured destinations so often. */
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
