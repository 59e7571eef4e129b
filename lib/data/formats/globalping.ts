/**
 * Ping measurements of Globalping, in the form of the response to `GET /v1/measurements/{id}`.
 *
 * One object contains the results of all probes that took part. Only a probe's network and city identify it:
 * the API reports neither its address nor a stable id ("Probes share no UUIDs", Globalping's README). Our
 * measurements need a source address, so by default such results are rejected and counted. With
 * {@link NETWORK_SOURCE}, each network and city gets an address instead ({@link placeholderAddress}), from
 * ranges that no host on the Internet uses.
 *
 * Fields: https://globalping.io/docs/api.globalping.io (schemas `MeasurementResponse`,
 * `FinishedPingTestResult`).
 *
 * @module
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { parseAddress } from "../addresses/ip.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import {
  type Finding,
  type Format,
  type JsonObject,
  NETWORK_SOURCE,
  objectOf,
  pingRow,
  type ReadingOptions,
  readRtt,
  readTime,
} from "./format.ts";
import type { Reading } from "./reading.ts";

/** The API sends at most 16 packets. */
const MAX_PACKETS = 64;

const READING: Reading = {
  format: "globalping",
  time: "createdAt (ISO 8601, UTC)",
  source: `probe: its network and city (--source ${NETWORK_SOURCE})`,
  destination: "resolvedAddress",
  rtt: "timings[].rtt (ms), combined by --rtt",
  noReply: "stats.rcv 0",
  notUsed: ["rawOutput"],
};

export const globalping: Format = {
  name: "globalping",
  title: "measurements of Globalping (JSON)",
  json: {
    isResult: isGlobalping,
    reading: () => READING,
    findings: globalpingRows,
    // Objects written by other programs may lack an id.
    idOf: (object) => typeof object.id === "string" ? object.id : hashOf(object).toHex(),
  },
};

/** The location of a probe; unknown fields are absent. */
interface GlobalpingProbe {
  country?: string | undefined;
  /** Only in the United States. */
  state?: string | undefined;
  city?: string | undefined;
  asn?: number | undefined;
  /** Degrees. */
  latitude?: number | undefined;
  longitude?: number | undefined;
}

export function isGlobalping(object: JsonObject): boolean {
  return Array.isArray(object.results) && "probesCount" in object && typeof object.type === "string";
}

/** @param measurement An object for which {@link isGlobalping} is true. */
function* globalpingRows(measurement: JsonObject, options: ReadingOptions): Generator<Finding> {
  const { type } = measurement;
  const protocol = String(objectOf(measurement.measurementOptions).protocol ?? "ICMP").toUpperCase();
  for (const { probe, result, isV6 } of globalpingResults(measurement)) {
    // A reply to TCP shows when a port answered, not when the host did.
    if (type !== "ping") yield { skipped: `globalping ${type}` };
    else if (protocol !== "ICMP") yield { skipped: `globalping ping by ${protocol}` };
    // Not run (`failed`, `offline`) or not finished (`in-progress`), which says nothing about the path.
    else if (result.status !== "finished") yield { skipped: `globalping ${result.status}` };
    // The name did not resolve, or the probe had an error of its own.
    else if (isV6 === undefined) yield { skipped: "globalping finished without an address" };
    else yield rowOf(measurement, result, { probe, isV6 }, options);
  }
}

function rowOf(
  { createdAt, target }: JsonObject,
  { resolvedAddress, stats, timings: list }: JsonObject,
  { probe, isV6 }: { probe: GlobalpingProbe; isV6: boolean },
  options: ReadingOptions,
): Finding {
  const { total, rcv } = objectOf(stats);
  const timings = Array.isArray(list) ? list : [];
  // If an ICMP error ended a test, all counts are -1.
  if (timings.length === 0 && (Number(total) < 0 || Number(rcv) < 0)) {
    return { skipped: "globalping finished without numbers" };
  }
  if (options.source !== NETWORK_SOURCE) {
    const advice = `add --source ${NETWORK_SOURCE} to make each network and city a source`;
    const found = "Globalping does not publish the addresses of its probes";
    return { reason: "unknownSource", found, advice };
  }
  // The creation is the only known time; the measurement runs within seconds of it.
  const timeUs = readTime(createdAt, "seconds", "createdAt");
  if (typeof timeUs !== "number") return timeUs;
  const rttsMs: number[] = [];
  for (const each of timings) {
    const rttMs = readRtt(objectOf(each).rtt, 1, options);
    if (typeof rttMs !== "number") return rttMs;
    rttsMs.push(rttMs);
  }
  // `timings` only contains the packets that came back.
  while (rttsMs.length < Math.min(Number(total), MAX_PACKETS)) rttsMs.push(FAILED_RTT_MS);
  if (rttsMs.length === 0 || Number(rcv) > timings.length) {
    return { reason: "incompleteResult", found: `${rcv} replies and ${timings.length} timings` };
  }
  const src = placeholderAddress(probe, isV6);
  const row = pingRow({ src, dst: String(resolvedAddress), timeUs, rttsMs }, options);
  if ("reason" in row) return row;
  const { city, state, country, asn } = probe;
  // For example `Berlin, DE, AS3320`.
  row.srcName = [city, state, country, asn && `AS${asn}`].filter(Boolean).join(", ");
  if (typeof target === "string") row.dstName = target;
  return row;
}

/**
 * The address that represents a network and city: the same in every file, and in practice unique.
 *
 * IPv4 addresses are in 240.0.0.0/4, which is reserved (RFC 1112). IPv6 addresses are in fd00::/8, for local
 * use, with a 40-bit global ID (RFC 4193). Among 1,000 networks and cities the probability of a collision is
 * 0.002 with IPv4 and 5e-7 with IPv6.
 */
export function placeholderAddress(probe: GlobalpingProbe, isV6: boolean): string {
  const { asn, country, state, city } = probe;
  const hash = hashOf([asn, country, state ?? null, city]);
  // 255.0.0.0/8 contains the broadcast address.
  if (!isV6) return `${240 + hash[0] % 15}.${hash[1]}.${hash[2]}.${hash[3]}`;
  const digits = hash.toHex();
  return `fd${digits.slice(0, 2)}:${digits.slice(2, 6)}:${digits.slice(6, 10)}::1`;
}

function hashOf(value: unknown): Uint8Array {
  return sha256(new TextEncoder().encode(JSON.stringify(value)));
}

/** The results of a measurement. `isV6` is undefined if the probe did not find an address for the target. */
export function* globalpingResults(
  measurement: JsonObject,
): Generator<{ probe: GlobalpingProbe; result: JsonObject; isV6: boolean | undefined }> {
  for (const each of measurement.results as unknown[]) {
    const result = objectOf(objectOf(each).result);
    const address = parseAddress(String(result.resolvedAddress));
    yield { probe: probeOf(objectOf(objectOf(each).probe)), result, isV6: address && address.length === 16 };
  }
}

function probeOf(probe: JsonObject): GlobalpingProbe {
  const text = (value: unknown) => typeof value === "string" ? value : undefined;
  const number = (value: unknown) => typeof value === "number" ? value : undefined;
  return {
    country: text(probe.country),
    state: text(probe.state),
    city: text(probe.city),
    asn: number(probe.asn),
    latitude: number(probe.latitude),
    longitude: number(probe.longitude),
  };
}
