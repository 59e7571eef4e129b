/**
 * `site.json`: the description of an exported site's model, for the page that loads it; and the weights that a browser
 * keeps.
 *
 * @module
 */
import * as z from "zod";
import { modelInfoSchema } from "../api/schemas.ts";
import { FormatError, UserError } from "../../base/errors.ts";
import { checkFormatVersion } from "../../model/checkpoint_format.ts";

/** The name of the file, beside `index.html`. */
export const SITE_FILE = "site.json";
/** The storage formats of parameters. */
export const SITE_DTYPES = ["f32", "f16"] as const;

const siteSchema = z.object({
  /** See {@link checkFormatVersion}. */
  formatVersion: z.int().optional(),
  /** The page's information about the model; the GPU is the reader's. */
  model: modelInfoSchema,
  /** Corrects distributions: see `QuantileCalibration`; null for none. */
  calibration: z.array(z.number()).nullable(),
  dtype: z.enum(SITE_DTYPES),
  /** Names of addresses, as CSV: see `AddressNames`. */
  names: z.string().optional(),
  /** The files of the weights, safetensors, beside this one. */
  weights: z.array(z.object({
    path: z.string(),
    sizeBytes: z.int().min(1),
    /** SHA-256, hexadecimal. */
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
  })).min(1),
});
/** See {@link siteSchema}. */
export type Site = z.infer<typeof siteSchema>;
/** A file of the weights. */
export type WeightFile = Site["weights"][number];

/**
 * Decodes the file.
 *
 * @param text Its text.
 * @param path Its name, for errors.
 * @throws {UserError} If it is of a later format version.
 * @throws {FormatError} If it is not a `site.json` of this version.
 */
export function parseSite(text: string, path: string): Site {
  try {
    const json = z.looseObject({}).parse(JSON.parse(text));
    checkFormatVersion(json.formatVersion, path);
    return siteSchema.parse(json);
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new FormatError("it does not describe a model of this version; run deno task export again", {
      path,
      cause,
    });
  }
}

const CACHE = "ping-llm weights";

/**
 * The weights of one site that a browser keeps between visits, in its Cache storage. A file is found by its address and
 * SHA-256, so a newer model of the same site is loaded again, and takes the place of the older one.
 */
export class WeightCache {
  readonly #site: URL;

  /** @param site The address of the site's folder; others of the same origin keep theirs. */
  constructor(site: URL) {
    this.#site = new URL(".", site);
  }

  /** The bytes of a file, if they are kept. */
  async get(file: WeightFile): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const kept = await (await this.#open())?.match(this.#keyOf(file));
    return kept && new Uint8Array(await kept.arrayBuffer());
  }

  /** Keeps a file in the place of older ones; a browser that has no room for it keeps nothing. */
  async put(file: WeightFile, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const cache = await this.#open();
    if (!cache) return;
    const key = this.#keyOf(file);
    for (const { url } of await cache.keys()) {
      if (new URL(url).pathname === key.pathname) await cache.delete(url);
    }
    const headers = { "content-length": String(bytes.length) };
    try {
      await cache.put(key, new Response(bytes, { headers }));
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
    }
  }

  /** How many bytes are kept. */
  async sizeBytes(): Promise<number> {
    const cache = await this.#open();
    let sizeBytes = 0;
    for (const key of await this.#keys(cache)) {
      sizeBytes += Number((await cache?.match(key))?.headers.get("content-length") ?? 0);
    }
    return sizeBytes;
  }

  /** Removes what is kept. */
  async delete(): Promise<void> {
    const cache = await this.#open();
    for (const key of await this.#keys(cache)) await cache?.delete(key);
  }

  async #keys(cache: Cache | undefined): Promise<Request[]> {
    return (await cache?.keys() ?? []).filter(({ url }) => new URL(".", url).href === this.#site.href);
  }

  #keyOf({ path, sha256 }: WeightFile): URL {
    return new URL(`${path}?sha256=${sha256}`, this.#site);
  }

  /** A browser may refuse it, for example in a private window. */
  async #open(): Promise<Cache | undefined> {
    try {
      return await caches.open(CACHE);
    } catch {
      return undefined;
    }
  }
}
