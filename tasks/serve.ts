/**
 * `serve`: answers queries to a trained model over HTTP, with a page for people.
 *
 * @module
 */
import type { OptionsOf } from "../lib/cli/command.ts";
import { parseAddress } from "../lib/data/addresses/ip.ts";
import { PingService } from "../lib/serve/api/ping_service.ts";
import { defineStage, serveStage, type StageContext } from "../lib/cli/stage.ts";
import { shortened, UsageError } from "../lib/base/errors.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { readDescribedModel } from "../lib/serve/described_model.ts";
import { hashOf } from "../lib/serve/answers.ts";
import { DEFAULT_WATCH_OPTIONS, PairWatch } from "../lib/query/changes/pair_watch.ts";
import { makeApp } from "../lib/serve/app.ts";
import { readPageFiles } from "../lib/serve/page_files.ts";
import { type ServedModel, ServedModels, stateOf, watchCheckpoint } from "../lib/serve/served_models.ts";
import { HttpServer } from "../lib/serve/server.ts";
import { ServerMetrics } from "../lib/serve/metrics.ts";
import { VERSION } from "../lib/base/version.ts";
import { sha256OfTensors } from "../lib/io/tensor_files/safetensors.ts";
import { STAGES } from "./stages.ts";

type Options = OptionsOf<typeof STAGES.serve>;

/** Watched pairs that have metrics of their own. */
const MAX_METRIC_PAIRS = 100;

export const serverStage = defineStage(STAGES.serve, (options, stage) => serve(options, stage, options.json));

async function serve(options: Options, stage: StageContext, asJson: boolean): Promise<never> {
  const { checkpoint, calibration, report, host, maxRequestS } = options;
  requireHost(host);
  requireOrigins(options.allowOrigin);
  const metrics = new ServerMetrics();
  const load = () => loadServed(options, metrics, stage.log);
  const files = [calibration, report].filter((path) => path !== undefined);
  const seen = stateOf({ checkpoint, files });
  using models = new ServedModels(await load());
  const watched = {
    watch: new PairWatch({ ...DEFAULT_WATCH_OPTIONS, maxPairs: options.maxWatchedPairs }),
    maxPairs: MAX_METRIC_PAIRS,
    numUnusable: 0,
  };
  const app = makeApp({
    watched,
    models,
    metrics,
    host,
    limits: options,
    allowOrigins: options.allowOrigin,
    stopping: stage.signal,
    log: (line) => console.error(line),
    pageFiles: readPageFiles(),
  });
  stage.signal.throwIfAborted();
  const server = await HttpServer.listen({
    host,
    port: options.port,
    limits: options,
    fetch: app.fetch,
  });
  console.log(asJson ? JSON.stringify({ stage: "serve", url: server.url }) : `Listening at ${server.url}`);
  const { signal, log } = stage;
  const checkpoints = options.watch
    ? watchCheckpoint(models, { checkpoint, files, seen, everyS: options.watchS, load, signal, log })
    : Promise.resolve();
  // A signal may have arrived while the server began to listen.
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  await server.stop(maxRequestS);
  await checkpoints;
  throw signal.reason;
}

/** Loads the newest checkpoint with its calibration and report. */
async function loadServed(
  options: Options,
  metrics: ServerMetrics,
  onNote: (line: string) => void,
): Promise<ServedModel> {
  const { maxBatch, maxWaitMs, maxQueue, noPool } = options;
  const { checkpoint, calibration, info } = await readDescribedModel(options, onNote);
  const model = await PingModel.from(checkpoint, { calibration, noPool });
  const pool = noPool ? undefined : checkpoint.pool;
  return {
    service: new PingService(model, {
      info,
      batch: { maxBatch, maxWaitMs, maxQueue, onBatch: (size) => metrics.batch(size) },
    }),
    tag: hashOf(
      JSON.stringify([
        VERSION,
        info,
        model.gpu.info.name,
        calibration?.shares,
        pool && sha256OfTensors(pool),
      ]),
    ),
    step: model.step,
    fault: () => model.gpu.fault,
    close: () => model.close(),
  };
}

function requireHost(host: string): void {
  if (parseAddress(host)) return;
  throw new UsageError(
    `Cannot use --host ${
      shortened(host)
    }: it is not an address, expected an IPv4 or IPv6 address such as 127.0.0.1`,
  );
}

function requireOrigins(origins: readonly string[]): void {
  const wrong = origins.find((origin) =>
    origin !== "*" && !(URL.canParse(origin) && new URL(origin).origin === origin)
  );
  if (wrong === undefined) return;
  throw new UsageError(
    `Cannot use --allow-origin ${
      shortened(wrong)
    }: it is not an origin, expected one such as https://example.org`,
  );
}

if (import.meta.main) serveStage(serverStage);
