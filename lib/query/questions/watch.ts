/** `watch`: alarms when pairs leave their usual RTT and when they return. @module */
import * as z from "zod";
import { alarmLineSchema } from "../changes/alarm_lines.ts";
import { constantEnds, fields, type LineQuestion, measurementSchema } from "./question.ts";

/** Most lines have no answer. */
export const watch = {
  name: "watch",
  summary: "alarms when pairs leave their usual RTT and when they return; the server remembers the pairs",
  line: fields({
    ...measurementSchema.shape,
    msm_id: z.int().min(0).optional().describe("the id of the RIPE Atlas measurement, for status checks")
      .meta({ examples: [1001] }),
    prb_id: z.int().min(0).optional().describe("the id of the RIPE Atlas probe, for status checks")
      .meta({ examples: [6001] }),
  }),
  options: fields(constantEnds),
  answer: alarmLineSchema,
} satisfies LineQuestion;
/** The beginning, change or end of an alarm. */
export type WatchAnswer = z.infer<typeof watch.answer>;
