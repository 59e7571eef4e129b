/**
 * Fetches ping results from the API of RIPE Atlas, one file per time window, and the places of probes and
 * anchors.
 *
 * - `GET /api/v2/measurements/{id}/results/?start=&stop=&probe_ids=&format=txt` streams one JSON object per
 *   line, without pages: https://atlas.ripe.net/docs/apis/rest-api-manual/measurements/results-and-latest/ .
 * - `GET /api/v2/probes/?id__in=` and `GET /api/v2/anchors/` answer in pages of at most 500 objects with a
 *   link `next`: https://atlas.ripe.net/docs/apis/rest-api-manual/core-concepts/pagination .
 * - A key is sent as the header `Authorization: Key …`:
 *   https://atlas.ripe.net/docs/apis/rest-api-manual/authentication/api-keys/ .
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { zstdCompressSync } from "node:zlib";
import { getOrMake, isObject, parseJson } from "../../base/collections.ts";
import { shortened, UsageError, UserError } from "../../base/errors.ts";
import { parseAddress } from "../../data/addresses/ip.ts";
import { JsonObjectScanner, parsePiece } from "../../io/text/json_stream.ts";
import { openInput } from "../../io/compression/decompress.ts";
import { AtomicFile, writeFileAtomic } from "../../io/files/atomic.ts";
import { type ApiClient, RetryableError } from "./api_client.ts";
import { divideTime, type FileWindow, formatWindow } from "./windows.ts";

/** How long after its time a result can arrive: probes send results in batches. */
export const SETTLE_S = 3600;
/** Longer lines are not results. */
const MAX_LINE_BYTES = 1 << 22;
const FRAME_BYTES = 1 << 21;
const RESULTS_PER_CALL = 1000;
/** Ids per request for probes: at 8 characters each, the URL stays well below usual limits. */
const IDS_PER_REQUEST = 200;
const PAGE_SIZE = 500;
/** RIPE Atlas has about 1,500 anchors, and more that are retired. */
const MAX_ANCHORS = 100_000;
/** Addresses remembered per probe; some change daily. */
const MAX_ADDRESSES = 64;

interface AtlasWindow extends FileWindow {
  measurement: number;
}

/** {@link divideTime} for each measurement. */
export function atlasWindows(
  measurements: readonly number[],
  span: Parameters<typeof divideTime>[0],
): AtlasWindow[] {
  const windows = divideTime(span, measurements.length);
  return measurements.flatMap((measurement) =>
    windows.map((window) => ({
      ...window,
      measurement,
      name: `results/${measurement}-${formatWindow(window)}.jsonl.zst`,
    }))
  );
}

/** Parses `1001,1009-1020`. @returns Ascending distinct numbers. @throws {UsageError} If malformed. */
export function parseIds(text: string, option: string): number[] {
  const ids = new Set<number>();
  for (const part of text.split(",")) {
    const [, first, last = first] = /^\s*(\d{1,15})(?:-(\d{1,15}))?\s*$/.exec(part) ?? [];
    const count = Number(last) - Number(first) + 1;
    if (!(count >= 1 && ids.size + count <= MAX_IDS)) {
      throw new UsageError(
        `Cannot use --${option} ${shortened(text)}: expected up to ${MAX_IDS} ids and ranges of ids, ` +
          "such as 1001,1009-1020",
      );
    }
    for (let id = Number(first); id <= Number(last); id++) ids.add(id);
  }
  return [...ids].sort((a, b) => a - b);
}

const MAX_IDS = 100_000;

export class SeenHosts {
  /** The addresses from which each probe measured. */
  readonly probes = new Map<number, Set<string>>();
  readonly destinations = new Set<string>();

  add(result: Record<string, unknown>): void {
    const { prb_id: id, from, dst_addr: destination } = result;
    if (typeof destination === "string") this.destinations.add(destination);
    if (typeof id !== "number") return;
    const addresses = getOrMake(this.probes, id, () => new Set());
    if (typeof from === "string" && addresses.size < MAX_ADDRESSES) addresses.add(from);
  }

  /** Adds the results of an existing file. */
  async addFile(path: string): Promise<void> {
    const scanner = new JsonObjectScanner(path);
    for await (const chunk of (await openInput(path)).chunks) {
      parsePiece(scanner.push(chunk), (value) => value && this.add(value));
    }
  }
}

/**
 * Fetches a window into a file, keeping the lines as received. The API does not document whether the
 * endpoints of a span are included, so one more second is requested, and results outside the window are left
 * out.
 *
 * @param path The file, which appears once it is complete.
 * @returns The number of results.
 * @throws {UserError} If the API rejects the request, or the results are not ping results.
 */
export async function fetchWindow(
  client: ApiClient,
  { window, probes, path, seen, onResults }: {
    window: AtlasWindow;
    /** Ids and ranges in the API's notation; undefined for all probes. */
    probes: string | undefined;
    path: string;
    seen: SeenHosts;
    /** Called occasionally with the number of results so far. */
    onResults: (numResults: number) => void;
  },
): Promise<number> {
  const { measurement, startS, stopS } = window;
  const query = new URLSearchParams({
    start: String(startS - 1),
    stop: String(stopS),
    ...(probes !== undefined && { probe_ids: probes }),
    format: "txt",
  });
  return await client.get(`/api/v2/measurements/${measurement}/results/?${query}`, async (body) => {
    using file = AtomicFile.create(path);
    const output = new ZstdFrames(file);
    let numResults = 0;
    for await (const line of linesOf(body)) {
      const result = parseResult(line);
      requirePing(result, measurement);
      const timeS = Number(result.timestamp);
      if (timeS < startS || timeS >= stopS) continue;
      output.write(line);
      seen.add(result);
      if (++numResults % RESULTS_PER_CALL === 0) onResults(numResults);
    }
    output.end();
    file.commit();
    return numResults;
  });
}

/** Writes Zstandard frames (RFC 8878) of a few MiB, so that memory is bounded. */
class ZstdFrames {
  #parts: Uint8Array[] = [];
  #numBytes = 0;

  constructor(readonly file: AtomicFile) {}

  write(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#numBytes += bytes.length;
    if (this.#numBytes >= FRAME_BYTES) this.end();
  }

  /** Ends a frame, which may be empty. */
  end(): void {
    this.file.writeSync(zstdCompressSync(Buffer.concat(this.#parts)));
    this.#parts = [];
    this.#numBytes = 0;
  }
}

/** Yields the non-blank lines of a text, including their line ends. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = bytes.indexOf(NEWLINE, rest.length); end >= 0; end = bytes.indexOf(NEWLINE, at)) {
      const line = bytes.subarray(at, end + 1);
      if (!isBlank(line)) yield line;
      at = end + 1;
    }
    rest = bytes.subarray(at);
    if (rest.length > MAX_LINE_BYTES) throw new UserError("Cannot read results: a line has more than 4 MiB");
  }
  if (!isBlank(rest)) yield rest;
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte <= SPACE);
}

const NEWLINE = 0x0a;
const SPACE = 0x20;
const decoder = new TextDecoder();

/** @throws {RetryableError} If it is not a JSON object: the answer was truncated or contains an error. */
function parseResult(line: Uint8Array): Record<string, unknown> {
  const text = decoder.decode(line);
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw new RetryableError(`found a line that is not a result (${shortened(text.trim(), 60)})`);
}

/** @throws {UserError} If it is not a ping result of the measurement. */
function requirePing({ type, msm_id }: Record<string, unknown>, measurement: number): void {
  if (typeof type !== "string" && msm_id === undefined) {
    throw new RetryableError("found an object that is not a result");
  }
  if (type !== undefined && type !== "ping") {
    throw new UserError(
      `Cannot use measurement ${measurement}: its results are of the type ${
        shortened(String(type), 40)
      }, expected ` +
        "ping; leave it out of --measurement",
    );
  }
  if (msm_id === measurement) return;
  throw new UserError(
    `Cannot use the results of measurement ${measurement}: found one of measurement ${
      shortened(String(msm_id), 40)
    }; check --url`,
  );
}

/**
 * Fetches the places of probes and anchors, and writes a list of them for `train --geo`: each probe as the
 * API describes it, followed by addresses in its results that the API does not list, then the anchors among
 * probes and destinations, whose places are more exact.
 *
 * @returns The number of probes and anchors.
 */
export async function fetchProbes(client: ApiClient, seen: SeenHosts, path: string): Promise<number> {
  const objects: Record<string, unknown>[] = [];
  const ids = [...seen.probes.keys()].sort((a, b) => a - b);
  for (let at = 0; at < ids.length; at += IDS_PER_REQUEST) {
    const wanted = ids.slice(at, at + IDS_PER_REQUEST).join();
    for await (
      const probe of pagesOf(
        client,
        `/api/v2/probes/?id__in=${wanted}&sort=id&page_size=${PAGE_SIZE}`,
        IDS_PER_REQUEST,
      )
    ) {
      objects.push(probe, ...addressesOf(probe, seen.probes.get(Number(probe.id))));
    }
  }
  for await (const anchor of pagesOf(client, `/api/v2/anchors/?page_size=${PAGE_SIZE}`, MAX_ANCHORS)) {
    const addresses = [anchor.ip_v4, anchor.ip_v6].map(String);
    const isSeen = seen.probes.has(Number(anchor.probe)) ||
      addresses.some((address) => seen.destinations.has(address));
    if (isSeen) objects.push(anchor);
  }
  writeFileAtomic(path, `[\n${objects.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`);
  return new Set(objects.map(({ type, id }) => `${type} ${id}`)).size;
}

/** Makes entries for addresses of a probe that the API does not list. */
function addressesOf(
  probe: Record<string, unknown>,
  addresses: ReadonlySet<string> = new Set(),
): Record<string, unknown>[] {
  const { id, type, country_code, geometry } = probe;
  const known = [probe.address_v4, probe.address_v6];
  return [...addresses].filter((address) => !known.includes(address)).flatMap((address) => {
    const bytes = parseAddress(address);
    if (!bytes) return [];
    return [{ id, type, country_code, geometry, [`address_v${bytes.length === 4 ? 4 : 6}`]: address }];
  });
}

/**
 * Yields the objects of a list, page by page.
 *
 * @param most The most objects that the list can have.
 * @throws {UserError} If an answer is not a page of objects, or there are more pages than announced.
 */
async function* pagesOf(
  client: ApiClient,
  path: string,
  most: number,
): AsyncGenerator<Record<string, unknown>> {
  const seen = new Set<string>();
  let numObjects = 0;
  for (let next: string | undefined = path; next !== undefined;) {
    const asked: string = next;
    const refuse = (found: string): never => {
      throw new UserError(`Cannot read the answer to ${shortened(asked, 100)}: ${found}; check --url`);
    };
    seen.add(asked);
    const page = await client.json(asked);
    const { results, next: link, count } = isObject(page) ? page : {};
    if (!Array.isArray(results)) return refuse("it has no list of results");
    if (!results.every(isObject)) return refuse("it contains a result that is not an object");
    numObjects += results.length;
    yield* results as Record<string, unknown>[];
    // Only the path is used, so that no other host is contacted.
    const url: URL | null = typeof link === "string" ? URL.parse(link) : null;
    next = url ? url.pathname + url.search : undefined;
    if (next === undefined) return;
    if (seen.has(next)) return refuse("its next page was already read");
    const numAll = typeof count === "number" ? Math.min(count, most) : most;
    if (results.length === 0 || numObjects >= numAll) {
      return refuse(`it has another page after ${numObjects} objects, expected ${numAll} in total`);
    }
  }
}
