/** Which measurements of an evaluation are alike, so that chance is told by groups of them. @module */
import type { SplitMode } from "../preprocess/splits.ts";
import type { EvalCase } from "./cases.ts";

/** What clusters of measurements have in common: both ends, in either direction, the source, or an end never seen. */
export type ClusterBy = "pair" | "source" | "address";

/** Measurements in clusters. */
export interface Clusters {
  by: ClusterBy;
  /** The cluster of each case, numbered from 0. */
  ofCase: Uint32Array;
  count: number;
}

/**
 * Clusters as the rows were held out: by source where whole sources were, else by pair. What was drawn as one, and is
 * measured over the same path, counts as one.
 *
 * @param splitBy How the rows were held out, if that is known.
 */
export function clustersOf(
  cases: readonly Pick<EvalCase, "sourceKey" | "dstAddr">[],
  splitBy?: SplitMode,
): Clusters {
  const by = splitBy === "probe" ? "source" : "pair";
  const numbers = new Map<string, number>();
  const ofCase = Uint32Array.from(cases, ({ sourceKey, dstAddr }) => {
    const key = by === "source" ? sourceKey : [sourceKey, dstAddr].sort().join(" ");
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
  return { by, ofCase, count: numbers.size };
}
