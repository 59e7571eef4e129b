/**
 * The nearest measured neighbours of a pair that was not measured: the pairs whose endpoints are related most
 * closely to its own. Addresses of one network or place have similar RTTs to the same destination (Francis et
 * al., "IDMaps", IEEE/ACM ToN 9(5), 2001; Madhyastha et al., "iPlane", OSDI 2006).
 *
 * @module
 */
import { evenlySpread, getOrMake } from "../../base/collections.ts";
import { named } from "../../base/errors.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { type TensorArray, tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { hashesOf, pairHashes } from "../embedding_table.ts";
import { COUNT, Rows, SHARE, type Tensor } from "../possible_numbers.ts";
import type { KnownOfQuestion, Memory } from "./forecast.ts";
import { Identities } from "./identities.ts";
import { type Kernel, logOfCode } from "./kernel_mixture.ts";
import { type End, END_BYTES, endOf, endRow, endsOf, equalBytes, faultsOfEnds } from "./pair_kriging.ts";
import { memoriesOf, type MemoryName, PairMemory } from "./pair_memory.ts";
import type { PairEnds, PlaceOf } from "./placed_pairs.ts";

/** How closely two addresses are related, from none to the same address. */
const [NONE, COUNTRY, AS, CITY, PREFIX, HOST, SAME] = Array.from({ length: 7 }, (_, i) => i);

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
export const NEIGHBOUR_WEIGHTS: Tensor = ["pool.weights.neighbours", NEIGHBOUR_WIDTHS.map(() => SHARE)];

/** Maximum number of pairs that are looked through for a question. */
const MAX_PAIRS = 2 ** 17;
/** Maximum number of neighbours that are used, and of RTTs of each. */
const [MAX_NEIGHBOURS, MAX_RTTS] = [64, 8];
/** Bytes of relations that are cached, per role, and RTTs of pairs. */
const [MAX_CACHED_BYTES, MAX_CACHED_PAIRS] = [2 ** 23, 2 ** 14];

/** The tensors of the pairs of the training data, or of those that only an adaptation measured. */
export function neighbourTensors(name: MemoryName) {
  return {
    ends: [`${name}.neighbour_ends`, END_BYTES, "U8"],
    /** Rows of the source and the destination; sources come first. */
    pairs: [`${name}.neighbour_pairs`, [COUNT, COUNT], "U32"],
  } as const satisfies Record<string, Tensor>;
}

function savedPairs(name: MemoryName, measured: readonly PairEnds[]): Map<string, TensorArray> {
  const roles = (["source", "destination"] as const).map((role) =>
    new Set(measured.map((pair) => pair[role]))
  );
  const names = roles.flatMap((ends) => [...ends]);
  const [sources, destinations] = roles.map((ends, i) =>
    new Map(Array.from(ends, (end, row) => [end, row + i * roles[0].size]))
  );
  const rows = measured.flatMap(({ source, destination }) => [
    named(sources, source),
    named(destinations, destination),
  ]);
  const { ends, pairs } = neighbourTensors(name);
  return new Map<string, TensorArray>([
    [ends[0], Uint8Array.from(names.flatMap((name) => endRow(endOf(name, () => undefined))))],
    [pairs[0], Uint32Array.from(rows)],
  ]);
}

/** The endpoints by role, and the indexes of the source and the destination of each pair. */
function loadedPairs(tensors: Tensors, name: MemoryName, placeOf: PlaceOf) {
  const of = neighbourTensors(name);
  if (!tensors.has(of.ends[0])) return { ends: [[], []], pairs: [] };
  const rows = tensorOf(tensors, of.pairs[0], "U32");
  const ends = endsOf(tensorOf(tensors, of.ends[0], "U8"), rows, of.pairs[1].length, placeOf);
  const pairs = Array.from(
    { length: rows.length / 2 },
    (_, i) => [rows[2 * i], rows[2 * i + 1] - ends[0].length],
  );
  return { ends, pairs };
}

/** Adds the pairs that training did not measure to those of the adaptation. @param pool The tensors of a pool. */
export function withNeighbours(
  pool: Tensors,
  measured: readonly Pick<TokenMeasurement, "source" | "destination">[],
): Tensors {
  const trained = new PairMemory(pool);
  const { ends, pairs } = loadedPairs(pool, "adapted", () => undefined);
  const earlier = pairs.map((pair) => pair.map((end, role) => ends[role][end].address));
  const fresh = measured.map(({ source, destination }) => [source, destination]).filter(([a, b]) =>
    !trained.find(pairHashes(hashesOf(a), hashesOf(b), 0))
  );
  const all = new Map(
    [...earlier, ...fresh].map((pair) => {
      const [source, destination] = pair.map(formatAddress);
      return [`${source} ${destination}`, { source, destination }];
    }),
  );
  return new Map([...pool, ...savedPairs("adapted", [...all.values()].slice(-MAX_PAIRS))]);
}

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
  readonly #ends: readonly (readonly End[])[];
  /** Indexes of the source and the destination of each pair among those of their role. */
  readonly #pairs: Uint32Array;
  /** The first pairs are those of the training data, the others of the adaptation. */
  readonly #numTrained: number;
  readonly #memories: readonly PairMemory[];
  readonly #identities: Identities;
  /** By role; undefined if an endpoint has no identity. */
  readonly #hosts: readonly (readonly (number | undefined)[])[];
  /** The relations of recent questions' endpoints to all endpoints of the same role. */
  readonly #related = [new Map<string, Uint8Array>(), new Map<string, Uint8Array>()];
  readonly #logs = new Map<number, readonly number[]>();

  constructor(tensors: Tensors, readonly placeOf: PlaceOf) {
    const [trained, adapted] = (["pool", "adapted"] as const).map((name) =>
      loadedPairs(tensors, name, placeOf)
    );
    this.#ends = trained.ends.map((ends, role) => [...ends, ...adapted.ends[role]]);
    const later = adapted.pairs.map((pair) => pair.map((end, role) => trained.ends[role].length + end));
    this.#numTrained = trained.pairs.length;
    this.#pairs = Uint32Array.from([...trained.pairs, ...later].flat());
    this.#memories = memoriesOf(tensors);
    this.#identities = new Identities(tensors);
    this.#hosts = this.#ends.map((ends) =>
      ends.map(({ address }) => this.#identities.numberOf(hashesOf(address)))
    );
  }

  /** The nearest neighbours of a pair; undefined if no pair is related to it. */
  nearest({ source, destination }: PairEnds): Neighbours | undefined {
    const [from, to] = [this.#relatedTo(source, 0), this.#relatedTo(destination, 1)];
    const found: number[] = [];
    let nearest = LEVELS.length;
    for (let i = 0; i < this.#pairs.length; i += 2) {
      const level = LEVEL_OF[from[this.#pairs[i]] * (SAME + 1) + to[this.#pairs[i + 1]]];
      if (level > nearest || level === LEVELS.length) continue;
      if (level < nearest) found.length = 0;
      nearest = level;
      found.push(i / 2);
    }
    const logs = evenlySpread(found, MAX_NEIGHBOURS).map((pair) => this.#logsOf(pair)).filter(({ length }) =>
      length > 0
    );
    if (logs.length === 0) return undefined;
    const numRtts = logs.reduce((sum, own) => sum + own.length, 0);
    return {
      worth: found[found.length - 1] < this.#numTrained ? 1 : numRtts / (numRtts + 1),
      cell: nearest * NUM_AGREEMENTS + agreementOf(logs),
      logs: logs.flatMap((own) => own.map((log) => ({ log, mass: 1 / own.length / logs.length }))),
    };
  }

  /** Quantiles of the RTTs of a pair, ln ms. */
  #logsOf(pair: number): readonly number[] {
    if (this.#logs.size === MAX_CACHED_PAIRS && !this.#logs.has(pair)) this.#logs.clear();
    return getOrMake(this.#logs, pair, () => {
      const [from, to] = this.#pairs.subarray(2 * pair, 2 * pair + 2);
      const [a, b] = [this.#ends[0][from], this.#ends[1][to]];
      const hashes = pairHashes(hashesOf(a.address), hashesOf(b.address), 0);
      const measured = this.#memories.map((memory) => memory.find(hashes)).find((each) => each !== undefined);
      const codes = measured ? [...measured.codes].filter((code) => code > 0).sort((a, b) => a - b) : [];
      return evenlySpread(codes, MAX_RTTS).map(logOfCode);
    });
  }

  #relatedTo(name: string, role: 0 | 1): Uint8Array {
    const [ends, known] = [this.#ends[role], this.#related[role]];
    if ((known.size + 1) * ends.length > MAX_CACHED_BYTES && !known.has(name)) known.clear();
    return getOrMake(known, name, () => {
      const end = endOf(name, this.placeOf);
      const host = this.#identities.numberOf(hashesOf(end.address));
      return Uint8Array.from(ends, (other, i) => {
        const relation = relationOf(end, other);
        return relation < SAME && host !== undefined && host === this.#hosts[role][i] ? HOST : relation;
      });
    });
  }
}

/** All pairs, or a sample of {@link MAX_PAIRS}; their RTTs are those of the pool's memory of pairs. */
export const PAIR_NEIGHBOURS: Memory<PairNeighbours> = {
  tensors: neighbourTensors("pool"),
  knowsUnknown: true,
  learn(pairs, { seed }) {
    const random = new RandomStream(seed, "pool/neighbours");
    const chosen = Array.from(
      drawDistinct(pairs.length, Math.min(pairs.length, MAX_PAIRS), random).sort(),
      (i) => pairs[i],
    );
    return savedPairs("pool", chosen);
  },
  open: (tensors, placeOf) => new PairNeighbours(tensors, placeOf),
  faults: (tensors) => faultsOfNeighbours(tensors, "pool"),
};

export function faultsOfNeighbours(tensors: Tensors, name: MemoryName): Iterable<string> {
  const { ends, pairs } = neighbourTensors(name);
  return faultsOfEnds(Rows.of(tensors, ends), Rows.of(tensors, pairs));
}

/** The neighbours of a question about a pair that was not measured. */
export function neighboursOf({ ends, recall }: KnownOfQuestion): Neighbours | undefined {
  return recall(PAIR_NEIGHBOURS).nearest(ends);
}

/** @param weights By width, for masses that sum to their sum. */
export function kernelsOfNeighbours({ logs }: Neighbours, weights: ArrayLike<number>): Kernel[] {
  return NEIGHBOUR_WIDTHS.flatMap((width, w) =>
    weights[w] > 0 ? logs.map(({ log, mass }) => ({ log, width, mass: weights[w] * mass })) : []
  );
}

function agreementOf(logs: readonly (readonly number[])[]): number {
  if (logs.length === 1) return 0;
  const medians = Float64Array.from(logs, (own) => quantileOfSample(Float64Array.from(own), 0.5));
  const middle = quantileOfSample(medians.slice(), 0.5);
  const distance = medians.reduce((sum, each) => sum + Math.abs(each - middle), 0) / medians.length;
  return distance <= AGREEING ? 1 : 2;
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
