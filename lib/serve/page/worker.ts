/**
 * The worker that loads the model and answers questions, so that the page stays responsive. It is also the
 * module of the npm package that contains a model.
 *
 * @module
 */
import { AddressNames } from "../../data/addresses/address_names.ts";
import { FormatError, UserError } from "../../base/errors.ts";
import { modelShapes, parseModelConfig } from "../../model/model_config.ts";
import { type ModelCheckpoint, PingModel } from "../../query/ping_model.ts";
import { parseSite, type Site, SITE_FILE, type WeightFile } from "../api/site_file.ts";
import { WeightCache } from "./weight_cache.ts";
import { decodeSafetensors, type TensorArray } from "../../base/safetensors_header.ts";
import { PingService } from "../api/ping_service.ts";
import { problemOf } from "../api/api_error.ts";
import type { Problem } from "../api/schemas.ts";
import { WEIGHT_LIMIT } from "../../model/finite.ts";
import { faultOfNumbers } from "../../model/tensor_bounds.ts";
import { decodeTrainingData } from "../../model/training_tables.ts";
import { bufferLimitBytes, largestTensorBytes, mib } from "../../model/allocation.ts";
import { parameterTensors } from "../../model/buffers.ts";
import { QuantileCalibration } from "../../query/rtt/quantile_calibration.ts";
import type { PageMessage, WorkerMessage } from "./open_api.ts";

type OnBytes = (loadedBytes: number, totalBytes: number) => void;

/** @throws {UserError} If `site.json` is missing or invalid. */
async function loadSite(address: URL): Promise<Site> {
  const response = await fetched(address, { cache: "no-cache" });
  return parseSite(await response.text(), address.href);
}

/**
 * Loads the weights of a site and keeps them for later visits.
 *
 * @throws {UserError} If they cannot be loaded or differ from the site's description.
 */
async function loadWeights(site: Site, address: URL, onBytes: OnBytes): Promise<ModelCheckpoint> {
  // A program loads the files from its own disk, so a second copy would be useless.
  const cache = address.protocol === "file:" ? undefined : new WeightCache(address);
  const totalBytes = [...site.weights, site.trainingData].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  let doneBytes = 0;
  const load = async (file: WeightFile) => {
    const url = new URL(file.path, address);
    const bytes = await bytesOf(
      file,
      url,
      cache,
      (loadedBytes) => onBytes(doneBytes + loadedBytes, totalBytes),
    );
    doneBytes += file.sizeBytes;
    return { ...decodeSafetensors(bytes, url.href), path: url.href };
  };
  const weights = new Map<string, TensorArray>();
  for (const file of site.weights) {
    for (const [name, values] of (await load(file)).tensors) weights.set(name, values);
  }
  const known = await load(site.trainingData);
  const model = parseModelConfig(site.model.config.model);
  const isOfPool = (name: string) => name.startsWith("pool.");
  const pool = new Map([...weights].filter(([name]) => isOfPool(name)));
  const network = new Map([...weights].filter(([name]) => !isOfPool(name)));
  const fault = faultOfNumbers(network, { config: model, limit: WEIGHT_LIMIT }) ?? faultOfNumbers(pool);
  if (fault !== undefined) throw new FormatError(`${fault}; export the site again`, { path: address.href });
  const { step, model_sha256: sha256 } = site.model;
  return {
    directory: address.href,
    config: { model },
    state: { step, files: { model: { sha256 } } },
    weights: network,
    trainingData: decodeTrainingData(known, known.path),
    ...(pool.size > 0 && { pool }),
  };
}

async function bytesOf(
  file: WeightFile,
  url: URL,
  cache: WeightCache | undefined,
  onBytes: (loadedBytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  onBytes(0);
  const kept = await cache?.get(file);
  // A kept file that was damaged is downloaded again.
  if (kept && await faultOf(kept, file) === undefined) return kept;
  const bytes = await downloaded(file, url, onBytes);
  const fault = await faultOf(bytes, file);
  if (fault) {
    throw new UserError(
      `Cannot use the model from ${url.href}: ${fault}; load the page again, and if that does not help, ` +
        "export the site again and copy all of its files",
    );
  }
  await cache?.put(file, bytes);
  return bytes;
}

async function faultOf(bytes: Uint8Array<ArrayBuffer>, { sha256 }: WeightFile): Promise<string | undefined> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const found = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found === sha256) return undefined;
  return `its SHA-256 is ${found.slice(0, 12)}…, expected ${sha256.slice(0, 12)}…: it was damaged or ` +
    "replaced";
}

async function downloaded(
  { sizeBytes }: WeightFile,
  url: URL,
  onBytes: (loadedBytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const { body } = await fetched(url, { cache: "no-store" });
  const bytes = new Uint8Array(sizeBytes);
  let loadedBytes = 0;
  const refuse = (found: string) =>
    new UserError(
      `Cannot use the model from ${url.href}: found ${found} bytes, expected ${sizeBytes}; load the page again`,
    );
  try {
    const reader = body?.getReader();
    for (let chunk = await reader?.read(); chunk?.value; chunk = await reader?.read()) {
      if (loadedBytes + chunk.value.length > sizeBytes) throw refuse("more");
      bytes.set(chunk.value, loadedBytes);
      loadedBytes += chunk.value.length;
      onBytes(loadedBytes);
    }
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw unreachable(url, "the connection was lost", cause);
  }
  if (loadedBytes < sizeBytes) throw refuse(String(loadedBytes));
  return bytes;
}

async function fetched(url: URL, options: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await (url.protocol === "file:" ? readLocal(url) : fetch(url, options));
  } catch (cause) {
    throw unreachable(url, "the server did not answer", cause);
  }
  if (response.ok) return response;
  throw unreachable(url, `the server answered ${response.status}`);
}

/** Reads a local file, which Node's `fetch` cannot. */
async function readLocal(url: URL): Promise<Response> {
  // Not a literal in the import, because browser bundlers would try to resolve it.
  const module = "node:fs/promises";
  return new Response(await (await import(module)).readFile(url));
}

function unreachable(url: URL, found: string, cause?: unknown): UserError {
  return new UserError(`Cannot load ${url.href}: ${found}; check the connection and load the page again`, {
    cause,
  });
}

/** GPU memory for queries, in addition to the weights. A phone shares it with everything that is open. */
const MEMORY_LIMIT_BYTES = 2 ** 28;
/** Asked first, to compile the kernels or fail before the user asks anything. */
const FIRST_QUESTION = { src: "192.0.2.1", dst: "192.0.2.2" };
type Report = (status: Extract<WorkerMessage, { kind: "status" }>["status"]) => void;
const REPORT_MS = 100;

const thread = globalThis as unknown as Pick<Worker, "onmessage" | "postMessage">;
const post = (message: WorkerMessage) => thread.postMessage(message);
const asked = new Map<number, AbortController>();
let service: PingService | undefined;

// A program that imports this module has its own messages.
if (globalThis.location?.href === import.meta.url) {
  thread.onmessage = async ({ data }: MessageEvent<PageMessage>) => {
    if (data.kind === "abort") asked.get(data.id)?.abort();
    else if (data.kind === "ask") await answer(data);
    else await open(new URL(data.site));
  };
}

async function open(address: URL): Promise<void> {
  try {
    const adapter = await requireAdapter();
    ({ service } = await loadService(address, adapter, (status) => post({ kind: "status", status })));
    post({ kind: "ready" });
  } catch (error) {
    post({
      kind: "status",
      status: { state: "failed", message: problemIn(error, "run the model here").detail },
    });
  }
}

/**
 * Opens a model in a program. This module is `model.js` of the npm package (`lib/serve/site/npm_package.ts`).
 *
 * @param site URL of a `site.json`, by default the package's own.
 * @throws {UserError} If there is no GPU or the model cannot be loaded.
 */
export async function openModel(site: string | URL = new URL(SITE_FILE, import.meta.url)) {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) {
    throw new UserError(
      "Cannot run the model: found no WebGPU adapter, expected a GPU or a software driver; install one",
    );
  }
  const { service, model } = await loadService(new URL(site), adapter);
  return Object.assign(service, { close: () => model.close() });
}

/** @throws {UserError} If the model cannot be loaded or the GPU cannot run it. */
async function loadService(address: URL, adapter: GPUAdapter, report: Report = () => {}) {
  const site = await loadSite(address);
  requireFitting(site, adapter);
  let reportedMs = -Infinity;
  const checkpoint = await loadWeights(site, address, (loadedBytes, totalBytes) => {
    if (performance.now() - reportedMs < REPORT_MS) return;
    reportedMs = performance.now();
    report({ state: "loading", loadedBytes, totalBytes });
  });
  report({ state: "starting" });
  const names = new AddressNames();
  names.add(new TextEncoder().encode(site.names ?? ""), address.href);
  const model = await PingModel.from(checkpoint, {
    memoryLimitBytes: MEMORY_LIMIT_BYTES,
    names,
    ...(site.calibration && { calibration: new QuantileCalibration(site.calibration) }),
  });
  await model.rttDistribution(FIRST_QUESTION);
  return { model, service: new PingService(model, { info: site.model }) };
}

/** @throws {UserError} If the browser has no GPU. Called before anything large is loaded. */
async function requireAdapter(): Promise<GPUAdapter> {
  const adapter = await navigator.gpu?.requestAdapter();
  if (adapter) return adapter;
  const found = !globalThis.isSecureContext
    ? "browsers offer WebGPU only to pages loaded over https or from this machine"
    : navigator.gpu
    ? "this browser supports WebGPU, but offers no GPU"
    : "this browser has no WebGPU";
  const wanted = globalThis.isSecureContext
    ? "open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU"
    : "open the page over https";
  throw new UserError(`Cannot run the model here: ${found}; ${wanted}`);
}

/** @throws {UserError} If a tensor of the model is larger than the GPU's largest buffer. */
function requireFitting({ model: { config } }: Site, adapter: GPUAdapter): void {
  const model = modelShapes(parseModelConfig(config.model));
  const largestBytes = largestTensorBytes((make) => parameterTensors(model, make));
  const limitBytes = bufferLimitBytes(adapter);
  if (largestBytes <= limitBytes) return;
  throw new UserError(
    `Cannot run the model here: its largest tensor takes ${mib(largestBytes)}, but this GPU allows at most ` +
      `${mib(limitBytes)}; ` +
      "open the page on a larger machine, or ask for a smaller model",
  );
}

async function answer({ id, operation, question }: Extract<PageMessage, { kind: "ask" }>): Promise<void> {
  const controller = new AbortController();
  asked.set(id, controller);
  try {
    if (!service) throw new UserError("Cannot answer: the model is not loaded");
    post({ kind: "answer", id, answer: await service[operation](question as never, controller.signal) });
  } catch (error) {
    post({ kind: "problem", id, problem: problemIn(error, "answer") });
  } finally {
    asked.delete(id);
  }
}

/** Describes an error for people. Errors that only a bug can cause are also logged. */
function problemIn(error: unknown, action: string): Problem {
  const problem = problemOf(error);
  if (problem.status !== 500) return problem;
  console.error(error);
  const detail = `Cannot ${action}: ${error instanceof Error ? error.message : String(error)}`;
  return { ...problem, detail };
}
