/** RTTs of the first nodes of PlanetLab. @module */
import { readAll, realData } from "../../data/measurement_files/batches.ts";
import { type PairSplit, splitPairs } from "./low_rank.ts";

/** The number of nodes. */
export const NUM_NODES = 160;

/** Their pairs. @param share Of them that is known. */
export async function planetLab(share: number): Promise<PairSplit> {
  const nodes = new Map<string, number>();
  const rtts = new Map<string, number>();
  const { batches } = await readAll([`${realData("mesh")}/planetlab-03.parquet`]);
  for (const { srcAddr, dstAddr, rttMs } of batches) {
    for (let i = 0; i < srcAddr.length; i++) {
      const [a, b] = [srcAddr[i], dstAddr[i]].map((address) => {
        if (!nodes.has(address) && nodes.size < NUM_NODES) nodes.set(address, nodes.size);
        return nodes.get(address);
      });
      if (a !== undefined && b !== undefined) rtts.set(`${Math.min(a, b)} ${Math.max(a, b)}`, rttMs[i]);
    }
  }
  return splitPairs(NUM_NODES, (a, b) => rtts.get(`${a} ${b}`), share);
}
