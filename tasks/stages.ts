/**
 * All stages as commands, in the order of the chain: what a user can type, and what each may read, write and start. What
 * they run is in a module each, which is loaded in a thread with only these permissions. This is loaded at every start of
 * the program, so it imports little: of the modules of stages, and of what they import, only types and what is asked.
 *
 * @module
 */
import { command, leavesOf, named } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import { questionOptions } from "../lib/cli/question_options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { gitFolders } from "../lib/cli/version.ts";
import type { NETWORK_SOURCE, RttChoice, SourceChoice } from "../lib/data/formats/format.ts";
import type { GROUP_KEYS } from "../lib/data/probe_rows/external_sort/probe_columns.ts";
import type { SplitMode } from "../lib/data/probe_rows/splits.ts";
import type { MAX_MEASUREMENT_TOKENS } from "../lib/data/tokens/contexts.ts";
import type { RttEncodingName } from "../lib/data/tokens/vocab_v1.ts";
import type { ADAPT_DEFAULTS } from "../lib/query/adapt/adapt.ts";
import type { HISTORY_MODES } from "../lib/eval/eval_rows.ts";
import type { DEFAULT_CHANGE_OPTIONS } from "../lib/query/changes/change_detector.ts";
import type { MAP_LAYERS } from "../lib/query/rtt/map_format.ts";
import { QUESTIONS } from "../lib/query/questions/questions.ts";
import type { SITE_DTYPES } from "../lib/serve/api/site_file.ts";
import type { ENGINE_CHOICES } from "../lib/tensor/engine.ts";
import type { COMPLETED_SHELLS } from "../lib/cli/completion/completion.ts";
import { LAUNCH_VARIABLES } from "../lib/train/mpi/launch.ts";

// Constants of modules that import too much to be loaded here; the compiler checks that they are the same.
const HISTORY: typeof HISTORY_MODES = ["all", "train"];
const DTYPES: typeof SITE_DTYPES = ["f32", "f16"];
const ENGINES: typeof ENGINE_CHOICES = ["auto", "deno", "dawn"];
const ADAPTING: typeof ADAPT_DEFAULTS = { steps: 20, learningRate: 0.1, maxDrift: 1 };
const CHANGES: Pick<typeof DEFAULT_CHANGE_OPTIONS, "delay" | "minShiftMs"> = { delay: 5, minShiftMs: 0.5 };
const LAYERS: typeof MAP_LAYERS = ["median", "interval"];
const SHELLS: typeof COMPLETED_SHELLS = ["bash", "zsh", "fish"];
const SOURCE_KEYS: typeof GROUP_KEYS = ["src_addr", "prb_id"];

// Options of several stages.

const verify = option.switch(
  "compare the SHA-256 of all input files with their manifests, not only of small inputs",
);
const overwriteFile = option.switch(
  "replace an output file that this stage wrote with other inputs or options",
);
const overwriteFolder = option.switch(
  "replace what this stage wrote to the output folder with other inputs or options",
);
const overwriteOther = option.switch(
  "replace any file, not only one that the same command wrote; what the command reads is never replaced",
);
const memoryLimitGb = option.number("bound on the resident memory, in GB", { default: 2, min: 0.25 });
const maxRejectRatio = option.number("largest share of the rows that may be rejected", {
  default: 0.05,
  min: 0,
  max: 1,
});
const onCorrupt = option.choice(["error", "skip"], "what to do with damaged chunks of probe rows", {
  default: "error",
});
const engine = option.choice(
  ENGINES,
  "WebGPU implementation: Deno's own, or Dawn (setup.sh --dawn installs it); auto uses Dawn to train in f16 on a GPU with " +
    "matrix units. Results differ in the last bits",
  { default: "auto" },
);
const outputFolder = option.path(uses.outputFolder, "folder to write", { required: true });
const checkpoint = option.path(uses.run, "a run directory or one of its checkpoints", { required: true });
const configOptions = {
  config: option.path(uses.config, "a preset of configs/ or a JSON file", { default: "demo" }),
  set: option.texts("change one key of the configuration; repeatable", { value: "KEY=VALUE" }),
};
const geo = option.paths(
  uses.inputs,
  "files that say where addresses are, for a model that is trained: MMDB, CSV of ip-location-db, probe archive of " +
    "RIPE Atlas; later ones override earlier ones",
);
const geoAsked = option.paths(
  uses.inputs,
  "files that say where addresses are, as for train, in place of what the checkpoint knows of it",
);
const names = option.paths(
  uses.inputs,
  "names to show beside addresses, and addresses of hosts that files give by name: CSV with an address or prefix and its " +
    "name a line, as import writes it, or a hosts file; later ones override earlier ones",
);
/** How measurements of any format are read. */
const readingOptions = {
  format: option.text(
    "read only this format: atlas, globalping, scamper, prometheus, smokeping, fping, ping, csv (default: recognised " +
      "by the first bytes of each file)",
    { value: "NAME" },
  ),
  columns: option.text(
    [
      "names of the columns of a table, or of the fields of JSON lines, such as src=from,dst=to,time=when,rtt=ms",
      "  src, dst: addresses; rtt: ms, or rtt_s, rtt_us, rtt_ns: seconds, microseconds, nanoseconds",
      "  time: ISO 8601 or Unix seconds; or time_ms, time_us, time_ns: Unix milliseconds, …; date: the day of times without one",
      "  perhaps msm_id, prb_id, size, packet_error_count: integers",
      "  a number is a column's place, from 1; needed only where names are not the usual ones",
    ].join("\n"),
    { value: "KEY=NAME,…" },
  ),
  src: option.text("source of measurements that do not say theirs", { value: "ADDRESS" }),
  dst: option.text("destination of measurements that do not say theirs", { value: "ADDRESS" }),
  noReply: option.text(
    "values of RTTs that also mean no reply, such as 0,lost (always: nothing, null, NaN, NA, -, *, -1, timeout)",
    { value: "TEXT,…" },
  ),
  start: option.text("when the first ping of a text without times was sent", { value: "TIME" }),
  interval: option.number("seconds between the pings of such a text", { default: 1, min: 0.001 }),
  source: option.choice<SourceChoice | typeof NETWORK_SOURCE>(
    ["auto", "from", "src_addr", "network"],
    [
      "source address of Atlas results: auto is `from` if it is public, else src_addr;",
      "network is auto, and gives probes of Globalping, which publishes no addresses, one for each network and city",
    ].join("\n"),
    { default: "auto" },
  ),
  rtt: option.choice<RttChoice>(
    ["mean", "min", "median", "each"],
    "RTT of the replies to one result; each makes a row of every packet",
    { default: "mean" },
  ),
};
const { rtt, destinations, nearest, advise, matrix, map, sample, likelihood } = QUESTIONS;
/** The output of a kind of `query` that shows a table. */
const linesOutput = (what: string) =>
  option.path(uses.outputFile(), `write the ${what} as JSON lines (default: a table on standard output)`);
const namedOptions = { checkpoint, geo: geoAsked, engine, names };
const calibration = option.path(
  uses.input,
  "report.json of an eval: correct the distributions by the measurements of its validation split",
);
const noPool = option.switch(
  "answer with the network alone, without the simple forecasts of the checkpoint's pool",
);
const report = option.path(
  uses.input,
  "report.json of an eval to show (default: eval/report.json in the run or beside it, if it is of " +
    "this model)",
);
const SPLIT_MODE_HELP: Record<SplitMode, string> = {
  probe: "all measurements of a source together",
  time: "the latest rows are test, those before them val",
  row: "each (msm_id, event_time); without msm_id each (src_addr, dst_addr, event_time)",
  pair: "all measurements between two addresses together, in both directions",
  destination: "all measurements to an address together",
  node: "by addresses: a measurement is test if either end is, else val if either is, else train",
};
function splitBy(help: string) {
  const modes = Object.entries(SPLIT_MODE_HELP).map(([mode, meaning]) => `  ${mode}: ${meaning}`);
  return option.choice(Object.keys(SPLIT_MODE_HELP) as SplitMode[], [help, ...modes].join("\n"), {
    default: "probe",
  });
}
const splitOptions = {
  ratios: option.text(
    "shares of train, val, test, of addresses if by node; 0,0,100 puts everything in test",
    { default: "80,10,10", value: "A,B,C" },
  ),
  groupBy: option.choice(SOURCE_KEYS, "column that identifies a source", { default: "src_addr" }),
  maxRejectRatio,
  task: option.text(
    "this task and the number of tasks that share the work and the output folder, such as 2/4",
    { default: "1/1", value: "I/N" },
  ),
  overwrite: overwriteFolder,
  // The runtime and one row group of the input already take 0.3 GB.
  memoryLimitGb: option.number(memoryLimitGb.help, { default: 2, min: 0.5 }),
};

const dataBenchOptions = {
  probes: option.integer("sources", { default: 500, min: 2, max: 100_000 }),
  destinations: option.integer("destinations", { default: 200, min: 2, max: 100_000 }),
  folder: option.path(
    uses.workFolder,
    "parent folder of the temporary files, some 150 bytes per row, removed at the end",
  ),
  memoryLimitGb,
  compare: option.path(uses.input, "an earlier --json output; adds the ratios to it"),
};

/** The variables of the environment with keys for the APIs of RIPE Atlas, Globalping and Prometheus. */
export const ATLAS_KEY = "RIPE_ATLAS_KEY";
export const GLOBALPING_KEY = "GLOBALPING_TOKEN";
export const PROMETHEUS_KEY = "PROMETHEUS_TOKEN";
/** The variable with the key that `watch` signs with. */
export const WEBHOOK_KEY = "PING_LLM_WEBHOOK_KEY";

function apiOptions(api: string, variable: string) {
  return {
    url: option.text("the host of the API: no other is asked", { default: api, value: "URL" }),
    keyFile: option.path(
      uses.input,
      `file with a key for the API (default: the variable ${variable}, or no key)`,
    ),
    timeout: option.text("longest silence of the server, such as 90s; then it is asked again", {
      default: "60s",
      value: "TIME",
    }),
  };
}

const atlasApi = apiOptions("https://atlas.ripe.net", ATLAS_KEY);
const MEASUREMENTS = "ids of ping measurements, and ranges of ids";
const SPAN_TIME = "ISO 8601 (UTC unless it names a zone) or Unix seconds";
const spanOptions = {
  start: option.text(`first time: ${SPAN_TIME}`, { required: true, value: "TIME" }),
  stop: option.text("time after the last one, likewise (default: the server's now, whenever it runs)", {
    value: "TIME",
  }),
};
const window = option.text("time span of a file and of a request, such as 1d, 6h", {
  default: "1d",
  value: "TIME",
});

/**
 * The real measurements of `demo` and the places of their addresses, from the checkout's root; tests/data/README.md says
 * where they are from.
 */
export const DEMO_CAMPAIGN = {
  measurements: "tests/data/campaigns/menog-2019-05.parquet",
  places: [
    "tests/data/campaigns/dbip-city-menog-2019-05.csv",
    "tests/data/campaigns/asn-ipv4-ipv6-menog-2019-05.csv",
  ],
};
export const DEMO_FILES: readonly string[] = [DEMO_CAMPAIGN.measurements, ...DEMO_CAMPAIGN.places];
/** Steps of `demo`: as many as two cores make in the default time on data that every checkout has, and at most on other. */
export const DEMO_STEPS = { campaign: 800, synth: 500, most: 1_000_000 };

/** The stages, in the order of the chain. */
export const STAGES = named({
  "synth": command({
    summary: "make measurements of a synthetic Internet whose truth is known",
    reads: "a seed",
    writes: "measurements Parquet of a synthetic Internet, and `*.truth.json`: its true RTT distributions",
    example: "--output synth.parquet --rows 1_000_000",
    options: {
      output: option.path(uses.outputFile(".truth.json"), "the Parquet file to write", {
        value: "F.parquet",
        required: true,
      }),
      rows: option.integer("measurements", { default: 200_000, min: 1, max: 2 ** 40 }),
      probes: option.integer("sources", { default: 500, min: 1, max: 100_000 }),
      destinations: option.integer("destinations", { default: 200, min: 1, max: 100_000 }),
      days: option.number("length of the campaign, in days", { default: 28, min: 0.01, max: 3650 }),
      ipv6Share: option.number("share of the probes that measure over IPv6", {
        default: 0.42,
        min: 0,
        max: 1,
      }),
      overwrite: overwriteFile,
    },
  }),
  "fetch": {
    summary: "fetch ping measurements from RIPE Atlas, Globalping or Prometheus, and where probes are",
    reads:
      "the API of RIPE Atlas, Globalping, Prometheus: `fetch atlas`, `fetch globalping`, `fetch prometheus`",
    writes: "results as they came, compressed, for `import`; places of probes for `train --geo`",
    kinds: {
      "atlas": command({
        summary: "fetch ping results of RIPE Atlas, and where its probes and anchors are",
        details: [
          "A span of --window is a file. Run the same command again to continue, or, without --stop, to fetch what came",
          "since; files that were fetched an hour or more after their end are not fetched again.",
        ].join("\n"),
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
      }),
      "globalping": command({
        summary: "fetch ping measurements of Globalping, or have targets measured",
        details: [
          "Probes of Globalping have no addresses that anybody tells: import needs --source network. Each probe of a new",
          "measurement counts against the hourly limit. Run the same command again to continue.",
        ].join("\n"),
        example: "--target example.com --from Germany France+AWS --limit 20 --output data/globalping",
        options: {
          id: option.texts("ids of measurements", { value: "ID" }),
          target: option.texts("hosts or addresses to ping now", { value: "HOST" }),
          from: option.texts("countries, cities, networks, tags of probes, joined by + (default: anywhere)", {
            value: "PLACE",
          }),
          limit: option.integer("probes for each target", { default: 1, min: 1, max: 500 }),
          packets: option.integer("packets of each probe", { default: 3, min: 1, max: 16 }),
          ipVersion: option.choice(["auto", "4", "6"], "IP version for targets that are names", {
            default: "auto",
          }),
          ...apiOptions("https://api.globalping.io", GLOBALPING_KEY),
          output: outputFolder,
          overwrite: overwriteFolder,
        },
        needs: { connects: { to: "url" }, variables: [GLOBALPING_KEY] },
        module: "fetch",
      }),
      "prometheus": command({
        summary: "fetch ping measurements of blackbox exporter and the like from Prometheus",
        details: [
          "A span of --window, and of 11,000 steps at most, is a file. Run the same command again to continue, or, without",
          "--stop, to fetch what came since; files that were fetched five minutes or more after their end are not fetched",
          "again. The RTT of a failed probe is 0: a query that includes probe_success tells these apart.",
        ].join("\n"),
        example:
          `--query '{__name__=~"probe_success|probe_icmp_duration_seconds"}' --start 2025-06-01 --step 15s --output data/prometheus`,
        options: {
          query: option.text("PromQL, such as 'probe_duration_seconds{job=\"icmp\"}'", {
            required: true,
            value: "PROMQL",
          }),
          ...spanOptions,
          step: option.text("time between two values, in whole seconds; best the interval of the scrapes", {
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
      }),
    },
  },
  "import": command({
    summary: "turn measurements of any format into measurements Parquet",
    reads:
      "measurements of any format of the table above, also .gz, .bz2, .zst: files, folders, globs, `-` for standard input",
    writes: "measurements Parquet; names of addresses for `--names`",
    example: "--input results/ --output pings.parquet",
    main: ["input", "output", "columns", "src", "noReply"],
    options: {
      input: option.paths(uses.inputs, "files, folders, globs, or - for standard input", {
        required: true,
      }),
      output: option.path(
        uses.outputFile(".rejects.jsonl", ".names.csv"),
        "the Parquet file to write; a stopped import starts again from the beginning. Names of addresses, for --names of " +
          "other stages, come beside it: F.names.csv",
        { value: "F.parquet", required: true },
      ),
      ...readingOptions,
      names: option.paths(
        uses.inputs,
        "addresses of hosts that files give by name: CSV with an address and its name a line, or a hosts file",
      ),
      maxRejectRatio,
      overwrite: overwriteFile,
      memoryLimitGb,
    },
  }),
  "shard": command({
    summary: "divide measurements into Parquet shards of train, val and test",
    reads: "measurements Parquet",
    writes: "Parquet shards of `train`, `val`, `test`; every source in exactly one shard",
    example: "--input measurements.parquet --output data/shards --split-by probe",
    main: ["input", "output", "splitBy", "ratios"],
    options: {
      input: option.paths(uses.inputs, "Parquet files, folders or globs", { required: true }),
      output: outputFolder,
      splitBy: splitBy("the unit that stays together in one of train, val and test"),
      trainShards: option.integer("files of train", { default: 200, min: 1, max: 10_000 }),
      valShards: option.integer("files of val", { default: 25, min: 1, max: 10_000 }),
      testShards: option.integer("files of test", { default: 25, min: 1, max: 10_000 }),
      verify,
      ...splitOptions,
    },
    module: "split_stages",
  }),
  "probe-rows": command({
    summary: "group measurements by source into ArrayRecord shards",
    reads: "measurements Parquet, sharded or not",
    writes: "ArrayRecord shards: one record per source, its history in time order",
    example: "--input data/shards --output data/rows",
    main: ["input", "output", "splitBy", "ratios"],
    options: {
      input: option.paths(
        uses.inputs,
        "Parquet files, globs or folders; a folder with train, val, test in it is already split",
        { required: true },
      ),
      output: outputFolder,
      splitBy: splitBy("how to split unsplit input, that is, the unit that stays together"),
      maxRowSizeMb: option.number("largest record in MB (10^6 bytes); longer histories are cut", {
        default: 8,
        min: 0,
      }),
      compression: option.choice(["zstd", "brotli", "none"], "compression of records", { default: "zstd" }),
      shards: option.integer("files of train; val and test have an eighth of it", {
        default: 16,
        min: 1,
        max: 10_000,
      }),
      verify,
      ...splitOptions,
    },
    module: "split_stages",
  }),
  "pretokenize": command({
    summary: "write token sequences as Parquet, for other trainers",
    reads: "probe rows, or measurements Parquet with `--vocab v1`",
    writes: "Parquet with `tokens` list<uint16> and `length`, for other trainers",
    example: "--input data/rows --output data/tokens --vocab v2",
    options: {
      input: option.paths(
        uses.inputs,
        "probe rows for v2, measurements Parquet for v1: files, globs or folders; train, val, test are kept",
        { required: true },
      ),
      output: outputFolder,
      vocab: option.choice(["v1", "v2"], "v1: a sequence is a measurement; v2: a context of probe rows", {
        default: "v2",
      }),
      sequenceLength: option.integer("v2: T, inputs of a sequence; a context has up to T + 1 tokens", {
        default: 1024,
        min: 47 satisfies typeof MAX_MEASUREMENT_TOKENS,
        max: 0xffff,
      }),
      epoch: option.integer("v2: epoch of the loader's contexts", { default: 0, min: 0, max: 2 ** 32 - 1 }),
      onCorrupt: { ...onCorrupt, help: `v2: ${onCorrupt.help}` },
      rttEncoding: option.choice<RttEncodingName>(
        ["float64", "fixed", "log", "clipped"],
        "v1: encoding of RTTs",
        { default: "float64" },
      ),
      rttClipQuantile: option.number("v1, clipped: the quantile of the input's RTTs to clip at", {
        default: 0.99,
        min: 0,
        max: 1,
      }),
      rttClipMs: option.number("v1, clipped: the RTT to clip at in ms, instead of a quantile", {
        min: 0.001,
        max: 1e9,
      }),
      maxRejectRatio: { ...maxRejectRatio, help: `v1: ${maxRejectRatio.help}` },
      sequencesPerFile: option.integer("sequences of an output file; a rerun keeps finished files", {
        default: 200_000,
        min: 1,
      }),
      verify,
      overwrite: overwriteFolder,
      // A row group of tokens, a batch of rows and addresses: 0.36 GB with 100 M rows, so even the smallest limit is kept.
      memoryLimitGb: option.number(`${memoryLimitGb.help}; some 0.4 are used for any input`, {
        default: 2,
        min: 0.5,
      }),
    },
  }),
  "inspect": command({
    summary: "summarise any file or folder of the chain",
    details: "Counts, ranges, violations, samples; writes nothing except a picture.",
    reads: "any file or folder of the chain",
    writes: "a summary; with `--plot` histograms as SVG",
    example: "data/rows --samples 3",
    positionals: { value: "PATH…", min: 1, use: uses.inputs },
    options: {
      samples: option.integer("number of rows, records and token samples to show", {
        default: 5,
        min: 0,
        max: 1000,
      }),
      sequenceLength: option.integer("length of the sequences for the trial packing of probe rows, tokens", {
        default: 1024,
        min: 64,
        max: 0xffff,
      }),
      vocab: option.choice(
        ["v1", "v2"],
        "vocabulary of the token samples of measurements; probe rows have v2",
        { default: "v2" },
      ),
      plot: option.path(uses.outputFile(), "draw histograms of measurements or probe rows to this file", {
        value: "F.svg",
      }),
      overwrite: overwriteOther,
      onCorrupt,
      verify,
    },
  }),
  "status": command({
    summary: "tell how far runs and outputs are, also while others work on them",
    details: [
      "Writes and locks nothing.",
      "Exit code: 0 everything is done, 1 something is broken or cannot be read, 3 something remains to be done.",
    ].join("\n"),
    reads: "runs, outputs of stages, folders of these, also while others work on them",
    writes: "how far each is: steps, speed, time left; tasks done and missing; what is broken",
    example: "runs data/shards",
    positionals: { value: "PATH…", min: 1, use: uses.watched },
    options: {},
  }),
  "train": command({
    summary: "train a model on probe rows",
    reads: "probe rows",
    writes: "a run folder: checkpoints (safetensors), `metrics.jsonl`, TensorBoard events, `report.html`",
    example: "--data data/rows --run runs/first --config demo --set train.batchSize=16",
    main: ["data", "run", "config", "maxTime", "geo"],
    options: {
      data: option.path(uses.rowsWithOrigin, "folder of probe rows", { required: true }),
      run: option.path(uses.outputFolder, "folder of the run; an existing run is continued", {
        required: true,
      }),
      teacher: option.path(
        uses.run,
        "also learn RTTs from this trained model, with train.teacherWeight (knowledge distillation)",
      ),
      geo,
      ...configOptions,
      steps: option.integer("optimizer steps of the whole run (default: the configuration's)", { min: 1 }),
      tokens: option.integer("as many steps as process this many tokens, including padding", { min: 1 }),
      syncEverySteps: option.integer(
        "with several ranks: train locally for this many steps, then move towards their mean (DiLoCo), " +
          "for slow networks",
        { min: 1 },
      ),
      outerLearningRate: option.number("learning rate towards the mean of the ranks (default: 0.7)", {
        min: 0,
        max: 10,
      }),
      outerMomentum: option.number("Nesterov momentum of these moves (default: 0.6)", {
        min: 0,
        max: 0.999999,
      }),
      exchangeDtype: option.text(
        "format of numbers sent between ranks (default: f32); i8 only with --sync-every-steps",
        { value: "f32|f16|i8" },
      ),
      mpiLibrary: option.path(
        uses.input,
        "the MPI library of the launcher (default: found by its usual names)",
      ),
      maxTime: option.text(
        "train at most as many steps as fit in this time, such as 90s, 30m, 1h30m; a continued run keeps " +
          "its steps. With --steps or --tokens, or several ranks: stop after this time with everything " +
          "saved",
        { value: "TIME" },
      ),
      resumeFrom: option.path(
        uses.run,
        "continue from this checkpoint, of this or another run, with all its state; settings of train " +
          "and optim may differ",
      ),
      initFrom: option.path(uses.run, "start a new run with the weights of this checkpoint or run"),
      poolData: option.paths(
        uses.rowsWithOrigin,
        "further probe rows, not trained on: fit the pool to their val splits too",
      ),
      poolMeasurements: option.integer(
        "validation measurements that the pool is fitted to after training; 0 for no pool",
        { default: 1000, min: 0, max: 1_000_000 },
      ),
      checkpointActivations: option.switch("keep less on the GPU and recompute it, a third more work"),
      engine,
      onCorrupt,
      verify,
      workers: option.integer("threads that make batches ahead of training; results do not depend on it", {
        default: 0,
        min: 0,
        max: 1024,
      }),
      profile: option.switch(
        "show the time profile of an early step and write it to profile.txt of the run; that step is slower",
      ),
      fresh: option.switch(
        "start over; the existing run in the folder is deleted when the new one has a checkpoint",
      ),
    },
    needs: { trains: true, launchVariables: LAUNCH_VARIABLES },
  }),
  "adapt": command({
    summary: "fit a model to a few measurements of addresses that it does not know",
    details:
      "Answers about other addresses, including neighbours in the same network, stay bit-identical. If an address is " +
      "adapted again, only the new measurements determine its coordinates.",
    reads: "a checkpoint, a few measurements of addresses that it does not know",
    writes: "an adapted checkpoint: the changed embeddings of these addresses; with `--merge` a whole one",
    example: "--checkpoint runs/demo/train --input data/new.parquet --output runs/adapted",
    main: ["checkpoint", "input", "output", "merge", "follow"],
    options: {
      checkpoint: option.path(uses.run, "a run directory, one of its checkpoints or an adapted one", {
        required: true,
      }),
      input: option.paths(
        uses.inputs,
        "measurements of any format that import reads (required without --follow)",
      ),
      ...readingOptions,
      names,
      output: option.path(uses.outputFolder, "the folder of the adapted checkpoint", { required: true }),
      addresses: option.text("fit only these addresses (default: all that were not in the training data)", {
        value: "A,B,…",
      }),
      steps: option.integer(
        "steps; each uses some 672 of the measurements in turn, or all if there are fewer",
        { default: ADAPTING.steps, min: 1, max: 10_000 },
      ),
      learningRate: option.number("learning rate at the start", {
        default: ADAPTING.learningRate,
        min: 1e-6,
        max: 10,
      }),
      maxDrift: option.number("largest distance that the embedding of a known address may move", {
        default: ADAPTING.maxDrift,
        min: 0,
        max: 1e6,
      }),
      maxMeasurements: option.integer("fit at most this many measurements, the newest", {
        default: 10_000,
        min: 1,
        max: 1_000_000,
      }),
      geo: { ...geoAsked, help: `${geoAsked.help}; with --merge, since the checkpoint has to hold it` },
      merge: option.switch(
        "write a whole checkpoint, which does not need its base, instead of the changed embeddings",
      ),
      follow: option.switch(
        "read JSON lines from standard input as they arrive, and publish the checkpoint after each group " +
          "of them",
      ),
      everyLines: option.integer("with --follow: publish after this many measurements", {
        default: 100,
        min: 1,
      }),
      everySeconds: option.number("with --follow: or this many seconds after the first new one", {
        default: 10,
        min: 0.1,
        max: 86_400,
      }),
      engine,
      verify,
      overwrite: overwriteFolder,
    },
  }),
  "eval": command({
    summary: "tell how well a model predicts held-out measurements, beside simple methods",
    reads: "a checkpoint, probe rows; or measurements Parquet (`--all-splits`)",
    writes:
      "`report.json` and `report.html`: how well held-out measurements are predicted, beside simple methods",
    example: "--checkpoint runs/first --data data/rows --output runs/first/eval",
    main: ["checkpoint", "data", "output", "allSplits", "geo"],
    options: {
      checkpoint: option.path(
        uses.run,
        "a run directory or one of its checkpoints; optional with --all-splits",
      ),
      data: option.path(uses.rowsWithTruth, "folder of probe rows with the split to predict"),
      output: outputFolder,
      train: option.path(
        uses.input,
        "folder of the probe rows whose train split the model and the baselines learn from (default: --data)",
        { value: "DIR" },
      ),
      split: option.choice(["test", "val"], "which split to predict", { default: "test" }),
      history: option.choice(
        ["default", ...HISTORY],
        "earlier measurements that are available as context: all, or only those of the training " +
          "(default: train if split by pair, destination, node)",
        { default: "default" },
      ),
      maxMeasurements: option.integer("measurements to predict, drawn at random", { default: 2000, min: 1 }),
      contexts: option.text("numbers of context measurements", { default: "0,1,2,5,10,20", value: "N,N,…" }),
      everyContext: option.switch(
        "predict each measurement with each number instead of one of them in rotation",
      ),
      adapt: option.text(
        "if addresses were held out (destination, node, probe): also adapt the model to K measurements " +
          "of each new\naddress and predict others; or none (default: none; with --all-splits 0,2,8,24)",
        { value: "K,K,…" },
      ),
      noPool,
      baselines: option.text(
        "methods to compare with: all, none, or names such as `pair last seen,Vivaldi`",
        { default: "all", value: "NAMES" },
      ),
      allSplits: option.paths(
        uses.inputs,
        "instead of --data: measurements Parquet to split in several ways; trains one model and " +
          "evaluates it on each split",
      ),
      splits: option.text(
        "the splits of --all-splits, in this order, in percent of the rows, sources, pairs, " +
          "…\n(default: probe=10,destination=10,pair=10,time=10; in a mesh pair=70 and perhaps time=10)",
        { value: "MODE=X,…" },
      ),
      config: option.path(uses.config, "preset or JSON file that --all-splits trains", {
        default: "campaign",
      }),
      geo: option.paths(
        uses.inputs,
        "files that say where addresses are: for the model that --all-splits trains, else for the methods that know " +
          "places (default: the checkpoint's places); later ones override earlier ones",
      ),
      set: option.texts("change one key of it; repeatable", { value: "KEY=VALUE" }),
      maxTime: option.text("train at most as many steps as fit in this time, such as 30m or 2h", {
        value: "TIME",
      }),
      engine,
      verify,
      overwrite: overwriteFolder,
    },
    needs: { trains: true },
  }),
  "query": {
    summary:
      "ask a trained model for RTT distributions, destinations, the nearest, maps, matrices, likelihoods, samples",
    kinds: {
      "rtt": command({
        summary:
          "the distribution of the RTT between two addresses, prefixes or places, or for each line of a file",
        reads:
          "a checkpoint, two addresses or prefixes, perhaps a time and recent measurements; or a file of such queries " +
          "(`--queries`)",
        writes: "the RTT distribution; with `--plot` as SVG, with `--table` as Parquet; JSON lines",
        example: "--checkpoint runs/demo/train --src 192.0.2.1 --dst 198.51.100.0/24",
        main: ["checkpoint", "src", "dst", "time", "queries"],
        options: {
          ...namedOptions,
          ...questionOptions(rtt, true),
          queries: option.path(
            uses.input,
            "answer each line of this file with a JSON line, in order: JSON lines or CSV with src, dst and " +
              "perhaps time; JSON lines may also have their own context, an array of {src, dst, time, rtt in " +
              "ms or null}, none after the query's time. A line that cannot be answered gives its number and " +
              "the reason, and exit code 1 at the end",
          ),
          keepGoing: option.switch("exit with 0 even if lines of --queries cannot be answered"),
          output: option.path(
            uses.outputFile(),
            "write the answers to --queries there (default: standard output)",
          ),
          adapt: option.path(
            uses.input,
            "measurements of any format that import reads: first fit the embeddings of the queried addresses to them; " +
              "with --queries those of all addresses that were not in the training data",
          ),
          calibration,
          noPool,
          plot: option.path(uses.outputFile(), "write the density as SVG"),
          table: option.path(
            uses.outputFile(),
            "write the whole distribution: columns rtt_ms, low_ms, high_ms and probability, a row for each RTT code " +
              "and, with NaN for its RTT, one for no reply",
            { value: "F.parquet" },
          ),
          overwrite: option.switch(`${overwriteOther.help}; at --table only the table of another answer`),
        },
      }),
      "destinations": command({
        summary:
          "the most probable destinations given a source and an RTT, by Bayes' rule over what query rtt says",
        reads: "a checkpoint, a source, an RTT or a range of RTTs",
        writes: "the most probable destinations or prefixes, by Bayes' rule",
        example: "--checkpoint runs/demo/train --src 192.0.2.1 --rtt 20..25 --prefix-length 24",
        main: ["checkpoint", "src", "rtt", "within", "prefixLength"],
        options: {
          ...namedOptions,
          ...questionOptions(destinations),
          calibration,
          noPool,
          output: linesOutput("destinations"),
          overwrite: overwriteOther,
        },
        module: "query_questions",
      }),
      "nearest": command({
        summary: "the nearest of some candidates to a source, by their RTT distributions",
        reads: "a checkpoint, a source, a file of addresses or prefixes",
        writes: "the nearest of them: median RTT, probability to be the nearest, expected regret",
        example: "--checkpoint runs/demo/train --src 192.0.2.1 --candidates servers.txt --top 5",
        main: ["checkpoint", "src", "candidates", "by", "top"],
        options: {
          ...namedOptions,
          ...questionOptions(nearest),
          calibration,
          noPool,
          output: linesOutput("candidates"),
          overwrite: overwriteOther,
        },
        module: "query_questions",
      }),
      "advise": command({
        summary: "the measurements that would make a model that is adapted to them surest of others",
        reads: "a checkpoint, a source, a file of addresses that it can measure; or a file of pairs",
        writes: "which to measure, the best first: by how much the spread of the wanted RTTs falls",
        example: "--checkpoint runs/demo/train --src 192.0.2.1 --candidates anchors.txt --budget 20",
        main: ["checkpoint", "src", "candidates", "budget", "output"],
        options: {
          ...namedOptions,
          ...questionOptions(advise),
          output: linesOutput("measurements"),
          overwrite: overwriteOther,
        },
        module: "query_questions",
      }),
      "matrix": command({
        summary:
          "the RTTs between all of some nodes, or from them to others, as a table or as a graph for Shadow",
        reads: "a checkpoint, a file of addresses or prefixes, perhaps another one of destinations",
        writes: "median RTT, quantiles, loss and samples of each pair: CSV, Parquet, JSON, or GML for Shadow",
        example: "--checkpoint runs/demo/train --nodes servers.txt --output matrix.gml",
        main: ["checkpoint", "nodes", "destinations", "output", "quantiles"],
        options: {
          ...namedOptions,
          ...questionOptions(matrix),
          calibration,
          noPool,
          output: option.path(
            uses.outputFile(),
            "the file to write, of any number of pairs: .csv, .parquet, .json; or .gml, with half of the median RTT as the " +
              "latency of a direction, and no bandwidths, which are then for the hosts of Shadow's configuration to say " +
              "(default: a table of medians)",
          ),
          overwrite: overwriteFile,
          memoryLimitGb: option.number(memoryLimitGb.help, { default: 2, min: 1 }),
        },
      }),
      "map": command({
        summary: "the RTTs from one source to all countries and cells in them, of a model that knows places",
        reads: "a checkpoint with places, a source: an address, prefix, place or network",
        writes:
          "a map of the world: median RTT and 90 % interval of each country and cell, as SVG, GeoJSON or CSV",
        example: '--checkpoint runs/demo/train --src "Berlin, DE" --output map.svg',
        main: ["checkpoint", "src", "output", "layer", "time"],
        options: {
          ...namedOptions,
          ...questionOptions(map),
          layer: option.choice(
            LAYERS,
            "the shading of a picture: the median RTT, or the width of the 90 % interval",
            { default: "median" },
          ),
          calibration,
          noPool,
          output: option.path(
            uses.outputFile(),
            "write all countries and cells to this file: .svg; .geojson or .json; .csv (default: a table of one part)",
          ),
          overwrite: overwriteOther,
        },
      }),
      "sample": command({
        summary: "whole measurements drawn from the model, a JSON line each",
        reads: "a checkpoint, perhaps addresses and a time",
        writes: "measurements that the model draws, as JSON lines",
        example: "--checkpoint runs/demo/train --count 10 --src 192.0.2.1",
        main: ["checkpoint", "src", "dst", "count", "output"],
        options: {
          ...namedOptions,
          ...questionOptions(sample),
          noPool,
          output: option.path(uses.outputFile(), "write the measurements there, too, as JSON lines"),
          overwrite: overwriteOther,
        },
        module: "query_questions",
      }),
      "likelihood": command({
        summary: "the bits of given measurements, per block and token, in every order of the fields",
        reads: "a checkpoint, measurements Parquet",
        writes: "bits of each row and block in every order of the fields, as JSON lines",
        example: "--checkpoint runs/demo/train --input data/synth.parquet",
        main: ["checkpoint", "input", "output", "order"],
        options: {
          ...namedOptions,
          ...questionOptions(likelihood, true),
          input: option.paths(
            uses.inputs,
            "measurements Parquet in place of one measurement: files, folders, globs; each row is computed alone",
          ),
          withoutTime: option.switch("compute the rows without their times"),
          noPool,
          output: option.path(
            uses.outputFile(),
            "write a JSON line for each row of --input there (default: standard output)",
          ),
          overwrite: overwriteOther,
        },
      }),
    },
  },
  "score": command({
    summary: "add log-likelihoods and anomaly p-values to measurements",
    reads: "a checkpoint, measurements of any format",
    writes: "the same rows with `log_likelihood`, `p_value` and `loss_run_p_value`",
    example: "--checkpoint runs/demo/train --input data/new.parquet --output scored.parquet",
    main: ["checkpoint", "input", "output", "report", "context"],
    options: {
      checkpoint,
      input: option.paths(
        uses.inputs,
        "measurements in any order, Parquet or of any other format that import reads: files, folders, globs",
        { required: true },
      ),
      ...readingOptions,
      output: option.path(uses.outputFile(".rejects.jsonl"), "the Parquet file to write", {
        value: "F.parquet",
        required: true,
      }),
      report: option.path(uses.outputFile(), "write a page with pictures of the scores there", {
        value: "F.html",
      }),
      context: option.integer(
        "largest number of earlier measurements of the same source in the context of each row",
        { default: 20, min: 0, max: 1000 },
      ),
      history: option.paths(uses.inputs, "further measurements Parquet, only for contexts"),
      calibration: option.path(
        uses.input,
        "an output of score for measurements that are taken to be normal: p-values become the shares of these below",
      ),
      geo: geoAsked,
      names,
      noPool,
      groupBy: option.choice(SOURCE_KEYS, "column that identifies a source, as in probe-rows", {
        default: "src_addr",
      }),
      engine,
      maxRejectRatio,
      verify,
      overwrite: option.switch(`${overwriteFile.help}; and any file at --report`),
      memoryLimitGb,
    },
  }),
  "watch": command({
    summary:
      "tell when pairs stop replying or their RTTs leave their usual level, and when they return, without set limits",
    details:
      "An outage is told after about 3 losses, a clear change --delay measurements of its pair after it, others up to 20 or " +
      "at the end of the input. Alarms that begin together and share a source or a destination are one group; the strongest " +
      "groups are told, at most --false-alarms. Without --follow files are read whole first, and it is an error if more than " +
      "5 % of the input is unusable or out of order. A restart with --follow reads the input from its beginning and tells " +
      "what --output does not have; to read rotated files again, name them too ('pings.jsonl*'). The metrics have a " +
      "dashboard for Grafana: lib/query/changes/grafana.json.",
    reads: "measurements as they come, perhaps a checkpoint",
    writes: "alarms as text for people, or as JSON lines: beginning, size, evidence, group, end",
    example: "--input data/pings.jsonl --follow",
    main: ["input", "output", "follow", "falseAlarms", "webhook"],
    options: {
      checkpoint: option.path(uses.run, "a run or checkpoint: adds what its model expected to each alarm"),
      input: option.paths(
        uses.inputs,
        "measurements of any format that import reads, in order of time; files in the order of their first times; - for " +
          "standard input",
        { default: ["-"] },
      ),
      ...readingOptions,
      follow: option.switch(
        "wait for more lines at the end of files, for files that are missing, and for more files in folders and globs",
      ),
      output: option.path(
        uses.outputFile(),
        "write the alarms there at the end, instead of to standard output; with --follow append them as they come, after a " +
          "restart behind those that are there",
        { value: "F.jsonl" },
      ),
      text: option.switch(
        "show alarms to people, a line for each group, open ones first, then the largest (the default on a terminal; else " +
          "JSON lines)",
      ),
      metrics: option.path(
        uses.outputFile(),
        "write counts, RTTs and alarms there every 10 s in Prometheus' text format, for node_exporter's textfile collector",
        { value: "F.prom" },
      ),
      overwrite: overwriteOther,
      listen: option.text(
        "answer GET /metrics for Prometheus, and status checks as RIPE Atlas does, at this address and port",
        { value: "ADDRESS:PORT" },
      ),
      metricPairs: option.integer(
        "pairs that have metrics of their own: those with the largest open alarms first",
        { default: 100, min: 0 },
      ),
      rtt: option.choice<RttChoice>(
        ["min", "mean", "median", "each"],
        "RTT of the replies to one result; each takes every packet as a measurement",
        { default: "min" },
      ),
      falseAlarms: option.text(
        "groups of alarms that may be told in a time, of all pairs together: those with the most evidence, of outages and " +
          "of other changes, among all that the input or --calibration has",
        { default: "5/day", value: "N/day" },
      ),
      calibration: option.paths(
        uses.inputs,
        "measurements of the same pairs that are taken to be normal, to choose alarms by (default: the input; with - or " +
          "--follow its last 7 days)",
      ),
      delay: option.integer(
        "later measurements of a pair that are seen before a clear change is told; others need up to 20",
        {
          default: CHANGES.delay,
          min: 1,
          max: 1000,
        },
      ),
      minShiftMs: option.number("smallest change of the median that is told, in ms", {
        default: CHANGES.minShiftMs,
        min: 0,
      }),
      newUsualAfter: option.text("an alarm ends after this time: the new level is the usual one", {
        default: "1d",
        value: "TIME",
      }),
      groupWithin: option.text("alarms of one group begin within this time", {
        default: "15m",
        value: "TIME",
      }),
      maxPairs: option.integer(
        "pairs that are remembered, each in some 10 kB; of more the one that was seen least recently is dropped",
        { default: 20_000, min: 1 },
      ),
      geo: option.paths(
        uses.inputs,
        "files that say where addresses are, for groups that share an AS or a country: MMDB, CSV of ip-location-db, " +
          "probe archive of RIPE Atlas; later ones override earlier ones (the places of --checkpoint)",
      ),
      names,
      webhook: option.text("post each alarm there as JSON, again and again until it is taken", {
        value: "URL",
      }),
      webhookKey: option.path(
        uses.input,
        `sign what is posted with the key in this file (that in the variable ${WEBHOOK_KEY}, if it is set): HMAC-SHA256 in ` +
          "the header ping-llm-signature",
      ),
      maxQueue: option.integer("alarms that wait for the webhook at most; of more the oldest is dropped", {
        default: 1000,
        min: 1,
      }),
    },
    needs: { listens: "listen", connects: { to: "webhook", ifGiven: "webhook" }, variables: [WEBHOOK_KEY] },
  }),
  "serve": command({
    summary: "answer questions to a trained model over HTTP, with a page for people",
    reads: "a checkpoint",
    writes: "answers over HTTP, and a page for people",
    example: "--checkpoint runs/demo/train",
    main: ["checkpoint", "host", "port", "names", "mcp"],
    options: {
      checkpoint: option.path(uses.runWithEvaluation, "a run directory or one of its checkpoints", {
        required: true,
      }),
      calibration,
      noPool,
      geo: geoAsked,
      names,
      engine,
      report,
      host: option.text("the address to listen on; 0.0.0.0 for all of this machine", {
        default: "127.0.0.1",
        value: "ADDRESS",
      }),
      port: option.integer("the port to listen on; 0 for any free one", {
        default: 8080,
        min: 0,
        max: 65_535,
      }),
      mcp: option.switch(
        "answer one assistant over standard input and output instead, by the Model Context Protocol; no port is opened",
      ),
      watch: option.switch("serve newer checkpoints of the run as they appear"),
      watchS: option.number("seconds between two checks for a newer checkpoint", { default: 5, min: 0.1 }),
      allowOrigin: option.texts(
        "pages of this origin may also send queries, such as https://example.org; * for all (none)",
        { value: "ORIGIN" },
      ),
      maxBodyBytes: option.integer("largest number of bytes of a JSON body, and of each line of JSON lines", {
        default: 2 ** 20,
        min: 1024,
        max: 2 ** 28,
      }),
      maxBatch: option.integer("questions that the GPU answers at once", { default: 62, min: 1, max: 4096 }),
      maxWaitMs: option.integer("milliseconds that a question waits for others to share a batch", {
        default: 10,
        min: 0,
        max: 10_000,
      }),
      maxWatchedPairs: option.integer(
        "pairs that POST /v1/watch remembers, each in some 10 kB; of more the one that was seen least recently is dropped",
        { default: 5000, min: 1 },
      ),
      maxQueue: option.integer("largest number of waiting requests; further ones get status 429", {
        default: 1024,
        min: 1,
      }),
      maxRequestS: option.number("seconds that a request may take; for JSON lines, each answer", {
        default: 60,
        min: 0.1,
        max: 86_400,
      }),
      maxConnections: option.integer(
        "connections at the same time; further ones get only /healthz and /metrics",
        { default: 256, min: 1 },
      ),
      maxClientConnections: option.integer("the limit per client address, such as that of a proxy", {
        default: 128,
        min: 1,
      }),
    },
    needs: { files: pageSources, listens: { unless: "mcp" } },
  }),
  "export": command({
    summary: "write a site with the model in it, for any web server",
    reads: "a checkpoint",
    writes: "a site for any web server, whose model runs in the reader's browser, or an npm package of it",
    example: "--checkpoint runs/demo/train --output site",
    main: ["checkpoint", "output", "form", "dtype"],
    options: {
      checkpoint: option.path(
        uses.runWithEvaluation,
        "a run directory, one of its checkpoints or an adapted one",
        { required: true },
      ),
      output: outputFolder,
      form: option.choice(
        ["site", "npm"],
        "a site, or a package for npm with the model in it, for programs in browsers, Deno and Node",
        { default: "site" },
      ),
      dtype: option.choice(
        DTYPES,
        "storage format of parameters: f16 has half the size and is less precise",
        { default: "f32" },
      ),
      calibration,
      noPool,
      names,
      report,
      overwrite: overwriteFolder,
    },
    needs: { files: pageSources },
  }),
  "slurm": command({
    summary: "write the chain as jobs of a SLURM cluster, and submit them",
    details: [
      "shard and probe-rows are job arrays; then come train and eval. The scripts are DIR/jobs/*.sbatch, which bash runs",
      "too, without SLURM.",
    ].join("\n"),
    reads: "measurements Parquet, a small JSON file on the cluster",
    writes: "`*.sbatch`: the chain as jobs of SLURM; with `--submit` submits them",
    example: "--input data/measurements --output runs/first --config cluster.json --submit",
    main: ["input", "output", "config", "submit", "dryRun"],
    options: {
      input: option.paths(
        uses.inputs,
        "measurements: Parquet files, folders or globs, which the nodes see under the same paths",
        { required: true },
      ),
      output: option.path(
        uses.outputFolder,
        "folder of scripts, logs, shards, rows, run and evaluation, which the nodes see",
        { required: true },
      ),
      splitBy: option.text("how shard splits; with several ways, each has a chain in a folder of its name", {
        default: "probe",
        value: "MODE,…",
      }),
      ratios: option.text("shares of train, val, test", { default: "80,10,10", value: "A,B,C" }),
      config: option.path(
        uses.config,
        "configuration of the cluster, and options of stages (lib/cli/cluster/README.md)",
        { value: "FILE" },
      ),
      set: option.texts("change one key of it, such as train.time=2-00:00:00; repeatable", {
        value: "KEY=VALUE",
      }),
      partition: option.text("partition of the jobs", { value: "NAME" }),
      account: option.text("account of the jobs", { value: "NAME" }),
      time: option.text("time limit of each job, in sbatch's notation; train continues after it", {
        value: "D-HH:MM:SS",
      }),
      memoryGb: option.integer("memory of each job in GB (default: 4, for train and eval 16)", { min: 1 }),
      cpus: option.integer("processors of each job (default: 2, for train and eval 4)", { min: 1 }),
      gpus: option.integer("GPUs of train and eval (default: 1)", { min: 0 }),
      shardTasks: option.integer("jobs that share shard (default: 4)", { min: 1 }),
      rowTasks: option.integer("jobs that share probe-rows (default: 4)", { min: 1 }),
      setup: option.texts("lines of shell to run first, such as `module load vulkan`", { value: "LINE" }),
      container: option.text("shell words before the program, such as `apptainer exec --nv image.sif`", {
        value: "LINE",
      }),
      program: option.text("the program on the nodes (default: this one)", { value: "PROGRAM" }),
      submit: option.switch("submit the jobs with sbatch"),
      dryRun: option.switch("print the scripts, write and submit nothing"),
      overwrite: option.switch("replace scripts that were made with other options or changed by hand"),
    },
    needs: { programs: ["sbatch"] },
  }),
  "demo": command({
    summary: "run the whole chain, small, end to end",
    details:
      "It learns a real campaign of RIPE Atlas (96 probes, 151 servers, May 2019), or --input, or --fetch, or a synthetic " +
      "Internet.",
    reads: "nothing, or `--input`, or RIPE Atlas (`--fetch`)",
    writes: "all of the above, small, and a report",
    example: "--input results/*.json.gz --output runs/mine",
    main: ["output", "input", "fetch", "minutes", "overwrite"],
    options: {
      output: option.path(uses.outputFolder, "folder of everything it writes", { default: "runs/demo" }),
      input: option.paths(
        uses.inputs,
        "measurements of any format that import reads, to learn instead of the real campaign",
      ),
      fetch: option.text(`fetch RIPE Atlas results and learn these: ${MEASUREMENTS}`, { value: "ID,ID-ID" }),
      start: option.text(`with --fetch: first time, ${SPAN_TIME}`, { value: "TIME" }),
      stop: option.text("with --fetch: time after the last one, likewise", { value: "TIME" }),
      url: atlasApi.url,
      keyFile: atlasApi.keyFile,
      synthetic: option.switch("learn a synthetic Internet, whose truth is known"),
      steps: option.integer(
        `steps to train at most (default: ${DEMO_STEPS.campaign}, with --synthetic ${DEMO_STEPS.synth}, with --input as ` +
          "many as its passes take)",
        { min: 1, max: DEMO_STEPS.most },
      ),
      minutes: option.number("training time at most, in minutes", { default: 3, min: 0.05, max: 100_000 }),
      geo: option.paths(
        uses.inputs,
        "files that say where addresses are, as for train; the campaign and --fetch have places of their own",
      ),
      overwrite: option.switch("replace what an earlier demo wrote, and train again"),
    },
    needs: {
      trains: true,
      files: () => [new URL("../tests/data/campaigns", import.meta.url)],
      connects: { to: "url", ifGiven: "fetch" },
      variables: [ATLAS_KEY],
    },
  }),
  "bench": {
    summary:
      "measure the throughput of kernels, training, preprocessing and loading, and of others beside them",
    reads: "nothing",
    writes: "the throughput of kernels, training, preprocessing and loading",
    kinds: {
      "kernels": command({
        summary: "the speed of each GPU kernel at the sizes of the presets",
        example: "--seconds 0.5 --only gemm",
        options: {
          engine,
          seconds: option.number("time per kernel, in seconds", { default: 0.5, min: 0.01, max: 60 }),
          only: option.text("time only the kernels whose names contain this", { default: "" }),
          compare: option.path(
            uses.input,
            "an earlier --json output; adds its medians and the ratios to them",
          ),
        },
        module: "bench",
      }),
      "train": command({
        summary: "the speed of training a preset, on made-up batches, and its time profile",
        example: "--config demo --seconds 20",
        options: {
          engine,
          ...configOptions,
          seconds: option.number("measuring time, in seconds", { default: 10, min: 0.1, max: 3600 }),
        },
        module: "bench",
      }),
      "gpu": command({
        summary: "recommended constants for this GPU, from its products, training, decoding and start-up",
        example: "--output runs/gpu",
        options: {
          engine,
          output: option.path(uses.outputFolder, "folder of gpu.json and gpu.html", { required: true }),
          scale: option.choice(
            ["auto", "full", "small"],
            "sizes; auto: small on a software adapter, else full",
            { default: "auto" },
          ),
          config: option.path(
            uses.config,
            "configuration to train: a preset or a JSON file (95m; with scale small: demo)",
          ),
          set: configOptions.set,
          quick: option.switch(
            "instead both engines and PyTorch beside them, in 8 minutes: correctness, training by kernel, open choices; " +
              "a table, and gpu.json after each step",
          ),
          maxTime: option.text("skips steps that have not begun after this time (20m; with --quick: 8m)", {
            value: "TIME",
          }),
          overwrite: option.switch("replace what a survey with other options wrote to the output folder"),
        },
        needs: { deno: true },
        module: "bench",
      }),
      "preprocess": command({
        summary: "the speed and memory of synth, import, shard and probe-rows at several sizes",
        example: "--rows 1_000_000,10_000_000,100_000_000",
        options: {
          rows: option.text("measurements to make and pass over, one number or several", {
            default: "1_000_000,10_000_000",
            value: "N,N",
          }),
          ...dataBenchOptions,
          importRows: option.integer(
            "largest number of results to import (default: a tenth of the rows); a result has some 500 bytes",
            { min: 1 },
          ),
          repeats: option.integer("runs of each stage; the median is reported", {
            default: 1,
            min: 1,
            max: 100,
          }),
        },
        needs: { deno: true },
        module: "bench_data",
      }),
      "loader": command({
        summary: "the speed, padding and memory of the loader by worker threads and sizes of rows",
        example: "--rows 1_000_000 --sequence-length 1024",
        options: {
          rows: option.integer("measurements to make and pass over", {
            default: 1_000_000,
            min: 1000,
            max: 2 ** 40,
          }),
          ...dataBenchOptions,
          sequenceLength: option.integer("tokens of a sequence", { default: 1024, min: 47, max: 65_535 }),
          batchSize: option.integer("sequences of a batch", { default: 32, min: 1, max: 65_536 }),
          loaderWorkers: option.text("threads of the loader, one number or several; 0 for none", {
            default: "0,1,2,4",
            value: "N,N",
          }),
          seconds: option.number("seconds to load after the first epoch", {
            default: 1,
            min: 0.1,
            max: 3600,
          }),
        },
        needs: { deno: true },
        module: "bench_data",
      }),
      "changes": command({
        summary: "how well the change detector of watch agrees with people who marked series of RTTs",
        details:
          "A series is a CSV file with the columns epoch;rtt;cp (ms; cp is 1 where people saw a change). A " +
          "detection is right if it can be paired with a mark at most two rows away.",
        example: "--input data/changes --output changes.jsonl",
        options: {
          input: option.paths(uses.inputs, "series: files, folders, globs", { required: true }),
          output: option.path(
            uses.outputFile(),
            "also write the rows of the changes, a line for each series",
            { value: "F.jsonl" },
          ),
          overwrite: overwriteOther,
          delay: option.integer(
            "later rows that are seen before a clear change is reported (5), others up to 20",
            {
              min: 0,
              max: 10_000,
            },
          ),
          settings: option.integer(
            "also cross-validate: choose the best of so many random settings on other series than they are measured on",
            { min: 2, max: 100_000 },
          ),
          folds: option.integer("with --settings: parts of the series, each held out once", {
            default: 5,
            min: 2,
            max: 1000,
          }),
        },
      }),
      "surprise": command({
        summary: "the share of planted outages, level shifts and spikes that p-values of score find",
        details:
          "Beside it the shares that watch and the distance from the median in interquartile ranges find, all with the " +
          "same number of false alarms among the rows that nothing was planted in.",
        example: "--checkpoint runs/first --history data/shards/train --input data/shards/test --seeds 1,2,3",
        options: {
          checkpoint,
          input: option.paths(uses.inputs, "measurements Parquet in which events are planted", {
            required: true,
          }),
          history: option.paths(uses.inputs, "earlier measurements Parquet of the same pairs", {
            required: true,
          }),
          context: option.integer("largest number of earlier measurements in the context of each row", {
            default: 20,
            min: 0,
            max: 1000,
          }),
          seeds: option.text("seeds of what is planted; the shares are medians over them", {
            default: "1,2,3",
            value: "N,N",
          }),
          rowsPerFalseAlarm: option.text("normal rows with one false alarm, one number or several", {
            default: "1000,100",
            value: "N,N",
          }),
          engine,
        },
      }),
      "peers": command({
        summary: "the speed of training compared with jax-js and, if python3 has torch, PyTorch, in turns",
        details:
          "A step has one micro-batch. On a GPU PyTorch runs there too, by CUDA, in f32 and in bf16, beside f16 of this " +
          "program; jax-js is compared on a software adapter.",
        example: "--config demo --seconds 60",
        options: {
          engine,
          ...configOptions,
          seconds: option.number("time to train in turns with each, in seconds", {
            default: 60,
            min: 0.1,
            max: 3600,
          }),
        },
        needs: { deno: true, programs: ["python3"], temporaryFiles: true },
        module: "bench",
      }),
      // The kernel's peak memory can only be read with all permissions.
      "child": command({
        summary: "one part of the others, in a separate process (for their use)",
        example: "shard --input data/synth.parquet --output data/shards",
        positionals: { value: "STAGE …", min: 1 },
        options: {},
        isRaw: true,
        needs: { everything: true },
        module: "bench_data",
      }),
    },
  },
  "compile": command({
    summary: "make one executable file of the program",
    details: "It holds the program, its packages and Deno, and runs without any of them installed.",
    reads: "this checkout",
    writes: "the program as one executable file",
    example: "--output dist/ping-llm",
    options: {
      output: option.path(uses.outputFile(), "the file to write", { default: "dist/ping-llm" }),
      form: option.choice(
        ["auto", "compiled", "launcher"],
        "compiled: by deno compile, which fetches Deno's runtime stub;\nlauncher: a file that unpacks " +
          "itself once into a cache folder;\nauto: compiled, or a launcher if the stub is not available",
        { default: "auto" },
      ),
      dawn: option.switch(
        "add Dawn for --engine dawn, 7 MB, which setup.sh --dawn installs; the file is a launcher",
      ),
      overwrite: option.switch(
        "replace an output file that this stage made from other code or in another form",
      ),
    },
    needs: { files: programFiles, deno: true },
  }),
  "completion": command({
    summary: "print a script with which a shell completes this command line",
    details:
      "It completes stages, options, their choices and paths after `ping-llm`. Install it with one of:\n" +
      "  ping-llm completion bash > ~/.local/share/bash-completion/completions/ping-llm\n" +
      '  ping-llm completion zsh > "${fpath[1]}/_ping-llm"\n' +
      "  ping-llm completion fish > ~/.config/fish/completions/ping-llm.fish",
    reads: "nothing",
    writes: "a script for bash, zsh or fish, on standard output",
    example: "bash",
    positionals: { value: SHELLS.join("|"), min: 1, choices: SHELLS },
    options: {},
  }),
});

/** The URL of the module that runs a command, beside this one. */
export function moduleOf(
  { name, module = name.replace(/[ -]/g, "_") }: { name: string; module?: string },
): URL {
  return new URL(`./${module}.ts`, import.meta.url);
}

/** The modules that run stages, from the checkout's root. */
export const STAGE_MODULES: readonly string[] = [
  ...new Set(leavesOf(STAGES).map((command) => `tasks/${moduleOf(command).pathname.split("/").at(-1)}`)),
];

/** The sources of the page outside of lib/, from which serve and export learn whether its bundle is outdated. */
function pageSources(): URL[] {
  return ["deno.lock", "kernels"].map((name) => new URL(`../${name}`, import.meta.url));
}

/** The inputs of the one file. */
function programFiles(): (string | URL)[] {
  const names = ["configs", "deno.json", "deno.lock", "kernels", "lib", "LICENSE", "tasks", ...DEMO_FILES];
  const deno = Deno.execPath();
  const checkout = names.map((name) => new URL(`../${name}`, import.meta.url));
  return [...checkout, ...gitFolders(), deno, Deno.realPathSync(deno)];
}
