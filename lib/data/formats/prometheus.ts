/**
 * RTTs in responses of the Prometheus API to a query, `{status, data: {resultType, result}}`, and single
 * series `{metric, values}` of such a response.
 *
 * Series with the same labels are read together, so that a destination has one row per time:
 *
 * - `probe_icmp_duration_seconds{phase="rtt"}` of the blackbox exporter: RTT.
 * - `probe_duration_seconds`: the fallback RTT. It includes name resolution and the timeout of a
 *   lost ping, which only `probe_success` in the same response distinguishes from a reply. Both are skipped if
 *   the probe reads a web page.
 * - Series without a name, as from `rate()` or `max by (instance) (…)`: RTT in seconds.
 * - Others with the name of an RTT: in the unit at the end of the name, else in seconds.
 * - Series that tell a loss, such as `probe_success` or `ping_percent_packet_loss` (`losses.ts`).
 *
 * Other series are skipped. 0, NaN and Inf mean no reply: exporters set an RTT only when a reply arrives. Sums
 * and counts of RTTs, as of smokeping_prober, are rejected: a query divides their rates.
 *
 * The destination is the first of the labels {@link DESTINATIONS}, else `--dst`. A response above 4 MiB is read
 * series by series without knowing which belong together. `probe_success` is then skipped, because the RTT
 * series already reports losses as 0 and they would count twice. `fetch prometheus` splits its responses by
 * labels to avoid this.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { shortened, UserError } from "../../base/errors.ts";
import {
  type Finding,
  type Format,
  hostOf,
  isHost,
  type JsonObject,
  objectOf,
  type ReadingOptions,
} from "./format.ts";
import { signalOf } from "./losses.ts";
import { constantWords, type Reading } from "./reading.ts";
import { isOtherStatistic, layoutOf, TableRows, unitIn } from "./table.ts";

/** Labels that name the destination, best first. */
const DESTINATIONS = ["ip", "target", "url", "dst", "destination", "instance", "host"];
const SOURCES = ["src", "source", "source_ip", "source_address"];
/** Labels for one of several statistics. */
const STATISTICS = ["type", "stat", "statistic", "quantile", "dimension"];
const NOT_MEDIAN = /^(?:p?\d+|0\.(?!5$)\d+)$/;
/** Names of other exporters' RTTs, such as `ping_average_response_ms`, and of their other series. */
const RTT_NAME = /rtt|latency|ping|icmp|response|round_?trip|delay/;
const NOT_RTT_NAME =
  /^(?:probe|scrape|smokeping|go|process|prometheus)_|_(?:bucket|count|sum|total|info|up)$/;

export const prometheus: Format = {
  name: "prometheus",
  title: "range queries of Prometheus (JSON)",
  json: {
    isResult: (object) => isSeries(object) || isAnswer(object),
    reading: readingOf,
    *findings(object, options) {
      if (isSeries(object)) {
        const { __name__: name } = objectOf(object.metric);
        if (name === "probe_success") return yield { skipped: "series probe_success by itself" };
        return yield* findingsOf([object], options);
      }
      const { data, errorType, error } = object;
      if (object.status === "error") {
        const found = `${errorType}: ${shortened(String(error), 200)}`;
        throw new UserError(
          `Cannot read the response of Prometheus: it is the error ${found}; correct the query`,
        );
      }
      const { resultType, result } = objectOf(data);
      if (resultType !== "matrix" && resultType !== "vector") yield { skipped: `prometheus ${resultType}` };
      else if (Array.isArray(result)) {
        if (result.length === 0) yield { skipped: "prometheus response without series" };
        yield* findingsOf(result.map(objectOf), options);
      }
    },
  },
};

function readingOf(object: JsonObject, { src, dst }: ReadingOptions): Reading {
  const { result } = objectOf(object.data);
  const all = isSeries(object) ? [object] : Array.isArray(result) ? result.map(objectOf) : [];
  const labels = all.map(({ metric }) => objectOf(metric));
  const names = [...new Set(labels.map(({ __name__: name }) => String(name ?? "")))];
  const given = (usual: readonly string[], option: "src" | "dst", constants?: readonly string[]) => {
    const found = usual.filter((label) => labels.some((each) => label in each));
    return [...found, constantWords(option, constants)].filter(Boolean).join(", else ") ||
      `unknown (--${option})`;
  };
  const rtts = names.filter((name) => isRttName(name) || /^probe_.*duration/.test(name));
  const losses = names.filter(isLossName);
  return {
    format: "prometheus",
    time: "values (Unix seconds, UTC)",
    source: given(SOURCES, "src", src),
    destination: given(DESTINATIONS, "dst", dst),
    rtt: rtts.map((name) => `${name || "a series without a name"} (${unitIn(name, "s")})`).join(", ") ||
      "none",
    noReply: ["0, NaN or Inf", ...losses].join(", or "),
    notUsed: names.filter((name) => !rtts.includes(name) && !losses.includes(name)),
  };
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

function isRttName(name: string): boolean {
  return name === "" || (RTT_NAME.test(name) && !NOT_RTT_NAME.test(name) && !isOtherStatistic(name));
}

/** `success` for `probe_success`: how a table names the field. */
function withoutTool(name: string): string {
  return name.replace(/^(?:probe|ping)_/, "");
}

/** `up` is about the exporter. */
function isLossName(name: string): boolean {
  return name !== "up" && signalOf(withoutTool(name), 0) !== undefined;
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
    const { __name__: named, phase, ...labels } = objectOf(series.metric);
    const name = String(named ?? "");
    const samples = new Map(samplesOf(series));
    const statistic = isLossName(name)
      ? undefined
      : STATISTICS.map((label) => String(labels[label] ?? "")).find((value) =>
        isOtherStatistic(value) || NOT_MEDIAN.test(value)
      );
    const shown = `series ${name || "without a name"}`;
    if (samples.size === 0) yield { skipped: `${shown} without numbers` };
    else if (phase !== undefined && phase !== "rtt") yield { skipped: `${shown} of phase ${phase}` };
    else if (statistic !== undefined) yield { skipped: `${shown} of ${statistic}` };
    else getOrMake(groups, labelsKey(labels), () => []).push({ name, labels, samples });
  }
  for (const group of groups.values()) yield* groupFindings(group, options);
}

/** Reads series with the same labels as the columns of a table. */
function* groupFindings(group: readonly Series[], options: ReadingOptions): Generator<Finding> {
  const { labels } = group[0];
  const find = (name: string) => group.find((series) => series.name === name);
  const icmp = find("probe_icmp_duration_seconds");
  // The time of a web page is not an RTT, and its error is not a loss.
  const isWeb = !icmp && (group.some(({ name }) => name.startsWith("probe_http_")) ||
    DESTINATIONS.some((name) => /^https?:/.test(String(labels[name]))));
  const rtt = icmp ?? group.find(({ name }) => isRttName(name)) ??
    (isWeb ? undefined : find("probe_duration_seconds"));
  const told = group.filter((series) =>
    series !== rtt && isLossName(series.name) && !(isWeb && series.name.startsWith("probe_"))
  );
  for (const { name } of group.filter((series) => series !== rtt && !told.includes(series))) {
    const base = name.replace(/_(?:sum|count)$/, "");
    if (base === name || !RTT_NAME.test(name) || rtt) yield { skipped: `series ${name}` };
    else {
      const advice = `query rate(${base}_sum[5m]) / rate(${base}_count[5m])`;
      yield { reason: "incompleteResult", found: `series ${name}`, expected: "RTTs", advice };
    }
  }
  const end = (names: readonly string[], constants: readonly string[] | undefined) => {
    const label = names.find((name) => typeof labels[name] === "string" && labels[name] !== "");
    const host = label === undefined ? "" : hostOf(String(labels[label]));
    return constants && !isHost(host, options) ? "" : host;
  };
  const ends = [end(SOURCES, options.src), end(DESTINATIONS, options.dst)];
  const columns = [
    "time",
    "src",
    "dst",
    `rtt_${unitIn(rtt?.name ?? "", "s")}`,
    ...told.map(({ name }) => withoutTool(name)),
  ];
  const layout = layoutOf(columns, { ...options, columns: undefined });
  const rows = new TableRows(options);
  const findings: Finding[] = [];
  for (const timeS of new Set([...rtt ? [rtt] : [], ...told].flatMap(({ samples }) => [...samples.keys()]))) {
    const text = rtt?.samples.get(timeS);
    const rttText = Number(text) === 0 ? "" : text;
    const fields = [timeS, ...ends, rttText, ...told.map(({ samples }) => samples.get(timeS))];
    if (text !== undefined || rows.lossIn(fields, layout) === true) {
      rows.read(fields, layout, (finding) => findings.push(finding));
    } else {
      const found = `series ${told[0].name} by itself`;
      const advice = "query it together with the series of its RTT";
      const isFlag = told[0].name === "probe_success";
      findings.push(isFlag ? { skipped: found } : { reason: "incompleteResult", found, advice });
    }
  }
  yield* findings;
}
