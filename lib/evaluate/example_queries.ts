/** A few queries with the known quantiles beside the predicted ones, for people to look at. @module */
import type { PingModel } from "../query/ping_model.ts";
import { contextOf, type EvalCase } from "./cases.ts";
import { quantileOfSample } from "./quantile.ts";

const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];

/** The true q-quantile, in ms, of the RTT between two addresses at a time. */
export type Truth = (query: { srcAddr: string; dstAddr: string; timeS: number }, q: number) => number;

/** A case with a reply. */
type AnsweredCase = EvalCase & { rttMs: number };

/** A query, what the model says and what is known. */
export interface ExampleAnswer {
  src: string;
  dst: string;
  timeS: number;
  pFailed: number;
  quantiles: number[];
  predictedMs: number[];
  /** Quantiles of the truth, or of the pair's held-out measurements where no truth is known. */
  knownMs: number[];
}

/**
 * Asks for the RTT distributions of held-out pairs, each pair once, spread evenly over the held-out ones.
 *
 * @param cases Held-out measurements, several of most pairs; those without a reply are passed over.
 * @param options `count`: how many queries; `maxContext`: measurements of context at most; `truth`: the true
 *   quantiles, if they are known.
 */
export async function answerExamples(
  model: PingModel,
  cases: readonly EvalCase[],
  options: { count: number; maxContext: number; truth: Truth | undefined },
): Promise<ExampleAnswer[]> {
  const answers: ExampleAnswer[] = [];
  const answered = cases.filter((each): each is AnsweredCase => each.rttMs !== null);
  for (const example of chooseSpread(answered, options.count)) {
    const { srcAddr, dstAddr, measurement } = example;
    const context = contextOf(example, options.maxContext);
    const distribution = await model.rttDistribution({ ...measurement, context });
    const ofPair = answered.filter((other) => other.srcAddr === srcAddr && other.dstAddr === dstAddr);
    const { truth } = options;
    answers.push({
      src: srcAddr,
      dst: dstAddr,
      timeS: measurement.timeS,
      pFailed: distribution.pFailed,
      quantiles: QUANTILES,
      predictedMs: QUANTILES.map((q) => distribution.quantileMs(q)),
      knownMs: QUANTILES.map((q) =>
        truth
          ? truth({ srcAddr, dstAddr, timeS: measurement.timeS }, q)
          : quantileOfSample(ofPair.map(({ rttMs }) => rttMs), q)
      ),
    });
  }
  return answers;
}

/** One item from each of `count` equal parts. */
function chooseSpread<T>(items: readonly T[], count: number): T[] {
  const numChosen = Math.min(count, items.length);
  return Array.from(
    { length: numChosen },
    (_, i) => items[Math.floor((i + 0.5) * items.length / numChosen)],
  );
}
