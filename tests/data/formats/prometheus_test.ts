import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { faultText, UserError } from "../../../lib/base/errors.ts";
import { type ReadingOptions, USUAL_READING } from "../../../lib/data/formats/format.ts";
import { prometheus } from "../../../lib/data/formats/prometheus.ts";
import { foundIn, foundInFile, LOST, othersOf, rowsOf, rttsOf, SOURCE, START_S } from "./findings.ts";

const DST = "198.51.100.7";

/** A series with one value per second. */
function seriesOf(metric: Record<string, string>, ...values: string[]) {
  return { metric, values: values.map((value, i) => [START_S + i, value]) };
}

function answered(result: unknown[], options: Partial<ReadingOptions> = {}) {
  return foundIn(JSON.stringify({ status: "success", data: { resultType: "matrix", result } }), options);
}

const near = (found: ReturnType<typeof foundIn>) => rowsOf(found).filter(([dst]) => dst === "127.0.0.1");

Deno.test("Prometheus: RTTs of the blackbox exporter, where 0 means no reply", () => {
  const found = foundInFile("prometheus_rtt.json");
  assertEquals(near(found).slice(4, 8), [
    ["127.0.0.1", 1795761610, 0.211666],
    ["127.0.0.1", 1795761615, LOST],
    ["127.0.0.1", 1795761620, LOST],
    ["127.0.0.1", 1795761625, 0.070435],
  ]);
  assertEquals(rttsOf(found).length, 24);
  // The third target and the source have different IP versions.
  assertEquals(new Set(othersOf(found).map(([, reason]) => reason)), new Set(["versionMismatch"]));
  const overIpv6 = foundInFile("prometheus_rtt.json", { src: ["2001:db8::1"] });
  assertEquals(rowsOf(overIpv6)[0], ["::1", 1795761590, 0.122113]);
  for (const name of ["prometheus_aggregated.json", "prometheus_nan.json"]) {
    assertEquals(rowsOf(foundInFile(name)), rowsOf(found), name);
  }
});

Deno.test("Prometheus: all series of a probe make one row per time", () => {
  const found = foundInFile("prometheus_probe_all.json");
  assertEquals(near(found), [
    ["127.0.0.1", 1795761600, 0.117345],
    ["127.0.0.1", 1795761615, LOST],
    ["127.0.0.1", 1795761630, 0.082874],
    ["127.0.0.1", 1795761645, 0.109433],
  ]);
  const names = new Set(othersOf(found).map(([, name]) => name));
  assertEquals([...names].sort(), [
    "series probe_dns_lookup_time_seconds",
    "series probe_duration_seconds",
    "series probe_icmp_duration_seconds of phase resolve",
    "series probe_icmp_duration_seconds of phase setup",
    "series probe_icmp_reply_hop_limit",
    "series probe_ip_addr_hash",
    "series probe_ip_protocol",
    "versionMismatch",
  ]);
});

Deno.test("Prometheus: probe_success 0 means no reply, and 1 alone is skipped", () => {
  assertEquals(near(foundInFile("prometheus_success.json")), [
    ["127.0.0.1", 1795761615, LOST],
    ["127.0.0.1", 1795761620, LOST],
  ]);
  assertEquals(near(foundInFile("prometheus_range_selector.json")), [
    ["127.0.0.1", 1795761611.958, LOST],
    ["127.0.0.1", 1795761616.958, LOST],
  ]);
  const instant = foundInFile("prometheus_instant.json");
  assertEquals(rowsOf(instant), [["192.0.2.1", 1795761645, LOST]]);
  assertEquals(othersOf(instant), [
    [1, "series probe_success by itself"],
    [1, "series probe_success by itself"],
  ]);
  const labels = { instance: DST, runbook: "https://wiki.example/ping" };
  const withRunbook = answered([
    seriesOf({ ...labels, __name__: "probe_icmp_duration_seconds", phase: "rtt" }, "0.01"),
    seriesOf({ ...labels, __name__: "probe_success" }, "1", "0"),
  ]);
  assertEquals(rttsOf(withRunbook), [10, LOST]);
});

Deno.test("Prometheus: probe_duration_seconds is the fallback RTT, and probe_success marks its losses", () => {
  assertEquals(near(foundInFile("prometheus_probe_duration.json")).length, 12);
  const found = answered([
    seriesOf({ __name__: "probe_duration_seconds", instance: DST, job: "a" }, "0.012", "2.0", "0.013"),
    seriesOf({ job: "a", instance: DST, __name__: "probe_success" }, "1", "0", "1", "0"),
    seriesOf({ __name__: "probe_success", instance: DST, job: "b" }, "0"),
  ]);
  assertEquals(rowsOf(found), [
    [DST, START_S, 12],
    [DST, START_S + 1, LOST],
    [DST, START_S + 2, 13],
    [DST, START_S + 3, LOST],
    [DST, START_S, LOST],
  ]);
});

Deno.test("Prometheus: sums and counts of RTTs are rejected with the query that divides them", () => {
  const labels = { ip: DST, host: "web.example", instance: "prober:9374", source: "" };
  const found = answered([
    seriesOf({ __name__: "smokeping_response_duration_seconds_sum", ...labels }, "1", "1.5", "1.5"),
    seriesOf({ __name__: "smokeping_response_duration_seconds_count", ...labels }, "100", "110", "110"),
    seriesOf({ __name__: "smokeping_requests_total", ...labels }, "100", "112", "115"),
    seriesOf({ __name__: "smokeping_response_duration_seconds_bucket", le: "0.1", ...labels }, "1"),
  ]);
  assertEquals(othersOf(found).map(([, kind]) => kind), [
    ...["incompleteResult", "incompleteResult", "series smokeping_requests_total"],
    "series smokeping_response_duration_seconds_bucket",
  ]);
  const [{ finding }] = found;
  assertStringIncludes(
    "reason" in finding ? faultText(finding) : "",
    "query rate(smokeping_response_duration_seconds_sum[5m]) / rate(smokeping_response_duration_seconds_count[5m])",
  );
  // What that query answers.
  assertEquals(rttsOf(answered([seriesOf(labels, "0.05", "NaN")])), [50, LOST]);
});

Deno.test("Prometheus: other exporters, with the units in their metric names", () => {
  const url = { url: "198.51.100.7", target: DST };
  const found = answered([
    seriesOf({ __name__: "ping_minimum_response_ms", ...url }, "11"),
    seriesOf({ __name__: "ping_average_response_ms", ...url }, "12", "NaN"),
    seriesOf({ __name__: "ping_standard_deviation_ms", ...url }, "1"),
    seriesOf({ __name__: "ping_percent_packet_loss", ...url }, "0"),
    seriesOf({ __name__: "up", ...url }, "1"),
    seriesOf({ __name__: "ping_rtt_mean_seconds", target: "203.0.113.1" }, "0.02", "+Inf"),
    seriesOf({ __name__: "latency_microseconds", target: "203.0.113.2" }, "1500"),
  ]);
  assertEquals(rowsOf(found), [
    [DST, START_S, 12],
    [DST, START_S + 1, LOST],
    ["203.0.113.1", START_S, 20],
    ["203.0.113.1", START_S + 1, LOST],
    ["203.0.113.2", START_S, 1.5],
  ]);
  assertEquals(othersOf(found).map(([, name]) => name), [
    "series ping_minimum_response_ms",
    "series ping_standard_deviation_ms",
    "series up",
  ]);
});

Deno.test("Prometheus: a statistic other than the usual RTT, and probes of web pages, are skipped", () => {
  const series = (labels: Record<string, string>, value: string) =>
    seriesOf({ target: DST, ...labels }, value);
  const found = answered([
    series({ __name__: "ping_rtt_ms", type: "best" }, "10"),
    series({ __name__: "ping_rtt_ms", type: "mean" }, "12"),
    series({ __name__: "ping_rtt_ms", type: "std_dev" }, "0.3"),
    series({ quantile: "0.5" }, "0.013"),
    series({ quantile: "0.99" }, "0.5"),
    seriesOf({ __name__: "probe_http_duration_seconds", phase: "connect", instance: DST }, "0.1"),
    seriesOf({ __name__: "probe_http_status_code", instance: DST }, "500"),
    seriesOf({ __name__: "probe_success", instance: DST }, "0"),
    seriesOf({ __name__: "probe_duration_seconds", instance: DST }, "1.5"),
    seriesOf({ __name__: "probe_duration_seconds", instance: `https://${DST}` }, "1.5"),
  ]);
  assertEquals(rttsOf(found), [12, 13]);
  assertEquals(othersOf(found).map(([, kind]) => kind).sort(), [
    "series ping_rtt_ms of best",
    "series ping_rtt_ms of std_dev",
    "series probe_duration_seconds",
    "series probe_duration_seconds",
    "series probe_http_duration_seconds of phase connect",
    "series probe_http_status_code",
    "series probe_success",
    "series without a name of 0.99",
  ]);
});

Deno.test("Prometheus: the ends of a path come from host labels, then from --src and --dst", () => {
  const addresses = new Map([["web.example", "198.51.100.9"], ["berlin", "192.0.2.5"]]);
  const ends = (labels: Record<string, string>, options: Partial<ReadingOptions> = {}) =>
    answered([seriesOf(labels, "0.01")], { addresses, ...options }).map(({ finding }) =>
      "srcAddr" in finding ? [finding.srcAddr, finding.dstAddr] : "reason" in finding ? finding.reason : ""
    )[0];
  assertEquals(ends({ instance: "exporter:9115", target: `https://${DST}:443/x` }), [SOURCE, DST]);
  assertEquals(ends({ instance: "Web.example:443", source: "Berlin" }), ["192.0.2.5", "198.51.100.9"]);
  assertEquals(ends({ instance: "[2001:db8::7]:80", src: "2001:db8::1" }), ["2001:db8::1", "2001:db8::7"]);
  assertEquals(ends({ instance: "other.example" }), "unparseableAddress");
  assertEquals(ends({ instance: "other.example" }, { dst: [DST] }), [SOURCE, DST]);
  assertEquals(ends({ instance: DST }, { dst: ["203.0.113.1"] }), [SOURCE, DST]);
  assertEquals(ends({ job: "a" }), "nullValue");
  // The address of an exporter is not that of a destination without one.
  assertEquals(ends({ target: "other.example", instance: "192.0.2.9:9427" }), "unparseableAddress");
  assertEquals(
    ends({ url: "other.example", host: "berlin", instance: "192.0.2.9:9273" }),
    "unparseableAddress",
  );
  assertEquals(ends({ url: "web.example", host: "berlin" }), [SOURCE, "198.51.100.9"]);
  assertEquals(ends({ target: "a name", instance: DST }), "unparseableAddress");
});

Deno.test("Prometheus: single series, as in an answer too long to parse, and results without numbers", () => {
  assertEquals(rowsOf(foundIn(JSON.stringify(seriesOf({ instance: DST }, "0.01")))), [[DST, START_S, 10]]);
  const scalar = { status: "success", data: { resultType: "scalar", result: [START_S, "1"] } };
  assertEquals(othersOf(foundIn(JSON.stringify(scalar))), [[1, "prometheus scalar"]]);
  const histogram = { metric: { __name__: "rtt", instance: DST }, histograms: [[START_S, { count: "1" }]] };
  assertEquals(othersOf(answered([histogram])), [[1, "series rtt without numbers"]]);
  assertEquals(othersOf(answered([])), [[1, "prometheus response without series"]]);
});

Deno.test("Prometheus: an error in place of an answer is reported", () => {
  assertThrows(
    () => foundInFile("prometheus_error.json"),
    UserError,
    "it is the error bad_data: exceeded maximum resolution of 11,000 points per timeseries.",
  );
});

Deno.test("Prometheus: an answer too long to parse does not count losses twice", () => {
  const numPoints = 100_000;
  const values = (lost: string) => Array.from({ length: numPoints }, (_, i) => i % 10 === 0 ? "0" : lost);
  const found = answered([
    seriesOf({ __name__: "probe_icmp_duration_seconds", phase: "rtt", instance: DST }, ...values("0.01")),
    seriesOf({ __name__: "probe_success", instance: DST }, ...values("1")),
    seriesOf({ __name__: "probe_icmp_duration_seconds", phase: "setup", instance: DST }, ...values("0.01")),
  ]);
  assertEquals(rttsOf(found).length, numPoints);
  assertEquals(rttsOf(found).filter((rttMs) => rttMs === LOST).length, numPoints / 10);
  assertEquals(othersOf(found).map(([, kind]) => kind), [
    "series probe_success by itself",
    "series probe_icmp_duration_seconds of phase setup",
  ]);
});

Deno.test("Prometheus: 100,000 series with equal labels are read together", () => {
  const one = seriesOf({ instance: DST }, "0.01");
  const text = JSON.stringify(Array(100_000).fill(one));
  const object = { status: "success", data: { resultType: "matrix", result: JSON.parse(text) } };
  const findings = [...prometheus.json?.findings(object, { ...USUAL_READING, src: [SOURCE] }) ?? []];
  assertEquals(findings.filter((finding) => "srcAddr" in finding).length, 1);
});
