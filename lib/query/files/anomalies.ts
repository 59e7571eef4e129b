/**
 * Puts anomalies into copies of real measurements and measures how well scores tell them from the originals.
 *
 * @module
 */
import { pairNameOf, SourceHistory } from "../../data/tokens/source_history.ts";
import { readMeasurements } from "../../data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../data/measurement_files/rejects.ts";
import { tokenMeasurementAt } from "../context.ts";
import type { PingModel } from "../ping_model.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { decodeRttCode, encodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { type ScoreCase, scoreResults } from "../score/score_results.ts";

/** What is done to a copy: a detour adds 30 to 80 ms, the RTT is halved, or another source is named. */
export const ANOMALY_KINDS = ["routeChange", "rttHalved", "spoofedSource"] as const;
/** One of {@link ANOMALY_KINDS}. */
export type AnomalyKind = typeof ANOMALY_KINDS[number];

/** The range of a detour, ms; uniform. */
const DETOUR_MS = [30, 80] as const;

/** The area under the ROC curve of each score, for one kind of anomaly. */
export interface AnomalyAuc {
  kind: AnomalyKind;
  numCopies: number;
  /** By the p-value of `score`, the smaller the more anomalous. */
  pValue: number;
  /** By its log-likelihood. */
  logLikelihood: number;
  /** By |log(RTT / median)|, of the replies of the same pair in the context, or else of all in it. */
  medianDeviation: number;
}

/** Which measurements are copied. */
export interface AnomalyOptions {
  /** How many at most. */
  count: number;
  /** The share of the rows, the newest ones, that they are drawn from. */
  heldOutShare: number;
  maxContext: number;
  seed: number;
  onProgress?: (done: number, total: number) => void;
  signal?: AbortSignal;
}

interface Row {
  src: string;
  dst: string;
  timeUs: number;
  measurement: TokenMeasurement;
}

interface Trial {
  kind: AnomalyKind | "original";
  case: ScoreCase;
}

/** Cases that are scored together; the signal is checked between. */
const PART_CASES = 64;

/**
 * Puts each kind of anomaly into copies of measurements with a reply and measures how well scores tell them apart.
 * All rows are held in memory.
 *
 * @param paths Measurements Parquet; everything earlier of a source may be its context.
 * @throws {UserError} If a file cannot be read.
 */
export async function studyAnomalies(
  model: PingModel,
  paths: readonly string[],
  options: AnomalyOptions,
): Promise<AnomalyAuc[]> {
  const trials = drawTrials(await readRows(paths), options);
  const pValues: number[] = [];
  const likelihoods: number[] = [];
  for (let from = 0; from < trials.length; from += PART_CASES) {
    options.signal?.throwIfAborted();
    const cases = trials.slice(from, from + PART_CASES).map((trial) => trial.case);
    for (const { pValue, logLikelihood } of (await scoreResults(model, cases, options)).scores) {
      pValues.push(-pValue);
      likelihoods.push(-logLikelihood);
    }
    options.onProgress?.(pValues.length, trials.length);
  }
  const deviations = trials.map((trial) => medianDeviation(trial.case));
  return ANOMALY_KINDS.map((kind) => {
    const auc = (values: readonly number[]) =>
      rocAuc(of(kind, trials, values), of("original", trials, values));
    return {
      kind,
      numCopies: trials.filter((trial) => trial.kind === kind).length,
      pValue: auc(pValues),
      logLikelihood: auc(likelihoods),
      medianDeviation: auc(deviations),
    };
  });
}

/** The probability that one of `positives` is greater than one of `negatives`, ties counted half; NaN without any. */
export function rocAuc(positives: readonly number[], negatives: readonly number[]): number {
  let wins = 0;
  for (const positive of positives) {
    for (const negative of negatives) wins += positive > negative ? 1 : positive === negative ? 0.5 : 0;
  }
  return wins / (positives.length * negatives.length);
}

/** |log(RTT / median)| of a measurement with a reply; 0 where its context has none. */
export function medianDeviation(
  { measurement, context }: Pick<ScoreCase, "measurement" | "context">,
): number {
  const { rttCode } = measurement;
  const replies = context.filter((each) => each.rttCode !== null);
  const ofPair = replies.filter((each) => pairNameOf(each) === pairNameOf(measurement));
  const known = (ofPair.length > 0 ? ofPair : replies).map((each) => decodeRttCode(each.rttCode ?? 0));
  if (known.length === 0 || rttCode === null) return 0;
  const median = known.sort((a, b) => a - b)[known.length >> 1];
  return Math.abs(Math.log(decodeRttCode(rttCode) / median));
}

function of(kind: Trial["kind"], trials: readonly Trial[], values: readonly number[]): number[] {
  return values.filter((_, i) => trials[i].kind === kind);
}

async function readRows(paths: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of readMeasurements(paths, { rejects: new RejectLog(), columns: [] })) {
    for (let i = 0; i < batch.numRows; i++) {
      const [src, dst, timeUs] = [batch.srcAddr[i], batch.dstAddr[i], batch.eventTimeUs[i]];
      rows.push({ src, dst, timeUs, measurement: tokenMeasurementAt(batch, i) });
    }
  }
  return rows.sort((a, b) => a.timeUs - b.timeUs);
}

function drawTrials(
  rows: readonly Row[],
  { count, heldOutShare, maxContext, seed }: AnomalyOptions,
): Trial[] {
  const random = new RandomStream(seed, "score/anomalies");
  const first = Math.floor(rows.length * (1 - heldOutShare));
  const answered = rows.flatMap(({ measurement }, i) =>
    i >= first && measurement.rttCode !== null ? [i] : []
  );
  const places = drawDistinct(answered.length, Math.min(count, answered.length), random);
  const chosen = new Set([...places].map((place) => answered[place]));
  const sources = [...new Map(rows.map((row) => [row.src, row.measurement.source]))];
  const histories = new Map<string, SourceHistory>();
  const trials: Trial[] = [];
  rows.forEach((row, i) => {
    const { src, dst, timeUs, measurement } = row;
    const contextAs = (name: string) => histories.get(name)?.contextOf(`${name} ${dst}`, timeUs) ?? [];
    if (chosen.has(i)) trials.push(...copiesOf(row, { sources, random, contextAs, number: trials.length }));
    if (!histories.has(src)) histories.set(src, new SourceHistory(maxContext));
    histories.get(src)?.add(`${src} ${dst}`, timeUs, measurement);
  });
  return trials;
}

function copiesOf(
  { src, measurement }: Row,
  { sources, random, contextAs, number }: {
    sources: readonly [string, Uint8Array][];
    random: RandomStream;
    contextAs: (source: string) => TokenMeasurement[];
    number: number;
  },
): Trial[] {
  const rttMs = decodeRttCode(measurement.rttCode ?? 0);
  const [leastMs, mostMs] = DETOUR_MS;
  const detourMs = leastMs + (mostMs - leastMs) * random.float64();
  const others = sources.filter(([name, bytes]) =>
    name !== src && bytes.length === measurement.source.length
  );
  const withRtt = (ms: number) => ({ ...measurement, rttCode: encodeRttCode(ms) });
  const context = contextAs(src);
  const trials: Trial[] = [
    { kind: "original", case: { measurement, context, number } },
    { kind: "routeChange", case: { measurement: withRtt(rttMs + detourMs), context, number: number + 1 } },
    { kind: "rttHalved", case: { measurement: withRtt(rttMs / 2), context, number: number + 2 } },
  ];
  if (others.length === 0) return trials;
  const [name, source] = others[random.below(others.length)];
  const spoofed = { measurement: { ...measurement, source }, context: contextAs(name), number: number + 3 };
  return [...trials, { kind: "spoofedSource", case: spoofed }];
}
