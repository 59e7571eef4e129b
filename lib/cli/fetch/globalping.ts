/**
 * Creates ping measurements through the API of Globalping, or reads them by id.
 *
 * - `POST /v1/measurements` answers 202 with the id; it costs one test of the hourly limit per probe.
 * - `GET /v1/measurements/{id}` answers with all results, and `status: "in-progress"` until the last one has
 *   arrived.
 * - 429 has `X-RateLimit-Reset`, in seconds. A token is sent as the header `Authorization: Bearer …`.
 *
 * Source: https://globalping.io/docs/api.globalping.io .
 *
 * @module
 */
import { ensure, shortened, UserError } from "../../base/errors.ts";
import { formatAddress, parseAddress } from "../../data/addresses/ip.ts";
import { globalpingResults, isGlobalping, placeholderAddress } from "../../data/formats/globalping.ts";
import { writeFileAtomic } from "../../io/files/atomic.ts";
import type { ApiClient } from "./api_client.ts";

/** The API asks clients to wait half a second between two polls of a measurement. */
const FIRST_LOOK_MS = 500;
const LONGEST_LOOK_MS = 8000;

/** The body of a request for a measurement, without the target. */
interface PingRequest {
  /** Places and networks of probes, such as `Germany+AWS`; any if empty. */
  locations: readonly string[];
  limit: number;
  packets: number;
  /** For targets that are names. */
  ipVersion: "auto" | "4" | "6";
}

/** @returns The id of the new measurement. @throws {UserError} If the API rejects the request. */
export async function createPing(client: ApiClient, target: string, request: PingRequest): Promise<string> {
  const { locations, limit, packets, ipVersion } = request;
  const json = {
    type: "ping",
    target,
    limit,
    ...(locations.length > 0 && { locations: locations.map((magic) => ({ magic })) }),
    measurementOptions: { packets, ...(ipVersion !== "auto" && { ipVersion: Number(ipVersion) }) },
  };
  const { id } = await client.json("/v1/measurements", { json }) as { id?: unknown };
  if (typeof id === "string" && isId(id)) return id;
  throw new UserError(`Cannot measure ${target}: the server answered without an id`);
}

export function isId(text: string): boolean {
  return /^[\w.-]{1,128}$/.test(text) && !/^\.+$/.test(text);
}

/**
 * Waits for a measurement to end.
 *
 * @throws {UserError} If it is not a ping measurement, or does not end within `longestMs`.
 */
export async function endedPing(
  client: ApiClient,
  id: string,
  longestMs: number,
): Promise<{ bytes: Uint8Array; measurement: Record<string, unknown> }> {
  const endMs = performance.now() + longestMs;
  for (let waitMs = FIRST_LOOK_MS;; waitMs = Math.min(2 * waitMs, LONGEST_LOOK_MS)) {
    const { bytes, value } = await client.jsonBytes(`/v1/measurements/${id}`);
    const measurement = value as Record<string, unknown>;
    if (typeof value !== "object" || value === null || !isGlobalping(measurement)) {
      throw new UserError(
        `Cannot use measurement ${id}: the answer is not a measurement of Globalping; check --url`,
      );
    }
    const { type, status } = measurement;
    if (measurement.id !== id) {
      throw new UserError(
        `Cannot use measurement ${id}: the answer is measurement ${
          shortened(String(measurement.id), 40)
        }; check --url`,
      );
    }
    if (type !== "ping") {
      throw new UserError(
        `Cannot use measurement ${id}: it is of the type ${shortened(String(type), 40)}, expected ping; ` +
          "leave it out",
      );
    }
    if (status !== "in-progress") return { bytes, measurement };
    if (performance.now() + waitMs > endMs) {
      throw new UserError(
        `Cannot use measurement ${id}: it is still in progress; run the same command again later`,
      );
    }
    await client.wait(waitMs);
  }
}

/** Prefix bytes of the blocks in a table of places: /24 for IPv4, /40 for IPv6 (`place_table.ts`). */
const BLOCK_BYTES = { 4: 3, 16: 5 } as const;

/** Places by network and city for `train --geo`: two files in the format of ip-location-db. */
export class GlobalpingPlaces {
  /** By the first and last address of a block. */
  readonly #places = new Map<string, string>();
  readonly #networks = new Map<string, string>();

  get size(): number {
    return this.#places.size;
  }

  add(measurement: Record<string, unknown>): void {
    for (const { probe, isV6 } of globalpingResults(measurement)) {
      if (isV6 === undefined) continue;
      const { country = "", state = "", latitude = "", longitude = "", asn } = probe;
      const range = blockOf(placeholderAddress(probe, isV6));
      const texts = [country, state].map((text) => text.replaceAll(/[^\w -]/g, ""));
      this.#places.set(range, [...texts, "", "", "", latitude, longitude].join());
      if (asn !== undefined) this.#networks.set(range, `${asn},`);
    }
  }

  write(placesPath: string, networksPath: string): void {
    for (const [path, found] of [[placesPath, this.#places], [networksPath, this.#networks]] as const) {
      const lines = [...found].map(([range, values]) => `${range},${values}\n`).sort();
      writeFileAtomic(path, lines.join(""));
    }
  }
}

/** The first and last address of an address's block. */
function blockOf(address: string): string {
  const bytes = parseAddress(address);
  ensure(bytes, "a placeholder is an address");
  const numBytes = BLOCK_BYTES[bytes.length === 4 ? 4 : 16];
  return [0, 255].map((rest) => formatAddress(bytes.slice().fill(rest, numBytes))).join();
}
