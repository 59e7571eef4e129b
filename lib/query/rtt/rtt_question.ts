/** Questions for RTTs as people write them: endpoints as text, a time, recent measurements. @module */
import { isObject } from "../../base/collections.ts";
import { type Fault, shortened, shown, UserError } from "../../base/errors.ts";
import type { AddressNames } from "../../data/addresses/address_names.ts";
import { isRtt, MAX_PROBE } from "../../data/formats/batch.ts";
import { parseTimeUs } from "../../data/formats/time_text.ts";
import { parseAddress } from "../../data/addresses/ip.ts";
import {
  addressFault,
  faultOfPrefix,
  formatPrefix,
  hasHostBits,
  type IpPrefix,
  isAddress,
  parsePrefix,
  prefixContains,
} from "../../data/addresses/ip_prefix.ts";
import type { NamedPlace, PlaceIndex } from "../../data/addresses/place_index.ts";
import { encodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import type { PrefixQuery, RttQuery } from "../query_tokens.ts";

/** A question for the RTT between two endpoints. */
export interface RttQuestion {
  /** An address, prefix, place or AS, such as `192.0.2.1`, `2001:db8::/33`, `Berlin, DE` or `AS3320`. */
  readonly src: string;
  /** Like `src`, and of the same IP version; between two places IPv4 if both have it. */
  readonly dst: string;
  /** ISO 8601 (UTC unless it names a zone) or Unix seconds, from 1990 to 2099; any time if absent. */
  readonly time?: string | number | null;
  /** Measurements before `time`, in any order. The newest that fit in the model's sequence are used. */
  readonly context?: readonly QuestionMeasurement[];
  /** The number of the probe that has the source's address, which may be new to the model. */
  readonly probe?: number;
}

/** A measurement given as context of a question. */
export interface QuestionMeasurement {
  /** Source address. */
  readonly src: string;
  /** Destination address. */
  readonly dst: string;
  /** As in a question. Either all measurements of a context have a time or none do. */
  readonly time?: string | number | null;
  /** RTT, ms; null for no reply. */
  readonly rtt: number | null;
}

/** A question in the form that the model takes. */
export interface ParsedQuestion extends Omit<PrefixQuery, "context"> {
  /** The question's own context, oldest first; null if it has none. */
  readonly context: readonly TokenMeasurement[] | null;
  /** Notes for people about values that were not taken literally. */
  readonly notes: readonly string[];
}

const QUESTION_FIELDS = ["src", "dst", "time", "context", "probe"];
const MEASUREMENT_FIELDS = ["src", "dst", "time", "rtt"];
/** Longer than any address, prefix or place. */
const MAX_ADDRESS_LENGTH = 120;

type Values = Partial<Record<string, unknown>>;

/**
 * Reads a question.
 *
 * @param values An {@link RttQuestion}, or a file's equivalent.
 * @param places Places that it may name; undefined if the model has none.
 * @throws {UserError} If it is invalid.
 */
export function parseQuestion(
  values: RttQuestion | Partial<Record<string, unknown>>,
  places?: PlaceIndex,
): ParsedQuestion {
  const { src, dst, time, context, probe } = fieldsOf(values, QUESTION_FIELDS);
  const { notes, ...ends } = parseEnds(src, dst, places);
  return { ...ends, timeS: timeOf(time), context: measurementsOf(context, notes), ...probeOf(probe), notes };
}

/** @param value A number, or its text in a file. */
function probeOf(value: unknown): { probe?: number } {
  if (value === undefined || value === null || value === "") return {};
  const probe = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof probe === "number" && Number.isInteger(probe) && probe >= 0 && probe <= MAX_PROBE) {
    return { probe };
  }
  const expected = `a whole number from 0 to ${MAX_PROBE}`;
  throw new UserError({ path: ["probe"], value: shown(value), expected });
}

/** Fields of questions with endpoints: texts, objects with `src` or `dst`, or lists of these. */
const END_FIELDS = ["src", "dst", "within", "nodes", "sources", "destinations", "candidates"];

/**
 * Replaces names of addresses by the addresses in the endpoints of a question.
 *
 * @param values A question of any kind, or a file's equivalent.
 */
export function withAddresses<V extends Values>(values: V, names: AddressNames): V {
  if (names.size === 0) return values;
  const addressed = (value: unknown): unknown => {
    if (typeof value === "string") return names.addressOf(value) ?? value;
    if (Array.isArray(value)) return value.map(addressed);
    return isObject(value) ? withEnds(value) : value;
  };
  const withEnds = <V extends Values>(values: V): V => {
    const known = END_FIELDS.filter((name) => Object.hasOwn(values, name));
    return { ...values, ...Object.fromEntries(known.map((name) => [name, addressed(values[name])])) };
  };
  return withEnds(values);
}

/**
 * Reads a source and a destination, with notes for people about values that were not taken literally.
 *
 * @throws {UserError} If one is invalid, or a place has no addresses of the other's IP version.
 */
export function parseEnds(
  src: unknown,
  dst: unknown,
  places: PlaceIndex | undefined,
): { source: IpPrefix; destination: IpPrefix; notes: string[] } {
  const notes: string[] = [];
  const ends = { src: endOf("src", src, places, notes), dst: endOf("dst", dst, places, notes) };
  const lengths = Object.values(ends).flatMap((end) => "bytes" in end ? [end.bytes.length] : []);
  const asked = (name: "src" | "dst", length: 4 | 16): IpPrefix => {
    const end = ends[name];
    if ("bytes" in end || !places) return end as IpPrefix;
    const found = inField([name], () => places.ask(end, length));
    if (!found.mixture) notes.push(`${end.name} is ${formatPrefix(found)}`);
    else notes.push(`${end.name}: a mixture over prefixes of its ${found.mixture.numNetworks} networks`);
    return found;
  };
  const both = (length: 4 | 16) => ({
    source: asked("src", length),
    destination: asked("dst", length),
    notes,
  });
  if (lengths.length > 0) return both(lengths[0] === 4 ? 4 : 16);
  const have = (length: 4 | 16) =>
    Object.values(ends).every((end) =>
      "bytes" in end || (places?.prefixes(end.selector, 1, length).prefixes.length ?? 0) > 0
    );
  return both(have(4) || !have(16) ? 4 : 16);
}

/** Reads a prefix or place. @returns Whether an address is in it. @throws {UserError} If it is invalid. */
export function parseWithin(text: unknown, places: PlaceIndex | undefined): (address: Uint8Array) => boolean {
  const end = endOf("within", text, places, []);
  return (address) => "bytes" in end ? prefixContains(end, address) : places?.has(end, address) ?? false;
}

/** Reads a question between two addresses. @throws {UserError} If it is invalid or about prefixes. */
export function parseAddressQuestion(question: RttQuestion): RttQuery {
  const { source, destination, ...others } = parsePrefixQuestion(question);
  for (const prefix of [source, destination]) {
    if (isAddress(prefix)) continue;
    throw new UserError(
      `Cannot give one exact distribution for ${
        formatPrefix(prefix)
      }: expected two addresses; use rttBetweenPrefixes`,
    );
  }
  return { source: source.bytes, destination: destination.bytes, ...others };
}

/** Reads a question for the model. @throws {UserError} See {@link parseQuestion}. */
export function parsePrefixQuestion(question: RttQuestion): PrefixQuery {
  const { notes: _, context, ...query } = parseQuestion(question);
  return { ...query, context: context ?? [] };
}

function fieldsOf(values: Values | RttQuestion, fields: readonly string[]): Values {
  const unknown = Object.keys(values).find((name) => !fields.includes(name));
  if (unknown === undefined) return values as Values;
  throw new UserError({ found: `found ${shortened(unknown)}`, expected: `only ${fields.join(", ")}` });
}

/** Whether a text is read as an address or prefix rather than a place. */
export function isMeantAsPrefix(text: string): boolean {
  return /^[\d.]+$|^[^,]*[:/][^,]*$/.test(text.trim());
}

/** A prefix, or a place whose IP version is not decided yet. */
function endOf(
  name: string,
  value: unknown,
  places: PlaceIndex | undefined,
  notes: string[],
): IpPrefix | NamedPlace {
  const text = textOf(name, value, "address or prefix");
  const fault = faultOfPrefix(text);
  if (fault === undefined) {
    const prefix = parsePrefix(text);
    if (hasHostBits(text)) {
      notes.push(`${text} has bits set after the prefix: read as ${formatPrefix(prefix)}`);
    }
    return prefix;
  }
  const isPlace = !isMeantAsPrefix(text);
  if (isPlace && places) return inField([name], () => places.find(text));
  const isLikePlace = isPlace && /^(AS\d|\p{Lu})|,/u.test(text);
  const advice = isLikePlace ? "the model does not know places by name: train one with --geo" : fault.advice;
  throw new UserError({ path: [name], value: shown(text), ...fault, advice });
}

/** Runs a function; its errors are about a field. @param path Prefixed to the path in the error. */
export function inField<T>(path: readonly PropertyKey[], run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof UserError ? new UserError(faultIn(path, error.fault ?? error.message)) : error;
  }
}

/** A fault that is about a field. */
export function faultIn(path: readonly PropertyKey[], fault: Fault | string): Fault {
  if (typeof fault === "string") return { path, found: fault };
  return { ...fault, path: [...path, ...fault.path ?? []] };
}

function addressOf(name: string, value: unknown): Uint8Array {
  const text = textOf(name, value, "address");
  const bytes = parseAddress(text);
  if (bytes) return bytes;
  throw new UserError({ path: [name], value: shown(text), ...addressFault(text) });
}

function textOf(name: string, value: unknown, wanted: string): string {
  if (typeof value === "string" && value !== "" && value.length <= MAX_ADDRESS_LENGTH) return value;
  const found = value === undefined || value === "" ? null : shown(value);
  throw new UserError({ path: [name], value: found, expected: `an IPv4 or IPv6 ${wanted}` });
}

/** The time of a question in whole Unix seconds; null for any time. @throws {UserError} If it is invalid. */
export function timeOf(value: unknown): number | null {
  const exactS = exactTimeOf(value);
  return exactS === null ? null : Math.floor(exactS);
}

function exactTimeOf(value: unknown): number | null {
  if (value === undefined || value === null || value === "") return null;
  const parsed = parseTimeUs(typeof value === "string" || typeof value === "number" ? String(value) : "");
  if ("timeUs" in parsed) return parsed.timeUs / 1e6;
  throw new UserError({ path: ["time"], value: shown(value), ...parsed.fault });
}

function measurementsOf(value: unknown, notes: string[]): TokenMeasurement[] | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value)) {
    throw new UserError({ path: ["context"], value: shown(value), expected: "an array of measurements" });
  }
  return inOrder(
    value.map((each: unknown, i) => inField(["context", i], () => parseMeasurement(each))),
    notes,
  );
}

/** Reads a {@link QuestionMeasurement} or a file's equivalent. @throws {UserError} If it is invalid. */
export function parseMeasurement(value: unknown): TokenMeasurement {
  return parseTimed(value).measurement;
}

/** As {@link parseMeasurement}. @returns Also the time, in Unix seconds to the microsecond, or null. */
export function parseTimed(value: unknown): { measurement: TokenMeasurement; exactS: number | null } {
  if (typeof value !== "object" || value === null) {
    throw new UserError({ value: shown(value), expected: "an object with src, dst, time and rtt" });
  }
  const { src, dst, time, rtt } = fieldsOf(value as Values, MEASUREMENT_FIELDS);
  const source = addressOf("src", src);
  const destination = addressOf("dst", dst);
  if (source.length !== destination.length) {
    const found = "found addresses of different IP versions";
    throw new UserError({ found, expected: "two of the same version" });
  }
  const exactS = exactTimeOf(time);
  const timeS = exactS === null ? null : Math.floor(exactS);
  return { measurement: { source, destination, rttCode: rttCodeOf(rtt), timeS }, exactS };
}

/** Reads a measurement that must have a time, which is kept to the microsecond. @throws {UserError} */
export function parseTimedMeasurement(value: unknown): TokenMeasurement & { readonly timeS: number } {
  const { measurement, exactS: timeS } = parseTimed(value);
  if (timeS === null) throw new UserError("time must be given");
  return { ...measurement, timeS };
}

function rttCodeOf(value: unknown): number | null {
  if (value === null) return null;
  if (typeof value === "number" && isRtt(value)) return encodeRttCode(value);
  const found = value === undefined ? null : shown(value);
  throw new UserError({ path: ["rtt"], value: found, expected: "ms above 0, or null for no reply" });
}

function inOrder(measurements: TokenMeasurement[], notes: string[]): TokenMeasurement[] {
  const timesS = measurements.map(({ timeS }) => timeS).filter((timeS) => timeS !== null);
  if (timesS.length > 0 && timesS.length < measurements.length) {
    throw new UserError({ found: "only some context measurements have a time", expected: "all or none" });
  }
  if (timesS.every((timeS, i) => i === 0 || timeS >= timesS[i - 1])) return measurements;
  notes.push("the context was not in time order and was sorted");
  return measurements.toSorted((a, b) => (a.timeS ?? 0) - (b.timeS ?? 0));
}
