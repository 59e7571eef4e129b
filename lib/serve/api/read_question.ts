/**
 * Requests as callers write them: checked by their schema, and read by the parsers of the stages.
 *
 * @module
 */
import { isObject } from "../../base/collections.ts";
import * as z from "zod";
import type { IpPrefix } from "../../data/addresses/ip_prefix.ts";
import type { PlaceIndex } from "../../data/addresses/place_index.ts";
import { shortened, UserError } from "../../base/errors.ts";
import { type ParsedQuestion, parseMeasurement, parseQuestion } from "../../query/rtt/rtt_question.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { faultOf } from "./api_error.ts";
import type { RttWanted } from "../../query/rtt/rtt_summary.ts";
import type { PingModel } from "../../query/ping_model.ts";
import { prepareQuery } from "../../query/rtt/answer_queries.ts";
import { type FileQuery, queryOf } from "../../query/rtt/query_file.ts";
import { matrixNodes } from "../../query/rtt/rtt_matrix.ts";
import {
  type ApiMeasurement,
  matrixQuestionSchema,
  MAX_MATRIX_PAIRS,
  nearestQuestionSchema,
  rttQuestionSchema,
} from "./schemas.ts";

/** Names that fields had before version 0.2. */
const OLD_NAMES: Readonly<Record<string, string>> = { src_addr: "src", dst_addr: "dst", timestamp: "time" };

/**
 * A request with its values in the types of a schema, checked: see {@link normalized}.
 *
 * @param value Anything that JSON can be, or the fields of a URL's query.
 * @throws {UserError} If it is not what the schema says.
 */
export function readFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const given = normalized(schema, value);
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  throw new UserError(faultOf(error, { value: given, schema, isUrl: IN_URL.has(Object(value)) }));
}

/**
 * A value in the types of its schema, also in lists and objects: null stands for an absent field where a field is
 * optional, and text is read as a number or a list where one is expected.
 *
 * @throws {UserError} If a field has its name of before version 0.2.
 */
export function normalized(schema: z.core.$ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return normalized(schema.unwrap(), value);
  }
  const given = typeof value === "string" ? valueOf(value, queryFormOf(schema)) : value;
  if (Array.isArray(given)) {
    if (schema instanceof z.ZodArray) return given.map((each) => normalized(schema.element, each));
    return schema instanceof z.ZodTuple ? given.map((each) => normalized(schema.def.items[0], each)) : given;
  }
  if (!(schema instanceof z.ZodObject) || !isObject(given)) return given;
  const fields = Object.entries(given).flatMap(([name, each]) => {
    if (Object.hasOwn(OLD_NAMES, name)) {
      throw new UserError(`found ${name}, expected ${OLD_NAMES[name]}, its name since version 0.2`);
    }
    const field = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
    if (each === null && field instanceof z.ZodOptional) return [];
    return [[name, field ? normalized(field, each) : each]];
  });
  return Object.fromEntries(fields);
}

/** How text has a field: as it is, a number, several with commas between them, or two as in `20..25`. */
export type QueryForm = "text" | "number" | "list" | "texts" | "range";

/** The form of a field; undefined if it has none. */
export function queryFormOf(field: z.core.$ZodType): QueryForm | undefined {
  if (field instanceof z.ZodOptional || field instanceof z.ZodNullable) return queryFormOf(field.unwrap());
  if (field instanceof z.ZodArray) {
    const element = queryFormOf(field.element);
    return element === "number" ? "list" : element === "text" ? "texts" : undefined;
  }
  if (field instanceof z.ZodTuple) return "range";
  if (field instanceof z.ZodNumber) return "number";
  const isText = [z.ZodString, z.ZodUnion, z.ZodEnum].some((type) => field instanceof type);
  return isText ? "text" : undefined;
}

/** What {@link queryFields} returned: errors show examples as a URL has them. */
const IN_URL = new WeakSet<object>();

/**
 * The fields of a URL's query, as text.
 *
 * @throws {UserError} If a field is given twice.
 */
export function queryFields(url: string): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, text] of new URL(url).searchParams) {
    if (fields.has(name)) throw new UserError(`found ${shortened(name)} twice, expected it once`);
    fields.set(name, text);
  }
  const all = Object.fromEntries(fields);
  IN_URL.add(all);
  return all;
}

/** The value that a text stands for, or the text, for the message. Lists may also be JSON, such as `[0.1, 0.9]`. */
function valueOf(text: string, form: QueryForm | undefined): unknown {
  if (form === "text") return text;
  if (form === "number") return numberOf(text) ?? text;
  if (/^\s*[[{]/.test(text)) return jsonOf(text) ?? text;
  if (form === "texts") return text.split(",").map((each) => each.trim());
  if (form === undefined) return text;
  const parts = text.split(form === "range" ? /\.\.|,/ : ",");
  const numbers = parts.map(numberOf);
  if (numbers.includes(undefined)) return text;
  return form === "range" && numbers.length === 1 ? [...numbers, ...numbers] : numbers;
}

function numberOf(text: string): number | undefined {
  const number = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A question for an RTT that was read. */
export interface AskedRtt {
  /** As a stage reads it, with the addresses as they stand there. */
  readonly query: ParsedQuestion & { readonly src: string; readonly dst: string };
  /** The parts of the distribution to answer with. */
  readonly wanted: RttWanted;
  /** How many addresses are drawn from prefixes, and by which seed. */
  readonly draws: { readonly numDraws?: number | undefined; readonly seed?: number | undefined };
}

/**
 * Reads a question for an RTT.
 *
 * @param defaults The parts to answer with where the question does not name them.
 * @param places Those that it may name.
 * @throws {UserError} If it is invalid.
 */
export function readRttQuestion(value: unknown, defaults: RttWanted = {}, places?: PlaceIndex): AskedRtt {
  const { src, dst, time, context, draws, seed, ...wanted } = readFields(
    rttQuestionSchema,
    value,
  );
  const question = parsedQuestion({ src, dst, time, context }, places);
  return {
    query: { src, dst, ...question },
    wanted: { ...defaults, ...wanted },
    draws: { numDraws: draws, seed },
  };
}

/**
 * Reads a question for the nearest of some candidates.
 *
 * @returns A query to each candidate, and how they are ranked.
 * @throws {UserError} If it is invalid, or the model cannot answer it.
 */
export function readNearestQuestion(model: Pick<PingModel, "config" | "places">, value: unknown) {
  const { candidates, context, top, by, draws, seed, ...asked } = readFields(nearestQuestionSchema, value);
  let shared: FileQuery["context"] = null;
  const queries = candidates.map((dst, i) => {
    try {
      // The context is the same for all.
      const asking = { ...asked, dst, ...(i === 0 && { context }) };
      const question = parsedQuestion(asking, model.places);
      if (i === 0) shared = question.context;
      const query = { line: i + 1, src: asked.src, dst, ...question, context: shared };
      return prepareQuery(model, query, []).query;
    } catch (error) {
      if (error instanceof UserError) throw new UserError(`candidate ${i + 1}: ${error.message}`);
      throw error;
    }
  });
  return { queries, options: { top: top ?? 5, by: by ?? "median", numDraws: draws, seed } as const };
}

/** Reads a question for a matrix. @throws {UserError} If it is invalid or too large. */
export async function readMatrixQuestion(
  { places, names }: Pick<PingModel, "places" | "names">,
  value: unknown,
) {
  const { nodes, destinations = nodes, context, time, quantiles, samples, draws, seed } = readFields(
    matrixQuestionSchema,
    value,
  );
  if (nodes.length * destinations.length > MAX_MATRIX_PAIRS) {
    throw new UserError(
      `found ${nodes.length} nodes and ${destinations.length} destinations, expected at most ` +
        `${MAX_MATRIX_PAIRS} pairs; ask for parts of the matrix`,
    );
  }
  const read = async (list: readonly string[], counted: "node" | "destination") =>
    await matrixNodes(
      list.map((dst, i) => queryOf(i + 1, () => ({ src: "0.0.0.0", dst }), { places })),
      counted,
      names,
    );
  const asked = { src: "0.0.0.0", dst: "0.0.0.0", time, context };
  const { timeS, context: known } = parsedQuestion(asked);
  return {
    nodes: await read(nodes, "node"),
    destinations: await read(destinations, "destination"),
    timeS,
    context: known ?? [],
    quantiles: quantiles ?? [0.05, 0.95],
    numSamples: samples ?? 0,
    numDraws: draws,
    seed,
  };
}

/** A source with a time and a context. */
interface AskedSource {
  /** The source, or where it lies. */
  readonly source: IpPrefix;
  /** Unix seconds, or null for any time. */
  readonly timeS: number | null;
  /** Oldest first. */
  readonly context: readonly TokenMeasurement[];
  /** Notes on values that were not taken literally, for people. */
  readonly notes: readonly string[];
}

/** Reads a question about a source. @param places Those that it may name. @throws {UserError} If it cannot be read. */
export function readSource(question: Omit<Question, "dst">, places?: PlaceIndex): AskedSource {
  const { src } = question;
  const read = parsedQuestion({ ...question, dst: src }, places);
  const { source, timeS, context, notes } = read;
  return { source, timeS, context: context ?? [], notes: [...new Set(notes)] };
}

/** Reads a measurement. @throws {UserError} If it is invalid. */
export function readMeasurement(measurement: ApiMeasurement): TokenMeasurement {
  return parseMeasurement(measurement);
}

interface Question extends Omit<ApiMeasurement, "rtt"> {
  readonly context?: readonly ApiMeasurement[] | undefined;
}

/** Reads a question as stages do. @throws {UserError} If it is invalid. */
function parsedQuestion({ src, dst, time, context }: Question, places?: PlaceIndex): ParsedQuestion {
  return parseQuestion({ src, dst, time, context }, places);
}
