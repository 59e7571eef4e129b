/**
 * The summary of an evaluation, for a terminal and the top of its page: a few sentences, and a table of at
 * most five questions. The sections of the page contain all comparisons with their intervals.
 *
 * @module
 */
import { formatShare } from "../../base/text.ts";
import { type Block, element, tableOf } from "../../base/report/page.ts";
import { formatTable } from "../../base/text_table.ts";
import {
  casesToShow,
  type ComparedMetric,
  REVERSED,
  type RttComparison,
  verdictOf,
} from "../metrics/rtt_comparison.ts";
import type { Interval } from "../metrics/bootstrap.ts";
import type { EvalReport } from "../report.ts";
import { isOfModel } from "../sections/ranking_section.ts";
import { noneText } from "./adapt_part.ts";
import { capital, countText, fixedText, insideOf, KIND_OF, msText, NONE, scoreText } from "./quantities.ts";

const MOST_ANSWERS = 5;

/** The model against the best baseline on one question. */
export interface EvalAnswer {
  /** Short text of the question, such as `nearest destination found`. */
  question: string;
  /** What the two numbers measure. */
  meaning: string;
  /** Milliseconds, a share (larger is better), or the squared error of a probability. */
  unit: "ms" | "share" | "squared error";
  /** The model's number. */
  model: number;
  /** Name of the best baseline. */
  bestMethod: string;
  /** The best baseline's number. */
  best: number;
  /** The same error if the pair's other replies in the split are known; absent if no pair has others. */
  noise?: number;
  /** Whether the model is better or worse; `none` if the difference may be chance. */
  verdict: "better" | "worse" | "none";
  /** Approximate number of cases that would make this difference significant; null if it is already. */
  numCasesToShow: number | null;
}

const TEXT_OF: Record<EvalAnswer["unit"], (value: number) => string> = {
  "ms": msText,
  "share": formatShare,
  "squared error": scoreText,
};

const HEADINGS = ["question", "model", "best baseline", "winner", "significant", "of it noise"];
const [TYPICAL_ERROR, DISTRIBUTION_ERROR] = ["typical error of an RTT", "error of the whole distribution"];

export function summaryLines(report: EvalReport): string[] {
  const answers = answersOf(report);
  const rows = answers.map((answer) => [answer.question, ...cellsOf(answer, answers)]);
  const table = rows.length === 0 ? [] : tableLines([headingsOf(answers), ...rows], [0, 2, 3, 4]);
  return [...sentencesOf(report, answers), ...table];
}

/**
 * The errors of RTTs on several splits as one table.
 *
 * @param splits What each one holds out, and its answers.
 */
export function overviewLines(
  splits: readonly { readonly heldOut: string; readonly answers: readonly EvalAnswer[] }[],
): string[] {
  const rtts = splits.map(({ heldOut, answers }) => ({
    heldOut,
    answers: answers.filter(({ question }) => [TYPICAL_ERROR, DISTRIBUTION_ERROR].includes(question)),
  }));
  const all = rtts.flatMap(({ answers }) => answers);
  if (all.length === 0) return [];
  const rows = rtts.flatMap(({ heldOut, answers }) =>
    answers.map((answer, i) => [i === 0 ? heldOut : "", answer.question, ...cellsOf(answer, all)])
  );
  return tableLines([["held out", ...headingsOf(all)], ...rows], [0, 1, 3, 4, 5]);
}

function tableLines(rows: string[][], left: number[]): string[] {
  return formatTable(rows, { left }).split("\n");
}

export function summaryPart(report: EvalReport): Block[] {
  const answers = answersOf(report);
  const whole = (text: string) => text.replaceAll(" ", "\u00a0");
  const rows = answers.map((answer) => {
    const [model, rival, winner, ...rest] = cellsOf(answer, answers);
    const question = { text: capital(answer.question), note: answer.meaning };
    return [question, whole(model), rival, { text: whole(winner), kind: KIND_OF[answer.verdict] }, ...rest];
  });
  const sentences = sentencesOf(report, answers);
  return [
    ...(sentences.length === 0 ? [] : [element("p", sentences.join(" "))]),
    ...(rows.length === 0 ? [] : [tableOf(headingsOf(answers).map(capital), rows)]),
  ];
}

/** Without noise if none of the answers has any. */
function headingsOf(answers: readonly EvalAnswer[]): string[] {
  return HEADINGS.slice(0, hasNoise(answers) ? undefined : -1);
}

function hasNoise(answers: readonly EvalAnswer[]): boolean {
  return answers.some(({ noise }) => noise !== undefined);
}

/** The cells below {@link HEADINGS} after the question. @param all The answers of the table. */
function cellsOf(answer: EvalAnswer, all: readonly EvalAnswer[]): string[] {
  const { model, noise, best, bestMethod, unit, verdict, numCasesToShow } = answer;
  const textOf = TEXT_OF[unit];
  const more = numCasesToShow === null ? "" : ` (${countText(numCasesToShow)} cases would be)`;
  // Earlier results of a pair can say more of a later one than all its results without their times.
  const ofNoise = noise === undefined ? NONE : noise < model ? textOf(noise) : `all (${textOf(noise)})`;
  return [
    textOf(model),
    `${textOf(best)} ${bestMethod}`,
    winnerOf(answer),
    verdict === "none" ? `no${more}` : "yes",
    ...hasNoise(all) ? [ofNoise] : [],
  ];
}

function winnerOf({ model, best, unit }: EvalAnswer): "model" | "baseline" | "neither" {
  const textOf = TEXT_OF[unit];
  if (textOf(model) === textOf(best)) return "neither";
  return model > best === (unit === "share") ? "model" : "baseline";
}

function sentencesOf({ rtt, adapted, bits, parts }: EvalReport, answers: readonly EvalAnswer[]): string[] {
  const sentences: string[] = [];
  if (rtt && rtt.model.overall.numMeasurements > 0) {
    const { numMeasurements, medianAbsoluteMs, relative, coverage } = rtt.model.overall;
    sentences.push(
      `The median error of ${countText(numMeasurements)} predicted RTTs is ${msText(medianAbsoluteMs)}; ` +
        `nine of ten are within ${formatShare(relative.p90, 0)} of the measured RTT.`,
    );
    const share = insideOf(coverage);
    if (share !== null) {
      sentences.push(`The 90 % intervals contain ${formatShare(share)} of the measured RTTs.`);
    }
  } else if (bits) {
    const perMeasurement = fixedText(bits.withTimes.bitsPerMeasurement);
    sentences.push(
      `A measurement takes ${perMeasurement} bits; models with vocabulary v1 are evaluated only by bits.`,
    );
  }
  const network = parts?.scores.find(({ parts }) => parts === "pool");
  if (parts && network && verdictOf(network.modelMinusThis?.crpsMs ?? null) !== "better") {
    sentences.push(
      `The network adds nothing to the pool that ${countText(parts.numMeasurements)} measurements show: ` +
        `CRPS ${msText(parts.scores[0].crpsMs)} with it, ${msText(network.crpsMs)} without.`,
    );
  }
  const noise = rtt?.noise.overall.numMeasurements;
  if (rtt && noise) {
    sentences.push(
      "Noise is the error that is left if the pair's other replies in the split are known; they are for " +
        `${formatShare(noise / rtt.model.overall.numMeasurements, 0)} of the predictions.`,
    );
  }
  if (adapted && adapted.byCount.length === 0) sentences.push(noneText(adapted));
  if (answers.length > 0) sentences.push(winsText(answers));
  return sentences;
}

/** How many questions each side wins, and how many of these wins are significant. */
function winsText(answers: readonly EvalAnswer[]): string {
  const wins = (who: ReturnType<typeof winnerOf>) => {
    const won = answers.filter((answer) => winnerOf(answer) === who);
    const numSure = won.filter(({ verdict }) => verdict !== "none").length;
    return won.length === 0 ? "none" : `${won.length} (${numSure || "none"} significantly)`;
  };
  const mayBeChance = answers.some(({ verdict }) => verdict === "none")
    ? "; the other differences may be chance"
    : "";
  return `Of ${answers.length} questions, the model wins ${wins("model")} and the best baseline ` +
    `${wins("baseline")}${mayBeChance}.`;
}

/** The compared questions, the most important first. */
export function answersOf({ rtt, adapted, failures, ranking, destinations }: EvalReport): EvalAnswer[] {
  const overall = (metric: ComparedMetric) =>
    rtt?.comparisons.find((each) => each.metric === metric && each.numContext === null);
  const numPredicted = rtt?.model.overall.numMeasurements ?? 0;
  const answers: (EvalAnswer | undefined)[] = [];
  answers.push(ofComparison(overall("medianAbsoluteMs"), numPredicted, {
    question: TYPICAL_ERROR,
    meaning: "median distance of the predicted RTT from the measured one",
    ...noiseOf(rtt?.noise.overall.medianAbsoluteMs),
  }));
  const last = adapted?.byCount.at(-1);
  if (adapted && last) {
    const comparison = last.comparisons.find(({ metric }) => metric === "medianAbsoluteMs");
    answers.push(ofComparison(comparison, adapted.numMeasurements, {
      question: "typical error of new addresses",
      meaning: `the same for addresses that training never saw, after ${last.numGiven} results of each`,
    }));
  }
  answers.push(ofComparison(overall("crpsMs"), numPredicted, {
    question: DISTRIBUTION_ERROR,
    meaning:
      "CRPS: mean distance of the predicted distribution from the measured RTT; for a single predicted " +
      "number it is the absolute error",
    ...noiseOf(rtt?.noise.overall.crpsMs),
  }));
  const [rival] = failures?.baselines.toSorted((a, b) => a.brier - b.brier) ?? [];
  if (failures && failures.brier !== null && rival && failures.numFailed > 0) {
    answers.push(compared(failures.brier, rival.brier, rival.differenceInterval, {
      question: "squared error of P(no reply)",
      meaning: "Brier score: mean squared error of the probability; 0 is perfect",
      unit: "squared error",
      bestMethod: rival.name,
      numCases: failures.numMeasurements,
    }));
  }
  if (ranking) {
    const [model, ...others] = ranking.methods;
    const [best] = others.filter(({ method }) => !isOfModel(method))
      .toSorted((a, b) => b.rightShare - a.rightShare);
    answers.push(
      best && compared(model.rightShare, best.rightShare, best.modelMinusThis?.rightShare, {
        question: "nearest destination found",
        meaning: "share of correct choices among destinations that a source measured at about the same time",
        unit: "share",
        bestMethod: best.method,
        numCases: ranking.numChoices,
      }),
    );
  }
  const guesses = destinations?.scores.at(-1);
  if (guesses) {
    const [model, ...others] = guesses.methods;
    const [best] = others.toSorted((a, b) => b.top1Exact - a.top1Exact);
    answers.push(
      best && compared(model.top1Exact, best.top1Exact, best.modelMinusThis?.top1Exact, {
        question: "destination guessed from its RTT",
        meaning: "share of correct first guesses from source, time, RTT and the source's newest results",
        unit: "share",
        bestMethod: best.method,
        numCases: guesses.numCases,
      }),
    );
  }
  return answers.filter((answer) => answer !== undefined).slice(0, MOST_ANSWERS);
}

type AskedOf = Pick<EvalAnswer, "question" | "meaning" | "noise">;

function noiseOf(noise: number | null | undefined): { noise?: number } {
  return typeof noise === "number" ? { noise } : {};
}

function ofComparison(
  comparison: RttComparison | undefined,
  numCases: number,
  text: AskedOf,
): EvalAnswer | undefined {
  if (!comparison) return undefined;
  const { model, baseline, bestBaseline: bestMethod, differenceInterval } = comparison;
  return compared(model, baseline, differenceInterval, { ...text, unit: "ms", bestMethod, numCases });
}

/** @param differenceInterval The 95 % interval of `model` minus `best`. */
function compared(
  model: number,
  best: number,
  differenceInterval: Interval | null = null,
  { numCases, ...asked }: AskedOf & Pick<EvalAnswer, "unit" | "bestMethod"> & { numCases: number },
): EvalAnswer {
  const verdict = verdictOf(differenceInterval);
  return {
    ...asked,
    model,
    best,
    verdict: asked.unit === "share" ? REVERSED[verdict] : verdict,
    numCasesToShow: casesToShow({ model, baseline: best, differenceInterval }, numCases),
  };
}
