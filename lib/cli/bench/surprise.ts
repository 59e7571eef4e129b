/**
 * `bench surprise`: the share of planted outages, level shifts and spikes in a campaign that a model's
 * p-values find at a bounded rate of false alarms, compared with simple rules.
 *
 * @module
 */
import { medianOf, quantileOfSample } from "../../base/sample_statistics.ts";
import { formatTable } from "../../base/text.ts";
import { RejectLog } from "../../data/measurement_files/rejects.ts";
import { SourceHistory } from "../../data/tokens/source_history.ts";
import { decodeRttCode, encodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { DEFAULT_WATCH_OPTIONS, PairWatch } from "../../query/changes/pair_watch.ts";
import { readRows } from "../../query/files/ordered_rows.ts";
import type { StageHooks } from "../../io/threads/stage_hooks.ts";
import type { PingModel } from "../../query/ping_model.ts";
import { tokenMeasurementAt } from "../../query/query_tokens.ts";
import { LossRuns } from "../../query/score/loss_runs.ts";
import { NormalPValues } from "../../query/score/normal_p_values.ts";
import { type ScoreCase, scoreResults } from "../../query/score/score_results.ts";
import { RandomStream } from "../../base/random.ts";

/** An event counts as found if one of its first rows is. */
const EVENT_ROWS = 5;
/** How many rows an outage or shift lasts, at most. */
const LASTING_ROWS = 20;
/** At most one event per this many consecutive rows of a pair. */
const BLOCK_ROWS = 100;
/** The share of such blocks with an event. */
const PLANTED_SHARE = 0.25;
/** Replies that the history of a pair needs for a median and a spread. */
const LEAST_REPLIES = 10;
/** Lower bound on the spread, because tools round. */
const LEAST_SPREAD_MS = 0.1;
const CHUNK_ROWS = 2048;
/** Limits for which the share of normal rows with a lower p-value is reported. */
const P_LIMITS = [0.0001, 0.001, 0.01, 0.1, 0.5];

/** What is planted: losses, or RTTs increased by `spreads` interquartile ranges of the pair. */
const EVENTS: readonly { name: string; spreads?: number; isSpike?: boolean }[] = [
  { name: "outage" },
  { name: "shift of 3", spreads: 3 },
  { name: "shift of 10", spreads: 10 },
  { name: "shift of 30", spreads: 30 },
  { name: "spike of 10", spreads: 10, isSpike: true },
  { name: "spike of 30", spreads: 30, isSpike: true },
];

interface CampaignRow {
  readonly source: string;
  readonly pair: string;
  readonly timeUs: number;
  readonly measurement: TokenMeasurement;
  /** Whether it only serves as history. */
  readonly isHistory: boolean;
}

/** The median and spread of a pair's replies in the history. */
interface Usual {
  readonly medianMs: number;
  readonly spreadMs: number;
}

export interface Campaign {
  readonly rows: readonly CampaignRow[];
  /** By pair, for pairs with enough replies in the history. */
  readonly usual: ReadonlyMap<string, Usual>;
  /** Indexes of rows of such pairs outside the history. */
  readonly normal: readonly number[];
}

/** An event in the rows of a pair; `rows` has the first ones. */
interface PlantedEvent {
  readonly kind: number;
  readonly rows: readonly number[];
}

/** How unusual the row at an index is; only the order matters. */
type Unusual = (index: number) => number;

interface Found {
  readonly method: string;
  /** Share of each kind of event found at its first row and in its first rows; medians over seeds. */
  readonly events: readonly { readonly name: string; readonly atFirst: number; readonly inAll: number }[];
}

export interface SurpriseComparison {
  readonly rows: number;
  /** Events of each kind, summed over the seeds. */
  readonly numEvents: readonly number[];
  /** By rate of false alarms, one in `oneIn` normal rows. */
  readonly rates: readonly { readonly oneIn: number; readonly found: readonly Found[] }[];
  /** The share of normal rows with p-values below a limit; `corrected` with the other half of the pairs. */
  readonly below: readonly { readonly limit: number; readonly share: number; readonly corrected: number }[];
}

/** @param history Files that precede the scored ones. @param input Files whose rows are scored. */
export async function readCampaign(history: readonly string[], input: readonly string[]): Promise<Campaign> {
  const all: CampaignRow[] = [];
  for (const [paths, isHistory] of [[history, true], [input, false]] as const) {
    for await (const { batch } of readRows(paths, { groupBy: "src_addr" }, new RejectLog())) {
      for (let i = 0; i < batch.numRows; i++) {
        const [source, pair] = [batch.srcAddr[i], `${batch.srcAddr[i]} ${batch.dstAddr[i]}`];
        const measurement = tokenMeasurementAt(batch, i);
        all.push({ source, pair, timeUs: batch.eventTimeUs[i], measurement, isHistory });
      }
    }
  }
  const rows = [...Map.groupBy(all, ({ source }) => source).values()]
    .flatMap((of) => of.sort((a, b) => a.timeUs - b.timeUs));
  const replies = Map.groupBy(
    rows.filter(({ isHistory, measurement }) => isHistory && measurement.rttCode !== null),
    ({ pair }) => pair,
  );
  const known = [...replies].filter(([, { length }]) => length >= LEAST_REPLIES);
  const usual = new Map(known.map(([pair, of]) => [pair, usualOf(of.map(rttMsOf))]));
  const normal = rows.keys().filter((i) => !rows[i].isHistory && usual.has(rows[i].pair)).toArray();
  return { rows, usual, normal };
}

function rttMsOf({ measurement: { rttCode } }: CampaignRow): number {
  return rttCode === null ? NaN : decodeRttCode(rttCode);
}

function isLost({ measurement: { rttCode } }: CampaignRow): boolean {
  return rttCode === null;
}

function usualOf(rttsMs: readonly number[]): Usual {
  const [low, medianMs, high] = [0.25, 0.5, 0.75].map((q) => quantileOfSample(rttsMs, q));
  return { medianMs, spreadMs: Math.max(LEAST_SPREAD_MS, high - low) };
}

/** Plants the kinds of events in turn; the seed decides which is first. */
function plant(
  { rows, usual, normal }: Campaign,
  seed: number,
): { rows: readonly CampaignRow[]; events: readonly PlantedEvent[] } {
  const random = new RandomStream(seed, "bench/surprise");
  const planted = [...rows];
  const events: PlantedEvent[] = [];
  for (const [pair, ofPair] of Map.groupBy(normal, (i) => rows[i].pair)) {
    for (let from = 0; from < ofPair.length; from += BLOCK_ROWS) {
      const block = ofPair.slice(from, from + BLOCK_ROWS);
      if (block.length < EVENT_ROWS || random.float64() >= PLANTED_SHARE) continue;
      const first = random.below(block.length - EVENT_ROWS + 1);
      const kind = (seed + events.length) % EVENTS.length;
      const { spreads, isSpike } = EVENTS[kind];
      const changed = block.slice(first, first + (isSpike ? 1 : LASTING_ROWS));
      for (const i of changed) {
        const rttMs = rttMsOf(rows[i]) + (spreads ?? NaN) * (usual.get(pair)?.spreadMs ?? NaN);
        const rttCode = Number.isNaN(rttMs) ? null : encodeRttCode(rttMs);
        planted[i] = { ...rows[i], measurement: { ...rows[i].measurement, rttCode } };
      }
      events.push({ kind, rows: changed.slice(0, EVENT_ROWS) });
    }
  }
  return { rows: planted, events };
}

async function scoresOf(
  model: PingModel,
  rows: readonly CampaignRow[],
  { asked, context: maxContext }: { asked: ReadonlySet<number>; context: number },
  onChunk: (done: number, total: number) => void,
): Promise<Map<number, { p: number; ofRun: number }>> {
  const found = new Map<number, { p: number; ofRun: number }>();
  const history = new SourceHistory(maxContext, model.config.sequenceLength);
  const runs = new LossRuns();
  let chunk: ScoreCase[] = [];
  const score = async () => {
    const { scores } = await scoreResults(model, chunk, { seed: 0 });
    scores.forEach(({ pValue, logLikelihood }, i) => {
      const { number } = chunk[i];
      found.set(number, {
        p: pValue,
        ofRun: runs.add(rows[number].pair, isLost(rows[number]), logLikelihood),
      });
    });
    chunk = [];
    onChunk(found.size, asked.size);
  };
  for (const [number, { source, pair, timeUs, measurement, isHistory }] of rows.entries()) {
    if (source !== rows[number - 1]?.source) history.clear();
    const context = isHistory ? [] : history.growingContextOf(pair, timeUs, measurement);
    if (asked.has(number)) chunk.push({ measurement, context, number });
    if (chunk.length >= CHUNK_ROWS) await score();
    history.add(pair, timeUs, measurement);
  }
  if (chunk.length > 0) await score();
  return found;
}

/** The largest evidence of a `watch` alarm that begins at a row; 0 without one. */
function evidenceOf(rows: readonly CampaignRow[]): Unusual {
  const watch = new PairWatch({ ...DEFAULT_WATCH_OPTIONS, maxPairs: Infinity });
  const keyOf = (pair: string, timeS: number) => `${pair} ${timeS}`;
  const events = rows.toSorted((a, b) => a.timeUs - b.timeUs)
    .flatMap(({ measurement, timeUs }) => watch.add({ ...measurement, timeS: timeUs / 1e6 }));
  const begun = new Map(
    [...events, ...watch.finish()].filter(({ kind }) => kind === "begin")
      .map(({ alarm: { src, dst }, timeS, evidence = 0 }) => [keyOf(`${src} ${dst}`, timeS), evidence]),
  );
  return (i) => begun.get(keyOf(rows[i].pair, rows[i].timeUs / 1e6)) ?? 0;
}

/** The distance of an RTT from the pair's median in interquartile ranges; 0 for a lost reply. */
function spreadsOf({ usual }: Campaign, rows: readonly CampaignRow[]): Unusual {
  return (i) => {
    const { medianMs, spreadMs } = usual.get(rows[i].pair) ?? { medianMs: NaN, spreadMs: NaN };
    return Math.abs(rttMsOf(rows[i]) - medianMs) / spreadMs || 0;
  };
}

/**
 * @param options `oneIn`: rates of false alarms, one in this many normal rows; `context`: the most
 *   measurements in the context of a row.
 */
export async function compareSurprise(
  model: PingModel,
  campaign: Campaign,
  { seeds, oneIn, context }: { seeds: readonly number[]; oneIn: readonly number[]; context: number },
  hooks: StageHooks = {},
): Promise<SurpriseComparison> {
  const { rows, normal } = campaign;
  const during = (phase: string) => (done: number, total: number) => {
    hooks.onProgress?.(phase, done, total);
    hooks.signal?.throwIfAborted();
  };
  const clean = await scoresOf(model, rows, { asked: new Set(normal), context }, during("normal rows"));
  const pOf = (i: number) => clean.get(i)?.p ?? NaN;
  const corrected = correctorOf(campaign, pOf);
  const methodsOf = (of: readonly CampaignRow[], scores: typeof clean): Record<string, Unusual> => ({
    "p-value": (i) => 1 - (scores.get(i)?.p ?? 1),
    "p-value, corrected": (i) => 1 - corrected(scores.get(i)?.p ?? 1, of[i]),
    "p-value of the run of losses": (i) => 1 - (scores.get(i)?.ofRun ?? 1),
    "median + k interquartile ranges": spreadsOf(campaign, of),
    "watch": evidenceOf(of),
  });
  const usual = Object.entries(methodsOf(rows, clean))
    .map(([method, of]) => ({ method, sorted: normal.map(of).sort((a, b) => b - a) }));
  const numEvents = EVENTS.map(() => 0);
  /** By rate, method, kind of event, and seed. */
  const shares = oneIn.map(() =>
    usual.map(() => EVENTS.map(() => ({ atFirst: [] as number[], inAll: [] as number[] })))
  );
  for (const seed of seeds) {
    const planted = plant(campaign, seed);
    const asked = new Set(planted.events.flatMap(({ rows }) => rows));
    const scores = await scoresOf(model, planted.rows, { asked, context }, during(`events of seed ${seed}`));
    const methods = Object.values(methodsOf(planted.rows, scores));
    EVENTS.forEach((_, kind) => {
      const events = planted.events.filter((event) => event.kind === kind);
      numEvents[kind] += events.length;
      oneIn.forEach((rate, r) =>
        usual.forEach(({ sorted }, m) => {
          const threshold = sorted[Math.floor(sorted.length / rate)];
          const found = events.map(({ rows }) => rows.map((i) => methods[m](i) > threshold));
          const share = (isFound: (rows: boolean[]) => boolean) =>
            found.filter(isFound).length / found.length;
          shares[r][m][kind].atFirst.push(share(([first]) => first));
          shares[r][m][kind].inAll.push(share((each) => each.includes(true)));
        })
      );
    });
  }
  const median = (values: readonly number[]) => medianOf(values.filter((each) => !Number.isNaN(each))) ?? NaN;
  return {
    rows: normal.length,
    numEvents,
    rates: oneIn.map((rate, r) => ({
      oneIn: rate,
      found: usual.map(({ method }, m) => ({
        method,
        events: EVENTS.map(({ name }, kind) => ({
          name,
          atFirst: median(shares[r][m][kind].atFirst),
          inAll: median(shares[r][m][kind].inAll),
        })),
      })),
    })),
    below: P_LIMITS.map((limit) => {
      const share = (of: (index: number) => number) =>
        normal.filter((i) => of(i) < limit).length / normal.length;
      return { limit, share: share(pOf), corrected: share((i) => corrected(pOf(i), rows[i])) };
    }),
  };
}

/** Corrects the p-values of each half of the pairs with the normal rows of the other half. */
function correctorOf(
  { rows, normal }: Campaign,
  pOf: (index: number) => number,
): (p: number, row: CampaignRow) => number {
  const numbers = new Map([...new Set(normal.map((i) => rows[i].pair))].map((pair, i) => [pair, i]));
  const halfOf = ({ pair }: CampaignRow) => (numbers.get(pair) ?? 0) % 2;
  const others = [1, 0].map((half) => {
    const learned = normal.filter((i) => halfOf(rows[i]) === half);
    return new NormalPValues(Float64Array.from(learned, pOf), (i) => isLost(rows[learned[i]]));
  });
  return (p, row) => others[halfOf(row)].corrected(p, isLost(row));
}

export function describeSurprise({ rows, numEvents, rates, below }: SurpriseComparison): string {
  const percent = (share: number) => Number.isNaN(share) ? "-" : (100 * share).toFixed(0);
  const head = ["% found at the first row / within five", ...EVENTS.map(({ name }) => name)];
  return [
    ...rates.map(({ oneIn, found }) =>
      `One false alarm in ${oneIn} of ${rows} normal rows:\n` + formatTable([
        head,
        ...found.map(({ method, events }) => [
          method,
          ...events.map(({ atFirst, inAll }) => `${percent(atFirst)} / ${percent(inAll)}`),
        ]),
        ["events", ...numEvents.map(String)],
      ], { left: [0] })
    ),
    `Normal rows with a p-value below a limit:\n${
      formatTable([
        ["limit", "share", "corrected"],
        ...below.map(({ limit, share, corrected }) =>
          [limit, share, corrected].map((each) => each.toPrecision(3))
        ),
      ], { left: [] })
    }`,
  ].join("\n\n");
}
