/**
 * RTTs in responses of the Prometheus API to a query, `{status, data: {resultType, result}}`, and single
 * series `{metric, values}` of such a response.
 *
 * Series with the same labels are read together, so that a destination has one row per time:
 *
 * - `probe_icmp_duration_seconds{phase="rtt"}` of the blackbox exporter: RTT.
 * - `probe_success`: 0 means no reply, even if another series has an RTT.
 * - `probe_duration_seconds`: the fallback RTT. It includes name resolution and the timeout of a
 *   lost ping, which only `probe_success` in the same response distinguishes from a reply. Both are skipped if
 *   the probe reads a web page.
 * - `smokeping_response_duration_seconds_sum` and `_count` of smokeping_prober: mean RTT between two times.
 *   The loss follows from `smokeping_requests_total`.
 * - Series without a name, as from `rate()` or `max by (instance) (…)`: RTT in seconds.
 * - Others with the name of an RTT: in the unit at the end of the name, else in seconds. If there are
 *   several, a mean is preferred.
 *
 * Other series are skipped. 0, NaN and Inf mean no reply: exporters set an RTT only when a reply arrives.
 *
 * The destination is the first label of {@link DESTINATIONS} that is an address or a name with a known
 * address, else `--dst`. A response above 4 MiB is read series by series without knowing which belong
 * together. `probe_success` is then skipped, because the RTT series already reports losses as 0 and they
 * would count twice. `fetch prometheus` splits its responses by labels to avoid this.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { shortened, UserError } from "../../base/errors.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import {
  type Finding,
  type Format,
  hostOf,
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

/** Labels that name the destination, best first. */
const DESTINATIONS = ["ip", "target", "url", "dst", "destination", "instance", "host"];
/** Labels that may name the exporter beside one of the above: `instance` with a port, Telegraf's `host`. */
const EXPORTERS = ["instance", "host"];
/** Labels for one of several statistics, and their values that are not the usual RTT. */
const STATISTICS = ["type", "stat", "statistic", "quantile"];
const NOT_USUAL = /^(?:best|worst|min|minimum|max|maximum|std.*|mdev|jitter|loss|p\d+|0\.(?!5$)\d+|[01])$/;
const SOURCES = ["src", "source", "source_ip", "source_address"];
/** Names of other exporters' RTTs, such as `ping_average_response_ms`, and of their other series. */
const RTT_NAME = /rtt|latency|ping|icmp|response|round_?trip|delay/;
const NOT_RTT_NAME =
  /^(?:probe|scrape|smokeping|go|process|prometheus)_|_(?:bucket|count|sum|total|info|up|ttl)$|dev|jitter|loss|ratio|percent|packets|code/;
/** A mean is preferred to a minimum or maximum. */
const MEAN_NAME = /mean|avg|average|median/;
const UNIT = /_(ns|nanoseconds|us|microseconds|ms|milliseconds)$/;

export const prometheus: Format = {
  name: "prometheus",
  title: "range queries of Prometheus (JSON)",
  json: {
    isResult: (object) => isSeries(object) || isAnswer(object),
    reading: readingOf,
    *findings(object, options) {
      if (isSeries(object)) {
        // The RTT of the same probe also reports its losses.
        if (objectOf(object.metric).__name__ === "probe_success") {
          return yield { skipped: "series probe_success by itself" };
        }
        return yield* findingsOf([object], options);
      }
      const { data, errorType, error } = object;
      if (object.status === "error") {
        const found = `${errorType}: ${shortened(String(error), 200)}`;
        throw new UserError(
          `Cannot read the answer of Prometheus: it is the error ${found}; correct the query`,
        );
      }
      const { resultType, result } = objectOf(data);
      if (resultType !== "matrix" && resultType !== "vector") yield { skipped: `prometheus ${resultType}` };
      else if (Array.isArray(result)) {
        if (result.length === 0) yield { skipped: "prometheus answer without series" };
        const all = result.map(objectOf);
        for (const { metric } of all.filter((each) => !isSeries(each))) {
          yield { skipped: `series ${objectOf(metric).__name__} without numbers` };
        }
        yield* findingsOf(all.filter(isSeries), options);
      }
    },
  },
};

const readings = new ReadingCache();

function readingOf(object: JsonObject, { src, dst }: ReadingOptions): ReturnType<typeof readings.get> {
  const { result } = objectOf(object.data);
  const all = isSeries(object) ? [object] : Array.isArray(result) ? result.map(objectOf) : [];
  const labels = all.map(({ metric }) => objectOf(metric));
  const names = [...new Set(labels.map(({ __name__: name }) => String(name ?? "a series without a name")))];
  const given = (usual: readonly string[], option: "src" | "dst", constants?: readonly string[]) => {
    const found = usual.filter((label) => labels.some((each) => label in each));
    return [...found, constantWords(option, constants)].filter(Boolean).join(", else ") ||
      `unknown (--${option})`;
  };
  return readings.get([names, labels.map(Object.keys)[0], src, dst], () => {
    const others = names.filter((name) =>
      NOT_RTT_NAME.test(name) && !name.startsWith("probe_") &&
      !name.startsWith("smokeping_")
    );
    const rtts = names.filter((name) => !others.includes(name) && name !== "probe_success");
    return {
      format: "prometheus",
      time: "values (Unix seconds, UTC)",
      source: given(SOURCES, "src", src),
      destination: given(DESTINATIONS, "dst", dst),
      rtt: rtts.map((name) => `${name} (${UNIT.exec(name)?.[1] ?? "s"})`).join(", ") || "none",
      noReply: names.includes("probe_success") ? "probe_success 0, or 0, NaN or Inf" : "0, NaN or Inf",
      notUsed: others,
    };
  });
}

function isAnswer({ status, data, errorType }: JsonObject): boolean {
  if (status === "error") return typeof errorType === "string";
  return status === "success" && typeof objectOf(data).resultType === "string";
}

function isSeries(series: JsonObject): boolean {
  const { metric } = series;
  const isMetric = typeof metric === "object" && metric !== null && !Array.isArray(metric);
  return isMetric && samplesOf(series).length > 0;
}

function samplesOf({ value, values }: JsonObject): [number, string][] {
  return (Array.isArray(values) ? values : [value]).filter(isSample);
}

/** Whether a value has the form `[1767225600, "0.027"]`. */
function isSample(value: unknown): value is [number, string] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === "number" &&
    typeof value[1] === "string";
}

/** `samples` are in time order, with Unix seconds. */
interface Series {
  name: string;
  labels: JsonObject;
  samples: ReadonlyMap<number, string>;
}

/** Equal for series that are read together, that is, series that differ only in name and phase. */
export function labelsKey({ __name__: _name, phase: _phase, ...labels }: JsonObject): string {
  return JSON.stringify(Object.entries(labels).sort());
}

function* findingsOf(all: readonly JsonObject[], options: ReadingOptions): Generator<Finding> {
  const groups = new Map<string, Series[]>();
  for (const series of all) {
    const { __name__: named = "", phase, ...labels } = objectOf(series.metric);
    const samples = samplesOf(series);
    const name = String(named);
    if (phase !== undefined && phase !== "rtt") {
      yield { skipped: `series ${name || "without a name"} of phase ${phase}` };
      continue;
    }
    const statistic = STATISTICS.map((label) => labels[label]).find((each) => NOT_USUAL.test(String(each)));
    if (statistic !== undefined) {
      yield { skipped: `series ${name || "without a name"} of ${statistic}` };
      continue;
    }
    const group = getOrMake(groups, labelsKey(labels), () => []);
    group.push({ name, labels, samples: new Map(samples) });
  }
  for (const group of groups.values()) yield* groupFindings(group, options);
}

/** @param group Series with the same labels. */
function* groupFindings(group: readonly Series[], options: ReadingOptions): Generator<Finding> {
  const find = (name: string) => group.find((series) => series.name === name);
  const others = group.filter(({ name }) => name === "" || RTT_NAME.test(name) && !NOT_RTT_NAME.test(name));
  // The time of a web page is not an RTT, and its error is not a loss.
  const isWeb = group.some(({ name }) => name.startsWith("probe_http_")) ||
    !find("probe_icmp_duration_seconds") &&
      DESTINATIONS.some((name) => /^https?:/.test(String(group[0].labels[name])));
  const success = isWeb ? undefined : find("probe_success");
  const counters = countersOf(find);
  const rtt = find("probe_icmp_duration_seconds") ?? others.find(({ name }) => MEAN_NAME.test(name)) ??
    others[0] ?? (counters || isWeb ? undefined : find("probe_duration_seconds"));
  const loss = isWeb ? undefined : group.find((series) => /loss/.test(series.name) && series !== rtt);
  const shares = new Map(loss?.samples.entries().map(([timeS, text]) => [timeS, Number(text)]));
  const isPercent = /percent|pct/.test(loss?.name ?? "") || shares.values().some((share) => share > 1);
  const isLostAt = (timeS: number) => (shares.get(timeS) ?? 0) >= (isPercent ? 100 : 1);
  if (loss && !rtt && !success && !counters) {
    const advice = "get it in one answer with the series of its RTT";
    for (const _ of shares) {
      yield { reason: "incompleteResult", found: `series ${loss.name} by itself`, advice };
    }
    return;
  }
  const used: (Series | undefined)[] = [
    rtt,
    success,
    loss,
    ...(counters && !rtt ? Object.values(counters) : []),
  ];
  for (const series of group) if (!used.includes(series)) yield { skipped: `series ${series.name}` };
  const ends = endsOf(group[0].labels, options);
  const row = (timeS: number, rttMs: number, numLost?: number): Finding => {
    const timeUs = readTime(timeS, "seconds");
    if (typeof timeUs !== "number") return timeUs;
    return pingRow({ ...ends, timeUs, rttsMs: [rttMs], numLost }, options);
  };
  if (counters && !rtt) yield* intervalFindings(counters, row);
  for (const [timeS, text] of rtt?.samples ?? []) {
    const isLost = Number(success?.samples.get(timeS) ?? 1) === 0 || isLostAt(timeS) || Number(text) === 0 ||
      !Number.isFinite(Number(text));
    const rttMs = isLost
      ? FAILED_RTT_MS
      : readRtt(text, unitMsOf(rtt?.name ?? ""), options, rtt?.name || "rtt");
    yield typeof rttMs === "number" ? row(timeS, rttMs) : rttMs;
  }
  for (const timeS of shares.keys()) {
    if (!rtt?.samples.has(timeS) && !success?.samples.has(timeS) && isLostAt(timeS)) {
      yield row(timeS, FAILED_RTT_MS);
    }
  }
  for (const [timeS, text] of success?.samples ?? []) {
    if (rtt?.samples.has(timeS)) continue;
    yield Number(text) === 0 ? row(timeS, FAILED_RTT_MS) : { skipped: "series probe_success" };
  }
}

function unitMsOf(name: string): number {
  const [, unit = "s"] = UNIT.exec(name) ?? [];
  return RTT_UNITS[unit];
}

function endsOf(
  labels: JsonObject,
  options: ReadingOptions,
): { src: string | undefined; dst: string | undefined } {
  const find = (names: readonly string[], option: readonly string[] | undefined) => {
    const given = names.filter((name) => typeof labels[name] === "string" && labels[name] !== "");
    const isTarget = (name: string) =>
      !EXPORTERS.includes(name) || EXPORTERS.includes(given[0]) ||
      name === "instance" && !/:\d+$/.test(String(labels[name]));
    const hosts = given.filter(isTarget).map((name) => hostOf(String(labels[name])));
    return hosts.find((host) => isHost(host, options)) ?? (option ? undefined : hosts[0]);
  };
  return { src: find(SOURCES, options.src), dst: find(DESTINATIONS, options.dst) };
}

/** The counters of smokeping_prober for one destination. */
interface Counters {
  sum: Series;
  count: Series;
  requests: Series | undefined;
}

function countersOf(find: (name: string) => Series | undefined): Counters | undefined {
  const [sum, count] = ["sum", "count"].map((each) => find(`smokeping_response_duration_seconds_${each}`));
  return sum && count && { sum, count, requests: find("smokeping_requests_total") };
}

/** Mean RTTs between successive times of the counters. */
function* intervalFindings(
  { sum, count, requests }: Counters,
  row: (timeS: number, rttMs: number, numLost: number) => Finding,
): Generator<Finding> {
  let beforeS: number | undefined;
  for (const timeS of sum.samples.keys()) {
    const rise = ({ samples }: Series) => Number(samples.get(timeS)) - Number(samples.get(beforeS ?? NaN));
    const [sumS, numReplies, numSent] = [rise(sum), rise(count), requests ? rise(requests) : NaN];
    const isFirst = beforeS === undefined;
    beforeS = timeS;
    if (isFirst) continue;
    const numLost = Math.max(0, numSent - numReplies);
    // Counters decrease when they are reset.
    if (numReplies > 0 && sumS > 0) yield row(timeS, sumS / numReplies * 1000, numLost);
    else if (numReplies === 0 && numSent > 0) yield row(timeS, FAILED_RTT_MS, numLost);
    else yield { skipped: numReplies < 0 || numSent < 0 ? "counter reset" : "nothing sent" };
  }
}
