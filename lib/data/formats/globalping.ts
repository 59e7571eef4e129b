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
import { convertPing } from "./atlas.ts";
import {
  type Finding,
  type Format,
  type JsonObject,
  NETWORK_SOURCE,
  objectOf,
  type ReadingOptions,
} from "./format.ts";
import { ReadingCache } from "./reading.ts";

/** The API sends at most 16 packets. */
const MAX_PACKETS = 64;

const readings = new ReadingCache();

export const globalping: Format = {
  name: "globalping",
  title: "measurements of Globalping (JSON)",
  json: {
    isResult: isGlobalping,
    reading: (_, { source, rtt }) =>
      readings.get([source, rtt], () => ({
        format: "globalping",
        time: "createdAt (ISO 8601, UTC)",
        source: source === NETWORK_SOURCE ? "probe (network and city)" : "unknown",
        destination: "resolvedAddress",
        rtt: `${rtt} of timings[].rtt (ms)`,
        noReply: "stats.rcv 0",
        notUsed: ["rawOutput"],
      })),
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

/**
 * Converts the results of a measurement. Its creation is the only known time; it runs within seconds of that.
 *
 * @param measurement An object for which {@link isGlobalping} is true.
 */
function* globalpingRows(measurement: JsonObject, options: ReadingOptions): Generator<Finding> {
  const timestamp = Date.parse(String(measurement.createdAt)) / 1000;
  const protocol = String(objectOf(measurement.measurementOptions).protocol ?? "ICMP").toUpperCase();
  for (const { probe, result } of resultsOf(measurement)) {
    // A reply to TCP shows when a port answered, not when the host did.
    if (protocol !== "ICMP" && measurement.type === "ping") {
      yield { skipped: `globalping ping by ${protocol}` };
    } else if (measurement.type !== "ping") yield { skipped: `globalping ${measurement.type}` };
    // Not run (`failed`, `offline`) or not finished (`in-progress`), which says nothing about the path.
    else if (result.status !== "finished") yield { skipped: `globalping ${result.status}` };
    else if (!hasNumbers(result)) yield { skipped: "globalping finished without numbers" };
    else {
      const destination = parseAddress(String(result.resolvedAddress));
      const isV6 = destination?.length === 16;
      // The name did not resolve, or the probe had an error of its own.
      if (!destination) yield { skipped: "globalping finished without an address" };
      else if (options.source !== NETWORK_SOURCE) {
        const advice = `add --source ${NETWORK_SOURCE} to make each network and city a source`;
        const found = "Globalping does not publish the addresses of its probes";
        yield { reason: "unknownSource", found, advice };
      } else {
        const from = placeholderAddress(probe, isV6);
        const atlas = { ...atlasResult(result, timestamp, from), dst_name: measurement.target };
        const row = convertPing(atlas, { ...options, source: "from" });
        yield "srcAddr" in row ? { ...row, srcName: nameOf(probe) } : row;
      }
    }
  }
}

/** Whether a test counted its packets. If an ICMP error ended it, all counts are -1. */
function hasNumbers({ stats, timings }: JsonObject): boolean {
  const { total, rcv } = objectOf(stats);
  return Array.isArray(timings) && timings.length > 0 || !(Number(total) < 0 || Number(rcv) < 0);
}

/** The probes of a measurement's results, with the IP version of each. */
export function* globalpingProbes(
  measurement: JsonObject,
): Generator<{ probe: GlobalpingProbe; isV6: boolean }> {
  for (const { probe, result } of resultsOf(measurement)) {
    const destination = parseAddress(String(result.resolvedAddress));
    if (destination) yield { probe, isV6: destination.length === 16 };
  }
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

/** Names a network and city, for example `Berlin, DE, AS3320`. */
function nameOf({ city, state, country, asn }: GlobalpingProbe): string {
  return [city, state, country, asn === undefined ? undefined : `AS${asn}`].filter(Boolean).join(", ");
}

function atlasResult(result: JsonObject, timestamp: number, from: string): JsonObject {
  const { total, rcv } = objectOf(result.stats);
  const timings = Array.isArray(result.timings)
    ? result.timings.map((each) => ({ rtt: objectOf(each).rtt }))
    : [];
  // `timings` only contains the packets that came back.
  const numLost = Number.isSafeInteger(total) ? Math.max(0, Number(total) - timings.length) : 0;
  const lost = Array.from({ length: Math.min(numLost, MAX_PACKETS) }, () => ({ x: "*" }));
  return {
    timestamp,
    from,
    dst_addr: result.resolvedAddress,
    sent: total,
    rcvd: rcv,
    result: [...timings, ...lost],
  };
}

function* resultsOf(measurement: JsonObject): Generator<{ probe: GlobalpingProbe; result: JsonObject }> {
  for (const each of measurement.results as unknown[]) {
    const { probe, result } = objectOf(each);
    yield { probe: probeOf(objectOf(probe)), result: objectOf(result) };
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
