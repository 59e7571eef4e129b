/**
 * Options of several commands. An option of a single command belongs in its `*.command.ts`.
 *
 * The `*.command.ts` files and this one are loaded at every start of the program, so they import only small
 * modules.
 *
 * @module
 */
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import type { NETWORK_SOURCE, RttChoice, SourceChoice } from "../lib/data/formats/format.ts";
import type { GroupKey } from "../lib/data/probe_rows/external_sort/probe_columns.ts";
import type { EngineChoice } from "../lib/tensor/engine.ts";

export const checkpoint = option.path(uses.run, "a run directory or one of its checkpoints", {
  required: true,
});
export const outputFolder = option.path(uses.outputFolder, "folder to write", { required: true });

export const overwriteFile = option.switch(
  "replace an output file that this stage wrote from other inputs or with other options",
);
export const overwriteFolder = option.switch(
  "replace what this stage wrote to the output folder from other inputs or with other options",
);
export const overwriteOther = option.switch(
  "replace any file, not only one that the same command wrote; inputs of the command are never replaced",
);

export const verify = option.switch(
  "check the SHA-256 of all input files against their manifests, not only of small ones",
);
export const memoryLimitGb = option.number("limit on resident memory, in GB", { default: 2, min: 0.25 });
export const maxRejectRatio = option.number("maximum share of rows that may be rejected", {
  default: 0.05,
  min: 0,
  max: 1,
});
export const onCorrupt = option.choice(["error", "skip"], "what to do with damaged chunks of probe rows", {
  default: "error",
});
export const groupBy = option.choice<GroupKey>(["src_addr", "prb_id"], "column that identifies a source", {
  default: "src_addr",
});
export const engine = option.choice<EngineChoice>(
  ["auto", "deno", "dawn"],
  "WebGPU implementation: Deno's own, or Dawn (setup.sh --dawn installs it); auto uses Dawn to train in f16 on a GPU with " +
    "matrix units. Results differ in the last bits",
  { default: "auto" },
);

export const configOptions = {
  config: option.path(uses.config, "a preset in configs/ or a JSON file", { default: "demo" }),
  set: option.texts("change one key of the configuration; repeatable", { value: "KEY=VALUE" }),
};

/** Places of addresses for an existing model. */
export const geoOfModel = option.paths(
  uses.inputs,
  "files with the places of addresses, as for train, replacing those in the checkpoint",
);
export const names = option.paths(
  uses.inputs,
  "names to show beside addresses, and addresses of hosts that questions and inputs identify by name: CSV with an address or prefix and " +
    "its name per line, as import writes it, or a hosts file; later files override earlier ones",
);
export const calibration = option.path(
  uses.input,
  "report.json of an eval: correct the distributions using measurements of its validation split",
);
export const noPool = option.switch(
  "answer with the network alone, without the simple forecasts in the checkpoint's pool",
);
export const modelOptions = { checkpoint, geo: geoOfModel, engine, names };
export const distributionOptions = { ...modelOptions, calibration, noPool };
export const report = option.path(
  uses.input,
  "report.json of an eval to show (default: eval/report.json in the run or beside it, if it is for this model)",
);

/** How measurements of any format are read, for commands whose `--src` and `--dst` mean something else. */
export const formatOptions = {
  format: option.text(
    "read only this format: atlas, globalping, scamper, prometheus, smokeping, fping, ping, csv (default: recognised " +
      "by the first bytes of each file)",
    { value: "NAME" },
  ),
  columns: option.text(
    [
      "names of the columns of a table, or of the fields of JSON lines, such as src=from,dst=to,time=when,rtt=ms",
      "  src, dst: addresses; rtt: ms, or rtt_s, rtt_us, rtt_ns: seconds, microseconds, nanoseconds",
      "  time: ISO 8601 or Unix seconds; or time_ms, time_us, time_ns: Unix milliseconds, …; date: the day of times that lack one",
      "  optional: msm_id, prb_id, size, packet_error_count: integers",
      "  a number is the position of a column, from 1, and a.b.c a path into nested JSON; needed only for names that are " +
      "not recognised",
    ].join("\n"),
    { value: "KEY=NAME,…" },
  ),
  noReply: option.text(
    "further RTT values that mean no reply, such as 0,lost (always: empty, null, NaN, NA, -, *, -1, timeout)",
    { value: "TEXT,…" },
  ),
  start: option.text("time of the first ping in files without times", { value: "TIME" }),
  interval: option.number("seconds between pings in files without times", { default: 1, min: 0.001 }),
  zone: option.text(
    "zone of times without one, such as Europe/Berlin or +01:00 (default: the zone that the file states, else UTC)",
    { value: "NAME|OFFSET" },
  ),
};
const constantEnd = (end: string) =>
  option.text(`${end} of measurements that do not name theirs; or one of IPv4 and one of IPv6`, {
    value: "ADDRESS,…",
  });
export const readingOptions = {
  ...formatOptions,
  src: constantEnd("source"),
  dst: constantEnd("destination"),
  source: option.choice<SourceChoice | typeof NETWORK_SOURCE>(
    ["auto", "from", "src_addr", "network"],
    [
      "source address of Atlas results: auto is `from` if that is public, otherwise src_addr;",
      "network is auto, and for Globalping, which publishes no addresses, one source per network and city",
    ].join("\n"),
    { default: "auto" },
  ),
  rtt: option.choice<RttChoice>(
    ["mean", "min", "median", "each"],
    "how the replies in one result become an RTT; each makes a row of every packet",
    { default: "mean" },
  ),
};

/** Sources of the page outside lib/: serve and export check whether its bundle is outdated. */
export function pageSources(): URL[] {
  return ["deno.lock", "kernels"].map((name) => new URL(`../${name}`, import.meta.url));
}
