/** The commands `fetch atlas`, `fetch globalping` and `fetch prometheus`. @module */
import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { outputFolder, overwriteFolder } from "./shared_options.ts";

/** Environment variables with keys for the APIs. */
export const ATLAS_KEY = "RIPE_ATLAS_KEY";
export const GLOBALPING_KEY = "GLOBALPING_TOKEN";
export const PROMETHEUS_KEY = "PROMETHEUS_TOKEN";

function apiOptions(api: string, variable: string) {
  return {
    url: option.text("URL of the API; no other host is contacted", { default: api, value: "URL" }),
    keyFile: option.path(
      uses.input,
      `file with a key for the API (default: the variable ${variable}, or no key)`,
    ),
    timeout: option.text("repeat a request if the server is silent for this long, such as 90s", {
      default: "60s",
      value: "TIME",
    }),
  };
}

export const atlasApi = apiOptions("https://atlas.ripe.net", ATLAS_KEY);
export const MEASUREMENTS = "ids of ping measurements, and ranges of ids";
export const SPAN_TIME = "ISO 8601 (UTC unless it has a zone) or Unix seconds";
const spanOptions = {
  start: option.text(`first time: ${SPAN_TIME}`, { required: true, value: "TIME" }),
  stop: option.text(
    "end time (exclusive), in the same form (default: the server's current time at each run)",
    {
      value: "TIME",
    },
  ),
};
const window = option.text("time span of each request and its file, such as 1d or 6h", {
  default: "1d",
  value: "TIME",
});

export const fetchAtlasCommand = command({
  name: "fetch atlas",
  summary: "fetch ping results from RIPE Atlas, and the places of its probes and anchors",
  details: [
    "Each --window of time becomes a file. Run the same command again to continue, or, without --stop, to fetch what has",
    "been measured since; files that were fetched an hour or more after their end are not fetched again.",
  ].join(" "),
  example:
    "--measurement 1001,1009-1020 --probes 6001-6050 --start 2025-06-01 --stop 2025-06-08 --output data/atlas",
  main: ["measurement", "probes", "start", "stop", "output"],
  options: {
    measurement: option.text(MEASUREMENTS, { required: true, value: "ID,ID-ID" }),
    ...spanOptions,
    probes: option.text("ids of probes, and ranges of ids (default: all)", { value: "ID,ID-ID" }),
    window,
    ...atlasApi,
    output: outputFolder,
    overwrite: overwriteFolder,
  },
  needs: { connects: { to: "url" }, variables: [ATLAS_KEY] },
  module: "fetch",
});

export const fetchGlobalpingCommand = command({
  name: "fetch globalping",
  summary: "fetch ping measurements from Globalping, or have targets measured",
  details: [
    "Globalping does not publish the addresses of its probes: import needs --source network. Each probe of a new",
    "measurement counts against the hourly limit. Run the same command again to continue.",
  ].join(" "),
  example: "--target example.com --from Germany France+AWS --limit 20 --output data/globalping",
  options: {
    id: option.texts("ids of measurements", { value: "ID" }),
    target: option.texts("hosts or addresses to ping now", { value: "HOST" }),
    from: option.texts("countries, cities, networks or tags of probes, combined with + (default: anywhere)", {
      value: "PLACE",
    }),
    limit: option.integer("probes per target", { default: 1, min: 1, max: 500 }),
    packets: option.integer("packets per probe", { default: 3, min: 1, max: 16 }),
    ipVersion: option.choice(["auto", "4", "6"], "IP version for targets that are names", {
      default: "auto",
    }),
    ...apiOptions("https://api.globalping.io", GLOBALPING_KEY),
    output: outputFolder,
    overwrite: overwriteFolder,
  },
  needs: { connects: { to: "url" }, variables: [GLOBALPING_KEY] },
  module: "fetch",
});

export const fetchPrometheusCommand = command({
  name: "fetch prometheus",
  summary: "fetch ping measurements of blackbox exporter and similar programs from Prometheus",
  details: [
    "Each --window of time, of at most 11,000 steps, becomes a file. Run the same command again to continue, or, without",
    "--stop, to fetch what has been measured since; files that were fetched five minutes or more after their end are not",
    "fetched again. A failed probe has an RTT of 0: include probe_success in the query to recognise failures.",
  ].join(" "),
  example:
    `--query '{__name__=~"probe_success|probe_icmp_duration_seconds"}' --start 2025-06-01 --step 15s --output data/prometheus`,
  options: {
    query: option.text("PromQL, such as 'probe_duration_seconds{job=\"icmp\"}'", {
      required: true,
      value: "PROMQL",
    }),
    ...spanOptions,
    step: option.text("time between two values, in whole seconds; ideally the scrape interval", {
      default: "15s",
      value: "TIME",
    }),
    window,
    ...apiOptions("http://localhost:9090", PROMETHEUS_KEY),
    output: outputFolder,
    overwrite: overwriteFolder,
  },
  needs: { connects: { to: "url" }, variables: [PROMETHEUS_KEY] },
  module: "fetch",
});
