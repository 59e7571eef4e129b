/** `score` as programs ask it: all measurements at once. @module */
import * as z from "zod";
import { type Answered, jsonLines, measurementLines } from "./lines.ts";
import { type ApiMeasurement, type Asking, fields, lineErrorSchema } from "./question.ts";
import { score, type ScoreAnswer } from "./score.ts";

const allAtOnce = fields({
  // Each is validated on its own and has its own error.
  measurements: z.array(z.custom<ApiMeasurement>()).min(1),
  ...score.options.shape,
});

export const scores = {
  question: allAtOnce,
  answer: z.object({
    answers: z.array(z.union([z.object({ line: z.int(), ...score.answer.shape }), lineErrorSchema])),
  }),
  async ask(
    { model, signal, inTurn }: Asking,
    { measurements, src, dst, ...options }: z.output<typeof allAtOnce>,
  ): Promise<{ answers: Answered<ScoreAnswer>[] }> {
    const { scoreMeasurements } = await import("../score/score_lines.ts");
    const lines = measurementLines(jsonLines(measurements), { isText: false, src, dst, withIds: false });
    const answers = scoreMeasurements(model, lines, {
      ...options,
      signal,
      compute: (work) => inTurn(measurements.length, work),
    });
    return { answers: await Array.fromAsync(answers) };
  },
};
