import type { KnownPairs } from "../../../lib/model/coordinates/known_pairs.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { readAll, realData } from "../../data/measurement_files/batches.ts";

interface PairSplit {
  known: KnownPairs;
  heldOut: KnownPairs;
}

/** Splits the pairs of nodes at random. @param rttMs Undefined if a pair has no RTT. */
export function splitPairs(
  numNodes: number,
  rttMs: (a: number, b: number) => number | undefined,
  share: number,
): PairSplit {
  const random = new RandomStream(5, "test/coordinates");
  const parts: [number, number, number][][] = [[], []];
  for (let a = 0; a < numNodes; a++) {
    for (let b = a + 1; b < numNodes; b++) {
      const ms = rttMs(a, b);
      const part = random.float64() < share ? 0 : 1;
      // The order of the nodes must not matter.
      if (ms !== undefined) parts[part].push(random.float64() < 0.5 ? [a, b, ms] : [b, a, ms]);
    }
  }
  const [known, heldOut] = parts.map((pairs) => pairsOf(numNodes, pairs));
  return { known, heldOut };
}

/** Makes known pairs from two node indexes and an RTT in ms each. */
export function pairsOf(numNodes: number, pairs: readonly (readonly [number, number, number])[]): KnownPairs {
  return {
    numNodes,
    a: Uint32Array.from(pairs, ([a]) => a),
    b: Uint32Array.from(pairs, ([, b]) => b),
    rttMs: Float64Array.from(pairs, ([, , rttMs]) => rttMs),
  };
}

/** RTTs of nodes in the plane, each behind an access link: 2 * distance + both links. */
export function planeRtts(numNodes: number): (a: number, b: number) => number {
  const random = new RandomStream(6, "test/coordinates");
  const nodes = Array.from({ length: numNodes }, () => [random.normal(), random.normal(), random.float64()]);
  return (a, b) =>
    5 + 40 * Math.hypot(nodes[a][0] - nodes[b][0], nodes[a][1] - nodes[b][1]) +
    10 * (nodes[a][2] + nodes[b][2]);
}

/** |log(estimate / RTT)| of each pair that has an estimate, sorted. */
export function logErrors(
  { a, b, rttMs }: KnownPairs,
  estimate: (a: number, b: number) => { rttMs: number } | undefined,
): Float64Array {
  const errors: number[] = [];
  rttMs.forEach((ms, i) => {
    const found = estimate(a[i], b[i]);
    if (found) errors.push(Math.abs(Math.log(found.rttMs / ms)));
  });
  return Float64Array.from(errors).sort();
}

export function medianOf(sorted: Float64Array): number {
  return sorted[sorted.length >> 1];
}

/** Only the first nodes of PlanetLab are used. */
export const NUM_NODES = 160;

/** The first nodes of PlanetLab, and the last RTT of each of their pairs, ms. @param numNodes Most nodes. */
export async function planetLabRtts(numNodes: number) {
  const nodes = new Map<string, number>();
  const rttsMs = new Map<string, readonly [a: number, b: number, rttMs: number]>();
  const { batches } = await readAll([`${realData("mesh")}/planetlab-03.parquet`]);
  for (const { srcAddr, dstAddr, rttMs } of batches) {
    for (let i = 0; i < srcAddr.length; i++) {
      const [a, b] = [srcAddr[i], dstAddr[i]].map((address) => {
        if (!nodes.has(address) && nodes.size < numNodes) nodes.set(address, nodes.size);
        return nodes.get(address);
      });
      if (a === undefined || b === undefined || a === b) continue;
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      rttsMs.set(`${low} ${high}`, [low, high, rttMs[i]]);
    }
  }
  return { addresses: [...nodes.keys()], rttsMs };
}

/** Splits the pairs of PlanetLab at random. @param share Share of the pairs that is known. */
export async function planetLab(share: number): Promise<PairSplit> {
  const { rttsMs } = await planetLabRtts(NUM_NODES);
  return splitPairs(NUM_NODES, (a, b) => rttsMs.get(`${a} ${b}`)?.[2], share);
}
