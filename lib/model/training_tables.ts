/**
 * The tables of training data and adaptations as tensors: the addresses and pairs that a model was trained
 * on.
 *
 * @module
 */
import * as z from "zod";
import { KnownAddresses, type MeasuredData, type TrainingData } from "../data/addresses/known_addresses.ts";
import { FormatError } from "../base/errors.ts";
import { checked } from "../base/schema_fault.ts";
import { tensorOf } from "../base/safetensors_header.ts";
import { END_TIME_US, MIN_TIME_US } from "../data/formats/batch.ts";
import type { SafetensorsContent } from "../io/safetensors.ts";
import { faultAt, USE_ANOTHER } from "./finite.ts";
import { ADAPTATION } from "./tensor_bounds.ts";

type Tables = Pick<SafetensorsContent, "tensors" | "metadata">;

const COLUMNS = [["v4", 1], ["v6", 4], ["seen", 4], ["pairs", 4]] as const;

const seconds = z.number().min(MIN_TIME_US / 1e6).lt(END_TIME_US / 1e6).nullable();
const count = z.int().min(0);
const metadataSchema = z.object({
  origin: z.string(),
  isSynthetic: z.boolean().nullable(),
  startS: seconds,
  endS: seconds,
  measurements: count,
  sources: count,
  destinations: count,
  isTruncated: z.boolean(),
});

export function trainingDataContent({ adaptation, ...trained }: TrainingData): SafetensorsContent {
  const [{ tensors, shapes, metadata }, adapted] = [contentOf(trained), adaptationContent(adaptation)];
  return {
    shapes: new Map([...shapes, ...adapted.shapes]),
    tensors: new Map([...tensors, ...adapted.tensors]),
    metadata: { ...metadata, ...adapted.metadata },
  };
}

/** @throws {FormatError} If the content is invalid. */
export function decodeTrainingData(content: Tables, path: string): TrainingData {
  return { ...dataOf(content, path), adaptation: decodeAdaptation(content, path) };
}

/** The measurements of an adaptation as a part of a file; empty without an adaptation. */
export function adaptationContent(data: MeasuredData | undefined): SafetensorsContent {
  return data ? contentOf(data, ADAPTATION) : { shapes: new Map(), tensors: new Map(), metadata: {} };
}

/** Undefined if the file has no adaptation. @throws {FormatError} If it is damaged. */
export function decodeAdaptation(content: Tables, path: string): MeasuredData | undefined {
  return `${ADAPTATION}summary` in content.metadata ? dataOf(content, path, ADAPTATION) : undefined;
}

function contentOf({ summary, known }: MeasuredData, prefix = ""): SafetensorsContent {
  const { columns, isTruncated } = known;
  return {
    tensors: new Map(COLUMNS.map(([name]) => [prefix + name, columns[name]])),
    shapes: new Map(COLUMNS.map(([name, width]) => [prefix + name, [columns[name].length / width, width]])),
    metadata: { [`${prefix}summary`]: JSON.stringify({ ...summary, isTruncated }) },
  };
}

function dataOf({ tensors, metadata }: Tables, path: string, prefix = ""): MeasuredData {
  try {
    const json = JSON.parse(metadata[`${prefix}summary`]);
    const parsed = checked(metadataSchema, json);
    if ("fault" in parsed) {
      throw new FormatError({ ...parsed.fault, advice: USE_ANOTHER }, {
        path,
        place: `its ${prefix}summary`,
      });
    }
    const { isTruncated, ...summary } = parsed.data;
    const [v4, v6, seen, pairs] = COLUMNS.map(([name]) => tensorOf(tensors, prefix + name, "U32"));
    const data = { summary, known: new KnownAddresses({ v4, v6, seen, pairs }, isTruncated) };
    for (const fault of faultsOf(data, prefix)) throw new FormatError(`${fault}; ${USE_ANOTHER}`, { path });
    return data;
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    throw new FormatError(
      `it has no table of ${prefix === "" ? "training data" : "the adaptation"}; ${USE_ANOTHER}`,
      { path, cause },
    );
  }
}

/** Rules between the numbers of a table and its summary; single numbers: lib/model/tensor_bounds.ts. */
function* faultsOf({ known, summary }: MeasuredData, prefix: string): Generator<string> {
  const { columns: { v4, v6, seen, pairs }, numAddresses, isTruncated } = known;
  const { startS, endS, measurements } = summary;
  if ((startS === null) !== (endS === null) || (startS ?? 0) > (endS ?? 0)) {
    yield `its ${prefix}summary covers ${startS} to ${endS} s, expected a start before the end`;
  }
  for (const [name, words, width] of [["v4", v4, 1], ["v6", v6, 4], ["pairs", pairs, 4]] as const) {
    const compared = name === "pairs" ? 2 : width;
    for (let at = width; at < words.length; at += width) {
      if (isAfter(words, at, at - width, compared)) continue;
      yield faultAt(prefix + name, words, at, "rows in ascending order");
    }
  }
  const [first, last] = [Math.floor(startS ?? 0), Math.ceil(endS ?? 0)];
  const times = [["seen", seen, 1], ["seen", seen, 3], ["pairs", pairs, 3]] as const;
  for (const [name, words, column] of times) {
    for (let at = column; at < words.length; at += 4) {
      if (words[at] === 0 || (words[at] >= first && words[at] <= last)) continue;
      yield faultAt(prefix + name, words, at, `0 or a time from ${first} to ${last}`);
    }
  }
  const ofEnds = [new Float64Array(numAddresses), new Float64Array(numAddresses)];
  for (let at = 0; at < pairs.length; at += 4) {
    for (const role of [0, 1]) {
      const end = pairs[at + role];
      if (end >= numAddresses) {
        yield faultAt(prefix + "pairs", pairs, at + role, `below ${numAddresses}, the number of addresses`);
      }
      ofEnds[role][end] += pairs[at + 2];
    }
  }
  const isWrong = (sum: number, whole: number) => isTruncated ? sum > whole : sum !== whole;
  for (const role of [0, 1]) {
    let total = 0;
    let numMeasured = 0;
    for (let end = 0; end < numAddresses; end++) {
      const at = 4 * end + 2 * role;
      total += seen[at];
      if (seen[at] > 0) numMeasured++;
      if (isWrong(ofEnds[role][end], seen[at])) {
        yield faultAt(prefix + "seen", seen, at, `${ofEnds[role][end]}, the sum of its pairs`);
      }
    }
    const addresses = role === 0 ? summary.sources : summary.destinations;
    if (isWrong(total, measurements)) {
      yield `the counts of tensor ${prefix}seen add up to ${total}, expected ${measurements}`;
    }
    if (isWrong(numMeasured, addresses)) {
      yield `tensor ${prefix}seen has ${numMeasured} ${
        role === 0 ? "sources" : "destinations"
      }, expected ${addresses}`;
    }
  }
}

/** Whether the row at `at` sorts after the row at `before`. */
function isAfter(words: Uint32Array, at: number, before: number, width: number): boolean {
  for (let i = 0; i < width; i++) {
    if (words[at + i] !== words[before + i]) return words[at + i] > words[before + i];
  }
  return false;
}
