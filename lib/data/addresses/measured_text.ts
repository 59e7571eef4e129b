/** Describes measurements in words. The web page uses it too, so it must not import schemas. @module */
import { formatMs, threeDigits } from "../../base/text.ts";

/** JSON form of `Measured`. */
export interface SeenJson {
  readonly measurements: number;
  /** How many measurements are from the adaptation. */
  readonly in_adaptation: number;
  /** Time of the last measurement, ISO 8601; null if never measured, or at an unknown time. */
  readonly last_seen: string | null;
}

type Rtts = readonly { readonly rtt_ms: number; readonly time: string | null }[];

/** For example "measured 41 times, last on 2019-06-01" or "in 24 measurements of the adaptation". */
export function times({ measurements, in_adaptation, last_seen }: SeenJson): string {
  if (measurements === 0) return "never measured";
  const often = `measured ${["once", "twice"][measurements - 1] ?? `${measurements} times`}`;
  const of = in_adaptation === measurements
    ? `in ${measurements} ${measurements === 1 ? "measurement" : "measurements"} of the adaptation`
    : in_adaptation > 0
    ? `${often}, ${in_adaptation} of them in the adaptation`
    : often;
  return last_seen === null ? of : `${of}, last on ${last_seen.slice(0, 10)}`;
}

export function medianOf(rtts: Rtts): number {
  const sorted = rtts.map(({ rtt_ms }) => rtt_ms).sort((a, b) => a - b);
  const [low, high] = [Math.floor, Math.ceil].map((round) => sorted[round((sorted.length - 1) / 2)]);
  return (low + high) / 2;
}

/** Lists RTTs in one line, by day: "median 156 ms; 2020-02-28: 249, 245 ms; 2020-02-27: 157 ms". */
export function rttsText(rtts: Rtts): string {
  const byDay = Map.groupBy(rtts, ({ time }) => time?.slice(0, 10) ?? "at unknown times");
  const days = [...byDay].map(([day, all]) =>
    `${day}: ${all.map(({ rtt_ms }) => threeDigits(rtt_ms)).join(", ")} ms`
  );
  return [`median ${formatMs(medianOf(rtts))}`, ...days].join("; ");
}

/** Formats a duration in one unit: "244 days", "47 hours". */
export function formatAge(seconds: number): string {
  const units = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]] as const;
  // Below two of a unit, the next smaller unit is more precise.
  const [unit, length] = units.find(([, length]) => seconds >= 2 * length) ?? units[3];
  const count = Math.floor(seconds / length);
  return `${count.toLocaleString("en")} ${unit}${count === 1 ? "" : "s"}`;
}
