/**
 * Loads the model of an exported site: its description and its weights, from the network or from what the browser keeps.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { parseModelConfig } from "../model/model_config.ts";
import type { ModelCheckpoint } from "../query/ping_model.ts";
import { parseSite, type Site, type WeightFile } from "../site/site_file.ts";
import { decodeTensors } from "../tensor_files/safetensors_header.ts";
import { WeightCache } from "./weight_cache.ts";

/** Called with what is loaded so far of all weights. */
export type OnBytes = (loadedBytes: number, totalBytes: number) => void;

/** Loads `site.json`. @throws {UserError} If it is not there or none. */
export async function loadSite(address: URL): Promise<Site> {
  const response = await fetched(address, { cache: "no-cache" });
  return parseSite(await response.text(), address.href);
}

/**
 * Loads the weights of a site, and keeps them.
 *
 * @param address That of `site.json`.
 * @throws {UserError} If they cannot be loaded, or are not what the site describes.
 */
export async function loadWeights(site: Site, address: URL, onBytes: OnBytes): Promise<ModelCheckpoint> {
  const cache = new WeightCache(address);
  const totalBytes = site.weights.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const weights = new Map<string, Float32Array>();
  let doneBytes = 0;
  for (const file of site.weights) {
    const url = new URL(file.path, address);
    const bytes = await bytesOf(
      file,
      url,
      cache,
      (loadedBytes) => onBytes(doneBytes + loadedBytes, totalBytes),
    );
    for (const [name, values] of decodeTensors(bytes, url.href)) weights.set(name, values);
    doneBytes += file.sizeBytes;
  }
  const { step, config, model_sha256: sha256 } = site.model;
  return {
    directory: address.href,
    config: { model: parseModelConfig(config.model) },
    state: { step, files: { model: { sha256 } } },
    weights,
  };
}

async function bytesOf(
  file: WeightFile,
  url: URL,
  cache: WeightCache,
  onBytes: (loadedBytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  onBytes(0);
  const kept = await cache.get(file);
  // What was damaged on the disk is loaded again.
  if (kept && await faultOf(kept, file) === undefined) return kept;
  const bytes = await downloaded(file, url, onBytes);
  const fault = await faultOf(bytes, file);
  if (fault) {
    throw new UserError(
      `Cannot use the model from ${url.href}: ${fault}; load the page again, and if that does not help, ` +
        "export the site again and copy all of its files",
    );
  }
  await cache.put(file, bytes);
  return bytes;
}

/** What is wrong with the bytes of a file, if anything. */
async function faultOf(bytes: Uint8Array<ArrayBuffer>, { sha256 }: WeightFile): Promise<string | undefined> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const found = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found === sha256) return undefined;
  return `its SHA-256 is ${found.slice(0, 12)}…, ${
    sha256.slice(0, 12)
  }… was wanted: it was damaged or replaced`;
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
      `Cannot use the model from ${url.href}: found ${found} bytes, ${sizeBytes} were wanted; load the page again`,
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
    response = await fetch(url, options);
  } catch (cause) {
    throw unreachable(url, "the server did not answer", cause);
  }
  if (response.ok) return response;
  throw unreachable(url, `the server answered ${response.status}`);
}

function unreachable(url: URL, found: string, cause?: unknown): UserError {
  return new UserError(`Cannot load ${url.href}: ${found}; check the connection and load the page again`, {
    cause,
  });
}
