/**
 * The worker with the model: loads it and answers questions, so that the page stays quick.
 *
 * @module
 */
import type { PingApi } from "../api/ping_api.ts";
import { problemOf } from "../api/api_error.ts";
import { PingService } from "../api/ping_service.ts";
import { UserError } from "../errors.ts";
import { bufferLimitBytes, largestTensorBytes, mib } from "../model/allocation.ts";
import { parameterTensors } from "../model/buffers.ts";
import { parseModelConfig } from "../model/model_config.ts";
import { PingModel } from "../query/ping_model.ts";
import { QuantileCalibration } from "../query/rtt/quantile_calibration.ts";
import type { Site } from "../site/site_file.ts";
import { loadSite, loadWeights } from "./load_site.ts";
import type { PageMessage, WorkerMessage } from "./worker_messages.ts";

/** What queries may take of the GPU's memory besides the weights: a phone shares it with all that is open. */
const MEMORY_LIMIT_BYTES = 2 ** 28;
/** Has the kernels compiled, and says before anybody asks if they cannot run. */
const FIRST_QUESTION = { src: "192.0.2.1", dst: "192.0.2.2" };
/** Between two reports of progress. */
const REPORT_MS = 100;

const thread = globalThis as unknown as Pick<Worker, "onmessage" | "postMessage">;
const post = (message: WorkerMessage) => thread.postMessage(message);
const asked = new Map<number, AbortController>();
let service: PingService | undefined;

thread.onmessage = async ({ data }: MessageEvent<PageMessage>) => {
  if (data.kind === "abort") asked.get(data.id)?.abort();
  else if (data.kind === "ask") await answer(data);
  else await open(new URL(data.site));
};

async function open(address: URL): Promise<void> {
  try {
    service = await loadService(address);
    post({ kind: "ready" });
  } catch (error) {
    post({ kind: "status", status: { state: "failed", message: messageOf(error, "run the model here") } });
  }
}

/** @throws {UserError} If the browser or its GPU cannot run the model, or it cannot be loaded. */
async function loadService(address: URL): Promise<PingService> {
  const adapter = await requireAdapter();
  const site = await loadSite(address);
  requireFitting(site, adapter);
  let reportedMs = -Infinity;
  const checkpoint = await loadWeights(site, address, (loadedBytes, totalBytes) => {
    if (performance.now() - reportedMs < REPORT_MS) return;
    reportedMs = performance.now();
    post({ kind: "status", status: { state: "loading", loadedBytes, totalBytes } });
  });
  post({ kind: "status", status: { state: "starting" } });
  const model = await PingModel.from(checkpoint, {
    memoryLimitBytes: MEMORY_LIMIT_BYTES,
    ...(site.calibration && { calibration: new QuantileCalibration(site.calibration) }),
  });
  await model.rttDistribution(FIRST_QUESTION);
  return new PingService(model, { info: site.model });
}

/** Before anything large is loaded. @throws {UserError} If the browser gives no GPU. */
async function requireAdapter(): Promise<GPUAdapter> {
  const adapter = await navigator.gpu?.requestAdapter();
  if (adapter) return adapter;
  const found = !globalThis.isSecureContext
    ? "the page came neither by https nor from this machine, where browsers give pages no GPU"
    : navigator.gpu
    ? "this browser gives no GPU to pages"
    : "this browser has no WebGPU";
  const wanted = globalThis.isSecureContext
    ? "open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU"
    : "open it with https";
  throw new UserError(`Cannot run the model here: ${found}, WebGPU was wanted; ${wanted}`);
}

/** @throws {UserError} If a tensor of the model is larger than the GPU's buffers can be. */
function requireFitting({ model: { config } }: Site, adapter: GPUAdapter): void {
  const model = parseModelConfig(config.model);
  const largestBytes = largestTensorBytes((make) => parameterTensors(model, make));
  const limitBytes = bufferLimitBytes(adapter);
  if (largestBytes <= limitBytes) return;
  throw new UserError(
    `Cannot run the model here: its largest tensor has ${mib(largestBytes)}, at most ${
      mib(limitBytes)
    } was wanted ` +
      "by this GPU; open the page on a larger machine, or ask for a smaller model",
  );
}

async function answer({ id, operation, args }: Extract<PageMessage, { kind: "ask" }>): Promise<void> {
  const controller = new AbortController();
  asked.set(id, controller);
  try {
    if (!service) throw new UserError("Cannot answer: the model is not loaded");
    post({ kind: "answer", id, answer: await run(service, operation, [...args, controller.signal]) });
  } catch (error) {
    post({ kind: "problem", id, detail: messageOf(error, "answer") });
  } finally {
    asked.delete(id);
  }
}

/** @param args Those of the operation, as the page's own types have them. */
async function run(api: PingApi, operation: keyof PingApi, args: readonly unknown[]): Promise<unknown> {
  const call: (this: PingApi, ...args: never[]) => Promise<unknown> = api[operation];
  return await call.apply(api, args as never[]);
}

/** What went wrong, for people; what only a bug of ours can cause is in the console too. */
function messageOf(error: unknown, action: string): string {
  const { status, detail } = problemOf(error);
  if (status !== 500) return detail;
  console.error(error);
  return `Cannot ${action}: ${error instanceof Error ? error.message : String(error)}`;
}
