/**
 * The RRDs of SmokePing and LibreNMS, exported by `rrdtool xport --json` with or without `--showtime`.
 *
 * A row is a round of pings, by default 20. Its time is the end of its step, as rrdtool defines it, and
 * `meta.start` is the time of the first row. Legends identify the columns:
 *
 * | legend                            | column                                                   |
 * | --------------------------------- | -------------------------------------------------------- |
 * | contains `median`, `rtt` or `avg` | RTT in seconds, or in its unit, as in `median [ms]`; not `min rtt` |
 * | contains `loss`                   | number of lost pings, or their share if it ends in `%`   |
 * | `ping1`, `ping2`, …               | RTTs of the pings in seconds, without another RTT column |
 * | `xmt`, `rcv`                      | numbers of pings and replies; the RTT beside them is in ms, as fping prints it |
 *
 * `--columns rtt=LEGEND`, or another key of an RTT, names the RTT column and its unit.
 *
 * A word of a legend that is an address, or a name with a known address, is the destination of the column:
 * `192.0.2.1` alone is an RTT, `192.0.2.1 loss` its loss. Otherwise the destination is `--dst`. An RRD does
 * not record the source.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import {
  type Finding,
  type Format,
  isHost,
  type JsonObject,
  objectOf,
  pingRow,
  type ReadingOptions,
  readRtt,
  readTime,
  RTT_UNITS,
} from "./format.ts";
import { constantWords, ReadingCache } from "./reading.ts";
import { RTT_UNITS_MS } from "./table.ts";

/** Pings per round, unless the columns imply another number. */
const NUM_PINGS = 20;
/** A unit at the end of a legend. */
const UNIT = /(?:[\s_[(]+(?<unit>ms|us|µs|ns|s|sec|seconds)|[\s_[(]*(?<percent>%))[\])]*$/;

/** Names of statistics that are not the usual RTT. */
const NOT_USUAL =
  /(?<![a-z.-]|\d ?)(?:min(?:imum)?|max(?:imum)?|best|worst|std(?:dev)?|m?dev|jitter)(?![a-z.-])/;

const UNIT_NAMES: Readonly<Record<number, string>> = { 1: "ms", 1000: "s", 0.001: "µs" };
const readings = new ReadingCache();

function readingOf({ meta }: JsonObject, options: ReadingOptions): ReturnType<typeof readings.get> {
  const names = (objectOf(meta).legend as unknown[]).map(String);
  const { src, dst, columns } = options;
  return readings.get([names, src, dst, [...columns ?? []]], () => {
    const series = seriesOf(names, options);
    const named = (columns: number[]) => columns.filter((at) => at >= 0).map((at) => names[at]).join(", ");
    const losses = named(series.map(({ loss }) => loss));
    const received = named(series.map((each) => each.received));
    const used = series.flatMap(({ rtt, loss, sent, received, pings }) => [
      ...[loss, sent, received],
      ...(rtt >= 0 ? [rtt] : pings),
    ]);
    return {
      format: "smokeping",
      time: "meta.start and meta.step (Unix seconds, UTC)",
      source: constantWords("src", src) ?? "unknown (--src)",
      destination: [
        ...new Set(series.map((each) => each.dst ?? constantWords("dst", dst) ?? "unknown (--dst)")),
      ]
        .join(", "),
      rtt: series.map(({ rtt, rttUnitMs, pings }) =>
        `${named(rtt >= 0 ? [rtt] : pings)} (${UNIT_NAMES[rttUnitMs] ?? `${rttUnitMs} ms`})`
      ).join(", ") || "unknown",
      noReply: [losses && `${losses} of all pings`, received && `${received} 0`, "null"].filter(Boolean)
        .join(", or "),
      notUsed: names.filter((_, at) =>
        !used.includes(at)
      ),
    };
  });
}

export const smokeping: Format = {
  name: "smokeping",
  title: "SmokePing by rrdtool xport --json",
  json: {
    isResult({ meta, data }) {
      const { step, legend } = objectOf(meta);
      return Array.isArray(data) && typeof step === "number" && Array.isArray(legend);
    },
    reading: readingOf,
    findings: findingsOf,
  },
};

/** Column numbers of one destination. */
interface Series {
  dst: string | undefined;
  /** -1 if absent. */
  rtt: number;
  rttUnitMs: number;
  /** -1 if absent. */
  loss: number;
  isLossPercent: boolean;
  /** Numbers of pings and replies; -1 if absent. */
  sent: number;
  received: number;
  pings: number[];
  numPings: number;
}

function seriesOf(legend: readonly string[], options: ReadingOptions): Series[] {
  const series = new Map<string | undefined, Series>();
  const [key, asked] = [...options.columns ?? []].find(([key]) => key in RTT_UNITS_MS) ?? [];
  // fping, which LibreNMS runs, prints ms; SmokePing stores seconds.
  const usualUnit = ["xmt", "rcv"].every((name) => legend.includes(name)) ? "ms" : "s";
  for (const [column, whole] of legend.entries()) {
    const words = whole.trim().replace(UNIT, "").split(/\s+/);
    const dst = words.find((word) => isHost(word, options));
    const name = words.filter((word) => word !== dst).join(" ").toLowerCase();
    const { unit = usualUnit, percent } = UNIT.exec(whole.trim())?.groups ?? {};
    const found = series.get(dst) ??
      {
        ...{ dst, rtt: -1, rttUnitMs: 1000, loss: -1 },
        isLossPercent: false,
        ...{ sent: -1, received: -1 },
        pings: [],
        numPings: NUM_PINGS,
      };
    const ping = Number(/^ping(\d+)$/.exec(name)?.[1] ?? 0);
    if (key !== undefined && whole === asked) {
      Object.assign(found, { rtt: column, rttUnitMs: RTT_UNITS_MS[key] });
    } else if (name === "xmt" || name === "rcv") {
      found[name === "xmt" ? "sent" : "received"] = column;
    } else if (ping > 0) {
      found.numPings = found.pings.length > 0 ? Math.max(found.numPings, ping) : ping;
      found.pings.push(column);
    } else if (name.includes("loss")) {
      Object.assign(found, { loss: column, isLossPercent: percent !== undefined });
    } else if (
      key === undefined && found.rtt < 0 && !NOT_USUAL.test(name) &&
      (name === "" || /median|rtt|avg|average|latency/.test(name))
    ) {
      Object.assign(found, { rtt: column, rttUnitMs: RTT_UNITS[unit] ?? 1000 });
    } else continue;
    series.set(dst, found);
  }
  return [...series.values()].filter(({ rtt, pings }) => rtt >= 0 || pings.length > 0);
}

function* findingsOf({ meta, data }: JsonObject, options: ReadingOptions): Generator<Finding> {
  const { start, step, legend } = objectOf(meta);
  const names = (legend as unknown[]).map(String);
  const series = seriesOf(names, options);
  if (series.length === 0) {
    const found = shortened(names.join(", "), 120);
    const expected = "median; name it in xport: XPORT:median:median";
    return yield { reason: "nullValue", found: `found the legends ${found}`, expected };
  }
  for (const [i, row] of (data as unknown[]).entries()) {
    if (!Array.isArray(row) || row.length < names.length) {
      yield { reason: "incompleteResult", found: `row ${i + 1}: expected ${names.length} columns` };
      continue;
    }
    // `--showtime` puts the time before the columns.
    const time = row.length > names.length ? row[0] : Number(start) + i * Number(step);
    const values = row.slice(row.length - names.length);
    const timeUs = readTime(time, "seconds");
    for (const each of series) {
      yield typeof timeUs === "number" ? roundOf(values, timeUs, each, options) : timeUs;
    }
  }
}

function roundOf(
  values: readonly unknown[],
  timeUs: number,
  { dst, rtt, rttUnitMs, loss, isLossPercent, sent, received, pings, numPings: usualPings }: Series,
  options: ReadingOptions,
): Finding {
  const numPings = sent < 0 ? usualPings : Number(values[sent] ?? NaN);
  if (numPings === 0) return { skipped: "nothing sent" };
  const lost = sent >= 0 && received >= 0
    ? numPings - Number(values[received] ?? NaN)
    : loss < 0 || values[loss] === null
    ? NaN
    : Number(values[loss]) * (isLossPercent ? numPings / 100 : 1);
  const areAllLost = lost >= numPings;
  const rtts = (rtt >= 0 ? [rtt] : pings).map((column) => values[column]);
  // If every ping has a column, nulls mean no reply.
  const isByPing = rtt < 0 && pings.length === numPings;
  if (rtts.every((value) => value === null) && !(lost > 0)) return { skipped: "no data" };
  const rttsMs: number[] = [];
  for (const value of areAllLost ? [] : rtts) {
    const rttMs = readRtt(value, rttUnitMs, options);
    if (typeof rttMs !== "number") return rttMs;
    if (isByPing || rttMs !== FAILED_RTT_MS) rttsMs.push(rttMs);
  }
  if (rttsMs.length === 0) rttsMs.push(FAILED_RTT_MS);
  const numLost = isByPing && !areAllLost ? undefined : Math.round(lost);
  return pingRow({ dst, timeUs, rttsMs, numLost }, options);
}
