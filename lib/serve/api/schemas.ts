/**
 * The messages of the API: what is asked and what is answered, as the HTTP server, the page and the model in a
 * browser exchange them.
 *
 * Names are those of RIPE Atlas and of measurement files: `src_addr`, `dst_addr`, `timestamp` (Unix seconds or ISO
 * 8601), `rtt` (ms; null: no reply). The shorter `src`, `dst` and `time` of `query rtt --queries` are taken too. What
 * is wrong with an address, a time or an RTT is found by `parseQuestion`, in the words of `query rtt`; schemas hold
 * types and bounds.
 *
 * @module
 */
import * as z from "zod";

/** When: Unix seconds or ISO 8601; absent or null for any time. */
const time = z.union([z.string(), z.number()]).nullish();
const address = z.string({ error: "expected an IPv4 or IPv6 address" });
const probability = z.number().min(0).max(1);

/** An object that refuses other fields and says which ones it has. */
function fields<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const wanted = `expected only ${Object.keys(shape).join(", ")}`;
  return z.strictObject(shape, {
    error: ({ code }) => code === "unrecognized_keys" ? wanted : undefined,
  });
}

/** A measurement that was made. */
export const measurementSchema = fields({
  src_addr: address,
  dst_addr: address,
  timestamp: time,
  rtt: z.number().min(0).nullable(),
});
/** See {@link measurementSchema}. */
export type ApiMeasurement = z.input<typeof measurementSchema>;

/** What of a distribution is wanted. */
export const rttWantedSchema = fields({
  quantiles: z.array(probability).max(200).optional(),
  at: z.array(z.number().min(0)).max(200).optional(),
  cdf: z.int().min(2).max(1000).optional(),
});
/** See {@link rttWantedSchema}: the fields of the same names of a question. */
export type RttApiWanted = z.input<typeof rttWantedSchema>;

/** A question for the RTT between two addresses or prefixes. */
export const rttQuestionSchema = fields({
  src_addr: address,
  dst_addr: address,
  timestamp: time,
  context: z.array(measurementSchema).optional(),
  ...rttWantedSchema.shape,
  draws: z.int().min(2).max(2 ** 12).optional(),
  seed: z.int().min(0).max(2 ** 32 - 1).optional(),
});
/**
 * See {@link rttQuestionSchema}. `quantiles`: 0 to 1 (5, 25, 50, 75, 95 %); `at`: RTTs in ms whose probability is wanted;
 * `cdf`: how many points of the distribution function are wanted; `draws`: how many addresses are drawn from prefixes.
 */
export type RttApiQuestion = z.input<typeof rttQuestionSchema>;

const seenSchema = z.object({
  measurements: z.int(),
  /** How many of them the model was adapted to. */
  in_adaptation: z.int(),
  last_seen: z.string().nullable(),
});

/**
 * What an answer rests on: how often the training data and those of an adaptation have the addresses and the pair.
 * `text` is for people.
 */
const basisSchema = z.object({
  kind: z.enum(["pair", "addresses", "source", "destination", "network"]),
  text: z.string(),
  src: seenSchema,
  dst: seenSchema,
  pair: seenSchema,
});

/** The distribution of an RTT. */
export const rttAnswerSchema = z.object({
  src_addr: z.string(),
  dst_addr: z.string(),
  timestamp: z.number().nullable(),
  context_measurements: z.int(),
  p_failed: z.number(),
  mean_ms: z.number(),
  likeliest: z.object({ rtt_ms: z.number(), probability: z.number() }),
  quantiles_ms: z.record(z.string(), z.number()),
  canonical_mass: z.number(),
  at: z.array(z.object({
    rtt_ms: z.number(),
    cdf: z.number(),
    probability: z.number(),
    low_ms: z.number(),
    high_ms: z.number().nullable(),
    bits: z.number().nullable(),
  })).optional(),
  cdf: z.array(z.object({ rtt_ms: z.number(), cdf: z.number() })).optional(),
  drawn: z.object({
    num_draws: z.int(),
    num_distinct: z.int(),
    source_probability: z.number().nullable(),
    destination_probability: z.number().nullable(),
    standard_errors: z.object({
      p_failed: z.number(),
      mean_ms: z.number(),
      quantiles_ms: z.record(z.string(), z.number()),
      cdf: z.array(z.number()).optional(),
      destination_probability: z.number(),
    }),
  }).optional(),
  basis: basisSchema,
  notes: z.array(z.string()).optional(),
  step: z.int(),
});
/**
 * See {@link rttAnswerSchema}. `cdf`: P(RTT <= rtt_ms | a reply came) at RTTs evenly spaced on a logarithmic axis, from
 * the 0.1 % to the 99.9 % quantile; `mean_ms`: of the replies up to 60 s, the
 * longest that ping tools wait; `canonical_mass`: the mass that the model gave to what is an RTT.
 */
export type RttApiAnswer = z.infer<typeof rttAnswerSchema>;

/** A line that could not be answered. */
export const lineErrorSchema = z.object({ line: z.int(), error: z.string() });
/** See {@link lineErrorSchema}. */
export type LineError = z.infer<typeof lineErrorSchema>;

/** A question for destinations. */
export const destinationsQuestionSchema = fields({
  src_addr: address,
  rtt: z.tuple([z.number().min(0), z.number().min(0)]),
  timestamp: time,
  context: z.array(measurementSchema).optional(),
  top: z.int().min(1).max(1000).optional(),
  prefix_length: z.int().min(0).max(128).optional(),
  candidates: z.int().min(1).max(1024).optional(),
  max_expansions: z.int().min(1).max(2 ** 16).optional(),
});
/**
 * See {@link destinationsQuestionSchema}. `rtt`: the least and the greatest, ms; `top`: how many are listed (20);
 * `candidates`: how many likely destinations are ranked besides those that the source is known to measure (256);
 * `max_expansions`: after how many prefixes the search for these ends (512).
 */
export type DestinationsApiQuestion = z.input<typeof destinationsQuestionSchema>;

/** The most probable destinations first. */
export const destinationsAnswerSchema = z.object({
  src_addr: z.string(),
  rtt: z.tuple([z.number(), z.number()]),
  timestamp: z.number().nullable(),
  prefix_length: z.int(),
  context_measurements: z.int(),
  destinations: z.array(z.object({
    prefix: z.string(),
    probability: z.number(),
    /** How often the training data have the source measuring it; null if the model does not say what it was trained on. */
    measured: seenSchema.nullable(),
  })),
  unlisted_probability: z.number(),
  /** How many destinations were ranked. */
  candidates: z.int(),
  /** What probability these had together before the RTT was known; others cannot be listed. */
  prior_mass: z.number(),
  step: z.int(),
});
/** See {@link destinationsAnswerSchema}. */
export type DestinationsApiAnswer = z.infer<typeof destinationsAnswerSchema>;

/** Counts of measurements. Times are ISO 8601. */
const countsSchema = z.object({
  start: z.string().nullable(),
  end: z.string().nullable(),
  measurements: z.int(),
  sources: z.int(),
  destinations: z.int(),
});

/** A question for how probable a measurement is. */
export const likelihoodQuestionSchema = fields({
  ...measurementSchema.shape,
  context: z.array(measurementSchema).optional(),
});
/** See {@link likelihoodQuestionSchema}. */
export type LikelihoodApiQuestion = z.input<typeof likelihoodQuestionSchema>;

/** The bits of a measurement in every order of its fields. */
export const likelihoodAnswerSchema = z.object({
  src_addr: z.string(),
  dst_addr: z.string(),
  timestamp: z.number().nullable(),
  rtt: z.number().nullable(),
  mean_bits: z.number(),
  spread_bits: z.number(),
  total_bits: z.number(),
  orders: z.array(z.object({
    order: z.string(),
    bits: z.number(),
    block_bits: z.record(z.string(), z.number()),
  })),
  step: z.int(),
});
/** See {@link likelihoodAnswerSchema}. */
export type LikelihoodApiAnswer = z.infer<typeof likelihoodAnswerSchema>;

/** A measurement with its scores, in the line of its measurement. */
export const scoreAnswerSchema = z.object({
  src_addr: z.string(),
  dst_addr: z.string(),
  timestamp: z.number().nullable(),
  rtt: z.number().nullable(),
  log_likelihood: z.number(),
  p_value: z.number(),
});
/** See {@link scoreAnswerSchema}. `log_likelihood`: nats; `p_value`: P(a result at most as probable). */
export type ScoreApiAnswer = z.infer<typeof scoreAnswerSchema>;

/** How lines of measurements are scored. */
export const scoreOptionsSchema = fields({
  context: z.coerce.number().int().min(0).max(1000).optional(),
  seed: z.coerce.number().int().min(0).max(2 ** 32 - 1).optional(),
});
/** See {@link scoreOptionsSchema}. `context`: how many earlier lines of the same source a line sees, at most (20). */
export type ScoreApiOptions = z.input<typeof scoreOptionsSchema>;

/** What the files of a model say of it: what it is and what it was trained on. */
export const modelInfoSchema = z.object({
  version: z.string(),
  step: z.int(),
  num_parameters: z.int(),
  vocabulary: z.string(),
  /** The checkpoint's weights: SHA-256, hexadecimal. */
  model_sha256: z.string(),
  /** Of the probe rows that it was trained on. */
  data_fingerprint: z.string(),
  /** Tokens of all its training steps, padding included. */
  trained_tokens: z.int(),
  /** The run's whole configuration: `model`, `optim`, `data`, `train`. */
  config: z.record(z.string(), z.unknown()),
  is_calibrated: z.boolean(),
  /** The training data; null if the checkpoint does not say. Times are ISO 8601. */
  data: z.object({
    /** What the measurements are, such as names of files; empty if that is not known. */
    origin: z.string(),
    /** Whether they are of a synthetic Internet; null if that is not known. */
    is_synthetic: z.boolean().nullable(),
    ...countsSchema.shape,
    /** The measurements that the model was adapted to afterwards; null if there are none. */
    adaptation: countsSchema.nullable(),
  }).nullable(),
  /** At most some hundred points of `metrics.jsonl`: nats per token. */
  training_curve: z.array(z.object({
    step: z.int(),
    train_loss: z.number().nullable(),
    eval_loss: z.number().nullable(),
  })),
  /** From an evaluation's `report.json`; null where there is none. */
  evaluation: z.object({
    num_measurements: z.int(),
    split: z.string(),
    /** Measurements of the training split, as far as they were counted. */
    num_training: z.int(),
    /** The model first, then the methods without a model. */
    methods: z.array(z.object({
      name: z.string(),
      median_absolute_ms: z.number(),
      mean_absolute_ms: z.number(),
      crps_ms: z.number().nullable(),
    })),
  }).nullable(),
});
/** See {@link modelInfoSchema}. */
export type ModelInfo = z.infer<typeof modelInfoSchema>;

/** A model that answers. */
export const modelAnswerSchema = z.object({
  ...modelInfoSchema.shape,
  /** The GPU or software driver that it runs on. */
  adapter: z.string(),
  /** Pairs of addresses that the model draws, to begin with. */
  examples: z.array(z.object({ src_addr: z.string(), dst_addr: z.string() })),
});
/** See {@link modelAnswerSchema}. */
export type ModelApiAnswer = z.infer<typeof modelAnswerSchema>;

/** What went wrong: problem details (RFC 9457, section 3). */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
});
/** See {@link problemSchema}. `detail`: the line that a stage would print. */
export type Problem = z.infer<typeof problemSchema>;
