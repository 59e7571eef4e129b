/**
 * `fetch atlas`: ping results of RIPE Atlas, and where its probes are. `fetch globalping`: ping measurements of
 * Globalping, created or read by their ids, and where their probes are. `fetch prometheus`: values of a query.
 *
 * Of RIPE Atlas and Prometheus a window of time is a file. The manifest of the work tells which are there, so a run that
 * was stopped or killed goes on where it was, and a later run without `--stop` fetches what came since.
 *
 * @module
 */
import { join } from "@std/path";
import { shortened, UsageError, UserError } from "../lib/base/errors.ts";
import { formatCount } from "../lib/base/text.ts";
import {
  type AtlasWindow,
  atlasWindows,
  fetchProbes,
  fetchWindow,
  parseIds,
  SeenHosts,
  SETTLE_S,
  windowFile,
} from "../lib/cli/fetch/atlas.ts";
import { ApiClient, parseBase, readKey } from "../lib/cli/fetch/api_client.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import { defineStage, serveStage, type Stage, type StageContext } from "../lib/cli/stage.ts";
import { parseTimeUs } from "../lib/data/formats/time_text.ts";
import { formatIndexes } from "../lib/io/files/array_task.ts";
import { exists, readText } from "../lib/io/files/inputs.ts";
import type { ManifestOutput } from "../lib/io/files/manifest.ts";
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
import { divideTime, formatWindow, type TimeWindow } from "../lib/cli/fetch/windows.ts";
import { openInput } from "../lib/io/compression/decompress.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/io/files/atomic.ts";

type Options = OptionsOf<typeof fetchAtlasCommand>;

const PROBES = "probes.json";
/** The name by which a file's counts tell when it was fetched by the server's clock, seconds since 1970. */
const FETCHED_S = "fetchedAtS";

export const fetchAtlasStage: Stage = defineStage(fetchAtlasCommand, async (options, context) => {
  const startMs = performance.now();
  const { output: folder, measurement, overwrite } = options;
  const measurements = parseIds(measurement, "measurement");
  const probes = options.probes === undefined ? undefined : formatIndexes(parseIds(options.probes, "probes"));
  const { startS, stopS, identity } = parseSpan(options);
  const windowS = Math.max(1, Math.round(parseDurationS(options.window, "window")));
  const client = clientOf(options, context, { variable: ATLAS_KEY, scheme: "Key", advice: CHECK_IDS });
  const asked = { measurements: formatIndexes(measurements), probes: probes ?? "all", ...identity, windowS };
  const started = { stage: "fetch atlas", inputs: [], options: { ...asked, url: options.url }, overwrite };
  const windowsUntil = (nowS: number) => atlasWindows(measurements, { startS, stopS, windowS, nowS });
  windowsUntil(ownNowS()); // refuses too many
  using output = Output.openFolder(folder, started);
  const found = new Map(output.manifest.outputs.map((each) => [each.path, each]));
  const { windows, missing } = await planned(client, stopS, windowsUntil, (window) => {
    return isFinal(window, found.get(windowFile(window)), SETTLE_S);
  });
  const isDone = missing.length === 0 && output.isComplete;
  if (!isDone) {
    output.manifest.complete = false;
    await fetchMissing(output, { windows, missing, probes }, client, context);
    output.publish();
  }
  const results = output.manifest.outputs.reduce((sum, { counts }) => sum + (counts?.results ?? 0), 0);
  const numProbes = output.finished(PROBES)?.counts?.objects ?? 0;
  const numFetched = isDone ? 0 : missing.length;
  const seconds = (performance.now() - startMs) / 1000;
  const json = {
    stage: "fetch atlas",
    results,
    windows: windows.length,
    fetchedWindows: numFetched,
    probes: numProbes,
    doneAlready: isDone,
    input: join(folder, "results"),
    geo: join(folder, PROBES),
    seconds,
  };
  const text = [
    `${
      isDone
        ? `${folder} has everything already`
        : `Fetched ${numFetched} of ${windows.length} windows to ${folder}`
    }: ` +
    `${formatCount(results)} results, ${formatCount(numProbes)} probes and anchors`,
    `  next  deno task import --input ${json.input} --output ${folder.replace(/\/+$/, "")}.parquet`,
    `        deno task train … --geo ${json.geo}`,
  ].join("\n");
  return { text, json };
});

async function fetchMissing(
  output: Output,
  { windows, missing, probes }: {
    windows: readonly AtlasWindow[];
    missing: readonly AtlasWindow[];
    probes: string | undefined;
  },
  client: ApiClient,
  context: StageContext,
): Promise<void> {
  const seen = new SeenHosts();
  const isMissing = new Set(missing);
  for (const window of windows.filter((each) => !isMissing.has(each))) {
    await seen.addFile(output.pathOf(windowFile(window)));
    context.signal.throwIfAborted();
  }
  const total = windows.length;
  const numDone = total - missing.length;
  using progress = context.progress("fetching", { total, unit: "windows", start: numDone });
  let numResults = 0;
  for (const [i, window] of missing.entries()) {
    const name = windowFile(window);
    const onResults = (count: number) =>
      progress.update(
        numDone + i,
        `${formatCount(numResults + count)} results, measurement ${window.measurement}`,
      );
    onResults(0);
    const fetchedAtS = await client.nowS();
    const path = join(output.folder, name);
    const results = await fetchWindow(client, { window, probes, path, seen, onResults });
    await output.record(name, { results, [FETCHED_S]: fetchedAtS });
    numResults += results;
  }
  progress.update(total, "probes and anchors");
  const objects = await fetchProbes(client, seen, join(output.folder, PROBES));
  await output.record(PROBES, { objects });
}

function ownNowS(): number {
  return Math.floor(Date.now() / 1000);
}

/**
 * The windows of a span until now, and those of them that are to be fetched. Now is the server's time; it is asked unless
 * everything is there.
 *
 * @param windowsUntil The windows that begin before a time.
 */
async function planned<W extends TimeWindow>(
  client: ApiClient,
  stopS: number,
  windowsUntil: (nowS: number) => W[],
  isFetched: (window: W) => boolean,
): Promise<{ windows: W[]; missing: W[] }> {
  const nowS = ownNowS();
  const isOver = nowS >= stopS && windowsUntil(nowS).every(isFetched);
  const windows = windowsUntil(isOver ? nowS : await client.nowS());
  return { windows, missing: windows.filter((window) => !isFetched(window)) };
}

/** Whether a window was fetched after all of its results had come. @param settleS How late they can come. */
function isFinal({ stopS }: TimeWindow, file: ManifestOutput | undefined, settleS: number): boolean {
  const fetchedAtS = file?.counts?.[FETCHED_S];
  return fetchedAtS !== undefined && fetchedAtS >= stopS + settleS;
}

const CHECK_IDS = "check the ids and the options";

function clientOf(
  { url, keyFile, timeout }: Pick<Options, "url" | "keyFile" | "timeout">,
  { signal, log }: StageContext,
  { variable, scheme, advice, hasPath }: {
    /** The variable of the environment with the key. */
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

/** The time span of the options, in seconds since 1970, and what a manifest has of it. */
function parseSpan({ start, stop }: Pick<Options, "start" | "stop">) {
  const startS = parseTimeS(start, "start");
  const stopS = stop === undefined ? Infinity : parseTimeS(stop, "stop");
  if (stopS <= startS) {
    throw new UsageError(`Cannot use --stop ${stop}: expected a time after --start ${start}`);
  }
  return { startS, stopS, identity: { start, stop: stop ?? "open" } };
}

function parseTimeS(text: string, option: string): number {
  const time = parseTimeUs(text);
  if ("fault" in time) throw new UsageError(`Cannot use --${option} ${text}: ${time.fault}`);
  return Math.floor(time.timeUs / 1e6);
}

// `fetch globalping`

const PLACES = ["places.csv", "networks.csv"] as const;

export const fetchGlobalpingStage: Stage = defineStage(
  fetchGlobalpingCommand,
  async (options, context) => {
    const startMs = performance.now();
    const { id: ids, target: targets, output: folder, overwrite, url } = options;
    const { from: locations, limit, packets, ipVersion } = options;
    if (ids.length === 0 && targets.length === 0) {
      throw new UsageError(
        "Cannot run: found neither --id nor --target, expected what to fetch or to measure; add one",
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
      // The ids of what was created are kept before their results are: a continued run creates nothing twice.
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
          places.add(JSON.parse(await readAll(output.pathOf(name))));
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
    const results = manifest.outputs.reduce((sum, { counts }) => sum + (counts?.results ?? 0), 0);
    const input = join(folder, "results");
    const geo = PLACES.map((name) => join(folder, name));
    const seconds = (performance.now() - startMs) / 1000;
    const json = {
      stage: "fetch globalping",
      results,
      measurements: manifest.outputs.filter(({ counts }) => counts?.results !== undefined).length,
      created: manifest.counts.created ?? {},
      networks: output.finished(PLACES[0])?.counts?.networks ?? 0,
      doneAlready: isDone,
      input,
      geo,
      seconds,
    };
    const text = [
      `${
        isDone ? `${folder} has everything already` : `Fetched ${json.measurements} measurements to ${folder}`
      }: ` +
      `${formatCount(results)} results of ${formatCount(json.networks)} networks and cities`,
      `  next  deno task import --source network --input ${input} --output ` +
      `${folder.replace(/\/+$/, "")}.parquet`,
      `        deno task train … --geo ${geo.join(" ")}`,
    ].join("\n");
    return { text, json };
  },
);

async function readAll(path: string): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of (await openInput(path)).chunks) text += decoder.decode(chunk, { stream: true });
  return text;
}

// `fetch prometheus`

export const fetchPrometheusStage: Stage = defineStage(
  fetchPrometheusCommand,
  async (options, context) => {
    const startMs = performance.now();
    const { output: folder, query, url, overwrite } = options;
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
    const asked = { query, ...identity, stepS, windowS, url };
    const started = { stage: "fetch prometheus", inputs: [], options: asked, overwrite };
    // Multiples of the step, so that each run asks for the values of the same times.
    const span = { startS: stepS * Math.ceil(startS / stepS), stopS, windowS };
    const windowsUntil = (nowS: number) =>
      divideTime({ ...span, nowS }).map((window) => ({
        ...window,
        name: `results/${formatWindow(window)}.json.zst`,
      }));
    windowsUntil(ownNowS()); // refuses too many
    using output = Output.openFolder(folder, started);
    const { windows, missing } = await planned(client, stopS, windowsUntil, (window) => {
      return isFinal(window, output.finished(window.name), LATENESS_S);
    });
    const isDone = missing.length === 0 && output.isComplete;
    const sumOf = (name: string) =>
      output.manifest.outputs.reduce((sum, { counts }) => sum + (counts?.[name] ?? 0), 0);
    if (!isDone) {
      output.manifest.complete = false;
      const total = windows.length;
      using progress = context.progress("fetching", {
        total,
        unit: "windows",
        start: total - missing.length,
      });
      const told = new Set<string>();
      for (const [i, window] of missing.entries()) {
        progress.update(total - missing.length + i, `${formatCount(sumOf("points"))} values`);
        const nowS = await client.nowS();
        const answer = await fetchRange(client, { query, window, stepS, nowS });
        const { bytes, numSeries, numPoints, warnings } = answer;
        for (const warning of warnings.filter((each) => !told.has(each))) {
          told.add(warning);
          context.log(`${url} warns: ${warning}`);
        }
        writeFileAtomic(join(output.folder, window.name), zstdCompressSync(bytes));
        await output.record(window.name, { series: numSeries, points: numPoints, [FETCHED_S]: nowS });
      }
      if (sumOf("points") === 0) {
        output.discard();
        throw new UserError(
          `Cannot fetch ${
            shortened(query)
          } from ${url}: no series matches it at these times; check --query, ` +
            "--start and --stop",
        );
      }
      output.publish();
    }
    const json = {
      stage: "fetch prometheus",
      points: sumOf("points"),
      windows: windows.length,
      fetchedWindows: isDone ? 0 : missing.length,
      doneAlready: isDone,
      input: join(folder, "results"),
      seconds: (performance.now() - startMs) / 1000,
    };
    const text = [
      `${
        isDone
          ? `${folder} has everything already`
          : `Fetched ${missing.length} of ${windows.length} windows to ${folder}`
      }: ${formatCount(json.points)} values`,
      `  next  deno task import --input ${json.input} --output ${folder.replace(/\/+$/, "")}.parquet`,
    ].join("\n");
    return { text, json };
  },
);

if (import.meta.main) serveStage(fetchAtlasStage, fetchGlobalpingStage, fetchPrometheusStage);
