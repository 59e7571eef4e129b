/**
 * `serve`: answers queries to a trained model over HTTP, with a page for people.
 *
 * @module
 */
import { parseAddress } from "../lib/data/addresses/ip.ts";
import { PingService } from "../lib/serve/api/ping_service.ts";
import { flag, type Values } from "../lib/cli/flags.ts";
import { defineStage, serveStage, type StageContext } from "../lib/cli/stage.ts";
import { shortened, UsageError } from "../lib/base/errors.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { readDescribedModel } from "../lib/serve/described_model.ts";
import { hashOf } from "../lib/serve/answers.ts";
import { makeApp } from "../lib/serve/app.ts";
import { readPageFiles } from "../lib/serve/page_files.ts";
import { type ServedModel, ServedModels, stateOf, watchCheckpoint } from "../lib/serve/served_models.ts";
import { HttpServer } from "../lib/serve/server.ts";
import { ServerMetrics } from "../lib/serve/metrics.ts";
import { VERSION } from "../lib/base/version.ts";
import { calibrationFlag, reportFlag } from "./query_options.ts";
import { SERVED_AT } from "./stages.ts";

const FLAGS = {
  checkpoint: flag.requiredText("a run directory or one of its checkpoints", { placeholder: "DIR" }),
  calibration: calibrationFlag,
  report: reportFlag,
  host: flag.text("the address to listen on; 0.0.0.0 for all of this machine", {
    default: SERVED_AT.host,
    placeholder: "ADDRESS",
  }),
  port: flag.integer("the port to listen on; 0 for any free one", {
    default: Number(SERVED_AT.port),
    min: 0,
    max: 65_535,
  }),
  watch: flag.boolean("serve newer checkpoints of the run as they appear"),
  watchS: flag.number("seconds between two checks for a newer checkpoint", { default: 5, min: 0.1 }),
  allowOrigin: flag.texts(
    "pages of this origin may also send queries, such as https://example.org; * for all (none)",
    {
      placeholder: "ORIGIN",
    },
  ),
  maxBodyBytes: flag.integer("largest number of bytes of a JSON body, and of each line of JSON lines", {
    default: 2 ** 20,
    min: 1024,
    max: 2 ** 28,
  }),
  maxBatch: flag.integer("questions that the GPU answers at once", { default: 62, min: 1, max: 4096 }),
  maxWaitMs: flag.integer("milliseconds that a question waits for others to share a batch", {
    default: 10,
    min: 0,
    max: 10_000,
  }),
  maxQueue: flag.integer("largest number of waiting requests; further ones get status 429", {
    default: 1024,
    min: 1,
  }),
  maxRequestS: flag.number("seconds that a request may take; for JSON lines, each answer", {
    default: 60,
    min: 0.1,
    max: 86_400,
  }),
  maxConnections: flag.integer("connections at the same time; further ones get only /healthz and /metrics", {
    default: 256,
    min: 1,
  }),
  maxClientConnections: flag.integer("the limit per client address, such as that of a proxy", {
    default: 128,
    min: 1,
  }),
};

type Options = Values<typeof FLAGS>;

/** The stage `serve`. */
export const serverStage = defineStage({
  name: "serve",
  purpose: "answer questions to a trained model over HTTP, with a page for people",
  example: "--checkpoint runs/demo/train",
  flags: FLAGS,
  run: (options, stage) => serve(options, stage, options.json),
});

async function serve(options: Options, stage: StageContext, asJson: boolean): Promise<never> {
  const { checkpoint, calibration, report, host, maxRequestS } = options;
  requireHost(host);
  requireOrigins(options.allowOrigin);
  const metrics = new ServerMetrics();
  const load = () => loadServed(options, metrics, stage.log);
  const files = [calibration, report].filter((path) => path !== undefined);
  const seen = stateOf({ checkpoint, files });
  using models = new ServedModels(await load());
  const app = makeApp({
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
  const watched = options.watch
    ? watchCheckpoint(models, { checkpoint, files, seen, everyS: options.watchS, load, signal, log })
    : Promise.resolve();
  // A signal may have arrived while the server began to listen.
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  await server.stop(maxRequestS);
  await watched;
  throw signal.reason;
}

/** Loads the newest checkpoint with its calibration and report. */
async function loadServed(
  options: Options,
  metrics: ServerMetrics,
  onNote: (line: string) => void,
): Promise<ServedModel> {
  const { maxBatch, maxWaitMs, maxQueue } = options;
  const { checkpoint, calibration, info } = readDescribedModel(options, onNote);
  const model = await PingModel.from(checkpoint, calibration ? { calibration } : {});
  return {
    service: new PingService(model, {
      info,
      batch: { maxBatch, maxWaitMs, maxQueue, onBatch: (size) => metrics.batch(size) },
    }),
    tag: hashOf(JSON.stringify([VERSION, info, model.gpu.info.name, calibration?.shares])),
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
