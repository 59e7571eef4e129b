/**
 * Model weights that a browser keeps between visits, in its Cache storage. A file is identified by its URL
 * and SHA-256; a newer model of the same site replaces the older one.
 *
 * @module
 */
import type { WeightFile } from "../api/site_file.ts";

const CACHE = "ping-llm weights";

export class WeightCache {
  readonly #site: URL;

  /** @param site A URL in the site's folder. Other folders of the same origin have separate files. */
  constructor(site: URL) {
    this.#site = new URL(".", site);
  }

  async get(file: WeightFile): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const kept = await (await this.#open())?.match(this.#keyOf(file));
    return kept && new Uint8Array(await kept.arrayBuffer());
  }

  /** Replaces older versions of a file. If the browser has no room, nothing is kept. */
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

  async sizeBytes(): Promise<number> {
    const cache = await this.#open();
    let sizeBytes = 0;
    for (const key of await this.#keys(cache)) {
      sizeBytes += Number((await cache?.match(key))?.headers.get("content-length") ?? 0);
    }
    return sizeBytes;
  }

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

  /** Browsers may refuse access, for example in a private window. */
  async #open(): Promise<Cache | undefined> {
    try {
      return await caches.open(CACHE);
    } catch {
      return undefined;
    }
  }
}
