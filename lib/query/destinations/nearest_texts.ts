/** Parts of the answers about the nearest candidates as texts, also for the page. @module */
import { formatMs } from "../../base/text.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import type { ChosenSites } from "./sites.ts";

/** The columns of {@link nearestRows}. `choice`: its number in the last choice, if it is one of them. */
export const NEAREST_COLUMNS = [
  ...["candidate", "name", "median_ms", "mean_ms", "high_ms", "worst_ms", "worst_src"] as const,
  ...["p_failed", "p_nearest", "regret_ms", "measured", "basis", "choice"] as const,
];

type Column = typeof NEAREST_COLUMNS[number];

interface RankedCandidate
  extends Partial<Readonly<Record<Exclude<Column, "basis" | "choice">, string | number | undefined>>> {
  readonly candidate: string;
  readonly basis?: { readonly kind: string } | undefined;
}

/** The candidates as rows of a table. */
export function nearestRows({ nearest, best }: {
  readonly nearest: readonly RankedCandidate[];
  readonly best?: readonly { readonly candidates: readonly string[] }[] | undefined;
}): (string | number | null)[][] {
  const chosen = best?.[best.length - 1].candidates ?? [];
  return nearest.map(({ basis, ...each }) => {
    const all = { ...each, basis: basis?.kind, choice: chosen.indexOf(each.candidate) + 1 || null };
    return NEAREST_COLUMNS.map((column) => all[column] ?? null);
  });
}

export function worstText({ worst_ms = NaN, worst_src = "", worst_src_name }: {
  readonly worst_ms?: number | undefined;
  readonly worst_src?: string | undefined;
  readonly worst_src_name?: string | undefined;
}): string {
  return `${formatMs(worst_ms)} from ${withName(worst_src, worst_src_name)}`;
}

/** How much longer the mean of a choice is than that of the best choice of as many candidates. */
export function lossText(
  { mean_ms, optimum_ms, is_exact }: Pick<ChosenSites, "mean_ms" | "optimum_ms" | "is_exact">,
): string {
  return `${is_exact ? "" : "at most "}${formatMs(mean_ms - optimum_ms)}`;
}
