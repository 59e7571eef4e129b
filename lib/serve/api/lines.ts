/** The lines or items of a request with many of them, and what came of each. @module */
import { isObject } from "../../base/collections.ts";
import { UserError } from "../../base/errors.ts";
import {
  type Finding,
  type JsonObject,
  messageOf,
  NoMeasurementsError,
  type ReadingOptions,
  USUAL_READING,
  withoutOptions,
} from "../../data/formats/format.ts";
import { parseLenientJson } from "../../data/formats/json_stream.ts";
import { MeasurementReader } from "../../data/formats/reader.ts";
import { formatOf, resultsIn } from "../../data/formats/registry.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import type { LineError } from "../../query/questions/question.ts";

export interface Line {
  /** From 1. */
  readonly line: number;
  /** The value of the line. @throws {UserError} If it cannot be read. */
  read(): unknown;
}

export interface JsonLine extends Line {
  /** The length of its text. */
  readonly lengthBytes: number;
}

/** The answer to a line, or its error. */
export type Answered<Answer> = ({ readonly line: number } & Answer) | LineError;

/** Values as lines of JSON. */
export async function* jsonLines(values: readonly unknown[]): AsyncGenerator<string> {
  for (const value of values) yield JSON.stringify(value);
}

/** Types of bodies of measurements other than lines of JSON. */
export const MEASUREMENT_TYPES: readonly string[] = [
  ...["text/plain", "text/csv", "text/tab-separated-values", "application/json"],
];

export interface MeasurementLinesOptions {
  readonly isText: boolean;
  readonly src?: string | undefined;
  readonly dst?: string | undefined;
  readonly withIds: boolean;
}

/**
 * The measurements in a body: lines of JSON, each an object of the API or a result in a known format such as
 * that of RIPE Atlas; or a text in such a format.
 *
 * @param options `isText`: whether it is not lines of JSON; `src`, `dst`: addresses of measurements that do
 *   not state theirs; `withIds`: whether to give the numbers of measurements and probes of RIPE Atlas.
 */
export async function* measurementLines(
  texts: AsyncIterable<string>,
  { isText, src, dst, withIds }: MeasurementLinesOptions,
): AsyncGenerator<Line> {
  const reading = { ...USUAL_READING, src, dst };
  if (!isText) {
    for await (const { line, read } of linesOf(texts)) {
      yield* measurementsOf(line, read, { reading, withIds });
    }
    return;
  }
  let found: Line[] = [];
  const encoder = new TextEncoder();
  const reader = new MeasurementReader(
    "the body",
    reading,
    (finding, line) => found.push(...linesOfFinding(finding, line, withIds)),
  );
  try {
    for await (const text of texts) {
      reader.push(encoder.encode(`${text}\n`));
      yield* found;
      found = [];
    }
    reader.end();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const isEnd = error instanceof NoMeasurementsError;
    const advice = isEnd ? "; src and dst in the URL stand for ends that a text does not say" : "";
    throw new UserError(withoutOptions(error.message) + advice, { cause: error });
  }
  yield* found;
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
  const isOwn = isObject(value) && (formatOf(value as JsonObject, reading)?.name ?? OWN) === OWN;
  const results = isOwn || typeof value !== "object" || value === null
    ? []
    : resultsIn(value as JsonObject, reading);
  if (results.length === 0) yield { line, read: () => isOwn ? withFieldNames(value as JsonObject) : value };
  for (const [result, format] of results) {
    for (const finding of format.findings(result, reading)) yield* linesOfFinding(finding, line, withIds);
  }
}

/** The columns of measurement files, and the names of their fields here. */
const COLUMNS: Readonly<Record<string, string>> = { src_addr: "src", dst_addr: "dst", timestamp: "time" };

/** A measurement whose fields may have the names of the columns of measurement files. */
function withFieldNames(measurement: JsonObject): JsonObject {
  const named = Object.entries(measurement).map(([name, value]) => {
    const field = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : name;
    return [field in measurement ? name : field, value];
  });
  return Object.fromEntries(named);
}

/** The name of the format of the API's own measurements, which its schemas read. */
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
    ? `found ${finding.skipped}, which says nothing about a path, expected a ping result`
    : messageOf(finding);
  yield {
    line,
    read() {
      throw new UserError(fault);
    },
  };
}

/** Lines of JSON; empty ones are skipped, but counted. */
export async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<JsonLine> {
  let line = 0;
  for await (const text of texts) {
    line++;
    if (text.trim() !== "") yield { line, read: () => jsonOf(text), lengthBytes: text.length };
  }
}

function jsonOf(text: string): unknown {
  const value = parseLenientJson(text);
  if (value === undefined) throw new UserError("found no JSON, expected a JSON object");
  return value;
}

/**
 * Works on items, several at a time, and yields the results in order.
 *
 * @param work Must end by itself when the caller loses interest: nobody awaits its promise then.
 * @param most The number of items in work, which bounds memory.
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
    // An item that is being waited for may never come.
    if (taking) ended?.catch(() => {});
    else await ended;
  }
}

/** A promise whose rejection does not count as unhandled. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
