/**
 * The address embeddings that the training data claim for their addresses and pairs, and the typical RTTs of pairs, to
 * which coordinates are fitted.
 *
 * @module
 */
import { AddressEmbeddings } from "../model/address_embeddings.ts";
import type { LocatedNode } from "../model/coordinates/coordinates.ts";
import { type ModelConfig, modelShapes } from "../model/model_config.ts";
import { deriveConfig, type RunConfig } from "./run_config.ts";
import type { RunPlaces } from "./run_places.ts";
import type { AutosizeConfig } from "./schema.ts";
import { addressBytes } from "../data/addresses/ip.ts";
import type { DataSurvey, TypicalPairs } from "./data_survey.ts";

/**
 * Lowers a configuration's steps and rows to what the data need, by its section `autosize`. A pass reads each measurement
 * once, at {@link TOKENS_PER_MEASUREMENT} tokens each. Pairs have no rows if they are measured seldom. The share of contexts
 * that hide a pair is lowered so that each pair is hidden about once a pass: a pair that is hidden again and again is
 * learned by heart through its addresses, and the model becomes overconfident on pairs that it has not seen.
 *
 * @param survey Of the rows to train on. @param places Where addresses are, if the model has places.
 */
export function autosized(config: RunConfig, survey: DataSurvey, places?: RunPlaces): RunConfig {
  const { autosize, train } = config;
  if (!autosize) return config;
  const { numMeasurements } = survey;
  const stepsPerPass = numMeasurements * TOKENS_PER_MEASUREMENT / deriveConfig(config).tokensPerStep;
  const stepsOf = (passes: number) =>
    Math.min(train.steps, Math.max(MIN_STEPS, Math.ceil(passes * stepsPerPass)));
  const first = stepsOf(autosize.passes);
  const steps = Math.max(first, stepsOf(autosize.maxPasses ?? autosize.passes));
  const unknownPerPair = autosize.passes * stepsPerPass / first;
  const model = autosizedTables(config.model, { survey, places, autosize, unknownPerPair });
  return { ...config, model, train: { ...train, steps, firstSteps: first < steps ? first : null } };
}

/** Tokens of an IPv4 measurement with a time gap, padding included. */
const TOKENS_PER_MEASUREMENT = 18;
/** Fewer steps teach a model nothing, however often they pass over the data. */
const MIN_STEPS = 50;
/**
 * Pairs have no rows if they are measured less often than this on average: there is little to remember of each, and the
 * address embeddings would learn from fewer measurements.
 */
const MIN_MEASUREMENTS_PER_PAIR = 4;
/** Numbers of rows are multiples of it. */
const ROW_STEP = 64;

function autosizedTables(
  model: ModelConfig,
  { survey, places, autosize: { rowsPerKey, spareRows }, unknownPerPair }: {
    survey: DataSurvey;
    places: RunPlaces | undefined;
    autosize: AutosizeConfig;
    /** How many of a pair's measurements may be hidden on average, in one pass. */
    unknownPerPair: number;
  },
): ModelConfig {
  if (modelShapes(model).numAddressEmbeddings === 0) return model;
  const rows = new AddressEmbeddings(model);
  if (places) claimMisplaced(rows, places);
  const { typical, placeNodes } = survey.claim(rows);
  const sized = (most: number, numOwned: number, share = 1 + spareRows) =>
    Math.min(most, ROW_STEP * Math.ceil(Math.max(1, rowsPerKey * numOwned * share) / ROW_STEP));
  const { prefixVectors, coordinates } = model;
  const { numPrefixes, numPairs } = rows;
  const perPair = survey.numMeasurements / numPairs;
  const pairVectors = perPair < MIN_MEASUREMENTS_PER_PAIR ? null : model.pairVectors;
  // The first measurement of a pair is unknown in any case.
  const dropShare = Math.max(0, unknownPerPair - 1) / (perPair - 1);
  const rowsOf = (share?: number) => [
    prefixVectors ? sized(prefixVectors.rows, numPrefixes, share) : 0,
    pairVectors ? sized(pairVectors.rows, numPairs, share) : 0,
  ];
  // The needs of the data come first, spare rows share the rest.
  const needed = shared(maxRows(model), rowsOf(1));
  const spare = shared(maxRows(model) - needed[0] - needed[1], rowsOf().map((rows, i) => rows - needed[i]));
  const [prefixRows, pairRows] = needed.map((rows, i) => rows + spare[i]);
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
      nodes: sized(coordinates.nodes, rows.coordinates?.numNodes ?? 0),
      // Places are not fitted.
      rank: affordableRank(
        coordinates.rank,
        placeNodes.size || (rows.coordinates?.numNodes ?? 0),
        typical.rttMs.length,
      ),
    },
  };
}

/** Every adapter can bind a buffer of this size (WebGPU, the default of maxStorageBufferBindingSize). */
const MAX_TABLE_BYTES = 2 ** 27;

/** How many rows of prefixes and pairs fit into a buffer beside those that RTT codes select. */
function maxRows(model: ModelConfig): number {
  const rows = Math.floor(MAX_TABLE_BYTES / (4 * model.width)) - modelShapes(model).numSelectedRows;
  return ROW_STEP * Math.floor(rows / ROW_STEP);
}

/** Divides room between two kinds: each gets what it wants, or at least half of the room if both do not fit. */
function shared(room: number, [first, second]: number[]): [number, number] {
  const half = ROW_STEP * Math.floor(room / 2 / ROW_STEP);
  const ofFirst = Math.min(first, Math.max(half, room - second));
  return [ofFirst, Math.min(second, room - ofFirst)];
}

/** The cost of fitting coordinates, in multiplications of a sweep over all nodes; this takes half a minute of one core. */
const MAX_SWEEP_WORK = 1.6e8;

/** The largest rank up to `rank` at that cost. A sweep gathers and solves the equations of each node. */
function affordableRank(rank: number, numNodes: number, numPairs: number): number {
  const work = (rank: number) => numNodes * (rank + 1) ** 3 + 2 * numPairs * (rank + 1) ** 2;
  while (rank > 1 && work(rank) > MAX_SWEEP_WORK) rank--;
  return rank;
}

/**
 * Gives rows to all addresses and pairs of the data, in their order, as long as there are free ones. Also remembers the
 * newest RTTs of the pairs and fits coordinates.
 *
 * @param weights Keys and histories are updated: those of an earlier run stay. Coordinates are those of these data alone.
 * @param places Where addresses are, if the model has places.
 */
export function claimRows(
  config: ModelConfig,
  weights: Map<string, Float32Array>,
  survey: DataSurvey,
  places?: RunPlaces,
): void {
  if (modelShapes(config).numAddressEmbeddings === 0) return;
  const rows = new AddressEmbeddings(config);
  rows.load(weights);
  if (places) claimMisplaced(rows, places);
  const { typical, placeNodes } = survey.claim(rows);
  rows.coordinates?.fit(typical);
  locatePlaces(rows, typical, placeNodes);
  rows.save(weights);
}

/** A place needs so many addresses, lest its coordinates be those of one. */
const MIN_MEMBERS = 3;

/** Gives places coordinates: those of a node whose RTTs are the medians of its addresses'. */
function locatePlaces(
  { coordinates }: AddressEmbeddings,
  pairs: TypicalPairs,
  placeNodes: ReadonlyMap<number, readonly number[]>,
): void {
  if (!coordinates || placeNodes.size === 0) return;
  const members = new Map<number, Set<number>>();
  const rtts = new Map<number, Map<number, number[]>>();
  for (const [node, places] of placeNodes) {
    for (const place of places) members.set(place, (members.get(place) ?? new Set()).add(node));
  }
  pairs.rttMs.forEach((rttMs, i) => {
    for (const [own, other] of [[pairs.a[i], pairs.b[i]], [pairs.b[i], pairs.a[i]]]) {
      for (const place of placeNodes.get(own) ?? []) {
        const ofPlace = rtts.get(place) ?? new Map<number, number[]>();
        rtts.set(place, ofPlace);
        ofPlace.set(other, [...ofPlace.get(other) ?? [], rttMs]);
      }
    }
  });
  const located = new Map<number, LocatedNode>();
  for (const [place, ofPlace] of rtts) {
    if ((members.get(place)?.size ?? 0) < MIN_MEMBERS) continue;
    const known = [...ofPlace].map(([node, all]) => ({
      node,
      rttMs: all.sort((x, y) => x - y)[(all.length - 1) >> 1],
    }));
    const found = coordinates.locate(known, new Set());
    if (found) located.set(place, found);
  }
  coordinates.put(located);
}

/** Sets the table of places, and which of them are wrong. */
function claimMisplaced(rows: AddressEmbeddings, { numbers, misplaced }: RunPlaces): void {
  rows.usePlaces(numbers);
  for (const { address } of misplaced) rows.isMisplaced(addressBytes(address), { claims: true });
}
