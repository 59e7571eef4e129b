/**
 * The server's messages other than questions to the model: model description, status checks, problems.
 *
 * @module
 */
import * as z from "zod";
import { dataSchema } from "../../data/addresses/known_addresses.ts";
import { endNames, fields } from "../../query/questions/question.ts";

/** Options of a request for the alarms of a measurement, as in RIPE Atlas. */
export const statusCheckQuestionSchema = fields({
  permitted_total_alerts: z.int().min(0).optional()
    .describe("how many probes may alert before global_alert becomes true (0)").meta({ examples: [1] }),
  max_packet_loss: z.number().min(0).max(100).optional()
    .describe("a probe also alerts if its newest measurement lost more than this percentage")
    .meta({ examples: [75] }),
  show_all: z.enum(["true", "false"]).optional()
    .describe("whether to list all remembered RTTs of every probe, not only of those that alert"),
});

/** The alarms of a measurement by probe, like RIPE Atlas' status checks. */
export const statusCheckAnswerSchema = z.object({
  global_alert: z.boolean().describe("whether more probes alert than are permitted"),
  total_alerts: z.int().describe("number of alerting probes"),
  probes: z.record(
    z.string(),
    z.object({
      alert: z.boolean(),
      last: z.number().nullable().describe("the newest RTT, ms; null: no reply"),
      last_packet_loss: z.number().describe("packet loss of the newest measurement, percent"),
      source: z.string().describe("the probe's country, else its AS, else its address"),
      all: z.array(z.number().nullable()).optional().describe("the newest RTTs, oldest first, ms"),
    }),
  ).describe("keyed by prb_id, or by address if there is none"),
});
export type StatusCheckAnswer = z.infer<typeof statusCheckAnswerSchema>;

/** A model as its files describe it: sizes, training data, evaluation. */
export const modelInfoSchema = z.object({
  version: z.string(),
  step: z.int(),
  num_parameters: z.int(),
  vocabulary: z.string(),
  model_sha256: z.string().describe("the checkpoint's weights: SHA-256, hexadecimal"),
  data_fingerprint: z.string().describe("fingerprint of the probe rows that the model was trained on"),
  trained_tokens: z.int().describe("tokens in all training steps, including padding"),
  config: z.record(z.string(), z.unknown())
    .describe("the run's whole configuration: model, optim, data, train"),
  is_calibrated: z.boolean(),
  data: dataSchema.describe("the training data"),
  training_curve: z.array(z.object({
    step: z.int(),
    train_loss: z.number().nullable(),
    eval_loss: z.number().nullable(),
  })).describe("at most 100 points of each loss, in bits per token"),
  evaluation: z.object({
    num_measurements: z.int(),
    split: z.string(),
    num_training: z.int().describe("number of training measurements that the evaluation counted"),
    methods: z.array(z.object({
      name: z.string(),
      median_absolute_ms: z.number(),
      mean_absolute_ms: z.number(),
      crps_ms: z.number().nullable(),
    })).describe("the model first, then the baselines"),
  }).nullable().describe("from an evaluation's report.json; null if there is none"),
});
export type ModelInfo = z.infer<typeof modelInfoSchema>;

export const modelAnswerSchema = z.object({
  ...modelInfoSchema.shape,
  adapter: z.string().describe("the GPU or software driver that the model runs on"),
  examples: z.array(z.object({ src: z.string(), dst: z.string(), ...endNames }))
    .describe("often-measured pairs of addresses that reply, to start with"),
});
export type ModelAnswer = z.infer<typeof modelAnswerSchema>;

/** Problem details (RFC 9457, section 3). */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe("the error message, as a command would print it"),
  field: z.string().optional().describe("the question's invalid field, if one is at fault"),
});
export type Problem = z.infer<typeof problemSchema>;
