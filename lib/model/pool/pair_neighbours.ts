/**
 * The nearest measured neighbours of a pair that was not measured: the pairs whose endpoints are related most
 * closely to its own. Addresses of one network or place have similar RTTs to the same destination (Francis et
 * al., "IDMaps", IEEE/ACM ToN 9(5), 2001; Madhyastha et al., "iPlane", OSDI 2006).
 *
 * @module
 */
import { evenlySpread } from "../../base/collections.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { SHARE, type Tensor } from "../possible_numbers.ts";
import type { KnownOfQuestion, PairEnds, Recalled } from "./forecast.ts";
import type { Kernel } from "./kernel_mixture.ts";
import { type End, equalBytes, MEASURED_PAIRS, type MeasuredPairs } from "./measured_pairs.ts";

/** How closely two addresses are related, from none to the same address. Addresses of one host are found by their probe. */
const [NONE, COUNTRY, AS, CITY, PREFIX, SAME, HOST] = Array.from({ length: 7 }, (_, i) => i);

/**
 * What must relate the sources and the destinations of a neighbour, the nearest first, and the weight of such
 * neighbours before any measurement.
 */
const LEVELS: readonly (readonly [sources: number, destinations: number, weight: number])[] = [
  [HOST, SAME, 0.4],
  [SAME, HOST, 0.4],
  [PREFIX, SAME, 0.2],
  [SAME, PREFIX, 0.6],
  [CITY, SAME, 0.3],
  [SAME, CITY, 0.3],
  [AS, SAME, 0.05],
  [SAME, AS, 0.05],
  [CITY, CITY, 0.2],
  [AS, AS, 0.05],
  [COUNTRY, SAME, 0.05],
  [SAME, COUNTRY, 0.05],
];
/** The level of each pair of relations; that of none is the number of levels. */
const LEVEL_OF = Uint8Array.from({ length: (SAME + 1) ** 2 }, (_, i) => {
  const [from, to] = [Math.floor(i / (SAME + 1)), i % (SAME + 1)];
  const level = LEVELS.findIndex(([sources, destinations]) => from >= sources && to >= destinations);
  // Both endpoints are those of the pair itself.
  return level < 0 || (from === SAME && to === SAME) ? LEVELS.length : level;
});

/** Mean distances of the neighbours' medians from their median, ln, up to which they agree; above, they differ. */
const AGREEING = 0.1;
/** Whether there is one neighbour, several that agree, or several that differ. */
const NUM_AGREEMENTS = 3;
/** Levels and agreements, each of which has weights. */
export const NUM_NEIGHBOUR_CELLS: number = LEVELS.length * NUM_AGREEMENTS;

/** The level of a cell; the weights of a level are the prior of its cells. */
export function levelOfCell(cell: number): number {
  return Math.floor(cell / NUM_AGREEMENTS);
}

/** The widths of the kernels around the neighbours' RTTs. */
export const NEIGHBOUR_WIDTHS: readonly number[] = [2 ** -5, 2 ** -3, 2 ** -1];

/** How the weight of neighbours is shared among the widths before any measurement. */
const WIDTH_SHARES = [0.7, 0.25, 0.05];

/** The weights of a cell before any measurement: by width, then of the other forecasts. */
export function firstNeighbourWeights(cell: number): Float64Array {
  const [, , weight] = LEVELS[levelOfCell(cell)];
  return Float64Array.of(...WIDTH_SHARES.map((share) => share * weight), 1 - weight);
}

/** The weights of the neighbours by cell, with one column per width; the other forecasts have the rest. */
export const NEIGHBOUR_WEIGHTS: Tensor = ["pool.weights.pair_neighbours", NEIGHBOUR_WIDTHS.map(() => SHARE)];

/** Maximum number of neighbours that are used. */
const MAX_NEIGHBOURS = 64;

/** The RTTs of the nearest measured neighbours. */
export interface Neighbours {
  /** The row of their weights. */
  readonly cell: number;
  /**
   * What their weight is multiplied by. The weights are fitted to pairs of the training data; those of an
   * adaptation may have been measured once.
   */
  readonly worth: number;
  /** Some of their RTTs, ln ms; each neighbour has the same share of them. */
  readonly logs: readonly { readonly log: number; readonly mass: number }[];
}

class PairNeighbours {
  /** The relations of an endpoint to all endpoints of the same role. */
  readonly #relatedTo: (name: string, role: number) => Uint8Array;

  constructor(readonly known: MeasuredPairs) {
    this.#relatedTo = known.compared((end, others) =>
      Uint8Array.from(others, (other) => relationOf(end, other))
    );
  }

  /** The nearest neighbours of a pair; undefined if no pair is related to it. */
  nearest({ source, destination }: PairEnds): Neighbours | undefined {
    const [from, to] = [this.#relatedTo(source, 0), this.#relatedTo(destination, 1)];
    const found: number[] = [];
    let nearest = LEVELS.length;
    const { rows, numTrained } = this.known;
    for (let i = 0; i < rows.length; i += 2) {
      const level = LEVEL_OF[from[rows[i]] * (SAME + 1) + to[rows[i + 1]]];
      if (level > nearest || level === LEVELS.length) continue;
      if (level < nearest) found.length = 0;
      nearest = level;
      found.push(i / 2);
    }
    const logs = evenlySpread(found, MAX_NEIGHBOURS).map((pair) => this.known.logsOf(pair))
      .filter(({ length }) => length > 0);
    if (logs.length === 0) return undefined;
    const numRtts = logs.reduce((sum, own) => sum + own.length, 0);
    return {
      worth: found[found.length - 1] < numTrained ? 1 : numRtts / (numRtts + 1),
      cell: cellOf(nearest, logs.length, spreadOf(logs)),
      logs: logs.flatMap((own) => own.map((log) => ({ log, mass: 1 / own.length / logs.length }))),
    };
  }
}

export const PAIR_NEIGHBOURS: Recalled<PairNeighbours> = {
  open: (_, { recall }) => new PairNeighbours(recall(MEASURED_PAIRS)),
};

/** The neighbours of a question about a pair that was not measured. */
export function neighboursOf({ ends, ofHosts, recall }: KnownOfQuestion): Neighbours | undefined {
  // The first two levels.
  const level = ofHosts.findIndex((each) => each && each.numReplies > 0);
  if (level < 0) return recall(PAIR_NEIGHBOURS).nearest(ends);
  const logs = ofHosts[level]?.kernels() ?? [];
  const mean = logs.reduce((sum, { log, mass }) => sum + mass * log, 0);
  const distance = logs.reduce((sum, { log, mass }) => sum + mass * Math.abs(log - mean), 0);
  return { worth: 1, cell: cellOf(level, ofHosts[level]?.numReplies ?? 0, distance), logs };
}

/** @param weights By width, for masses that sum to their sum. */
export function kernelsOfNeighbours({ logs }: Neighbours, weights: ArrayLike<number>): Kernel[] {
  return NEIGHBOUR_WIDTHS.flatMap((width, w) =>
    weights[w] > 0 ? logs.map(({ log, mass }) => ({ log, width, mass: weights[w] * mass })) : []
  );
}

/** @param distance The mean distance of the neighbours from their middle, ln. */
function cellOf(level: number, count: number, distance: number): number {
  return level * NUM_AGREEMENTS + (count === 1 ? 0 : distance <= AGREEING ? 1 : 2);
}

/** The mean distance of the neighbours' medians from their median. */
function spreadOf(logs: readonly (readonly number[])[]): number {
  const medians = Float64Array.from(logs, (own) => quantileOfSample(Float64Array.from(own), 0.5));
  const middle = quantileOfSample(medians.slice(), 0.5);
  return medians.reduce((sum, each) => sum + Math.abs(each - middle), 0) / medians.length;
}

function relationOf(a: End, b: End): number {
  const { length } = a.address;
  const equal = equalBytes(a, b);
  if (equal === length) return SAME;
  if (equal >= (length === 4 ? 3 : 6)) return PREFIX;
  const [ofA, ofB] = [a.place, b.place];
  if (ofA.asNumber > 0 && ofA.asNumber === ofB.asNumber) {
    const [one, other] = [ofA.position, ofB.position];
    const isNear = one && other && one.latitude === other.latitude && one.longitude === other.longitude;
    return isNear ? CITY : AS;
  }
  return ofA.country > 0 && ofA.country === ofB.country ? COUNTRY : NONE;
}
