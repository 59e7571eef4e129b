/**
 * The pairs that training or an adaptation measured: their endpoints and RTTs. Forecasts of pairs that were not
 * measured are derived from them.
 *
 * @module
 */
import { evenlySpread, getOrMake, getOrMakeAtMost } from "../../base/collections.ts";
import { named } from "../../base/errors.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { type TensorArray, tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import { type LocatedPlace, NOWHERE } from "../../data/addresses/place_table.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { logOfRtt } from "../coordinates/rtt_scale.ts";
import { hashesOf, pairHashes } from "../embedding_table.ts";
import { type Allowed, ANY, COUNT, Rows, type Tensor, whole } from "../possible_numbers.ts";
import type { Memory, PairEnds, PlaceOf, TrainingPair } from "./forecast.ts";
import { logOfCode } from "./kernel_mixture.ts";
import { firstFound, memoriesOf, type MemoryName, PairMemory } from "./pair_memory.ts";

export interface End {
  readonly address: Uint8Array;
  readonly place: LocatedPlace;
}

/** Maximum number of pairs, and of RTTs of each. */
const [MAX_PAIRS, MAX_RTTS] = [2 ** 17, 8];
/** Bytes per role of values about the endpoints of recent questions, and pairs whose RTTs are cached. */
const [MAX_CACHED_BYTES, MAX_CACHED_PAIRS] = [2 ** 23, 2 ** 14];

const ADDRESS_LENGTH: Allowed = {
  ...whole(4, 16),
  wanted: "4 or 16",
  also: (length) => length === 4 || length === 16,
};

/** The tensors of the pairs of the training data, or of those that only an adaptation measured. */
export function pairTensors(name: MemoryName) {
  return {
    /** The length of an address and its bytes, then zeros. */
    ends: [`${name}.neighbour_ends`, [ADDRESS_LENGTH, ...Array(16).fill(ANY)], "U8"],
    /** Rows of the source and the destination; sources come first. */
    pairs: [`${name}.neighbour_pairs`, [COUNT, COUNT], "U32"],
  } as const satisfies Record<string, Tensor>;
}

interface PairTable {
  /** The endpoints, by role. */
  readonly ends: readonly (readonly End[])[];
  /** Indexes of the source and of the destination of each pair among those of their role, (pairs, 2). */
  readonly rows: Uint32Array;
}

export class MeasuredPairs {
  readonly ends: PairTable["ends"];
  readonly rows: Uint32Array;
  #rowsByName: readonly ReadonlyMap<string, number>[] | undefined;
  #numTrainedEnds: readonly number[] | undefined;
  readonly #logs = new Map<number, readonly number[]>();

  /**
   * @param numTrained The first pairs are those of the training data, the others of the adaptation.
   * @param rttsOf The RTTs of a pair, ln ms. @param placeOf The places of addresses that questions are about.
   */
  constructor(
    table: PairTable,
    readonly numTrained: number,
    readonly rttsOf: (pair: number) => readonly number[],
    readonly placeOf: PlaceOf,
  ) {
    ({ ends: this.ends, rows: this.rows } = table);
  }

  /** Pairs of the training data, chosen by {@link chosenPairs}. */
  static of(pairs: readonly TrainingPair[], placeOf: PlaceOf): MeasuredPairs {
    return new MeasuredPairs(
      tableOf(pairs, placeOf),
      pairs.length,
      (pair) => pairs[pair].rttsMs.map(logOfRtt),
      placeOf,
    );
  }

  /** The pairs of a pool and of its adaptation; their RTTs are those of its memories of pairs. */
  static open(tensors: Tensors, placeOf: PlaceOf): MeasuredPairs {
    const [trained, adapted] = (["pool", "adapted"] as const).map((name) => loaded(tensors, name, placeOf));
    const ends = trained.ends.map((ofRole) => [...ofRole]);
    // An address of both has one row.
    const rowsOfAdapted = ends.map((ofRole, role) => {
      const known = new Map(ofRole.map(({ address }, row) => [formatAddress(address), row]));
      return adapted.ends[role].map((end) =>
        getOrMake(known, formatAddress(end.address), () => ofRole.push(end) - 1)
      );
    });
    const rows = new Uint32Array(trained.rows.length + adapted.rows.length);
    rows.set(trained.rows);
    adapted.rows.forEach((row, i) => rows[trained.rows.length + i] = rowsOfAdapted[i % 2][row]);
    const memories = memoriesOf(tensors);
    const rttsOf = (pair: number) => {
      const [a, b] = [0, 1].map((role) => hashesOf(ends[role][rows[2 * pair + role]].address));
      const measured = firstFound(memories, pairHashes(a, b, 0));
      return measured ? [...measured.codes].filter((code) => code > 0).map(logOfCode) : [];
    };
    return new MeasuredPairs({ ends, rows }, trained.rows.length / 2, rttsOf, placeOf);
  }

  /** The same pairs with other places. */
  withPlaces(placeOf: PlaceOf): MeasuredPairs {
    const ends = this.ends.map((ofRole) =>
      ofRole.map(({ address }) => endOf(formatAddress(address), placeOf))
    );
    return new MeasuredPairs({ ends, rows: this.rows }, this.numTrained, this.rttsOf, placeOf);
  }

  get length(): number {
    return this.rows.length / 2;
  }

  /** The index of an address among the endpoints of a role (0: sources, 1: destinations). */
  rowOf(name: string, role: number): number | undefined {
    this.#rowsByName ??= this.ends.map((ends) =>
      new Map(ends.map(({ address }, row) => [formatAddress(address), row]))
    );
    return this.#rowsByName[role].get(name);
  }

  /** Whether training measured an address. */
  isTrained(name: string): boolean {
    this.#numTrainedEnds ??= [0, 1].map((role) =>
      this.rows.subarray(0, 2 * this.numTrained).reduce(
        (most, row, i) => i % 2 === role ? Math.max(most, row + 1) : most,
        0,
      )
    );
    return this.#numTrainedEnds.some((count, role) => (this.rowOf(name, role) ?? count) < count);
  }

  endOf(pair: number, role: number): End {
    return this.ends[role][this.rows[2 * pair + role]];
  }

  /** Evenly spaced quantiles of the RTTs of a pair, ln ms, ascending. */
  logsOf(pair: number): readonly number[] {
    return getOrMakeAtMost(
      MAX_CACHED_PAIRS,
      this.#logs,
      pair,
      () => evenlySpread(this.rttsOf(pair).toSorted((a, b) => a - b), MAX_RTTS),
    );
  }

  /** The lower median of {@link logsOf}; undefined without an RTT. */
  medianOf(pair: number): number | undefined {
    const logs = this.logsOf(pair);
    return logs.length === 0 ? undefined : logs[Math.ceil(logs.length / 2) - 1];
  }

  /**
   * Computes values that compare an endpoint with all of its role, once for each endpoint of recent questions.
   *
   * @param compare Returns one value per endpoint. @returns A function of an address and its role.
   */
  compared<T extends { readonly byteLength: number }>(
    compare: (end: End, others: readonly End[], role: number) => T,
  ): (name: string, role: number) => T {
    const known = [new Map<string, T>(), new Map<string, T>()];
    return (name, role) => {
      const ofRole = known[role];
      const bytes = ofRole.values().next().value?.byteLength ?? 0;
      return getOrMakeAtMost(
        MAX_CACHED_BYTES / bytes,
        ofRole,
        name,
        () => compare(endOf(name, this.placeOf), this.ends[role], role),
      );
    };
  }
}

/** All pairs, or a sample of {@link MAX_PAIRS}. */
export const MEASURED_PAIRS: Memory<MeasuredPairs> = {
  tensors: pairTensors("pool"),
  learn: (pairs, { seed }) => savedPairs("pool", chosenPairs(pairs, seed)),
  open: (tensors, { placeOf }) => MeasuredPairs.open(tensors, placeOf),
  faults: (tensors) => faultsOfMeasured(tensors, "pool"),
};

/** The pairs that are kept: all, or a sample of {@link MAX_PAIRS}. */
export function chosenPairs(pairs: readonly TrainingPair[], seed: number): TrainingPair[] {
  const random = new RandomStream(seed, "pool/neighbours");
  const chosen = drawDistinct(pairs.length, Math.min(pairs.length, MAX_PAIRS), random).sort();
  return Array.from(chosen, (i) => pairs[i]);
}

/** Adds measured pairs that training did not measure to the adaptation. @param pool The tensors of a pool. */
export function withPairs(
  pool: Tensors,
  measured: readonly Pick<TokenMeasurement, "source" | "destination">[],
): Tensors {
  const trained = new PairMemory(pool);
  const { ends, rows } = loaded(pool, "adapted", () => undefined);
  const earlier = Array.from(
    { length: rows.length / 2 },
    (_, pair) => [0, 1].map((role) => ends[role][rows[2 * pair + role]].address),
  );
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

/** Pairs must refer to a source and a destination; rows of destinations follow those of sources. */
export function* faultsOfMeasured(tensors: Tensors, name: MemoryName): Generator<string> {
  const [ends, pairs] = Object.values(pairTensors(name)).map((tensor) => Rows.of(tensors, tensor));
  const numSources = pairs.column(0).reduce((most, row) => Math.max(most, row + 1), 0);
  yield* pairs.where(
    0,
    `below ${ends.count}, the number of endpoints`,
    (row) => pairs.at(row, 0) >= ends.count,
  );
  yield* pairs.where(
    1,
    `from ${numSources} to ${ends.count - 1}, a row after those of the sources`,
    (row) => pairs.at(row, 1) < numSources || pairs.at(row, 1) >= ends.count,
  );
}

export function endOf(name: string, placeOf: PlaceOf): End {
  return { address: addressBytes(name), place: placeOf(name) ?? NOWHERE };
}

/** The number of leading bytes that two addresses share; 0 for different IP versions. */
export function equalBytes({ address: a }: End, { address: b }: End): number {
  let equal = 0;
  while (a.length === b.length && equal < a.length && a[equal] === b[equal]) equal++;
  return equal;
}

function tableOf(pairs: readonly PairEnds[], placeOf: PlaceOf): PairTable {
  const roles = (["source", "destination"] as const).map((role) => pairs.map((pair) => pair[role]));
  const indexes = roles.map((names) => new Map([...new Set(names)].map((name, i) => [name, i])));
  return {
    ends: indexes.map((names) => Array.from(names.keys(), (name) => endOf(name, placeOf))),
    rows: Uint32Array.from(
      { length: 2 * pairs.length },
      (_, i) => named(indexes[i % 2], roles[i % 2][Math.floor(i / 2)]),
    ),
  };
}

function savedPairs(name: MemoryName, measured: readonly PairEnds[]): Map<string, TensorArray> {
  const { ends, rows } = tableOf(measured, () => undefined);
  const of = pairTensors(name);
  const bytes = ends.flat().flatMap(({ address }) => [
    address.length,
    ...address,
    ...Array(16 - address.length).fill(0),
  ]);
  return new Map<string, TensorArray>([
    [of.ends[0], Uint8Array.from(bytes)],
    [of.pairs[0], rows.map((row, i) => row + i % 2 * ends[0].length)],
  ]);
}

function loaded(tensors: Tensors, name: MemoryName, placeOf: PlaceOf): PairTable {
  const of = pairTensors(name);
  if (!tensors.has(of.ends[0])) return { ends: [[], []], rows: new Uint32Array() };
  const rows = tensorOf(tensors, of.pairs[0], "U32");
  const bytes = tensorOf(tensors, of.ends[0], "U8");
  const width = of.ends[1].length;
  const all = Array.from({ length: bytes.length / width }, (_, i) => {
    const [length, ...address] = bytes.subarray(i * width, (i + 1) * width);
    return endOf(formatAddress(Uint8Array.from(address.slice(0, length))), placeOf);
  });
  const numSources = rows.reduce((most, row, i) => i % 2 === 0 ? Math.max(most, row + 1) : most, 0);
  return {
    ends: [all.slice(0, numSources), all.slice(numSources)],
    rows: rows.map((row, i) => row - i % 2 * numSources),
  };
}
