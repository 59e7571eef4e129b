/**
 * Counts of the addresses and pairs in the training rows, read once: table sizes follow from them, and rows are claimed
 * by them. Typical RTTs are those to which coordinates are fitted.
 *
 * @module
 */
import type { ProbeRowSource } from "../data/loader/row_source.ts";
import { AddressCounts } from "../data/addresses/known_addresses.ts";
import { parseAddress } from "../data/addresses/ip.ts";
import { encodeRttCode } from "../data/tokens/rtt_code.ts";
import { NUM_HISTORY_RTTS } from "../data/tokens/rtt_history.ts";
import type { AddressEmbeddings } from "../model/address_embeddings.ts";
import { NO_ROW } from "../model/embedding_table.ts";

/** The newest RTTs of a pair, in both directions. */
interface NewestRtts {
  readonly source: number;
  readonly destination: number;
  /** Oldest first, at most {@link NUM_HISTORY_RTTS}. */
  readonly codes: number[];
  /** Time of the newest measurement, Unix seconds. */
  timeS: number;
}

/** An address has a number below it. */
const MAX_ADDRESSES = 2 ** 24;

/** Addresses and pairs of training rows; some 0.6 kB a pair. */
export class DataSurvey {
  /** How often addresses and pairs were measured. */
  readonly counts: AddressCounts = new AddressCounts();
  /** Measurements of all rows. */
  numMeasurements = 0;
  /** By number, in the order of their appearance. */
  readonly #addresses: Uint8Array[] = [];
  /** Source and destination of each directed pair, in the order of their appearance. */
  readonly #pairs: number[] = [];
  readonly #newest: NewestRtts[] = [];
  readonly #typical = new TypicalRtts();

  private constructor() {}

  /** Reads all rows. */
  static of(source: ProbeRowSource): DataSurvey {
    const survey = new DataSurvey();
    survey.#read(source);
    return survey;
  }

  #read(source: ProbeRowSource): void {
    const { counts } = this;
    const idOf = new Map<string, number>();
    const countIds: number[] = [];
    const register = (text: string): number => {
      const known = idOf.get(text);
      if (known !== undefined) return known;
      const address = parseAddress(text);
      const id = address && this.#addresses.length < MAX_ADDRESSES ? this.#addresses.push(address) - 1 : -1;
      if (address && id >= 0) countIds.push(counts.id(address));
      idOf.set(text, id);
      return id;
    };
    const seen = new Set<number>();
    const newestOf = new Map<number, NewestRtts>();
    for (let index = 0; index < source.numRows; index++) {
      const { srcAddrs, dstAddrs, srcIndex, dstIndex, rttMs, eventTimeUs } = source.row(index);
      this.numMeasurements += rttMs.length;
      const [sources, destinations] = [srcAddrs, dstAddrs].map((texts) => texts.map(register));
      for (let i = 0; i < rttMs.length; i++) {
        const [from, to] = [sources[srcIndex[i]], destinations[dstIndex[i]]];
        if (from < 0 || to < 0) continue;
        const directed = from * MAX_ADDRESSES + to;
        if (!seen.has(directed)) {
          seen.add(directed);
          this.#pairs.push(from, to);
        }
        const timeS = Math.floor(eventTimeUs[i] / 1e6);
        counts.add(countIds[from], countIds[to], timeS);
        if (rttMs[i] < 0) continue;
        const key = Math.min(from, to) * MAX_ADDRESSES + Math.max(from, to);
        let newest = newestOf.get(key);
        if (!newest) {
          newest = { source: from, destination: to, codes: [], timeS };
          newestOf.set(key, newest);
          this.#newest.push(newest);
        }
        if (newest.codes.length === NUM_HISTORY_RTTS) newest.codes.shift();
        newest.codes.push(encodeRttCode(rttMs[i]));
        newest.timeS = timeS;
        this.#typical.add(from, to, rttMs[i]);
      }
    }
  }

  /**
   * Gives rows and nodes to all addresses and pairs, in their order, as long as there are free ones, and remembers the
   * newest RTTs of the pairs.
   */
  claim(rows: AddressEmbeddings): ClaimedNodes {
    const addresses = this.#addresses;
    const nodes = addresses.map((address) => rows.claimNode(address));
    for (let i = 0; i < this.#pairs.length; i += 2) {
      rows.claim(addresses[this.#pairs[i]], addresses[this.#pairs[i + 1]]);
    }
    for (const { source, destination, codes, timeS } of this.#newest) {
      const pair = rows.rowOfPair(addresses[source], addresses[destination]);
      for (const rttCode of codes) rows.remember(pair, { rttCode, timeS });
    }
    const placeNodes = new Map<number, readonly number[]>();
    if (rows.config.places) {
      // After all addresses, which are worth more.
      nodes.forEach((node, i) => {
        if (node !== NO_ROW) placeNodes.set(node, rows.claimPlaceNodes(addresses[i]));
      });
    }
    return { typical: this.#typical.between(nodes), placeNodes };
  }
}

/** Typical RTTs between nodes, the lower node first, ms. */
export interface TypicalPairs {
  a: Uint32Array;
  b: Uint32Array;
  rttMs: Float64Array;
}

/** The result of {@link DataSurvey.claim}. */
interface ClaimedNodes {
  typical: TypicalPairs;
  /** For each node those of its places. */
  placeNodes: ReadonlyMap<number, readonly number[]>;
}

/** The most pairs, some 0.2 kB each; further ones are left out. */
const MAX_PAIRS = 2 ** 22;
/** The typical RTT is the median of at most so many of a pair's RTTs, spread evenly over all of them. */
const NUM_KEPT = 15;

/** Some RTTs of a pair. */
interface KeptRtts {
  /** The first `count` are in use, ms. */
  readonly rttsMs: Float32Array;
  count: number;
  /** One of so many measurements is kept. */
  stride: number;
  numSeen: number;
}

/** Gathers the typical RTTs of pairs of numbers. */
export class TypicalRtts {
  /** By the pair, the lower number first. */
  readonly #kept = new Map<number, KeptRtts>();

  /** Adds a measurement between two numbers, `NO_ROW` for none. */
  add(a: number, b: number, rttMs: number): void {
    if (a === NO_ROW || b === NO_ROW || a === b) return;
    const key = Math.min(a, b) * 2 ** 24 + Math.max(a, b);
    let kept = this.#kept.get(key);
    if (!kept) {
      if (this.#kept.size === MAX_PAIRS) return;
      kept = { rttsMs: new Float32Array(NUM_KEPT), count: 0, stride: 1, numSeen: 0 };
      this.#kept.set(key, kept);
    }
    if (kept.numSeen++ % kept.stride !== 0) return;
    if (kept.count === NUM_KEPT) thin(kept);
    kept.rttsMs[kept.count++] = rttMs;
  }

  /** How many pairs have an RTT. */
  get numPairs(): number {
    return this.#kept.size;
  }

  /** The pairs whose numbers have nodes: these nodes, and the median of the RTTs kept of each pair. */
  between(nodes: readonly number[]): TypicalPairs {
    const { a, b, rttMs } = this.pairs();
    const kept = Array.from(a.keys()).filter((i) =>
      nodes[a[i]] !== NO_ROW && nodes[b[i]] !== NO_ROW && nodes[a[i]] !== nodes[b[i]]
    );
    const of = (least: (...pair: number[]) => number) =>
      Uint32Array.from(kept, (i) => least(nodes[a[i]], nodes[b[i]]));
    return { a: of(Math.min), b: of(Math.max), rttMs: Float64Array.from(kept, (i) => rttMs[i]) };
  }

  /** The pairs, the lower number first, and the median of what was kept of each, ms. */
  pairs(): TypicalPairs {
    const keys = [...this.#kept.keys()];
    return {
      a: Uint32Array.from(keys, (key) => Math.floor(key / 2 ** 24)),
      b: Uint32Array.from(keys, (key) => key % 2 ** 24),
      rttMs: Float64Array.from(
        this.#kept.values(),
        ({ rttsMs, count }) => rttsMs.slice(0, count).sort()[(count - 1) >> 1],
      ),
    };
  }
}

/** Keeps every second RTT. */
function thin(kept: KeptRtts): void {
  for (let i = 0; i < kept.count; i += 2) kept.rttsMs[i / 2] = kept.rttsMs[i];
  kept.count = Math.ceil(kept.count / 2);
  kept.stride *= 2;
}
