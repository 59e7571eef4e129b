/**
 * Ping measurements of Globalping by its API: created, or read by their ids.
 *
 * - `POST /v1/measurements` answers 202 with the id; it costs one test of the hourly limit for each probe.
 * - `GET /v1/measurements/{id}` answers with all results, `status: "in-progress"` until the last one has come.
 * - 429 has `X-RateLimit-Reset`, in seconds. A token is the header `Authorization: Bearer …`.
 *
 * Source: https://globalping.io/docs/api.globalping.io .
 *
 * @module
 */
import { ensure, shortened, UserError } from "../../base/errors.ts";
import { formatAddress, parseAddress } from "../../data/addresses/ip.ts";
import { globalpingProbes, isGlobalping, placeholderAddress } from "../../data/formats/globalping.ts";
import { writeFileAtomic } from "../../io/files/atomic.ts";
import type { ApiClient } from "./api_client.ts";

/** The API asks for half a second between two looks at a measurement. */
const FIRST_LOOK_MS = 500;
const LONGEST_LOOK_MS = 8000;

/** A measurement to make: the body of a request without the target. */
interface PingRequest {
  /** Places and networks of probes in words, such as `Germany+AWS`; any if there are none. */
  locations: readonly string[];
  /** Number of probes. */
  limit: number;
  packets: number;
  /** The IP version of targets that are names. */
  ipVersion: "auto" | "4" | "6";
}

/** Has a target measured. @returns The id of the measurement. @throws {UserError} If the API refuses. */
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

/** Whether a text can be the id of a measurement. */
export function isId(text: string): boolean {
  return /^[\w.-]{1,128}$/.test(text) && !/^\.+$/.test(text);
}

/**
 * Waits for a measurement to end.
 *
 * @param longestMs How long it may still take.
 * @returns The answer as it came.
 * @throws {UserError} If it is not a measurement of the type ping, or has not ended after `longestMs`.
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

/** Bytes of the blocks of which a table of places consists: /24 of IPv4, /40 of IPv6 (`place_table.ts`). */
const BLOCK_BYTES = { 4: 3, 16: 5 } as const;

/** Where the networks and cities of measurements are, for `train --geo`: two files as ip-location-db has them. */
export class GlobalpingPlaces {
  /** By the first and last address of a block. */
  readonly #places = new Map<string, string>();
  readonly #networks = new Map<string, string>();

  get size(): number {
    return this.#places.size;
  }

  /** Adds the probes of a measurement. */
  add(measurement: Record<string, unknown>): void {
    for (const { probe, isV6 } of globalpingProbes(measurement)) {
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

/** The first and the last address of an address's block. */
function blockOf(address: string): string {
  const bytes = parseAddress(address);
  ensure(bytes, "a placeholder is an address");
  const numBytes = BLOCK_BYTES[bytes.length === 4 ? 4 : 16];
  return [0, 255].map((rest) => formatAddress(bytes.slice().fill(rest, numBytes))).join();
}
