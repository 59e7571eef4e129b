/**
 * `fetch atlas`: ping results of RIPE Atlas, and where its probes are.
 *
 * A window of time is a file. The manifest of the work tells which are there, so a run that was stopped or killed goes on
 * where it was, and a later run without `--stop` fetches what came since.
 *
 * @module
 */
import { join } from "@std/path";
import { UsageError } from "../lib/base/errors.ts";
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
import { parseTimeUs } from "../lib/data/measurement/time_text.ts";
import { formatIndexes } from "../lib/io/files/array_task.ts";
import { exists } from "../lib/io/files/inputs.ts";
import type { ManifestOutput } from "../lib/io/files/manifest.ts";
import { StagedOutput } from "../lib/io/files/staged_output.ts";
import { ATLAS_KEY, STAGES } from "./stages.ts";

type Options = OptionsOf<typeof STAGES.fetch.kinds.atlas>;

const PROBES = "probes.json";
/** The manifest of the work is written at most so often: it lists all windows. */
const SAVE_MS = 2000;
/** The name by which a file's counts tell when it was fetched, seconds since 1970. */
const FETCHED_S = "fetchedAtS";

export const fetchAtlasStage: Stage = defineStage(STAGES.fetch.kinds.atlas, async (options, context) => {
  const startMs = performance.now();
  const { output: folder, measurement, start, stop, overwrite } = options;
  const measurements = parseIds(measurement, "measurement");
  const probes = options.probes === undefined ? undefined : formatIndexes(parseIds(options.probes, "probes"));
  const startS = parseTimeS(start, "start");
  const stopS = stop === undefined ? Infinity : parseTimeS(stop, "stop");
  if (stopS <= startS) {
    throw new UsageError(`Cannot use --stop ${stop}: expected a time after --start ${start}`);
  }
  const windowS = Math.max(1, Math.round(parseDurationS(options.window, "window")));
  const client = clientOf(options, context);
  const identity = {
    measurements: formatIndexes(measurements),
    probes: probes ?? "all",
    start,
    stop: stop ?? "open",
    windowS,
  };
  const started = { stage: "fetch atlas", inputs: [], options: { ...identity, url: options.url }, overwrite };
  const nowS = Math.floor(Date.now() / 1000);
  const windows = atlasWindows(measurements, { startS, stopS, windowS, nowS });
  using output = StagedOutput.openFolder(folder, started);
  const found = new Map(output.manifest.outputs.map((each) => [each.path, each]));
  const missing = windows.filter((window) => !isFinal(window, found.get(windowFile(window))));
  const isDone = missing.length === 0 && output.isComplete;
  if (!isDone) {
    output.manifest.complete = false;
    await fetchMissing(output, { windows, missing, probes, folder }, client, context);
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
  output: StagedOutput,
  { windows, missing, probes, folder }: {
    windows: readonly AtlasWindow[];
    missing: readonly AtlasWindow[];
    probes: string | undefined;
    folder: string;
  },
  client: ApiClient,
  context: StageContext,
): Promise<void> {
  const seen = new SeenHosts();
  const isMissing = new Set(missing);
  for (const window of windows.filter((each) => !isMissing.has(each))) {
    await seen.addFile(placeOf(output, folder, windowFile(window)));
    context.signal.throwIfAborted();
  }
  const total = windows.length;
  const numDone = total - missing.length;
  using progress = context.progress("fetching", { total, unit: "windows", start: numDone });
  let numResults = 0;
  let savedMs = performance.now();
  try {
    for (const [i, window] of missing.entries()) {
      const name = windowFile(window);
      const onResults = (count: number) =>
        progress.update(
          numDone + i,
          `${formatCount(numResults + count)} results, measurement ${window.measurement}`,
        );
      onResults(0);
      const fetchedAtS = Math.floor(Date.now() / 1000);
      const path = join(output.folder, name);
      const results = await fetchWindow(client, { window, probes, path, seen, onResults });
      await output.record(name, { results, [FETCHED_S]: fetchedAtS });
      numResults += results;
      if (performance.now() - savedMs < SAVE_MS) continue;
      output.save();
      savedMs = performance.now();
    }
  } finally {
    output.save();
  }
  progress.update(total, "probes and anchors");
  const objects = await fetchProbes(client, seen, join(output.folder, PROBES));
  await output.record(PROBES, { objects });
}

/** Whether a window was fetched after all of its results had come. */
function isFinal(window: AtlasWindow, file: ManifestOutput | undefined): boolean {
  const fetchedAtS = file?.counts?.[FETCHED_S];
  return fetchedAtS !== undefined && fetchedAtS >= window.stopS + SETTLE_S;
}

/** Where a finished file is: in the work folder, or published by an earlier run. */
function placeOf(output: StagedOutput, folder: string, name: string): string {
  const made = join(output.folder, name);
  return exists(made) ? made : join(folder, name);
}

function clientOf({ url, keyFile, timeout }: Options, { signal, log }: StageContext): ApiClient {
  const key = readKey(keyFile, ATLAS_KEY);
  return new ApiClient({
    base: parseBase(url),
    authorization: key && `Key ${key}`,
    timeoutMs: 1000 * parseDurationS(timeout, "timeout"),
    signal,
    log,
  });
}

function parseTimeS(text: string, option: string): number {
  const time = parseTimeUs(text);
  if ("fault" in time) throw new UsageError(`Cannot use --${option} ${text}: ${time.fault}`);
  return Math.floor(time.timeUs / 1e6);
}

if (import.meta.main) serveStage(fetchAtlasStage);
