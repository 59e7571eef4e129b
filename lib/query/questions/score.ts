/** `score`: how surprising each measurement is, given those before it. @module */
import * as z from "zod";
import {
  answeredTime,
  constantEnds,
  endNames,
  fields,
  type LineQuestion,
  measurementSchema,
  seed,
} from "./question.ts";

export const score = {
  name: "score",
  summary: "how surprising each measurement is, given the lines before it",
  line: measurementSchema,
  options: fields({
    context: z.int().min(0).max(1000).optional()
      .describe("maximum number of earlier lines of the same source to use as context of a line (20)").meta({
        examples: [20],
      }),
    seed: seed.describe("seed of p-values (0)"),
    ...constantEnds,
  }),
  answer: z.object({
    src: z.string(),
    dst: z.string(),
    ...endNames,
    time: answeredTime,
    rtt: z.number().nullable(),
    log_likelihood: z.number().describe("nats"),
    p_value: z.number().describe("P(a result at least as surprising)"),
    loss_run_p_value: z.number()
      .describe("P(every ping of the pair since its last reply is lost), for at most ten; 1 for a reply"),
  }),
} satisfies LineQuestion;
export type ScoreAnswer = z.infer<typeof score.answer>;
export type ScoreOptions = z.input<typeof score.options>;
