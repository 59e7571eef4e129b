/**
 * The messages of the API: what is asked and what is answered, as the HTTP server, the page and the model in a
 * browser exchange them.
 *
 * Names are those of `query`: `src`, `dst`, `time` (Unix seconds or ISO 8601), `rtt` (ms; null: no reply).
 * `parseQuestion` finds what is wrong with a prefix or place, in the words of `query rtt`; schemas find the rest.
 *
 * These schemas and their descriptions are all that says what a message has: types, the fields of URLs, and
 * `openapi.json` are made of them. The numbers of an answer are those of the library's own JSON, in snake_case.
 *
 * @module
 */
import * as z from "zod";
import { parseAddress } from "../../data/addresses/ip.ts";
import { adviceOnName } from "../../data/addresses/ip_prefix.ts";
import { basisSchema, dataSchema } from "../../data/addresses/known_addresses.ts";
import { alarmLineSchema } from "../../query/changes/alarm_lines.ts";
import { destinationsSchema } from "../../query/destinations/destination_ranking.ts";
import { NEAREST_ORDERS, nearestSchema } from "../../query/nearest/nearest.ts";
import { bitsSchema } from "../../query/likelihood/likelihood.ts";
import { MAP_LEVELS } from "../../query/rtt/map_format.ts";
import { matrixRowSchema } from "../../query/rtt/rtt_matrix.ts";
import { mapPlaceSchema } from "../../query/rtt/rtt_map.ts";
import { parseTimeS } from "../../query/rtt/rtt_question.ts";
import { rttSummarySchema, rttWantedSchema } from "../../query/rtt/rtt_summary.ts";
import { snakeShape } from "./snake_case.ts";

/** An object that refuses other fields and says which ones it has. */
function fields<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const wanted = `expected only ${Object.keys(shape).join(", ")}`;
  return z.strictObject(shape, { error: ({ code }) => code === "unrecognized_keys" ? wanted : undefined });
}

const address = z.string({ error: "expected an IPv4 or IPv6 address" }).meta({ examples: ["192.0.2.1"] });
const destinationExample = { examples: ["198.51.100.7"] };
const source = address.describe(
  "source: an address, a prefix, or a place or AS that the model knows, as `Berlin, DE`",
);
const destination = address.describe("destination: the same").meta(destinationExample);
/** The fault of a time, which may be an empty text. */
function faultOfTime(time: unknown): string | undefined {
  if (time === "") return undefined;
  const parsed = parseTimeS(String(time));
  return "fault" in parsed ? parsed.fault : undefined;
}
const time = z.union([z.string(), z.number()])
  .refine((value) => faultOfTime(value) === undefined, { error: ({ input }) => faultOfTime(input) }).nullish()
  .describe("when: Unix seconds or ISO 8601 (any time)").meta({ examples: ["2026-11-01T12:00Z"] });
/** Of an answer. */
const timeS = z.number().nullable();
const endName = z.string().optional();
/** Of an answer: names of its ends. */
const endNames = {
  src_name: endName.describe("of the source, if it has one"),
  dst_name: endName.describe("of the destination, if it has one"),
};

const measuredAddress = address.refine((text) => parseAddress(text) !== undefined, {
  error: ({ input }) => `expected an IPv4 or IPv6 address${adviceOnName(String(input))}`,
});

/** A measurement that was made. */
export const measurementSchema = fields({
  src: measuredAddress,
  dst: measuredAddress.meta(destinationExample),
  time,
  rtt: z.number().positive().nullable().describe("ms; null: no reply").meta({ examples: [12.5] }),
});
/** See {@link measurementSchema}. */
export type ApiMeasurement = z.input<typeof measurementSchema>;

const context = z.array(measurementSchema).optional().describe("recent measurements, in any order");

/** Defaults of the parts to answer with, for lines that do not name them. */
export const rttDefaultsSchema = fields(rttWantedSchema.shape);

const drawing = {
  draws: z.int().min(2).max(2 ** 12).optional()
    .describe("addresses, or pairs of them, drawn from prefixes (64)").meta({ examples: [64] }),
  seed: z.int().min(0).max(2 ** 32 - 1).optional().describe("seed of these draws (0)").meta({
    examples: [0],
  }),
};

/** A question for the RTT between two addresses or prefixes. */
export const rttQuestionSchema = fields({
  src: source,
  dst: destination,
  time,
  context,
  ...rttWantedSchema.shape,
  ...drawing,
});
/** See {@link rttQuestionSchema}. */
export type RttApiQuestion = z.input<typeof rttQuestionSchema>;

/** The distribution of an RTT. */
export const rttAnswerSchema = z.object({
  src: z.string(),
  dst: z.string(),
  ...endNames,
  time: timeS,
  context_measurements: z.int().describe("how many of the context were used"),
  ...snakeShape(rttSummarySchema),
  basis: basisSchema.describe("the basis of the answer: how often the addresses and the pair were measured"),
  notes: z.array(z.string()).optional().describe("for people"),
  step: z.int().describe("the model's steps of training"),
});
/** See {@link rttAnswerSchema}. */
export type RttApiAnswer = z.infer<typeof rttAnswerSchema>;

/** A measurement that is watched. */
export const watchedMeasurementSchema = fields({
  ...measurementSchema.shape,
  msm_id: z.int().min(0).optional().describe("the measurement's number at RIPE Atlas, for status checks")
    .meta({ examples: [1001] }),
  prb_id: z.int().min(0).optional().describe("the probe's number at RIPE Atlas, for status checks")
    .meta({ examples: [6001] }),
});

const constantEnds = {
  src: measuredAddress.optional().describe("source of measurements that do not say theirs"),
  dst: measuredAddress.optional().describe("destination of measurements that do not say theirs"),
};

/** How lines of watched measurements are read. */
export const watchOptionsSchema = fields(constantEnds);

/** An event of a watched measurement: the beginning, a change or the end of an alarm. */
export const watchAnswerSchema = z.object({ line: z.int(), ...alarmLineSchema.shape });
/** See {@link watchAnswerSchema}. */
export type WatchApiAnswer = z.infer<typeof watchAnswerSchema>;

/** How the alarms of a measurement are asked for, as at RIPE Atlas. */
export const statusCheckQuestionSchema = fields({
  permitted_total_alerts: z.int().min(0).optional()
    .describe("how many probes may alert until global_alert is true (0)").meta({ examples: [1] }),
  max_packet_loss: z.number().min(0).max(100).optional()
    .describe("a probe also alerts if its newest measurement lost a larger share, percent")
    .meta({ examples: [75] }),
  show_all: z.enum(["true", "false"]).optional()
    .describe("whether all RTTs that are remembered are listed of every probe, not only of those that alert"),
});

/** The alarms of a measurement by probe, as RIPE Atlas' status checks have them. */
export const statusCheckAnswerSchema = z.object({
  global_alert: z.boolean().describe("whether more probes alert than are permitted"),
  total_alerts: z.int().describe("probes that alert"),
  probes: z.record(
    z.string(),
    z.object({
      alert: z.boolean(),
      last: z.number().nullable().describe("the newest RTT, ms; null: no reply"),
      last_packet_loss: z.number().describe("of the newest measurement, percent"),
      source: z.string().describe("the probe's country, else its AS, else its address"),
      all: z.array(z.number().nullable()).optional().describe("the newest RTTs, oldest first, ms"),
    }),
  ).describe("by prb_id; by address where it has none"),
});
/** See {@link statusCheckAnswerSchema}. */
export type StatusCheckApiAnswer = z.infer<typeof statusCheckAnswerSchema>;

/** A line that could not be answered. */
export const lineErrorSchema = z.object({ line: z.int(), error: z.string() });
/** See {@link lineErrorSchema}. */
export type LineError = z.infer<typeof lineErrorSchema>;

/** A question for destinations. */
export const destinationsQuestionSchema = fields({
  src: source,
  within: z.string().optional().describe("only destinations in this prefix, place or network (anywhere)")
    .meta({ examples: ["198.51.100.0/24"] }),
  rtt: z.tuple([z.number().min(0), z.number().min(0)]).describe("the least and the greatest RTT, ms")
    .meta({ examples: [[20, 25]] }),
  time,
  context,
  top: z.int().min(1).max(1000).optional().describe("how many are listed (20)").meta({ examples: [20] }),
  prefix_length: z.int().min(0).max(128).optional()
    .describe("of the listed prefixes, which are sums over their addresses (that of an address)")
    .meta({ examples: [24] }),
  candidates: z.int().min(1).max(1024).optional()
    .describe(
      "how many likely destinations are ranked besides those that the source is known to measure (256)",
    ).meta({ examples: [256] }),
  max_expansions: z.int().min(1).max(2 ** 16).optional()
    .describe("after how many prefixes the search for likely ones ends (512)").meta({ examples: [512] }),
  draws: z.int().min(2).max(64).optional().describe("addresses drawn from a source that is not one (8)")
    .meta({ examples: [8] }),
  seed: drawing.seed,
});
/** See {@link destinationsQuestionSchema}. */
export type DestinationsApiQuestion = z.input<typeof destinationsQuestionSchema>;

/** The most probable destinations. */
export const destinationsAnswerSchema = z.object({
  src: z.string(),
  src_name: endNames.src_name,
  rtt: z.tuple([z.number(), z.number()]),
  time: timeS,
  prefix_length: z.int(),
  context_measurements: z.int(),
  ...snakeShape(destinationsSchema),
  notes: z.array(z.string()).optional().describe("for people"),
  step: z.int(),
});
/** See {@link destinationsAnswerSchema}. */
export type DestinationsApiAnswer = z.infer<typeof destinationsAnswerSchema>;

/** The largest number of candidates of a question for the nearest of them. */
export const MAX_CANDIDATES = 256;

/** A question for the nearest of some candidates. */
export const nearestQuestionSchema = fields({
  src: source,
  candidates: z.array(address).min(1).max(MAX_CANDIDATES).describe("addresses, prefixes or places")
    .meta({ examples: [["198.51.100.7", "203.0.113.0/24"]] }),
  time,
  context,
  top: z.int().min(1).max(MAX_CANDIDATES).optional().describe("how many are listed (5)")
    .meta({ examples: [5] }),
  by: z.enum(NEAREST_ORDERS).optional()
    .describe("the order: by the median RTT or the probability to be the nearest (median)"),
  ...drawing,
});
/** See {@link nearestQuestionSchema}. */
export type NearestApiQuestion = z.input<typeof nearestQuestionSchema>;

/** The nearest of some candidates. */
export const nearestAnswerSchema = z.object({
  src: z.string(),
  src_name: endNames.src_name,
  time: timeS,
  ...snakeShape(nearestSchema),
  step: z.int(),
});
/** See {@link nearestAnswerSchema}. */
export type NearestApiAnswer = z.infer<typeof nearestAnswerSchema>;

/** The most pairs of a question for a matrix, of a node with itself included: a few seconds of two cores. */
export const MAX_MATRIX_PAIRS = 4096;
/** The most nodes of it on either side. */
const MAX_MATRIX_NODES = 256;

const matrixNodes = z.array(address).min(1).max(MAX_MATRIX_NODES)
  .meta({ examples: [["192.0.2.1", "198.51.100.0/24"]] });

/** A question for the RTTs between all of some nodes, or from them to others. */
export const matrixQuestionSchema = fields({
  nodes: matrixNodes.describe("addresses, prefixes or places; with the destinations 4,096 pairs at most"),
  destinations: matrixNodes.optional().describe("the same: only RTTs from the nodes to these (the nodes)"),
  time,
  context,
  quantiles: z.array(z.number().min(0).max(1)).max(32).optional()
    .describe("quantiles besides the median, from 0 to 1 (0.05,0.95)").meta({ examples: [[0.1, 0.9]] }),
  samples: z.int().min(0).max(32).optional().describe("RTTs to draw of each pair, by the seed (0)")
    .meta({ examples: [8] }),
  ...drawing,
});
/** See {@link matrixQuestionSchema}. */
export type MatrixApiQuestion = z.input<typeof matrixQuestionSchema>;

/** The RTTs between nodes. */
export const matrixAnswerSchema = z.object({
  destinations: z.array(z.string()),
  destination_names: z.array(z.string().nullable()).optional().describe("null: it has none"),
  time: timeS,
  rows: z.array(z.object(snakeShape(matrixRowSchema))).describe("from each node, in order"),
  step: z.int(),
});
/** See {@link matrixAnswerSchema}. */
export type MatrixApiAnswer = z.infer<typeof matrixAnswerSchema>;

/** The most places that one question for a map may ask for. */
const MAX_MAP_PLACES = 512;

/** A question for a part of a map: the RTTs from a source to countries, or to cells in them. */
export const mapQuestionSchema = fields({
  src: address.describe("source: an address, prefix, city, region, country, AS3320, AS3320@DE"),
  time,
  context,
  level: z.enum(MAP_LEVELS).optional()
    .describe("the kind of places: whole countries, or cells of 2.5 degrees in them (country)"),
  first: z.int().min(0).optional().describe("the first place of the part, of all in order (0)")
    .meta({ examples: [0] }),
  count: z.int().min(1).max(MAX_MAP_PLACES).optional().describe("how many places the part has (256)")
    .meta({ examples: [256] }),
});
/** See {@link mapQuestionSchema}. */
export type MapApiQuestion = z.input<typeof mapQuestionSchema>;

/** A part of a map. */
export const mapAnswerSchema = z.object({
  src: z.string(),
  src_name: endNames.src_name,
  time: timeS,
  position: z.object({ latitude: z.number(), longitude: z.number() }).nullable()
    .describe("where the source is; null if the model does not know"),
  level: z.enum(MAP_LEVELS),
  first: z.int(),
  total: z.int().describe("how many places the whole map has; those with the most networks are first"),
  places: z.array(z.object(snakeShape(mapPlaceSchema))),
  step: z.int(),
});
/** See {@link mapAnswerSchema}. */
export type MapApiAnswer = z.infer<typeof mapAnswerSchema>;

/** A question for what a text may stand for. */
export const placesQuestionSchema = fields({
  q: z.string().min(1).max(120)
    .describe("the beginning of an address, a name, a city, region, country or AS, or something similar")
    .meta({ examples: ["Berlin"] }),
  count: z.int().min(1).max(50).optional().describe("how many are listed (8)").meta({ examples: [8] }),
});
/** See {@link placesQuestionSchema}. */
export type PlacesApiQuestion = z.input<typeof placesQuestionSchema>;

/** The meanings of a text. */
export const placesAnswerSchema = z.object({
  q: z.string(),
  places: z.array(z.object({
    text: z.string().describe("the text to give as src or dst"),
    name: endName.describe("of an address or prefix, if it has one"),
    place: z.string().optional().describe("where an address is, if the model knows"),
    position: z.object({ latitude: z.number(), longitude: z.number() }).nullable()
      .describe("where it is, or its city with the most networks; null if unknown, and of an AS"),
  })).describe("the best match first"),
});
/** See {@link placesAnswerSchema}. */
export type PlacesApiAnswer = z.infer<typeof placesAnswerSchema>;

/** A question for how probable a measurement is. */
export const likelihoodQuestionSchema = fields({ ...measurementSchema.shape, context });
/** See {@link likelihoodQuestionSchema}. */
export type LikelihoodApiQuestion = z.input<typeof likelihoodQuestionSchema>;

/** A measurement in an answer. */
const measured = {
  src: z.string(),
  dst: z.string(),
  ...endNames,
  time: timeS,
  rtt: z.number().nullable(),
};

/** The bits of a measurement in every order of its fields. */
export const likelihoodAnswerSchema = z.object({ ...measured, ...snakeShape(bitsSchema), step: z.int() });
/** See {@link likelihoodAnswerSchema}. */
export type LikelihoodApiAnswer = z.infer<typeof likelihoodAnswerSchema>;

/** A measurement with its scores, in the line of its measurement. */
export const scoreAnswerSchema = z.object({
  ...measured,
  log_likelihood: z.number().describe("nats"),
  p_value: z.number().describe("P(a result at most as probable)"),
});
/** See {@link scoreAnswerSchema}. */
export type ScoreApiAnswer = z.infer<typeof scoreAnswerSchema>;

/** How lines of measurements are scored. */
export const scoreOptionsSchema = fields({
  context: z.int().min(0).max(1000).optional()
    .describe("how many earlier lines of the same source a line sees, at most (20)")
    .meta({ examples: [20] }),
  seed: z.int().min(0).max(2 ** 32 - 1).optional().describe("seed of p-values (0)").meta({ examples: [0] }),
  ...constantEnds,
});
/** See {@link scoreOptionsSchema}. */
export type ScoreApiOptions = z.input<typeof scoreOptionsSchema>;

/** The question for what the model is. */
export const modelQuestionSchema = fields({});

/** The description of a model from its files: its sizes and its training data. */
export const modelInfoSchema = z.object({
  version: z.string(),
  step: z.int(),
  num_parameters: z.int(),
  vocabulary: z.string(),
  model_sha256: z.string().describe("the checkpoint's weights: SHA-256, hexadecimal"),
  data_fingerprint: z.string().describe("of the probe rows that it was trained on"),
  trained_tokens: z.int().describe("of all its training steps, padding included"),
  config: z.record(z.string(), z.unknown())
    .describe("the run's whole configuration: model, optim, data, train"),
  is_calibrated: z.boolean(),
  data: dataSchema.nullable().describe("the training data; null if the checkpoint does not say"),
  training_curve: z.array(z.object({
    step: z.int(),
    train_loss: z.number().nullable(),
    eval_loss: z.number().nullable(),
  })).describe("some hundred points at most, nats per token"),
  evaluation: z.object({
    num_measurements: z.int(),
    split: z.string(),
    num_training: z.int().describe("measurements of the training split, as far as they were counted"),
    methods: z.array(z.object({
      name: z.string(),
      median_absolute_ms: z.number(),
      mean_absolute_ms: z.number(),
      crps_ms: z.number().nullable(),
    })).describe("the model first, then the methods without a model"),
  }).nullable().describe("from an evaluation's report.json; null where there is none"),
});
/** See {@link modelInfoSchema}. */
export type ModelInfo = z.infer<typeof modelInfoSchema>;

/** A model that answers. */
export const modelAnswerSchema = z.object({
  ...modelInfoSchema.shape,
  adapter: z.string().describe("the GPU or software driver that it runs on"),
  examples: z.array(z.object({ src: z.string(), dst: z.string(), ...endNames }))
    .describe("pairs of addresses that were measured often and reply, to begin with"),
});
/** See {@link modelAnswerSchema}. */
export type ModelApiAnswer = z.infer<typeof modelAnswerSchema>;

/** An error: problem details (RFC 9457, section 3). */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe("the line that a stage would print"),
});
/** See {@link problemSchema}. */
export type Problem = z.infer<typeof problemSchema>;
