/**
 * `demo`: runs the chain on a small scale: measurements -> shard -> probe-rows -> train -> eval -> query. Each
 * step runs the stage of that name as a user would.
 *
 * @module
 */
import { fromFileUrl, join } from "@std/path";
import { getOrMake } from "../lib/base/collections.ts";
import { FAILED_RTT_MS } from "../lib/data/formats/batch.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { formatCount, formatSeconds } from "../lib/base/text.ts";
import { kebab } from "../lib/cli/options.ts";
import { defineStage, serveStage, type StageContext } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { refuseOverlap } from "../lib/io/files/real_path.ts";
import { exists } from "../lib/io/files/inputs.ts";
import { OutputLock } from "../lib/io/files/output_lock.ts";
import { WORK } from "../lib/io/files/array_task.ts";
import { openProbeRows } from "../lib/data/loader/row_source.ts";
import { namesPathBeside } from "../lib/data/import/imported_names.ts";
import { listMeasurementFiles } from "../lib/data/measurement_files/input_files.ts";
import { finishChain, openChain, step, trainStep } from "./chain.ts";
import { evalStage } from "./eval.ts";
import { fetchAtlasStage } from "./fetch.ts";
import { importStage } from "./import.ts";
import { probeRowsStage, shardStage } from "./split_stages.ts";
import { readingOf } from "./reading.ts";
import { rttStage } from "./query_rtt.ts";
import { DEMO_CAMPAIGN, DEMO_STEPS, demoCommand } from "./demo.command.ts";
import { serveCommand } from "./serve.command.ts";
import { readingOptions } from "./shared_options.ts";
import { synthStage } from "./synth.ts";

const CONFIG = "demo";
const FETCHED = "fetched";
const IMPORTED = "imported.parquet";
/** Enough predicted measurements to estimate the median error to a few tenths of a millisecond. */
const NUM_PREDICTED = 2000;

/** A synthetic Internet small enough to learn in minutes on two cores. */
const SYNTH = ["--rows", "40000", "--probes", "40", "--destinations", "24", "--ipv6-share", "0.25"];
const SHARDS = ["--train-shards", "4", "--val-shards", "1", "--test-shards", "1"];

export const demoStage = defineStage(demoCommand, async (options, context) => {
  const startMs = performance.now();
  const { output, seed } = options;
  const chosen = { input: options.input.length > 0, synthetic: options.synthetic, fetch: options.fetch };
  const [first, second] = Object.entries(chosen).filter(([, isChosen]) => isChosen).map(([name]) => name);
  if (second !== undefined) throw new UsageError(`Cannot use --${first} with --${second}: leave one out`);
  if (options.fetch !== undefined && (options.start === undefined || options.stop === undefined)) {
    throw new UsageError("Cannot use --fetch: --start or --stop is missing; add both");
  }
  const reading = options.input.length === 0 ? [] : readingArguments(options);
  const inputs = listMeasurementFiles(options.input, { log: context.log, reading: await readingOf(options) });
  refuseOverlap(output, inputs);
  using _lock = OutputLock.acquire(join(output, WORK), { output, stage: "demo" });
  const folder = { output, fileName: "demo.json", what: "a demo" };
  const { input, synthetic, minutes, fetch, start, stop, geo } = options;
  const data = input.length > 0 || fetch !== undefined ? "most" : synthetic ? "synth" : "campaign";
  const steps = options.steps ?? DEMO_STEPS[data];
  const identity = {
    input,
    synthetic,
    fetch,
    start,
    stop,
    geo,
    minutes,
    steps,
    seed,
    ...(reading.length > 0 && { reading }),
  };
  const state = openChain(folder, identity, options.overwrite);
  const isReplacing = options.overwrite || (state.replaces ?? false);
  const replacing = isReplacing ? ["--overwrite"] : [];
  const measurements = await makeMeasurements(options, { inputs, reading, replacing, context });
  const named = [namesPathBeside(join(output, IMPORTED))].filter(exists).flatMap((path) => ["--names", path]);
  const rows = join(output, "rows");
  const shards = join(output, "shards");
  const seeded = ["--seed", String(seed)];
  const splitting = ["--output", shards, "--split-by", "row", ...SHARDS, ...seeded, ...replacing];
  await step(context, shardStage, ["--input", ...measurements, ...splitting]);
  await step(context, probeRowsStage, ["--input", shards, "--output", rows, ...seeded, ...replacing]);
  const run = join(output, "train");
  const length = ["--set", `train.steps=${steps}`, "--max-time", `${60 * minutes}s`];
  const own = fetch !== undefined
    ? [join(output, FETCHED, "probes.json")]
    : data === "campaign"
    ? DEMO_CAMPAIGN.places.map(pathOf)
    : [];
  const places = [...geo, ...own].flatMap((path) => ["--geo", path]);
  const training = ["--data", rows, "--run", run, "--config", CONFIG, ...places, ...length, ...seeded];
  const trained = await trainStep(context, training, { folder, state, isReplacing });
  const evaluated = await step(context, evalStage, [
    ...["--checkpoint", run, "--data", rows, "--output", join(output, "eval")],
    ...["--max-measurements", String(NUM_PREDICTED), "--contexts", "20", ...seeded, ...replacing],
  ]);
  const pair = await pairOf(rows);
  const asked = await step(context, rttStage, [
    ...["--checkpoint", run, "--src", pair.src, "--dst", pair.dst, ...named],
  ]);
  finishChain(folder, state);
  const result = {
    stage: "demo",
    page: evaluated["page"],
    eval_loss: trained["eval_loss"],
    tokens_per_second: state.tokensPerSecond ?? null,
    steps: trained["steps"],
    evaluation: evaluated,
    query: asked,
    seconds: (performance.now() - startMs) / 1000,
  };
  const { host, port } = serveCommand.options;
  const learned = {
    campaign: "a campaign of RIPE Atlas (96 probes, 151 servers, May 2019)",
    synth: "a synthetic Internet",
    most: fetch === undefined ? input.join(" ") : `measurements ${fetch} of RIPE Atlas`,
  }[data];
  const speed = state.tokensPerSecond ? `, ${formatCount(Math.round(state.tokensPerSecond))} tokens/s` : "";
  const lines = [
    `learned ${learned} in ${formatSeconds(result.seconds)} (${trained["steps"]} steps${speed})`,
    `  report  ${result.page}`,
    `  ask it  deno task serve --checkpoint ${[run, ...named].join(" ")}`,
    `          and open http://${host.default}:${port.default}/#ask?src=${pair.src}&dst=${pair.dst}`,
    ...data === "most" ? [] : [
      "  learn your own measurements (RIPE Atlas results, logs of ping, CSV, Parquet)",
      "          deno task demo --input FILES --output runs/mine",
    ],
  ];
  return { text: lines.join("\n"), json: result };
});

type DemoOptions = OptionsOf<typeof demoCommand>;

/** Makes or chooses the Parquet files to learn from: the campaign, synthetic, imported or given. */
async function makeMeasurements(
  options: DemoOptions,
  { inputs, reading, replacing, context }: {
    inputs: string[];
    reading: string[];
    replacing: string[];
    context: StageContext;
  },
): Promise<string[]> {
  const { output, synthetic, seed, fetch } = options;
  const input = fetch === undefined
    ? options.input
    : [await fetchResults(options, fetch, replacing, context)];
  if (input.length === 0 && !synthetic) return [pathOf(DEMO_CAMPAIGN.measurements)];
  if (reading.length === 0 && inputs.length > 0 && inputs.every((file) => file.endsWith(".parquet"))) {
    return input;
  }
  // Two names, since stages do not replace each other's outputs.
  const [parquet, stage, args] = synthetic
    ? [join(output, "measurements.parquet"), synthStage, [...SYNTH, "--seed", String(seed)]]
    : [join(output, IMPORTED), importStage, ["--input", ...input, ...reading]];
  await step(context, stage, [...args, "--output", parquet, ...replacing]);
  return [parquet];
}

/** The arguments of `import` for options that do not have their defaults. */
function readingArguments(options: DemoOptions): string[] {
  const given = [...Object.keys(readingOptions), "names"] as (keyof typeof readingOptions | "names")[];
  return given.filter((name) =>
    String(options[name] ?? "") !== String(demoCommand.options[name].default ?? "")
  )
    .flatMap((name) => [`--${kebab(name)}`, ...[options[name]].flat().map(String)]);
}

/** @param name A file of this program, from the root. @throws {UsageError} In a published package. */
function pathOf(name: string): string {
  const url = new URL(`../${name}`, import.meta.url);
  if (url.protocol === "file:") return fromFileUrl(url);
  throw new UsageError(
    "Cannot run the demo on its campaign: the published package does not contain it, expected a checkout or the " +
      "executable; use --synthetic, --fetch or --input",
  );
}

async function fetchResults(
  { output, start = "", stop = "", url, keyFile }: DemoOptions,
  measurement: string,
  replacing: string[],
  context: StageContext,
): Promise<string> {
  const folder = join(output, FETCHED);
  await step(context, fetchAtlasStage, [
    ...["--measurement", measurement, "--start", start, "--stop", stop, "--output", folder, ...replacing],
    ...["--url", url, ...(keyFile === undefined ? [] : ["--key-file", keyFile])],
  ]);
  return join(folder, "results");
}

/** Finds the pair with the most replies in the held-out measurements; each loss cancels nine replies. */
async function pairOf(rowsDir: string): Promise<{ src: string; dst: string }> {
  using heldOut = await openProbeRows(rowsDir, "test");
  const pairs = new Map<string, { src: string; dst: string; weight: number }>();
  for (let i = 0; i < heldOut.numRows; i++) {
    const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs } = heldOut.row(i);
    rttMs.forEach((ms, at) => {
      const [src, dst] = [srcAddrs[srcIndex[at]], dstAddrs[dstIndex[at]]];
      const pair = getOrMake(pairs, `${src} ${dst}`, () => ({ src, dst, weight: 0 }));
      pair.weight += ms === FAILED_RTT_MS ? -9 : 1;
    });
  }
  return [...pairs.values()].reduce((best, pair) => pair.weight > best.weight ? pair : best);
}

if (import.meta.main) serveStage(demoStage);
