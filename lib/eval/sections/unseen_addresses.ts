/**
 * Measurements of new addresses, which the training does not have: some of each address to learn from, and others to
 * judge forecasts by.
 *
 * Only replies between a new and a known address count. So the given measurements of one address say nothing about
 * another.
 *
 * @module
 */
import type { ProbeRowSource } from "../../data/loader/row_source.ts";
import { FAILED_RTT_MS } from "../../data/measurement/batch.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import type { ProbeRow } from "../../data/probe_rows/probe_row.ts";
import { casesOf, type EvalCase } from "../cases.ts";
import { canonicalText } from "../row_measurements.ts";

/** Called for each probe row, and the signal to stop. */
export interface RowHooks {
  readonly onRow?: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** How many addresses and measurements are drawn. */
export interface UnseenOptions extends RowHooks {
  /** Measurements of each address to learn from. An address without further replies is left out. */
  readonly maxGiven: number;
  /** Addresses at most. */
  readonly maxAddresses: number;
  /** Measurements to judge forecasts by, at most. Each address has an equal share at most. */
  readonly maxJudged: number;
  readonly seed: number;
}

/** The drawn addresses and their measurements. */
export interface UnseenCases {
  /** New addresses with a reply to or from a known one. */
  readonly numUnseen: number;
  /** The number of these addresses that have more replies than are given. */
  readonly numUsable: number;
  /** The drawn ones, as `formatAddress` writes them. */
  readonly addresses: readonly string[];
  /** The given measurements of each address, in the order in which they are given: the first 2 are among the first 8. */
  readonly given: readonly (readonly EvalCase[])[];
  /** The judged measurements of all addresses, in the order of the rows; none of them is given. */
  readonly judged: readonly EvalCase[];
  /** The index in `addresses` of each judged measurement. */
  readonly addressOf: Uint32Array;
}

/**
 * The addresses of some rows that no training measurement has at either end, as `formatAddress` writes them.
 * Memory grows with the different addresses of these rows.
 *
 * @throws {FormatError} If a row cannot be read.
 */
export async function unseenAddresses(
  rows: readonly ProbeRowSource[],
  training: ProbeRowSource,
  hooks: RowHooks = {},
): Promise<Set<string>> {
  const unseen = new Set<string>();
  for (const source of rows) {
    await eachRow(source, hooks, ({ srcAddrs, dstAddrs }) => {
      for (const address of [...srcAddrs, ...dstAddrs]) unseen.add(canonicalText(address));
    });
  }
  await eachRow(training, hooks, ({ srcAddrs, dstAddrs }) => {
    for (const address of [...srcAddrs, ...dstAddrs]) unseen.delete(canonicalText(address));
  });
  return unseen;
}

/**
 * Draws unseen addresses, and of each of them measurements. Memory grows with what is drawn and with the unseen
 * addresses.
 *
 * @param unseen All new addresses of the rows.
 * @throws {FormatError} If a row cannot be read.
 */
export async function drawUnseen(
  rows: ProbeRowSource,
  unseen: ReadonlySet<string>,
  options: UnseenOptions,
): Promise<UnseenCases> {
  const counts = new Map<string, number>();
  await eachRow(rows, options, (row) => {
    for (const address of unseenEnds(row, unseen)) {
      if (address !== undefined) counts.set(address, (counts.get(address) ?? 0) + 1);
    }
  });
  const usable = [...counts].filter(([, count]) => count > options.maxGiven).map(([address]) => address)
    .sort();
  const numDrawn = Math.min(usable.length, options.maxAddresses, options.maxJudged);
  const random = new RandomStream(options.seed, "evaluate/unseen-addresses");
  const addresses = [...drawDistinct(usable.length, numDrawn, random)].map((place) => usable[place]).sort();
  const plans = new Map(addresses.map((address, index) => {
    const count = counts.get(address) ?? 0;
    return [address, { index, ranks: drawRanks(address, count, { ...options, numDrawn }), numMet: 0 }];
  }));
  const given = addresses.map((): EvalCase[] => []);
  const judged: { drawn: EvalCase; index: number }[] = [];
  for (let row = 0; row < rows.numRows; row++) {
    const wanted = new Map<number, { index: number; rank: number }>();
    unseenEnds(rows.row(row), unseen).forEach((address, place) => {
      const plan = address === undefined ? undefined : plans.get(address);
      const rank = plan?.ranks.get(plan.numMet++);
      if (plan && rank !== undefined) wanted.set(place, { index: plan.index, rank });
    });
    const cases = wanted.size === 0 ? [] : casesOf(rows, { row, indexes: [...wanted.keys()], maxContext: 0 });
    [...wanted.values()].forEach(({ index, rank }, i) => {
      const drawn = { ...cases[i], history: [] };
      if (rank < options.maxGiven) given[index][rank] = drawn;
      else judged.push({ drawn, index });
    });
    options.onRow?.();
    options.signal?.throwIfAborted();
  }
  return {
    numUnseen: counts.size,
    numUsable: usable.length,
    addresses,
    given,
    judged: judged.map(({ drawn }) => drawn),
    addressOf: Uint32Array.from(judged, ({ index }) => index),
  };
}

/** The drawn replies of an address: the place of each among all its replies, and its rank. Low ranks are given. */
function drawRanks(
  address: string,
  count: number,
  { maxGiven, maxJudged, numDrawn, seed }: UnseenOptions & { numDrawn: number },
): Map<number, number> {
  const numTaken = Math.min(count, maxGiven + Math.floor(maxJudged / numDrawn));
  const random = new RandomStream(seed, `evaluate/unseen-measurements/${address}`);
  return new Map([...drawDistinct(count, numTaken, random)].map((place, rank) => [place, rank]));
}

/** The new end of each measurement of a row; undefined without a reply, or unless exactly one end is new. */
function unseenEnds(row: ProbeRow, unseen: ReadonlySet<string>): (string | undefined)[] {
  const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs } = row;
  const [sources, destinations] = [srcAddrs, dstAddrs].map((addresses) =>
    addresses.map(canonicalText).map((address) => unseen.has(address) ? address : undefined)
  );
  return Array.from(rttMs, (ms, i) => {
    const [source, destination] = [sources[srcIndex[i]], destinations[dstIndex[i]]];
    const hasOne = (source === undefined) !== (destination === undefined);
    return hasOne && ms !== FAILED_RTT_MS ? source ?? destination : undefined;
  });
}

async function eachRow(
  rows: ProbeRowSource,
  { onRow, signal }: RowHooks,
  visit: (row: ProbeRow) => void,
): Promise<void> {
  const pacer = new EventLoopPacer({ signal });
  for (let row = 0; row < rows.numRows; row++) {
    visit(rows.row(row));
    onRow?.();
    await pacer.yieldToEventLoop();
  }
}
