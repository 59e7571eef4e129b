/** `serve`: answers questions with a trained model over HTTP, with a page for people. @module */
import type { OptionsOf } from "../lib/cli/command.ts";
import { parseAddress } from "../lib/data/addresses/ip.ts";
import { openNames } from "../lib/data/addresses/places/open_names.ts";
import { PingService } from "../lib/serve/api/ping_service.ts";
import { kebab } from "../lib/cli/options.ts";
import { defineStage, serveStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { shortened, UsageError } from "../lib/base/errors.ts";
import { printLog } from "../lib/base/printed.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { readDescribedModel } from "../lib/serve/described_model.ts";
import { type AnswerOptions, hashOf } from "../lib/serve/answers.ts";
import { PairWatch } from "../lib/query/changes/pair_watch.ts";
import { makeApp } from "../lib/serve/app.ts";
import { McpTools } from "../lib/serve/mcp.ts";
import type { WatchedState } from "../lib/serve/watched.ts";
import { pageFiles, readPage } from "../lib/serve/page_files.ts";
import { type ServedModel, ServedModels, stateOf, watchCheckpoint } from "../lib/serve/served_models.ts";
import { ReadingThreads } from "../lib/serve/reading_threads.ts";
import { HttpServer } from "../lib/serve/server.ts";
import { ServerMetrics } from "../lib/serve/metrics.ts";
import { VERSION } from "../lib/base/version.ts";
import { printLine } from "../lib/io/files/standard_output.ts";
import { sha256OfTensors } from "../lib/io/safetensors.ts";
import { serveCommand } from "./serve.command.ts";

type Options = OptionsOf<typeof serveCommand>;

/** How many watched pairs have their own metrics. */
const MAX_METRIC_PAIRS = 100;

export const serverStage = defineStage(serveCommand, (options, stage) => serve(options, stage, options.json));

async function serve(options: Options, stage: StageContext, asJson: boolean): Promise<StageResult> {
  const { checkpoint, calibration, report, watchS: everyS } = options;
  const { log } = stage;
  requireHost(options.host);
  requireOrigins(options.allowOrigin);
  if (options.mcp) requireNoPort(options);
  const page = options.mcp ? new Map() : await readPage("serve");
  const metrics = new ServerMetrics();
  using reading = new ReadingThreads(options.maxRequestS);
  const load = () => loadServed(options, { metrics, reading, onNote: log });
  const files = [calibration, report, ...options.names].filter((path) => path !== undefined);
  const seen = stateOf({ checkpoint, files });
  using models = new ServedModels(await load());
  stage.signal.throwIfAborted();
  const ended = new AbortController();
  const signal = AbortSignal.any([stage.signal, ended.signal]);
  const checkpoints = options.watch
    ? watchCheckpoint(models, { checkpoint, files, seen, everyS, load, signal, log })
    : Promise.resolve();
  const watched = {
    watch: new PairWatch({ maxPairs: options.maxWatchedPairs, log: printLog }),
    maxPairs: MAX_METRIC_PAIRS,
    get names() {
      return models.current.service.names;
    },
    numUnusable: 0,
  };
  const answering = {
    models,
    watched,
    limits: options,
    stopping: stage.signal,
    log: printLog,
  };
  if (options.mcp) await new McpTools(answering).serveLines();
  else await serveHttp(options, answering, { page, metrics, asJson });
  ended.abort();
  await checkpoints;
  stage.signal.throwIfAborted();
  return { text: "", json: null };
}

/** Answers over HTTP until the server has to stop. */
async function serveHttp(
  options: Options,
  answering: AnswerOptions & { watched: WatchedState },
  { page, metrics, asJson }: {
    page: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
    metrics: ServerMetrics;
    asJson: boolean;
  },
): Promise<void> {
  const { host, port, maxRequestS } = options;
  const app = makeApp({
    ...answering,
    metrics,
    host,
    allowOrigins: options.allowOrigin,
    pageFiles: pageFiles(page),
  });
  const server = await HttpServer.listen({
    host,
    port,
    limits: options,
    log: answering.log,
    fetch: app.fetch,
  });
  printLine(asJson ? JSON.stringify({ stage: "serve", url: server.url }) : `Listening at ${server.url}`);
  const { stopping } = answering;
  // A signal may have arrived while the server began to listen.
  if (!stopping.aborted) await new Promise((resolve) => stopping.addEventListener("abort", resolve));
  await server.stop(maxRequestS);
}

async function loadServed(
  options: Options,
  { metrics, reading, onNote }: {
    metrics: ServerMetrics;
    reading: ReadingThreads;
    onNote: (line: string) => void;
  },
): Promise<ServedModel> {
  const { maxBatch, maxWaitMs, maxQueue, noPool } = options;
  const { checkpoint, calibration, info } = await readDescribedModel(options, onNote);
  const names = await openNames(options.names);
  const model = await PingModel.from(checkpoint, { calibration, noPool, names });
  const pool = noPool ? undefined : checkpoint.pool;
  return {
    service: new PingService(model, {
      info,
      batch: { maxBatch, maxWaitMs, maxQueue, onBatch: (size) => metrics.batch(size) },
      readMeasurements: (...asked) => reading.read(...asked),
    }),
    tag: hashOf(
      JSON.stringify([
        VERSION,
        info,
        model.gpu.info.name,
        model.gpu.info.engine,
        calibration?.shares,
        pool && sha256OfTensors(pool),
        [...names.entries()],
      ]),
    ),
    step: model.step,
    fault: () => model.gpu.fault,
    close: () => model.close(),
  };
}

/** Rejects options of the port, which --mcp does not open, and --json, which would use stdout too. */
function requireNoPort({ host, port, allowOrigin, json }: Options): void {
  const { host: { default: usualHost }, port: { default: usualPort } } = serveCommand.options;
  const given = {
    host: host !== usualHost,
    port: port !== usualPort,
    allowOrigin: allowOrigin.length > 0,
    json,
  };
  const [first] = Object.entries(given).filter(([, isGiven]) => isGiven);
  if (!first) return;
  throw new UsageError(
    `Cannot use --${kebab(first[0])} with --mcp: an assistant is answered over standard output; leave it out`,
  );
}

function requireHost(host: string): void {
  if (parseAddress(host)) return;
  throw new UsageError(
    `Cannot use --host ${shortened(host)}: it is not an address, expected an IPv4 or IPv6 address such ` +
      "as 127.0.0.1",
  );
}

function requireOrigins(origins: readonly string[]): void {
  const wrong = origins.find((origin) =>
    origin !== "*" && !(URL.canParse(origin) && new URL(origin).origin === origin)
  );
  if (wrong === undefined) return;
  throw new UsageError(
    `Cannot use --allow-origin ${shortened(wrong)}: it is not an origin, expected one such as ` +
      "https://example.org",
  );
}

if (import.meta.main) serveStage(serverStage);
