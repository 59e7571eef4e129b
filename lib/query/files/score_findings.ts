/**
 * Summarises scores: the most surprising rows, the number of surprising rows, and the sources that have most
 * of them. Memory does not depend on the number of rows.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import type { AddressNames } from "../../data/addresses/address_names.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { histogramChart, rowChart } from "../../base/report/charts.ts";
import { element, pageOf, tableOf } from "../../base/report/page.ts";
import { formatCount, formatMs, isoTime, percentText } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";

/** Rows with a smaller p-value count as surprising. Under a correct model this share of rows does. */
const SURPRISING_P_VALUE = 0.01;
const NUM_LISTED = 20;
/** About 200 bytes each. Rows of further sources count only in the totals. */
const MAX_SOURCES = 100_000;
const NUM_BINS = 20;
/** Bins of negative log-likelihoods, 1 nat wide; the last one includes all higher values. */
const NUM_NATS = 30;

export interface ScoredRow {
  src: string;
  src_name?: string;
  dst: string;
  dst_name?: string;
  timeUs: number;
  /** `FAILED_RTT_MS` for no reply. */
  rttMs: number;
  logLikelihood: number;
  pValue: number;
  /** P(all replies of the pair since the last one are lost); 1 for a reply. */
  lossRunPValue: number;
}

interface SourceFindings {
  src: string;
  name?: string;
  rows: number;
  /** Number of rows with a p-value below 0.01. */
  surprising: number;
  /** Mean of -log2 P(result). */
  meanBits: number;
}

export interface ScoreFindings {
  rows: number;
  surprising: number;
  /** Number of rows by p-value, in bins of equal width from 0 to 1. */
  pValueCounts: number[];
  /** Number of rows by -log_likelihood, in bins of 1 nat; the last one includes all higher values. */
  natsCounts: number[];
  /** Rows with the smallest p-values, smallest first. */
  mostSurprising: ScoredRow[];
  /** Rows with the least probable runs of losses, one per pair, least probable first. */
  lossRuns: ScoredRow[];
  /** Sources by the number of surprising rows in excess of what a correct model would have, highest first. */
  sources: SourceFindings[];
  /** Number of sources; a lower bound once the memory limit is reached. */
  numSources: number;
  /** Addresses that are not where the databases say, with the number of rows they occur in, most first. */
  misplaced?: { address: string; name?: string; rows: number }[];
}

export class ScoreTally {
  readonly #listed: ScoredRow[] = [];
  readonly #lossRuns: ScoredRow[] = [];
  readonly #sources = new Map<string, { rows: number; surprising: number; nats: number }>();
  readonly #pValueCounts = new Array<number>(NUM_BINS).fill(0);
  readonly #natsCounts = new Array<number>(NUM_NATS).fill(0);
  #numRows = 0;
  #numSurprising = 0;

  /** Row counts of misplaced addresses; undefined for other addresses. */
  readonly #misplaced = new Map<string, { rows: number } | undefined>();

  /**
   * @param maxSources Overridden by tests.
   * @param isMisplaced Whether an address is not where the databases say.
   */
  constructor(
    readonly maxSources: number = MAX_SOURCES,
    readonly isMisplaced: (address: string) => boolean = () => false,
  ) {}

  add(row: ScoredRow): void {
    const { src, dst, logLikelihood, pValue } = row;
    for (const address of src === dst ? [src] : [src, dst]) {
      if (!this.#misplaced.has(address) && this.#misplaced.size < this.maxSources) {
        this.#misplaced.set(address, this.isMisplaced(address) ? { rows: 0 } : undefined);
      }
      const found = this.#misplaced.get(address);
      if (found) found.rows++;
    }
    const isSurprising = pValue < SURPRISING_P_VALUE ? 1 : 0;
    this.#numRows++;
    this.#numSurprising += isSurprising;
    this.#pValueCounts[Math.min(NUM_BINS - 1, Math.floor(pValue * NUM_BINS))]++;
    this.#natsCounts[Math.min(NUM_NATS - 1, Math.max(0, Math.floor(-logLikelihood)))]++;
    if (this.#sources.has(src) || this.#sources.size < this.maxSources) {
      const source = getOrMake(this.#sources, src, () => ({ rows: 0, surprising: 0, nats: 0 }));
      source.rows++;
      source.surprising += isSurprising;
      source.nats -= logLikelihood;
    }
    insert(this.#listed, row, bySurprise);
    if (row.lossRunPValue >= SURPRISING_P_VALUE) return;
    const known = this.#lossRuns.findIndex((each) => each.src === src && each.dst === row.dst);
    if (known >= 0 && byRun(row, this.#lossRuns[known]) >= 0) return;
    if (known >= 0) this.#lossRuns.splice(known, 1);
    insert(this.#lossRuns, row, byRun);
  }

  findings(): ScoreFindings {
    const excess = ({ rows, surprising }: SourceFindings) => surprising - SURPRISING_P_VALUE * rows;
    const sources = Array.from(this.#sources, ([src, { rows, surprising, nats }]): SourceFindings => ({
      src,
      rows,
      surprising,
      meanBits: nats / Math.LN2 / rows,
    })).sort((a, b) => excess(b) - excess(a) || (a.src < b.src ? -1 : 1));
    const misplaced = [...this.#misplaced].flatMap(([address, found]) =>
      found ? [{ address, ...found }] : []
    );
    return {
      rows: this.#numRows,
      surprising: this.#numSurprising,
      pValueCounts: [...this.#pValueCounts],
      natsCounts: [...this.#natsCounts],
      mostSurprising: this.#listed.map((row) => ({ ...row })),
      lossRuns: this.#lossRuns.map((row) => ({ ...row })),
      sources: sources.slice(0, NUM_LISTED),
      numSources: sources.length,
      ...(misplaced.length > 0 && {
        misplaced: misplaced.sort((a, b) => b.rows - a.rows || (a.address < b.address ? -1 : 1)),
      }),
    };
  }
}

/** Inserts a row into a sorted list, after equal rows, and keeps the first {@link NUM_LISTED}. */
function insert(listed: ScoredRow[], row: ScoredRow, order: (a: ScoredRow, b: ScoredRow) => number): void {
  const last = listed[NUM_LISTED - 1];
  if (last && order(row, last) >= 0) return;
  const place = listed.findIndex((each) => order(row, each) < 0);
  listed.splice(place < 0 ? listed.length : place, 0, { ...row });
  listed.length = Math.min(listed.length, NUM_LISTED);
}

function byRun(a: ScoredRow, b: ScoredRow): number {
  return a.lossRunPValue - b.lossRunPValue;
}

/** Sorts more surprising rows first; equal rows keep their order. */
function bySurprise(a: ScoredRow, b: ScoredRow): number {
  return a.pValue - b.pValue || a.logLikelihood - b.logLikelihood;
}

export function namedFindings(findings: ScoreFindings, names: AddressNames): ScoreFindings {
  const { mostSurprising, lossRuns, sources, misplaced } = findings;
  const withNames = (row: ScoredRow) => ({ ...row, ...names.namedEnds(row) });
  return {
    ...findings,
    mostSurprising: mostSurprising.map(withNames),
    lossRuns: lossRuns.map(withNames),
    sources: sources.map((row) => ({ ...row, ...names.named(row.src) })),
    ...(misplaced && { misplaced: misplaced.map((row) => ({ ...row, ...names.named(row.address) })) }),
  };
}

export function describeFindings(findings: ScoreFindings): string {
  if (findings.rows === 0) return "No rows were scored.";
  const tables = tablesOf(findings).map(({ heading, columns, rows, left }) => {
    const lines = formatTable([columns, ...rows], { left }).split("\n");
    return ["", heading, ...lines.map((line) => `  ${line}`)].join("\n");
  });
  return [shareSentence(findings), ...misplacedSentence(findings), ...tables].join("\n");
}

export async function pageOfFindings(title: string, findings: ScoreFindings): Promise<string> {
  const { rows, sources, pValueCounts, natsCounts } = findings;
  if (rows === 0) return await pageOf(title, [element("p", "No rows were scored.")]);
  const right = rows / NUM_BINS;
  return await pageOf(title, [
    element("p", [shareSentence(findings), ...misplacedSentence(findings)].join(" ")),
    {
      beside: [
        {
          name: "p-values",
          caption:
            "p-values of the rows. For a correct model, every bin reaches the dashed line. Higher bins at the left " +
            "are results that the model considers too improbable.",
          chart: histogramChart({
            bins: binsOf(pValueCounts, 1 / NUM_BINS),
            x: { title: "p-value" },
            y: { title: "rows", format: "~s" },
            lines: [{ y: right, isDashed: true }],
          }),
        },
        {
          name: "log-likelihoods",
          caption: `-ln P of the results. The last bin contains everything above ${NUM_NATS - 1} nats.`,
          chart: histogramChart({
            bins: binsOf(natsCounts, 1),
            x: { title: "-ln P(result), nats" },
            y: { title: "rows", format: "~s" },
          }),
        },
      ],
    },
    ...tablesOf(findings).flatMap(({ heading, columns, rows, isOfSources }) => [
      element("h2", heading),
      ...isOfSources
        ? [
          {
            name: "sources",
            caption: `Share of a source's rows with a p-value below ${SURPRISING_P_VALUE}.`,
            chart: rowChart({
              rows: sources.map((source) => ({
                label: withName(source.src, source.name),
                value: 100 * source.surprising / source.rows,
                text: percentText(source.surprising / source.rows),
              })),
              title: `% of rows below ${SURPRISING_P_VALUE}`,
              width: 300,
            }),
          },
        ]
        : [],
      tableOf(columns, rows),
    ]),
  ]);
}

/** The lists of findings as tables. @returns `left`: indexes of the text columns. */
function tablesOf({ mostSurprising, lossRuns, sources, numSources }: ScoreFindings) {
  const pair = ["time", "source", "destination"];
  return [
    {
      heading: `The ${mostSurprising.length} most surprising rows`,
      columns: [...pair, "RTT", "p-value", "ln P"],
      rows: mostSurprising.map(rowCells),
      left: [0, 1, 2],
    },
    {
      heading: `Pairs with the least probable runs of lost replies: ${lossRuns.length}`,
      columns: [...pair, "P(run)"],
      rows: lossRuns.map((row) => [...pairCells(row), row.lossRunPValue.toPrecision(2)]),
      left: [0, 1, 2],
    },
    {
      heading: `Sources with the most surprising rows: ${sources.length} of ${formatCount(numSources)}`,
      columns: ["source", "rows", `below ${SURPRISING_P_VALUE}`, "share", "bits per result"],
      rows: sources.map(sourceCells),
      left: [0],
      isOfSources: true,
    },
  ].filter(({ rows }) => rows.length > 0);
}

function shareSentence({ rows, surprising }: ScoreFindings): string {
  return `${percentText(surprising / rows)} of ${formatCount(rows)} rows (${
    formatCount(surprising)
  }) have a ` +
    `p-value below ${SURPRISING_P_VALUE}; if the model is correct, ${100 * SURPRISING_P_VALUE} % do.`;
}

/** For example "2 addresses are not where the databases say: 192.0.2.1 (7 rows), 192.0.2.2 (1 row)." */
function misplacedSentence({ misplaced = [] }: ScoreFindings): string[] {
  if (misplaced.length === 0) return [];
  const shown = misplaced.slice(0, NUM_LISTED).map(({ address, name, rows }) =>
    `${withName(address, name)} (${formatCount(rows)} ${rows === 1 ? "row" : "rows"})`
  );
  const rest = misplaced.length > NUM_LISTED ? ", …" : "";
  const are = misplaced.length === 1 ? "address is" : "addresses are";
  return [`${misplaced.length} ${are} not where the databases say: ${shown.join(", ")}${rest}.`];
}

function rowCells(row: ScoredRow): string[] {
  const { rttMs, pValue, logLikelihood } = row;
  const rtt = rttMs === FAILED_RTT_MS ? "no reply" : formatMs(rttMs);
  return [...pairCells(row), rtt, pValue.toPrecision(2), logLikelihood.toFixed(2)];
}

function pairCells({ timeUs, src, src_name, dst, dst_name }: ScoredRow): string[] {
  return [isoTime(timeUs / 1e6), withName(src, src_name), withName(dst, dst_name)];
}

function sourceCells(source: SourceFindings): string[] {
  const { src, name, rows, surprising, meanBits } = source;
  return [
    withName(src, name),
    formatCount(rows),
    formatCount(surprising),
    percentText(source.surprising / source.rows),
    meanBits.toFixed(2),
  ];
}

function binsOf(counts: readonly number[], width: number): { low: number; high: number; value: number }[] {
  return counts.map((value, i) => ({ low: i * width, high: (i + 1) * width, value }));
}
