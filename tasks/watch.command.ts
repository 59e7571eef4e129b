import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import type { RttChoice } from "../lib/data/formats/format.ts";
import { DEFAULT_CHANGE_OPTIONS } from "../lib/query/changes/change_detector.ts";
import { names, overwriteOther, readingOptions } from "./shared_options.ts";

/** Environment variable with the key that signs posted alarms. */
export const WEBHOOK_KEY = "PING_LLM_WEBHOOK_KEY";

export const watchCommand = command({
  name: "watch",
  summary:
    "report when pairs stop replying, lose more than usual or leave their usual RTT at the hour, and when they return, without " +
    "fixed thresholds",
  details:
    "An outage is reported after about 3 losses, a clear change after --delay more measurements of its pair, other changes " +
    "after up to 20 or at the end of the input. Alarms that begin together and share a source or a destination form a group; the strongest " +
    "groups are reported, at most --false-alarms. Without --follow files are first read completely, and it is an error if " +
    "more than 5 % of the input is unusable or out of order. A restart with --follow reads the input from its beginning and " +
    "reports what --output does not contain; to read rotated files again, name them too ('pings.jsonl*'). " +
    "lib/query/changes has a Grafana dashboard of the metrics (grafana.json) and alerts for Prometheus (prometheus_rules.yml).",
  reads: "measurements as they arrive, optionally a checkpoint",
  writes:
    "alarms as text for people, or as JSON lines: beginning, size, evidence, group, end; with `--report` a report of the period",
  example: "--input data/pings.jsonl --follow",
  main: ["input", "output", "follow", "falseAlarms", "report"],
  options: {
    checkpoint: option.path(uses.run, "a run or checkpoint: adds the expectation of its model to each alarm"),
    input: option.paths(
      uses.inputs,
      "measurements in any format that import reads, in order of time; files in the order of their first times; - for " +
        "standard input",
      { default: ["-"] },
    ),
    ...readingOptions,
    follow: option.switch(
      "wait for more lines at the end of files, for files that are missing, and for more files in folders and globs",
    ),
    output: option.path(
      uses.outputFile(),
      "write the alarms to this file at the end, instead of to standard output; with --follow append them as they arrive, " +
        "after those already there on a restart",
      { value: "F.jsonl" },
    ),
    report: option.paths(
      uses.outputFile(),
      "write a report of the period to these files, as a page (F.html) or as JSON (F.json), which --json also prints: for each " +
        "pair and group of pairs the availability, outages, RTTs by day and hour, jitter and worst hours (200 kB of memory " +
        "for each pair and month)",
      { value: "F.html" },
    ),
    period: option.text("the period of the report, the end excluded (default: all measurements)", {
      value: "FROM..TO",
    }),
    compareAt: option.text("compare the measurements before this time with those after it in the report", {
      value: "TIME",
    }),
    text: option.switch(
      "show alarms as text, a line for each group, open ones first, then the largest (the default on a terminal; else " +
        "JSON lines)",
    ),
    metrics: option.path(
      uses.outputFile(),
      "write counts, RTTs and alarms to this file every 10 s in Prometheus' text format, for node_exporter's textfile " +
        "collector",
      { value: "F.prom" },
    ),
    overwrite: overwriteOther,
    listen: option.text(
      "answer GET /metrics for Prometheus, and status checks as RIPE Atlas does, at this address and port",
      { value: "ADDRESS:PORT" },
    ),
    metricPairs: option.integer(
      "how many pairs have their own metrics: those with the largest open alarms first",
      { default: 100, min: 0 },
    ),
    rtt: option.choice<RttChoice>(
      ["min", "mean", "median", "each"],
      "how the replies in one result become an RTT; each takes every packet as a measurement",
      { default: "min" },
    ),
    falseAlarms: option.text(
      "maximum rate of reported groups of alarms, for all pairs together: those with the most evidence, for outages, losses " +
        "and shifts of RTTs, among all in the input or --calibration",
      { default: "5/day", value: "N/day" },
    ),
    above: option.texts(
      "alarm while the median RTT of a pair in the last TIME is above a value, beside what is unusual; WHERE, an address, a " +
        "prefix or a name, limits it to pairs that have it as source or destination, and replaces limits for all pairs; repeatable",
      { value: "[WHERE=]100ms/5m" },
    ),
    lossAbove: option.texts("the same for the share of lost measurements", { value: "[WHERE=]5%/15m" }),
    calibration: option.paths(
      uses.inputs,
      "measurements of the same pairs that are considered normal, to select alarms by (default: the input; with - or " +
        "--follow its last 7 days)",
    ),
    delay: option.integer(
      "how many later measurements of a pair to wait for before reporting a clear change; other changes need up to 20",
      { default: DEFAULT_CHANGE_OPTIONS.delay, min: 1, max: 1000 },
    ),
    minShiftMs: option.number("smallest change of the median to report, in ms", {
      default: DEFAULT_CHANGE_OPTIONS.minShiftMs,
      min: 0,
    }),
    newUsualAfter: option.text("an alarm ends after this time: the new level becomes the usual one", {
      default: "1d",
      value: "TIME",
    }),
    groupWithin: option.text("alarms that begin within this time may form a group", {
      default: "15m",
      value: "TIME",
    }),
    maxPairs: option.integer(
      "how many pairs to remember (15 kB each, 35 kB after days); the least recently seen is dropped first",
      { default: 20_000, min: 1 },
    ),
    geo: option.paths(
      uses.inputs,
      "files with the places of addresses, for groups that share an AS or a country: MMDB, CSV of ip-location-db, " +
        "probe archive of RIPE Atlas; later files override earlier ones (default: the places in --checkpoint)",
    ),
    names,
    webhook: option.text("post each alarm to this URL as JSON, repeatedly until it is accepted", {
      value: "URL",
    }),
    webhookKey: option.path(
      uses.input,
      `sign posted alarms with the key in this file (default: the key in the variable ${WEBHOOK_KEY}, if it is set): ` +
        "HMAC-SHA256 in the header ping-llm-signature",
    ),
    maxQueue: option.integer("how many alarms may wait for the webhook; the oldest is dropped first", {
      default: 1000,
      min: 1,
    }),
  },
  needs: { listens: "listen", connects: { to: "webhook", ifGiven: "webhook" }, variables: [WEBHOOK_KEY] },
});
