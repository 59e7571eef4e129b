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
import {
  type Finding,
  type Format,
  type JsonObject,
  NETWORK_SOURCE,
  objectOf,
  type PingRow,
  type ReadingOptions,
} from "./format.ts";
import type { Reading } from "./reading.ts";
import { layoutOf, TableRows } from "./table.ts";

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
  const rows = new TableRows(options);
  const layout = layoutOf(["time", "src", "dst", "rtt"], { ...options, columns: undefined });
  for (const { probe, result, isV6 } of globalpingResults(measurement)) {
    const { total, rcv } = objectOf(result.stats);
    const timings = Array.isArray(result.timings) ? result.timings : [];
    const skipped = unmeasured(measurement, result);
    if (skipped !== undefined) yield { skipped };
    // The name did not resolve, or the probe had an error of its own.
    else if (isV6 === undefined) yield { skipped: "globalping finished without an address" };
    // If an ICMP error ended a test, all counts are -1.
    else if (timings.length === 0 && (Number(total) < 0 || Number(rcv) < 0)) {
      yield { skipped: "globalping finished without numbers" };
    } else if (Number(rcv) > timings.length) {
      yield { reason: "incompleteResult", found: `${rcv} replies and ${timings.length} timings` };
    } else if (options.source !== NETWORK_SOURCE) {
      const advice = `add --source ${NETWORK_SOURCE} to make each network and city a source`;
      const found = "Globalping does not publish the addresses of its probes";
      yield { reason: "unknownSource", found, advice };
    } else {
      const rtts: unknown[] = timings.map((each) => objectOf(each).rtt);
      // `timings` only contains the packets that came back.
      while (rtts.length < Math.min(Number(total), MAX_PACKETS)) rtts.push(null);
      // The creation is the only known time; the measurement runs within seconds of it.
      const fields = [measurement.createdAt, placeholderAddress(probe, isV6), result.resolvedAddress, rtts];
      const found: Finding[] = [];
      rows.read(fields, layout, (finding) => found.push(finding));
      for (const each of found) yield "srcAddr" in each ? withNames(each, probe, measurement.target) : each;
    }
  }
}

/** Why a result says nothing about a path. */
function unmeasured({ type, measurementOptions }: JsonObject, { status }: JsonObject): string | undefined {
  const protocol = String(objectOf(measurementOptions).protocol ?? "ICMP").toUpperCase();
  if (type !== "ping") return `globalping ${type}`;
  // A reply to TCP shows when a port answered, not when the host did.
  if (protocol !== "ICMP") return `globalping ping by ${protocol}`;
  // Not run (`failed`, `offline`) or not finished (`in-progress`).
  return status === "finished" ? undefined : `globalping ${status}`;
}

/** Names a source after its city and network, for example `Berlin, DE, AS3320`. */
function withNames(row: PingRow, { city, state, country, asn }: GlobalpingProbe, target: unknown): PingRow {
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
