/**
 * A kind of question as one value: its fields, its answer, how to compute the answer, and how to show it to
 * people. The command line, HTTP, OpenAPI, MCP and the types of the page are derived from it. It is loaded at
 * every start of the program, so whatever computes an answer is imported only when a question is asked.
 *
 * Field names are those of the wire format: `src`, `dst`, `time` (Unix seconds or ISO 8601), `rtt` (ms; null:
 * no reply). Schemas check types, bounds and times; `parseQuestion` checks prefixes and places.
 *
 * @module
 */
import * as z from "zod";
import { MAX_PROBE } from "../../data/formats/batch.ts";
import { issueOf } from "../../base/schema_fault.ts";
import { readAddress } from "../../data/addresses/address_book.ts";
import { addressFault, type IpPrefix } from "../../data/addresses/ip_prefix.ts";
import { momentOf } from "../../data/addresses/known_addresses.ts";
import { parseTimeUs } from "../../data/formats/time_text.ts";
import type { PlaceIndex } from "../../data/addresses/place_index.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import type { PingModel } from "../ping_model.ts";
import type { RttQuery } from "../query_tokens.ts";
import type { RttDistribution } from "../rtt/rtt_distribution.ts";
import { parseQuestion } from "../rtt/rtt_question.ts";

/** The model to ask, and how its GPU is shared. */
export interface Asking {
  readonly model: PingModel;
  /** Cancels the work. */
  readonly signal?: AbortSignal | undefined;
  /** The exact distribution between two addresses, computed in a batch with those of other callers. */
  exact<T>(query: RttQuery, use: (distribution: RttDistribution) => T): Promise<T>;
  /**
   * Runs work that occupies the GPU for long when its turn comes; the question must have been validated.
   *
   * @param cost Roughly the number of distributions to compute: cheap work does not wait for all of the rest.
   */
  inTurn<T>(cost: number, work: () => Promise<T>): Promise<T>;
  /** Maximum number of pairs of a question on a shared server (the question's own). */
  readonly mostPairs?: number | undefined;
  /** Reports progress; throws if the signal is aborted. */
  onProgress(done?: number): void;
}

/** Options of a question that a program asks. */
export interface AskOptions {
  /** Cancels the work; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of steps done, for questions that take long. */
  readonly onProgress?: ((done: number) => void) | undefined;
}

/** A caller that does not share its model. */
export function alone(model: PingModel, { signal, onProgress }: AskOptions): Asking {
  return {
    model,
    signal,
    async exact(query, use) {
      const { encodeQuery } = await import("../query_tokens.ts");
      signal?.throwIfAborted();
      encodeQuery(query, model.config.sequenceLength);
      const results: ReturnType<typeof use>[] = [];
      await model.likelyRttDistributions([query], (distribution) => results.push(use(distribution)));
      return results[0];
    },
    inTurn(_, work) {
      signal?.throwIfAborted();
      return work();
    },
    onProgress(done) {
      signal?.throwIfAborted();
      if (done !== undefined) onProgress?.(done);
    },
  };
}

export interface Question<Q extends z.ZodObject = z.ZodObject, A extends z.ZodObject = z.ZodObject> {
  /** Name in paths, tools and commands. */
  readonly name: string;
  /** Purpose in one line. */
  readonly summary: string;
  readonly question: Q;
  readonly answer: A;
  /** Fields with narrower bounds on a shared server. */
  readonly served?: { readonly [K in keyof Q["shape"]]?: z.ZodType };
  /** @throws {UserError} If the question cannot be answered. */
  ask(asking: Asking, question: z.output<Q>): Promise<z.output<A>>;
  text(answer: z.output<A>): string;
}

export function question<Q extends z.ZodObject, A extends z.ZodObject>(
  declared: Question<Q, A>,
): Question<Q, A> {
  return declared;
}

/** A question about a stream of measurements: each line gets an answer, an error or nothing. */
export interface LineQuestion {
  readonly name: string;
  readonly summary: string;
  readonly line: z.ZodObject;
  /** Options that apply to all lines. */
  readonly options: z.ZodObject;
  /** The answer to a line, without its number. */
  readonly answer: z.ZodObject;
}

/** Maximum number of measurements per whole question. */
const MAX_MEASUREMENTS = 1024;

/** The schema of a question with all its measurements at once. @param item Schema of each (`line`). */
export function wholeSchema({ line, options }: LineQuestion, item: z.ZodType = line): z.ZodObject {
  return fields({
    measurements: z.array(item).min(1).max(MAX_MEASUREMENTS).describe("in time order"),
    ...options.shape,
  });
}

export const lineErrorSchema = z.object({ line: z.int(), error: z.string() });
export type LineError = z.infer<typeof lineErrorSchema>;

/** How the lines from this one on are read, if they have another format than the API's own. */
export const readingLineSchema = z.object({
  line: z.int(),
  reading: z.object({
    format: z.string(),
    time: z.string(),
    source: z.string(),
    destination: z.string(),
    rtt: z.string(),
    no_reply: z.string(),
    not_used: z.array(z.string()),
  }),
});
export type ReadingLine = z.infer<typeof readingLineSchema>;

/** The schema of a question as a server accepts it. */
export function servedSchema({ question, served = {} }: Question): z.ZodObject {
  return fields({ ...question.shape, ...served as z.ZodRawShape });
}

/** An object that rejects unknown fields, listing the known ones. */
export function fields<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const wanted = `only ${Object.keys(shape).join(", ")}`;
  return z.strictObject(shape, { error: ({ code }) => code === "unrecognized_keys" ? wanted : undefined });
}

// Fields of questions.

const address = z.string({ error: "an IPv4 or IPv6 address" }).meta({ examples: ["192.0.2.1"] });
const destinationExample = { examples: ["198.51.100.7"] };

export const end = address;
export const src = address.describe(
  "source: an address; a prefix, from which the model draws addresses; or a place or network, answered as a mixture over its prefixes: " +
    "`Berlin, DE`; `Bavaria, DE`; `DE`; `AS3320`; `AS3320@DE`; `52.5,13.4` for its 5-degree cell",
);
export const dst = address.describe("destination: same forms, same IP version").meta(destinationExample);

export const time = z.union([z.string(), z.number()])
  .superRefine((value, context) => {
    const parsed = parseTimeUs(String(value));
    if (value !== "" && "fault" in parsed) context.addIssue(issueOf(parsed.fault));
  }).nullish()
  .describe(
    "when, from 1990 to 2099: ISO 8601 (UTC unless it has a zone) or Unix seconds (any time: a random moment in the data's period)",
  )
  .meta({ examples: ["2026-11-01T12:00Z"] });

export const probe = z.int().min(0).max(MAX_PROBE).optional().describe(
  "number of the probe (RIPE Atlas: prb_id) that has the source's address (the one that training saw with it): " +
    "measurements of the probe from its other addresses then count",
).meta({ examples: [1000] });

const measuredAddress = address.superRefine((text, context) => {
  if (!readAddress(text).bytes) context.addIssue(issueOf(addressFault(text)));
});

export const measurementSchema = fields({
  src: measuredAddress.describe("source address"),
  dst: measuredAddress.describe("destination address").meta(destinationExample),
  time,
  rtt: z.number().positive({ error: "ms above 0, or null for no reply" }).nullable().describe(
    "ms; null: no reply",
  ).meta({ examples: [12.5] }),
});
export type ApiMeasurement = z.input<typeof measurementSchema>;

/** Endpoints of measurements that do not contain theirs. */
export const constantEnds = {
  src: measuredAddress.optional().describe("source of measurements that do not contain one"),
  dst: measuredAddress.optional().describe("destination of measurements that do not contain one"),
};

export const context = z.array(measurementSchema).optional().describe(
  "recent measurements in any order, none later than the question's time; the newest that fit are used",
);

export const seed = z.int().min(0).max(2 ** 32 - 1).optional().describe("seed of all random numbers (0)")
  .meta({ examples: [0] });
/** @param usual The default. */
export function draws(most: number, usual = 64) {
  return z.int().min(2).max(most).optional()
    .describe(`number of addresses, or pairs of them, to draw from prefixes and places (${usual})`)
    .meta({ examples: [usual] });
}
/** Maximum number of draws per question on a server. */
export const SERVED_DRAWS = 2 ** 12;

// Fields of answers.

export const endNames = {
  src_name: z.string().optional().describe("name of the source, if any"),
  dst_name: z.string().optional().describe("name of the destination, if any"),
};
export const answeredTime = z.number().nullable().describe(
  "Unix seconds; null: any time, which is a random moment in the data's period",
);
/** The line with the time in an answer's text. */
export function timeLine(time: number | null): string {
  return `time: ${momentOf(time, { of: [], pairS: null }).text}`;
}
export const notes = z.array(z.string()).optional().describe("notes for people");
export const step = z.int().describe("number of the model's training steps");

interface AskedSource {
  /** The source, or the prefix that contains it. */
  readonly source: IpPrefix;
  /** Unix seconds; null for any time. */
  readonly timeS: number | null;
  /** Oldest first. */
  readonly context: readonly TokenMeasurement[];
  /** Notes for people about values that were not taken literally. */
  readonly notes: readonly string[];
}

/** Reads a question about a source. @throws {UserError} If it is invalid. */
export function readSource(
  { src, time, context }: { src: string; time?: unknown; context?: unknown },
  places?: PlaceIndex,
): AskedSource {
  const read = parseQuestion({ src, dst: src, time, context }, places);
  return {
    source: read.source,
    timeS: read.timeS,
    context: read.context ?? [],
    notes: [...new Set(read.notes)],
  };
}
