/**
 * `fetch atlas`: fetches ping results from RIPE Atlas, and the places of its probes. `fetch globalping`:
 * creates or reads ping measurements of Globalping, with the places of their probes. `fetch prometheus`:
 * fetches the values of a query.
 *
 * For RIPE Atlas and Prometheus each time window becomes a file. The manifest lists the complete files, so a
 * run that was stopped or killed continues where it was, and a later run without `--stop` fetches newer
 * measurements.
 *
 * @module
 */
import { join } from "@std/path";
import { shortened, UsageError, UserError } from "../lib/base/errors.ts";
import { formatCount } from "../lib/base/text.ts";
import {
  atlasWindows,
  fetchProbes,
  fetchWindow,
  parseIds,
  SeenHosts,
  SETTLE_S,
} from "../lib/cli/fetch/atlas.ts";
import { ApiClient, parseBase, readKey } from "../lib/cli/fetch/api_client.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import { timeOption } from "./reading.ts";
import { defineStage, serveStage, snakeKeys, type StageContext } from "../lib/cli/stage.ts";
import { formatIndexes } from "../lib/io/files/array_task.ts";
import { exists, readText } from "../lib/io/files/inputs.ts";
import type { Manifest } from "../lib/io/files/manifest.ts";
import { Output } from "../lib/io/files/output.ts";
import {
  ATLAS_KEY,
  fetchAtlasCommand,
  fetchGlobalpingCommand,
  fetchPrometheusCommand,
  GLOBALPING_KEY,
  PROMETHEUS_KEY,
} from "./fetch.command.ts";
import { zstdCompressSync } from "node:zlib";
import { createPing, endedPing, GlobalpingPlaces, isId } from "../lib/cli/fetch/globalping.ts";
import { fetchRange, LATENESS_S, MAX_POINTS } from "../lib/cli/fetch/prometheus.ts";
import { divideTime, type FileWindow, formatWindow } from "../lib/cli/fetch/windows.ts";
import { readWhole } from "../lib/io/compression/decompress.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/io/files/atomic.ts";

type Options = OptionsOf<typeof fetchAtlasCommand>;

const PROBES = "probes.json";
/** The manifest count that records when a file was fetched: Unix seconds by the server's clock. */
const FETCHED_S = "fetchedAtS";

export const fetchAtlasStage = defineStage(fetchAtlasCommand, async (options, context) => {
  const measurements = parseIds(options.measurement, "measurement");
  const probes = options.probes === undefined ? undefined : formatIndexes(parseIds(options.probes, "probes"));
  const { startS, stopS, identity } = parseSpan(options);
  const windowS = Math.max(1, Math.round(parseDurationS(options.window, "window")));
  const client = clientOf(options, context, { variable: ATLAS_KEY, scheme: "Key", advice: CHECK_IDS });
  const asked = { measurements: formatIndexes(measurements), probes: probes ?? "all", ...identity, windowS };
  const seen = new SeenHosts();
  let numResults = 0;
  const { manifest, ...counts } = await fetchSpan(options, context, {
    stage: "fetch atlas",
    asked,
    client,
    stopS,
    settleS: SETTLE_S,
    windowsUntil: (nowS) => atlasWindows(measurements, { startS, stopS, windowS, nowS }),
    async begin(output, present) {
      for (const { name } of present) {
        await seen.addFile(output.pathOf(name));
        context.signal.throwIfAborted();
      }
    },
    async fetch(window, path, _nowS, show) {
      const onResults = (count: number) =>
        show(`${formatCount(numResults + count)} results, measurement ${window.measurement}`);
      onResults(0);
      const results = await fetchWindow(client, { window, probes, path, seen, onResults });
      numResults += results;
      return { results };
    },
    async end(output, show) {
      show("probes and anchors");
      const objects = await fetchProbes(client, seen, join(output.folder, PROBES));
      await output.record(PROBES, { objects });
    },
  });
  const results = sumOf(manifest, "results");
  const numProbes = sumOf(manifest, "objects");
  const geo = join(options.output, PROBES);
  return {
    json: { stage: "fetch atlas", ...snakeKeys(counts), results, probes: numProbes, geo },
    text: [
      describeSpan(
        options.output,
        counts,
        `${formatCount(results)} results, ${formatCount(numProbes)} probes and anchors`,
      ),
      `        deno task train … --geo ${geo}`,
    ].join("\n"),
  };
});

/** A time span that is fetched window by window, each into a file of the output folder. */
interface SpanFetch<W extends FileWindow> {
  stage: string;
  /** What identifies the output, in addition to the URL. */
  asked: Manifest["options"];
  client: ApiClient;
  /** The end of the span, Unix seconds; Infinity for none. */
  stopS: number;
  /** How late measurements of a window can arrive. */
  settleS: number;
  /** The windows that begin before a time. @throws {UsageError} If there are too many. */
  windowsUntil(nowS: number): W[];
  /** Called with the windows that exist, before the missing ones are fetched. */
  begin?(output: Output, present: readonly W[]): Promise<void>;
  /** Writes a window to `path`. @param show Shows a text next to the progress. @returns Its counts. */
  fetch(window: W, path: string, nowS: number, show: (text: string) => void): Promise<Record<string, number>>;
  /** Called before the output is published. */
  end?(output: Output, show: (text: string) => void): Promise<void> | void;
}

/** Fetches windows that are missing, or were fetched before all measurements could arrive. */
async function fetchSpan<W extends FileWindow>(
  { output: folder, overwrite, url }: Pick<Options, "output" | "overwrite" | "url">,
  context: StageContext,
  { stage, asked, client, stopS, settleS, windowsUntil, ...calls }: SpanFetch<W>,
) {
  const startMs = performance.now();
  const ownNowS = Math.floor(Date.now() / 1000);
  windowsUntil(ownNowS); // rejects too many
  using output = Output.openFolder(folder, { stage, inputs: [], options: { ...asked, url }, overwrite });
  const fetchedS = new Map(output.manifest.outputs.map(({ path, counts }) => [path, counts?.[FETCHED_S]]));
  const isFetched = ({ name, stopS }: W) => (fetchedS.get(name) ?? -Infinity) >= stopS + settleS;
  // The current time is the server's, which is requested unless everything has been fetched.
  const isOver = ownNowS >= stopS && windowsUntil(ownNowS).every(isFetched);
  const windows = windowsUntil(isOver ? ownNowS : await client.nowS());
  const missing = windows.filter((window) => !isFetched(window));
  const isDone = missing.length === 0 && output.isComplete;
  if (!isDone) {
    output.manifest.complete = false;
    await calls.begin?.(output, windows.filter(isFetched));
    const total = windows.length;
    let numDone = total - missing.length;
    using progress = context.progress("fetching", { total, unit: "windows", start: numDone });
    const show = (text: string) => progress.update(numDone, text);
    for (const window of missing) {
      const nowS = await client.nowS();
      const counts = await calls.fetch(window, join(output.folder, window.name), nowS, show);
      await output.record(window.name, { ...counts, [FETCHED_S]: nowS });
      numDone++;
    }
    await calls.end?.(output, show);
    output.publish();
  }
  return {
    manifest: output.manifest,
    windows: windows.length,
    fetchedWindows: isDone ? 0 : missing.length,
    doneAlready: isDone,
    input: join(folder, "results"),
    seconds: (performance.now() - startMs) / 1000,
  };
}

/** What was fetched, and the command that imports it. */
function describeSpan(
  folder: string,
  { windows, fetchedWindows, doneAlready, input }: {
    windows: number;
    fetchedWindows: number;
    doneAlready: boolean;
    input: string;
  },
  found: string,
): string {
  const done = doneAlready
    ? `${folder} is already complete`
    : `Fetched ${fetchedWindows} of ${windows} windows to ${folder}`;
  return `${done}: ${found}\n  next  deno task import --input ${input} --output ${parquetBeside(folder)}`;
}

function parquetBeside(folder: string): string {
  return `${folder.replace(/\/+$/, "")}.parquet`;
}

function sumOf({ outputs }: Manifest, count: string): number {
  return outputs.reduce((sum, { counts }) => sum + (counts?.[count] ?? 0), 0);
}

const CHECK_IDS = "check the ids and the options";

function clientOf(
  { url, keyFile, timeout }: Pick<Options, "url" | "keyFile" | "timeout">,
  { signal, log }: StageContext,
  { variable, scheme, advice, hasPath }: {
    variable: string;
    /** The word before the key in the header. */
    scheme: string;
    advice: string;
    hasPath?: boolean;
  },
): ApiClient {
  const key = readKey(keyFile, variable);
  return new ApiClient({
    base: parseBase(url, hasPath),
    authorization: key && `${scheme} ${key}`,
    timeoutMs: 1000 * parseDurationS(timeout, "timeout"),
    signal,
    log,
    advice,
  });
}

function parseSpan({ start, stop }: Pick<Options, "start" | "stop">) {
  const startS = Math.floor(timeOption("start", start));
  const stopS = stop === undefined ? Infinity : Math.floor(timeOption("stop", stop));
  if (stopS <= startS) {
    throw new UsageError(`Cannot use --stop ${stop}: expected a time after --start ${start}`);
  }
  return { startS, stopS, identity: { start, stop: stop ?? "open" } };
}

const PLACES = ["places.csv", "networks.csv"] as const;

export const fetchGlobalpingStage = defineStage(
  fetchGlobalpingCommand,
  async (options, context) => {
    const startMs = performance.now();
    const { id: ids, target: targets, output: folder, overwrite, url } = options;
    const { from: locations, limit, packets, ipVersion } = options;
    if (ids.length === 0 && targets.length === 0) {
      throw new UsageError(
        "Cannot run: --id ID or --target HOST is missing; add one",
      );
    }
    const wrong = ids.find((id) => !isId(id));
    if (wrong !== undefined) {
      throw new UsageError(`Cannot use --id ${shortened(wrong)}: expected the id of a measurement`);
    }
    const client = clientOf(options, context, {
      variable: GLOBALPING_KEY,
      scheme: "Bearer",
      advice: CHECK_IDS,
    });
    const timeoutMs = 1000 * parseDurationS(options.timeout, "timeout");
    const request = { locations, limit, packets, ipVersion };
    const identity = {
      ids,
      targets,
      ...(targets.length > 0 && { ...request, ipVersion: ipVersion ?? "any" }),
      url,
    };
    const started = { stage: "fetch globalping", inputs: [], options: identity, overwrite };
    using output = Output.openFolder(folder, started);
    const { manifest } = output;
    const isDone = output.isComplete;
    if (!isDone) {
      // The ids of created measurements are saved before their results, so a continued run creates none
      // twice.
      const createdPath = output.workPath("created.json");
      const created: Record<string, string> = exists(createdPath)
        ? JSON.parse(readText(createdPath))
        : manifest.counts.created ?? {};
      const total = ids.length + 2 * targets.length;
      using progress = context.progress("fetching", { total, unit: "answers" });
      for (const [i, target] of targets.entries()) {
        progress.update(i, target);
        if (Object.hasOwn(created, target)) continue;
        created[target] = await createPing(client, target, request);
        writeJsonAtomic(createdPath, created);
      }
      manifest.counts = { created };
      const places = new GlobalpingPlaces();
      const wanted = [...new Set([...ids, ...Object.values(created)])];
      for (const [i, id] of wanted.entries()) {
        progress.update(targets.length + i, id);
        const name = `results/${id}.json.zst`;
        if (output.finished(name)) {
          places.add(JSON.parse(new TextDecoder().decode(await readWhole(output.pathOf(name)))));
          continue;
        }
        const { bytes, measurement } = await endedPing(client, id, timeoutMs);
        writeFileAtomic(join(output.folder, name), zstdCompressSync(bytes));
        await output.record(name, { results: (measurement.results as unknown[]).length });
        places.add(measurement);
      }
      places.write(join(output.folder, PLACES[0]), join(output.folder, PLACES[1]));
      for (const name of PLACES) await output.record(name, { networks: places.size });
      output.publish();
    }
    const results = sumOf(manifest, "results");
    const input = join(folder, "results");
    const geo = PLACES.map((name) => join(folder, name));
    const seconds = (performance.now() - startMs) / 1000;
    const json = {
      stage: "fetch globalping",
      results,
      measurements: manifest.outputs.filter(({ counts }) => counts?.results !== undefined).length,
      created: manifest.counts.created ?? {},
      networks: output.finished(PLACES[0])?.counts?.networks ?? 0,
      done_already: isDone,
      input,
      geo,
      seconds,
    };
    const text = [
      `${
        isDone ? `${folder} is already complete` : `Fetched ${json.measurements} measurements to ${folder}`
      }: ` +
      `${formatCount(results)} results of ${formatCount(json.networks)} networks and cities`,
      `  next  deno task import --source network --input ${input} --output ${parquetBeside(folder)}`,
      `        deno task train … --geo ${geo.join(" ")}`,
    ].join("\n");
    return { text, json };
  },
);

export const fetchPrometheusStage = defineStage(fetchPrometheusCommand, async (options, context) => {
  const { output: folder, query, url } = options;
  const { startS, stopS, identity } = parseSpan(options);
  const stepS = parseDurationS(options.step, "step");
  if (!Number.isInteger(stepS)) {
    throw new UsageError(`Cannot use --step ${options.step}: expected whole seconds, such as 15s`);
  }
  const numSteps = Math.floor(parseDurationS(options.window, "window") / stepS);
  const windowS = stepS * Math.min(Math.max(1, numSteps), MAX_POINTS);
  const client = clientOf(options, context, {
    variable: PROMETHEUS_KEY,
    scheme: "Bearer",
    advice: "check --query and --url",
    hasPath: true,
  });
  // Multiples of the step, so that every run asks for values at the same times.
  const span = { startS: stepS * Math.ceil(startS / stepS), stopS, windowS };
  const logged = new Set<string>();
  let numPoints = 0;
  const { manifest, ...counts } = await fetchSpan(options, context, {
    stage: "fetch prometheus",
    asked: { query, ...identity, stepS, windowS },
    client,
    stopS,
    settleS: LATENESS_S,
    windowsUntil: (nowS) =>
      divideTime({ ...span, nowS }).map((window) => ({
        ...window,
        name: `results/${formatWindow(window)}.json.zst`,
      })),
    async fetch(window, path, nowS, show) {
      show(`${formatCount(numPoints)} values`);
      const answer = await fetchRange(client, { query, window, stepS, nowS });
      for (const warning of answer.warnings.filter((each) => !logged.has(each))) {
        logged.add(warning);
        context.log(`${url} warns: ${warning}`);
      }
      writeFileAtomic(path, zstdCompressSync(answer.bytes));
      numPoints += answer.numPoints;
      return { series: answer.numSeries, points: answer.numPoints };
    },
    end(output) {
      if (sumOf(output.manifest, "points") > 0) return;
      output.discard();
      throw new UserError(
        `Cannot fetch ${shortened(query)} from ${url}: no series matches it at these times; check --query, ` +
          "--start and --stop",
      );
    },
  });
  const points = sumOf(manifest, "points");
  return {
    json: { stage: "fetch prometheus", ...snakeKeys(counts), points },
    text: describeSpan(folder, counts, `${formatCount(points)} values`),
  };
});

if (import.meta.main) serveStage(fetchAtlasStage, fetchGlobalpingStage, fetchPrometheusStage);
