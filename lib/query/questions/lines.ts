/** Requests of many lines or items, and the answer to each. @module */
import { isObject } from "../../base/collections.ts";
import { UserError } from "../../base/errors.ts";
import {
  type Finding,
  type JsonObject,
  messageOf,
  NoMeasurementsError,
  type ReadingOptions,
  USUAL_READING,
} from "../../data/formats/format.ts";
import { parseLenientJson } from "../../io/text/json_stream.ts";
import { MeasurementReader } from "../../data/formats/reader.ts";
import { formatOf, type JsonFormat, resultsIn } from "../../data/formats/registry.ts";
import { layoutOf } from "../../data/formats/table.ts";
import { Readings } from "../../data/formats/reading.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import type { LineError, ReadingLine } from "./question.ts";
import { watch } from "./watch.ts";

export interface Line {
  /** From 1. */
  readonly line: number;
  /** Parses the line. @throws {UserError} If it is not valid. */
  read(): unknown;
}

export interface JsonLine extends Line {
  readonly lengthBytes: number;
}

export type Answered<Answer> = ({ readonly line: number } & Answer) | LineError;

export async function* jsonLines(values: readonly unknown[]): AsyncGenerator<string> {
  for (const value of values) yield JSON.stringify(value);
}

/** Media types of measurements other than JSON lines. */
export const MEASUREMENT_TYPES: readonly string[] = [
  ...["text/plain", "text/csv", "text/tab-separated-values", "application/json"],
];

export interface MeasurementLinesOptions {
  readonly isText: boolean;
  readonly src?: string | undefined;
  readonly dst?: string | undefined;
  readonly withIds: boolean;
  /** Called with each distinct reading of results in other formats, before their lines. */
  readonly onReading?: ((line: ReadingLine) => void) | undefined;
}

/** Puts the readings of a body before the answers to its lines. */
export async function* withReadings<Answer>(
  ask: (onReading: (line: ReadingLine) => void) => AsyncIterable<Answer>,
): AsyncGenerator<Answer | ReadingLine> {
  const said: ReadingLine[] = [];
  for await (const answer of ask((line) => said.push(line))) {
    yield* said.splice(0);
    yield answer;
  }
  yield* said;
}

/** Reads the measurements in a body, as {@link MeasurementLines} does. */
export type ReadMeasurements = (
  texts: AsyncIterable<string>,
  options: MeasurementLinesOptions,
  signal?: AbortSignal,
) => AsyncGenerator<Line>;

/** Reads the measurements in a body in this thread. @throws {UserError} As {@link MeasurementLines}. */
export const measurementLines: ReadMeasurements = async function* (texts, options) {
  const lines = new MeasurementLines(options);
  for await (const text of texts) yield* lines.push(text);
  yield* lines.end();
};

/**
 * Reads the measurements in a body: JSON lines, each an object of the API or a result in a known format such
 * as RIPE Atlas, or text in a known format.
 */
export class MeasurementLines {
  readonly #withIds: boolean;
  readonly #reading: ReadingOptions;
  /** Reads text; undefined for JSON lines. */
  readonly #reader: MeasurementReader | undefined;
  readonly #encoder = new TextEncoder();
  #numLines = 0;
  #found: Line[] = [];
  #hasContent = false;
  #isFound = false;

  /**
   * @param options `isText`: false for JSON lines; `src`, `dst`: addresses for measurements that do not state
   *   theirs; `withIds`: whether to include RIPE Atlas' measurement and probe IDs.
   */
  constructor({ isText, src, dst, withIds, onReading }: MeasurementLinesOptions) {
    const readings = new Readings();
    this.#withIds = withIds;
    this.#reading = {
      ...USUAL_READING,
      src: src ? [src] : undefined,
      dst: dst ? [dst] : undefined,
      onReading: onReading && ((each) => {
        if (!readings.add(each)) return;
        const { noReply, notUsed, ...parts } = each;
        const reading = { ...parts, no_reply: noReply, not_used: [...notUsed] };
        onReading({ line: this.#numLines, reading });
      }),
    };
    if (!isText) return;
    this.#reader = new MeasurementReader("the body", this.#reading, (finding, line) => {
      this.#found.push(...linesOfFinding(finding, line, withIds));
      this.#isFound = true;
    });
  }

  /** @returns The measurements that are complete. @throws {UserError} If the text cannot be read on. */
  push(text: string): Iterable<Line> {
    const line = ++this.#numLines;
    if (this.#reader) {
      this.#hasContent ||= /[^\s[\]]/.test(text);
      return this.#take((reader) => reader.push(this.#encoder.encode(`${text}\n`)));
    }
    if (text.trim() === "") return [];
    return measurementsOf(line, () => jsonOf(text), { reading: this.#reading, withIds: this.#withIds });
  }

  /** @throws {UserError} If the text is incomplete or has no measurements. */
  end(): Iterable<Line> {
    if (!this.#reader) return [];
    const found = this.#take((reader) => reader.end());
    if (this.#reader.format !== "json" || !this.#hasContent || this.#isFound) return found;
    throw new UserError(
      "Cannot read the body: found no measurements, expected objects with src, dst, time and rtt, " +
        "or another format that import reads",
    );
  }

  #take(read: (reader: MeasurementReader) => void): Line[] {
    try {
      if (this.#reader) read(this.#reader);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const isEnd = error instanceof NoMeasurementsError;
      const advice = isEnd ? "give src and dst in the URL if the text does not contain them" : undefined;
      throw new UserError({ ...error.fault, advice }, { cause: error });
    }
    const found = this.#found;
    this.#found = [];
    return found;
  }
}

function* measurementsOf(
  line: number,
  read: () => unknown,
  { reading, withIds }: { reading: ReadingOptions; withIds: boolean },
): Generator<Line> {
  let value: unknown;
  try {
    value = read();
  } catch {
    return yield { line, read };
  }
  const format = isObject(value) ? formatOf(value as JsonObject, reading) : undefined;
  if (isObject(value) && (format?.name ?? OWN) === OWN) {
    return yield* ownMeasurements(value as JsonObject, format, { line, reading, withIds });
  }
  const results = typeof value === "object" && value !== null ? resultsIn(value as JsonObject, reading) : [];
  if (results.length === 0) yield { line, read: () => value };
  for (const [result, format] of results) {
    for (const finding of format.findings(result, reading)) yield* linesOfFinding(finding, line, withIds);
  }
}

/**
 * Reads the measurements of an object that uses the names, units and words for no reply of tables. The API's
 * schema reads all other objects and explains what is wrong with their fields.
 */
function* ownMeasurements(
  object: JsonObject,
  format: JsonFormat | undefined,
  { line, reading, withIds }: { line: number; reading: ReadingOptions; withIds: boolean },
): Generator<Line> {
  const named = Object.fromEntries(
    Object.entries(withFieldNames(object)).filter(([name]) => withIds || !IDS.includes(name)),
  );
  const names = Object.keys(named);
  const hasOwnNames = names.every((name) => Object.hasOwn(watch.line.shape, name));
  // In addition to the API's own names, another one or a second RTT is a mistake.
  const isMixed = ["src", "dst", "rtt"].every((name) => names.includes(name)) &&
    (layoutOf(names, reading).reading.notUsed.length > 0 ||
      names.some((name) => name in COLUMNS || /^rtt_/i.test(name)));
  const findings = format && !isMixed ? [...format.findings(object, reading)] : [];
  const isClear = (finding: Finding) =>
    "skipped" in finding ||
    ("srcAddr" in finding
      ? !Number.isNaN(finding.eventTimeUs)
      : !hasOwnNames && finding.reason !== "nullValue");
  if (findings.length === 0 || !findings.every(isClear)) return yield { line, read: () => named };
  const said = hasOwnNames ? undefined : format?.reading?.(object, reading);
  if (said) reading.onReading?.(said);
  for (const finding of findings) yield* linesOfFinding(finding, line, withIds);
}

const IDS = ["msm_id", "prb_id"];
const COLUMNS: Readonly<Record<string, string>> = { src_addr: "src", dst_addr: "dst", timestamp: "time" };

/** Renames fields that are named like the columns of measurement files. */
function withFieldNames(measurement: JsonObject): JsonObject {
  const named = Object.entries(measurement).map(([name, value]) => {
    const field = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : name;
    return [field in measurement ? name : field, value];
  });
  return Object.fromEntries(named);
}

/** Name of the format of the API's own measurements. */
const OWN = "csv";

function* linesOfFinding(finding: Finding, line: number, withIds: boolean): Generator<Line> {
  if ("srcAddr" in finding) {
    const { srcAddr: src, dstAddr: dst, eventTimeUs, msmId, prbId } = finding;
    const ids = withIds ? { ...(msmId >= 0 && { msm_id: msmId }), ...(prbId >= 0 && { prb_id: prbId }) } : {};
    const time = Number.isNaN(eventTimeUs) ? null : eventTimeUs / 1e6;
    for (const rttMs of finding.rttsMs) {
      const rtt = rttMs === FAILED_RTT_MS ? null : rttMs;
      yield { line, read: () => ({ src, dst, time, rtt, ...ids }) };
    }
    return;
  }
  const fault = "skipped" in finding
    ? `found ${finding.skipped}, which does not measure a path, expected a ping result`
    : messageOf(finding);
  yield {
    line,
    read() {
      throw new UserError(fault);
    },
  };
}

/** Parses JSON lines. Empty lines are skipped but counted. */
export async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<JsonLine> {
  let line = 0;
  for await (const text of texts) {
    line++;
    if (text.trim() !== "") yield { line, read: () => jsonOf(text), lengthBytes: text.length };
  }
}

function jsonOf(text: string): unknown {
  const value = parseLenientJson(text);
  if (value === undefined) throw new UserError("the line must be a JSON object");
  return value;
}

/** Groups items that are available at once. @param most Maximum number of items in a group. */
export async function* together<Item>(items: AsyncIterable<Item>, most: number): AsyncGenerator<Item[]> {
  const iterator = items[Symbol.asyncIterator]();
  let taking = iterator.next();
  try {
    for (;;) {
      const group: Item[] = [];
      let next: IteratorResult<Item> | undefined = await taking;
      const turn = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 0));
      while (next && !next.done) {
        group.push(next.value);
        taking = iterator.next();
        next = group.length < most ? await Promise.race([taking, turn]) : undefined;
      }
      if (group.length > 0) yield group;
      if (next?.done) return;
    }
  } finally {
    // A pending item may never arrive.
    taking.catch(() => {});
    iterator.return?.()?.catch(() => {});
  }
}

/**
 * Works on several items at a time and yields the results in order.
 *
 * @param work Must finish on its own if the consumer stops early: its promise is then not awaited.
 * @param most Maximum number of items in work, which bounds memory.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
  most: number,
): AsyncGenerator<Result> {
  const iterator = items[Symbol.asyncIterator]();
  const running: Promise<Result>[] = [];
  let taking: Promise<IteratorResult<Item>> | undefined;
  let isDone = false;
  try {
    while (!isDone || running.length > 0) {
      if (!isDone && running.length < most) taking ??= iterator.next();
      const first = running[0];
      const item = taking?.then((next) => ({ next }));
      const result = first?.then((value) => ({ value }));
      const came = await Promise.race([result, item].filter((promise) => promise !== undefined));
      if ("value" in came) {
        running.shift();
        yield came.value;
        continue;
      }
      taking = undefined;
      if (came.next.done) isDone = true;
      else running.push(handled(work(came.next.value)));
    }
  } finally {
    const ended = iterator.return?.();
    // A pending item may never arrive.
    if (taking) ended?.catch(() => {});
    else await ended;
  }
}

/** Keeps a rejection from counting as unhandled. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
