/**
 * The rows of addresses and pairs that a run's training data claim.
 *
 * @module
 */
import type { ProbeRowSource } from "../loader/row_source.ts";
import { AddressRows } from "../model/address_rows.ts";
import { type ModelConfig, numAddressRows, numSelectedRows } from "../model/config.ts";
import { NO_ROW } from "../model/row_table.ts";
import { deriveConfig, type RunConfig } from "./config.ts";
import { TypicalRtts } from "./typical_rtts.ts";
import { parseAddress } from "../addresses/ip.ts";
import { encodeRttCode } from "../tokens/rtt_code.ts";

/**
 * Makes a configuration's steps and rows no more than the data need, by its section `fit`: a pass reads each measurement
 * once, and a context's measurements take {@link TOKENS_PER_MEASUREMENT} tokens each. Pairs have no rows where they are
 * measured seldom. A pair is unknown in a context about as often as there are passes at most: what is shown as unknown
 * again and again is learned by heart, and the model then trusts itself on pairs that it has not seen.
 *
 * @param source The rows to train on.
 */
export function fitConfig(config: RunConfig, source: ProbeRowSource): RunConfig {
  const { fit, train } = config;
  if (!fit) return config;
  let numMeasurements = 0;
  for (let index = 0; index < source.numRows; index++) numMeasurements += source.numMeasurements(index);
  const stepsPerPass = numMeasurements * TOKENS_PER_MEASUREMENT / deriveConfig(config).tokensPerStep;
  const steps = Math.min(train.steps, Math.max(MIN_STEPS, Math.ceil(fit.passes * stepsPerPass)));
  const unknownPerPair = fit.passes * stepsPerPass / steps;
  const model = fitRows(config.model, {
    source,
    rowsPerKey: fit.rowsPerKey,
    numMeasurements,
    unknownPerPair,
  });
  return { ...config, model, train: { ...train, steps } };
}

/** Of IPv4 with a gap of time; padding included. */
const TOKENS_PER_MEASUREMENT = 18;
/** Fewer steps teach a model nothing, however often it sees the data. */
const MIN_STEPS = 50;
/**
 * Where pairs are measured less often than so on average, there is little to remember of each, and rows of pairs only
 * take measurements from what is learned of addresses.
 */
const MIN_MEASUREMENTS_PER_PAIR = 4;
/** Rows are a multiple of it. */
const ROW_STEP = 64;

function fitRows(
  model: ModelConfig,
  { source, rowsPerKey, numMeasurements, unknownPerPair }: {
    source: ProbeRowSource;
    rowsPerKey: number;
    numMeasurements: number;
    /** Of a pair's measurements, read once, so many may be unknown on average. */
    unknownPerPair: number;
  },
): ModelConfig {
  if (numAddressRows(model) === 0) return model;
  const rows = new AddressRows(model);
  const { numPairs: numTypical } = rememberAll(rows, source);
  const fitted = (most: number, numOwned: number) =>
    Math.min(most, ROW_STEP * Math.ceil(Math.max(1, rowsPerKey * numOwned) / ROW_STEP));
  const { prefixVectors, coordinates } = model;
  const { numPrefixes, numPairs } = rows;
  const perPair = numMeasurements / numPairs;
  const pairVectors = perPair < MIN_MEASUREMENTS_PER_PAIR ? null : model.pairVectors;
  // Of a pair's measurements the first is unknown in any case.
  const dropShare = Math.max(0, unknownPerPair - 1) / (perPair - 1);
  const wanted = [
    prefixVectors ? fitted(prefixVectors.rows, numPrefixes) : 0,
    pairVectors ? fitted(pairVectors.rows, numPairs) : 0,
  ];
  const [prefixRows, pairRows] = shared(maxRows(model), wanted);
  return {
    ...model,
    prefixVectors: prefixVectors && { ...prefixVectors, rows: prefixRows },
    pairVectors: pairVectors && {
      ...pairVectors,
      rows: pairRows,
      dropShare: Math.min(pairVectors.dropShare, dropShare),
    },
    coordinates: coordinates && {
      ...coordinates,
      nodes: fitted(coordinates.nodes, rows.coordinates?.numNodes ?? 0),
      rank: affordableRank(coordinates.rank, rows.coordinates?.numNodes ?? 0, numTypical),
    },
  };
}

/** What every adapter has room for in a buffer (WebGPU, maxStorageBufferBindingSize by default). */
const MAX_TABLE_BYTES = 2 ** 27;

/** How many rows of prefixes and pairs fit a buffer, beside those that codes select. */
function maxRows(model: ModelConfig): number {
  const rows = Math.floor(MAX_TABLE_BYTES / (4 * model.width)) - numSelectedRows(model);
  return ROW_STEP * Math.floor(rows / ROW_STEP);
}

/** As many as are wanted of two kinds; of more than there is room for each has at least a half, if it wants that. */
function shared(room: number, [first, second]: number[]): [number, number] {
  const half = ROW_STEP * Math.floor(room / 2 / ROW_STEP);
  const ofFirst = Math.min(first, Math.max(half, room - second));
  return [ofFirst, Math.min(second, room - ofFirst)];
}

/** What fitting coordinates may cost, in multiplications of a sweep over all nodes: half a minute of one core. */
const MAX_SWEEP_WORK = 1.6e8;

/** The rank that fits so many nodes and pairs at that cost: a sweep gathers and solves equations of every node. */
function affordableRank(rank: number, numNodes: number, numPairs: number): number {
  const work = (rank: number) => numNodes * (rank + 1) ** 3 + 2 * numPairs * (rank + 1) ** 2;
  while (rank > 1 && work(rank) > MAX_SWEEP_WORK) rank--;
  return rank;
}

/**
 * Gives rows to all addresses and pairs of the data, in their order, until there are none left, remembers the newest
 * RTTs of the pairs, and fits coordinates to them.
 *
 * @param weights Keys and histories are replaced; where there are any, as of another run, they are added to. Coordinates
 *   are those of these data alone.
 */
export function claimRows(
  config: ModelConfig,
  weights: Map<string, Float32Array>,
  source: ProbeRowSource,
): void {
  if (numAddressRows(config) === 0) return;
  const rows = new AddressRows(config);
  rows.load(weights);
  const typical = rememberAll(rows, source);
  rows.coordinates?.fit(typical.pairs());
  rows.save(weights);
}

function rememberAll(rows: AddressRows, source: ProbeRowSource): TypicalRtts {
  const typical = new TypicalRtts();
  for (let index = 0; index < source.numRows; index++) {
    const { srcAddrs, dstAddrs, srcIndex, dstIndex, rttMs, eventTimeUs } = source.row(index);
    const [sources, destinations] = [srcAddrs, dstAddrs].map((texts) => texts.map(parseAddress));
    const claimed = new Map<number, number>();
    const nodes = [sources, destinations].map((addresses) =>
      addresses.map((address) => address ? rows.claimNode(address) : NO_ROW)
    );
    srcIndex.forEach((src, i) => {
      const key = src * dstAddrs.length + dstIndex[i];
      const [from, to] = [sources[src], destinations[dstIndex[i]]];
      if (!from || !to) return;
      const pair = claimed.get(key) ?? rows.claim(from, to);
      claimed.set(key, pair);
      const timeS = Math.floor(eventTimeUs[i] / 1e6);
      if (rttMs[i] < 0) return;
      rows.remember(pair, { rttCode: encodeRttCode(rttMs[i]), timeS });
      typical.add(nodes[0][src], nodes[1][dstIndex[i]], rttMs[i]);
    });
  }
  return typical;
}
