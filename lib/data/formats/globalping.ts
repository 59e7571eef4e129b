/**
 * Ping measurements of Globalping, in the form of the response to `GET /v1/measurements/{id}`.
 *
 * One object has the results of all probes that took part. A probe is identified by its network and city only: the API
 * gives neither its address nor a stable id ("Probes share no UUIDs", Globalping's README). A measurement here has a source
 * address, so by default such results are rejected and counted. {@link NETWORK_SOURCE} instead gives each network and city
 * an address of its own ({@link placeholderAddress}), from ranges that no host on the Internet has.
 *
 * Fields: https://globalping.io/docs/api.globalping.io (schemas `MeasurementResponse`, `FinishedPingTestResult`).
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

/** The API sends 16 packets at most. */
const MAX_PACKETS = 64;

export const globalping: Format = {
  name: "globalping",
  title: "measurements of Globalping (JSON)",
  json: {
    isResult: isGlobalping,
    findings: globalpingRows,
    // Objects that other programs wrote may have no id.
    idOf: (object) => typeof object.id === "string" ? object.id : hashOf(object).toHex(),
  },
};

/** Where a probe of Globalping is; what is not known is absent. */
export interface GlobalpingProbe {
  country?: string | undefined;
  /** A state of the United States. */
  state?: string | undefined;
  city?: string | undefined;
  /** Number of the autonomous system. */
  asn?: number | undefined;
  /** Degrees. */
  latitude?: number | undefined;
  longitude?: number | undefined;
}

/** Whether an object is a measurement of Globalping. */
export function isGlobalping(object: JsonObject): boolean {
  return Array.isArray(object.results) && "probesCount" in object && typeof object.type === "string";
}

/**
 * The results of a measurement. The only known time is that of its creation; it runs within seconds of it.
 *
 * @param measurement An object for which {@link isGlobalping} holds.
 */
function* globalpingRows(measurement: JsonObject, options: ReadingOptions): Generator<Finding> {
  const timestamp = Date.parse(String(measurement.createdAt)) / 1000;
  for (const { probe, result } of resultsOf(measurement)) {
    if (measurement.type !== "ping") yield { skipped: `globalping ${measurement.type}` };
    // The test did not run (`failed`, `offline`) or has not ended (`in-progress`): that says nothing about the path.
    else if (result.status !== "finished") yield { skipped: `globalping ${result.status}` };
    else if (!hasNumbers(result)) yield { skipped: "globalping finished without numbers" };
    else {
      const destination = parseAddress(String(result.resolvedAddress));
      const isV6 = destination?.length === 16;
      if (!destination) yield { reason: "nullValue", detail: "resolvedAddress" };
      else if (options.source !== NETWORK_SOURCE) {
        const advice = `with --source ${NETWORK_SOURCE} each network and city is a source`;
        const detail = `Globalping does not tell the address of its probes; ${advice}`;
        yield { reason: "unknownSource", detail };
      } else {
        const from = placeholderAddress(probe, isV6);
        const atlas = { ...atlasResult(result, timestamp, from), dst_name: measurement.target };
        const row = convertPing(atlas, { ...options, source: "from" });
        yield "srcAddr" in row ? { ...row, srcName: nameOf(probe) } : row;
      }
    }
  }
}

/** Whether a test counted its packets: all counts of one that an ICMP error ended are -1. */
function hasNumbers({ stats, timings }: JsonObject): boolean {
  const { total, rcv } = objectOf(stats);
  return Array.isArray(timings) && timings.length > 0 || !(Number(total) < 0 || Number(rcv) < 0);
}

/** The probes of a measurement's results, with the IP version that each measured with. */
export function* globalpingProbes(
  measurement: JsonObject,
): Generator<{ probe: GlobalpingProbe; isV6: boolean }> {
  for (const { probe, result } of resultsOf(measurement)) {
    const destination = parseAddress(String(result.resolvedAddress));
    if (destination) yield { probe, isV6: destination.length === 16 };
  }
}

/**
 * The address that stands for a network and city: the same in every file, and in practice no other's.
 *
 * IPv4 addresses are in 240.0.0.0/4, which is reserved (RFC 1112), IPv6 ones in fd00::/8, for local use, with a global ID
 * of 40 bits (RFC 4193). 1,000 networks and cities collide with a probability of 0.002 over IPv4, 5e-7 over IPv6.
 */
export function placeholderAddress(probe: GlobalpingProbe, isV6: boolean): string {
  const { asn, country, state, city } = probe;
  const hash = hashOf([asn, country, state ?? null, city]);
  // 255.0.0.0/8 has the broadcast address.
  if (!isV6) return `${240 + hash[0] % 15}.${hash[1]}.${hash[2]}.${hash[3]}`;
  const digits = hash.toHex();
  return `fd${digits.slice(0, 2)}:${digits.slice(2, 6)}:${digits.slice(6, 10)}::1`;
}

function hashOf(value: unknown): Uint8Array {
  return sha256(new TextEncoder().encode(JSON.stringify(value)));
}

/** A network and city as people read them, such as `Berlin, DE, AS3320`. */
function nameOf({ city, state, country, asn }: GlobalpingProbe): string {
  return [city, state, country, asn === undefined ? undefined : `AS${asn}`].filter(Boolean).join(", ");
}

/** The same result in the form of RIPE Atlas. */
function atlasResult(result: JsonObject, timestamp: number, from: string): JsonObject {
  const { total, rcv } = objectOf(result.stats);
  const timings = Array.isArray(result.timings)
    ? result.timings.map((each) => ({ rtt: objectOf(each).rtt }))
    : [];
  // `timings` has the packets that came back.
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
