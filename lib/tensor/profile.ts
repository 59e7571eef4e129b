/**
 * The time profile of a step: merges and shows the profiles of its programs.
 *
 * @module
 */
import { formatTable } from "../base/text.ts";
import type { ProfileRow } from "./program.ts";

/** The explanation of {@link describeProfile}'s numbers, for the user. */
export const PROFILE_NOTES =
  "each dispatch ran separately, from submit to idle; GB/s counts each bound tensor once";

/** Adds up the rows of one label in several profiles; the slowest label comes first. */
export function mergeProfiles(profiles: readonly (readonly ProfileRow[])[]): ProfileRow[] {
  const byLabel = Map.groupBy(profiles.flat(), ({ label }) => label);
  const sum = (rows: ProfileRow[], field: "calls" | "seconds" | "flops" | "bytes") =>
    rows.reduce((total, row) => total + row[field], 0);
  const merged = [...byLabel].map(([label, rows]): ProfileRow => ({
    label,
    calls: sum(rows, "calls"),
    seconds: sum(rows, "seconds"),
    flops: sum(rows, "flops"),
    bytes: sum(rows, "bytes"),
  }));
  return merged.sort((a, b) => b.seconds - a.seconds);
}

/** Formats a profile as a table of label, calls, time, share and speeds. @param rows In the order of the table. */
export function describeProfile(rows: readonly ProfileRow[]): string {
  const totalS = rows.reduce((sum, { seconds }) => sum + seconds, 0);
  const lines = rows.map(({ label, calls, seconds, flops, bytes }) => [
    label,
    String(calls),
    (seconds * 1000).toFixed(2),
    `${(100 * seconds / totalS).toFixed(1)} %`,
    flops > 0 ? (flops / seconds / 1e9).toFixed(1) : "",
    (bytes / seconds / 1e9).toFixed(2),
  ]);
  const total = ["all", "", (totalS * 1000).toFixed(2)];
  return formatTable([["kernel", "calls", "ms", "share", "GFLOP/s", "GB/s"], ...lines, total], { left: [0] });
}
