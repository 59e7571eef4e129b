/**
 * `demo`: runs the chain on a small scale: measurements -> splits -> train -> eval -> watch -> query. Each step
 * runs the stage of that name as a user would.
 *
 * @module
 */
import { fromFileUrl, join } from "@std/path";
import { getOrMake } from "../lib/base/collections.ts";
import { FAILED_RTT_MS } from "../lib/data/formats/batch.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { formatSeconds } from "../lib/base/text.ts";
import { kebab } from "../lib/cli/options.ts";
import { defineStage, serveStage, type StageContext } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { refuseOverlap } from "../lib/io/files/real_path.ts";
import { exists, readText } from "../lib/io/files/inputs.ts";
import type { AllSplitsReport } from "../lib/eval/all_splits.ts";
import { allSplitsTable } from "../lib/eval/page/all_splits_page.ts";
import { openProbeRows } from "../lib/data/loader/row_source.ts";
import { namesPathBeside } from "../lib/data/import/imported_names.ts";
import { listMeasurementFiles } from "../lib/data/measurement_files/input_files.ts";
import { CHAIN_DATA, refuseOthers, step } from "./chain.ts";
import { ALL_SPLITS_FOLDER, evalStage } from "./eval.ts";
import { fetchAtlasStage } from "./fetch.ts";
import { importStage } from "./import.ts";
import { readingOf } from "./reading.ts";
import { rttStage } from "./query_rtt.ts";
import { DEMO_CAMPAIGN, DEMO_STEPS, demoCommand } from "./demo.command.ts";
import { serveCommand } from "./serve.command.ts";
import { readingOptions } from "./shared_options.ts";
import { synthStage } from "./synth.ts";
import { watchStage } from "./watch.ts";

const CONFIG = "demo";
const FETCHED = "fetched";
const IMPORTED = "imported.parquet";
/** Predicted measurements of each split, so that all splits together take two minutes. */
const NUM_PREDICTED = { campaign: 500, synth: 500, most: 2000 };
const EVALUATION = ["--contexts", "20", "--parts", "100", "--adapt", "none"];

/** A synthetic Internet small enough to learn in minutes on two cores. */
const SYNTH = ["--rows", "40000", "--probes", "40", "--destinations", "24", "--ipv6-share", "0.25"];

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
  refuseOthers({ output, ...ALL_SPLITS_FOLDER });
  const { input, synthetic, minutes, fetch, geo } = options;
  const data = input.length > 0 || fetch !== undefined ? "most" : synthetic ? "synth" : "campaign";
  const replacing = options.overwrite ? ["--overwrite"] : [];
  const made = { output: join(output, CHAIN_DATA), inputs, reading, replacing, context };
  const measurements = await makeMeasurements(options, made);
  const names = namesPathBeside(join(made.output, IMPORTED));
  const named = exists(names) ? ["--names", names] : [];
  const own = fetch !== undefined
    ? [join(made.output, FETCHED, "probes.json")]
    : data === "campaign"
    ? DEMO_CAMPAIGN.places.map(pathOf)
    : [];
  const places = [...geo, ...own].flatMap((path) => ["--geo", path]);
  const evaluated = await step(context, evalStage, [
    ...["--all-splits", ...measurements, "--output", output, "--config", CONFIG, ...places],
    // A model of one's own measurements should know each of their pairs.
    ...(data === "most" ? ["--splits", "row=20"] : []),
    ...["--set", `train.steps=${options.steps ?? DEMO_STEPS[data]}`, "--max-time", `${60 * minutes}s`],
    ...[...EVALUATION, "--max-measurements", String(NUM_PREDICTED[data])],
    ...["--seed", String(seed), ...replacing],
  ]) as unknown as AllSplitsReport & { page: string };
  const { splits, run: { step: steps } } = evaluated;
  const outages = data === "campaign" ? await findOutages(output, measurements, context) : undefined;
  const run = join(output, "train");
  const pair = await pairOf(join(output, "rows", splits[splits.length - 1].mode));
  const asked = await step(context, rttStage, [
    ...["--checkpoint", run, "--src", pair.src, "--dst", pair.dst, ...named],
  ]);
  const seconds = (performance.now() - startMs) / 1000;
  const result = { stage: "demo", page: evaluated.page, steps, evaluation: evaluated, outages, query: asked };
  const { host, port } = serveCommand.options;
  const learned = {
    campaign: "a campaign of RIPE Atlas (96 probes, 151 servers, May 2019)",
    synth: "a synthetic Internet",
    most: fetch === undefined ? input.join(" ") : `measurements ${fetch} of RIPE Atlas`,
  }[data];
  const lines = [
    `learned ${learned} in ${formatSeconds(seconds)} (${steps} steps)`,
    ...allSplitsTable(evaluated).map((line) => `  ${line}`),
    ...(outages === undefined ? [] : [`  ${outagesText(outages)}`]),
    `  report  ${evaluated.page}`,
    `  ask it  deno task serve --checkpoint ${[run, ...named].join(" ")}`,
    `          and open http://${host.default}:${port.default}/#ask?src=${pair.src}&dst=${pair.dst}`,
    ...data === "most"
      ? [
        "  how good it is where nobody measured",
        `          deno task eval --all-splits ${measurements.join(" ")} --output runs/eval`,
      ]
      : [
        "  learn your own measurements (RIPE Atlas results, logs of ping, CSV, Parquet)",
        "          deno task demo --input FILES --output runs/mine",
      ],
  ];
  return { text: lines.join("\n"), json: { ...result, seconds } };
});

interface Outages {
  outages: number;
  pairs: number;
}

/** The outages that `watch` finds, which needs no model. Nobody has labelled those of the campaign. */
async function findOutages(output: string, measurements: string[], context: StageContext): Promise<Outages> {
  const path = join(output, "alarms.jsonl");
  await step(context, watchStage, ["--input", ...measurements, "--output", path]);
  const alarms = readText(path).split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  const outages = alarms.filter(({ event, cause }) => event === "begin" && cause === "outage");
  return { outages: outages.length, pairs: new Set(outages.map(({ src, dst }) => `${src} ${dst}`)).size };
}

function outagesText({ outages, pairs }: Outages): string {
  return `outages: watch, without a model, reports ${outages} of ${pairs} pairs; nobody has labelled this ` +
    "campaign's, so no share of right ones is known";
}

type DemoOptions = OptionsOf<typeof demoCommand>;

/**
 * Makes or chooses the Parquet files to learn from: the campaign, synthetic, imported or given.
 *
 * @param made `output`: the folder for those that it makes.
 */
async function makeMeasurements(
  options: DemoOptions,
  { output, inputs, reading, replacing, context }: {
    output: string;
    inputs: string[];
    reading: string[];
    replacing: string[];
    context: StageContext;
  },
): Promise<string[]> {
  const { synthetic, seed, fetch } = options;
  const input = fetch === undefined
    ? options.input
    : [await fetchResults({ ...options, output }, fetch, replacing, context)];
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
