/** Whose history a baseline looks at. @module */
import type { BaselineQuery } from "./baseline.ts";

/** Measurements of everybody, of the same source, to the same destination, or of the same pair. */
export type HistoryOf = "all" | "source" | "destination" | "pair";

/** Names the history that a measurement belongs to. */
export function historyKey(of: HistoryOf, { source, destination }: BaselineQuery): string {
  if (of === "all") return "";
  if (of === "source") return source;
  return of === "destination" ? destination : `${source} ${destination}`;
}
