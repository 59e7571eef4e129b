/**
 * The shortest RTT between each two addresses, and the addresses whose place is impossible because an RTT
 * from there is faster than light in fibre.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { parseAddress } from "./ip.ts";
import { lightFloorMs } from "./light_floor.ts";
import { addressNumber, distanceKm, lengthOf, type PlaceTable, type Position } from "./place_table.ts";

const MAX_PAIRS = 2 ** 22;
/** How many of an address's fastest pairs are compared with each other. */
const MAX_COMPARED = 64;

/** An address that is not where the databases say. */
export interface MisplacedAddress {
  readonly address: string;
  /** `anycast`: two RTTs are too short for any single place; `misplaced`: only for the given place. */
  readonly kind: "misplaced" | "anycast";
  /** In degrees, according to the databases. */
  readonly latitude: number;
  readonly longitude: number;
  /** Number of pairs whose RTT is too short, among the pairs whose endpoints both have a place. */
  readonly tooFast: number;
  readonly pairs: number;
  /** The pair whose RTT is too short by the largest amount, with an end that is not misplaced if possible. */
  readonly worst: {
    readonly other: string;
    readonly rttMs: number;
    readonly distanceKm: number;
    /** The time that light needs. */
    readonly floorMs: number;
  };
}

export interface LeastRttNode {
  readonly address: string;
  /** Its number in the table, 0 if unknown, and its position. */
  readonly site: number;
  readonly position: Position | undefined;
  /** The pairs with a reply of which at least one endpoint has a position. */
  readonly pairs: readonly LeastRtt[];
  /** See {@link LeastRtts.misplaced}. */
  readonly isMisplaced: boolean;
}

/** The shortest RTT between two addresses. */
export interface LeastRtt {
  readonly a: LeastRttNode;
  readonly b: LeastRttNode;
  /** NaN if a position is unknown. */
  readonly distanceKm: number;
  /** The time that light needs; 0 if a position is unknown. */
  readonly floorMs: number;
  readonly rttMs: number;
}

interface Node extends LeastRttNode {
  readonly pairs: Pair[];
  isMisplaced: boolean;
}

interface Pair extends LeastRtt {
  readonly a: Node;
  readonly b: Node;
  rttMs: number;
}

export class LeastRtts {
  readonly #nodes = new Map<string, Node>();
  readonly #pairs = new Map<Node, Map<Node, Pair>>();
  readonly #all: Pair[] = [];

  constructor(readonly table: PlaceTable) {}

  /** Ignores what is not an address. @param rttMs Negative for no reply. */
  add(source: string, destination: string, rttMs: number): void {
    const [a, b] = [this.#nodeOf(source), this.#nodeOf(destination)].sort((x, y) =>
      (x?.address ?? "") < (y?.address ?? "") ? -1 : 1
    );
    if (!a || !b || a === b || rttMs < 0 || !(a.position || b.position)) return;
    const ofA = getOrMake(this.#pairs, a, () => new Map<Node, Pair>());
    const known = ofA.get(b);
    if (known) {
      known.rttMs = Math.min(known.rttMs, rttMs);
    } else if (this.#all.length < MAX_PAIRS) {
      const [floorMs, km] = a.position && b.position
        ? [lightFloorMs(a.position, b.position, this.table.stepDegrees), distanceKm(a.position, b.position)]
        : [0, NaN];
      const pair = { a, b, distanceKm: km, floorMs, rttMs };
      ofA.set(b, pair);
      for (const node of [a, b]) node.pairs.push(pair);
      this.#all.push(pair);
    }
  }

  #nodeOf(text: string): Node | undefined {
    const known = this.#nodes.get(text);
    if (known) return known;
    const address = parseAddress(text);
    if (!address) return undefined;
    const { site } = this.table.numbersAt(addressNumber(address), lengthOf(address));
    const { position } = this.table.sites[site];
    const node: Node = { address: text, site, position, pairs: [], isMisplaced: false };
    this.#nodes.set(text, node);
    return node;
  }

  /** Looks up an address; undefined if {@link add} never named it. */
  node(address: string): LeastRttNode | undefined {
    return this.#nodes.get(address);
  }

  nodes(): Iterable<LeastRttNode> {
    return this.#nodes.values();
  }

  pairs(): readonly LeastRtt[] {
    return this.#all;
  }

  /**
   * Finds the addresses whose place is impossible, those with the most pairs that are too fast first. It
   * greedily removes the address with the greatest share of such pairs until none is left.
   */
  misplaced(): MisplacedAddress[] {
    const open = new Map<Node, number>();
    for (const node of this.#nodes.values()) node.isMisplaced = false;
    for (const pair of this.#all.filter(isTooFast)) {
      for (const node of [pair.a, pair.b]) open.set(node, (open.get(node) ?? 0) + 1);
    }
    const tooFast = new Map(open);
    while (open.size > 0) {
      const [node] = [...open].reduce((best, each) => isWorse(each, best) ? each : best);
      node.isMisplaced = true;
      open.delete(node);
      for (const pair of node.pairs.filter(isTooFast)) {
        const other = otherEnd(pair, node) as Node;
        const left = (open.get(other) ?? 0) - 1;
        if (left > 0) open.set(other, left);
        else open.delete(other);
      }
    }
    const found = [...this.#nodes.values()].filter(({ isMisplaced }) => isMisplaced);
    return found.map((node): MisplacedAddress => {
      const fast = node.pairs.filter(isTooFast);
      const proofs = fast.filter((pair) => !otherEnd(pair, node).isMisplaced);
      const worst = (proofs.length > 0 ? proofs : fast).reduce((a, b) => excessOf(b) > excessOf(a) ? b : a);
      return {
        address: node.address,
        kind: this.#isAnycast(node) ? "anycast" : "misplaced",
        latitude: node.position?.latitude ?? NaN,
        longitude: node.position?.longitude ?? NaN,
        tooFast: tooFast.get(node) ?? 0,
        pairs: node.pairs.filter(({ distanceKm }) => !Number.isNaN(distanceKm)).length,
        worst: {
          other: otherEnd(worst, node).address,
          rttMs: worst.rttMs,
          distanceKm: Math.round(worst.distanceKm),
          floorMs: worst.floorMs,
        },
      };
    }).sort((a, b) => b.tooFast - a.tooFast || (a.address < b.address ? -1 : 1));
  }

  /**
   * Whether no single place explains the RTTs of an address: two peers are farther apart than light travels
   * in both RTTs together.
   *
   * Source: Cicalese et al., "A Fistful of Pings: Accurate and Lightweight Anycast Enumeration and
   * Geolocation", INFOCOM 2015.
   */
  #isAnycast(node: Node): boolean {
    const fastest = node.pairs.map((pair) => ({ end: otherEnd(pair, node), rttMs: pair.rttMs }))
      .filter(({ end }) => !end.isMisplaced)
      .sort((a, b) => a.rttMs - b.rttMs).slice(0, MAX_COMPARED);
    return fastest.some((first, i) =>
      fastest.slice(i + 1).some((second) =>
        first.end.position && second.end.position &&
        first.rttMs + second.rttMs <
          lightFloorMs(first.end.position, second.end.position, this.table.stepDegrees)
      )
    );
  }
}

/** The endpoint of a pair that is not the given one. */
export function otherEnd({ a, b }: LeastRtt, node: LeastRttNode): LeastRttNode {
  return a === node ? b : a;
}

/** Whether a pair's RTT is too short for light. */
function isTooFast({ floorMs, rttMs }: LeastRtt): boolean {
  return rttMs < floorMs;
}

/** By how much a pair's RTT is too short for light, in ms. */
function excessOf({ floorMs, rttMs }: LeastRtt): number {
  return floorMs - rttMs;
}

/**
 * Whether a node has a larger share of too-fast pairs, with one more pair so that a single one says little; or
 * more of them, or in a tie by address. An address with many pairs that are possible is not to blame for a few.
 */
function isWorse([a, ofA]: [Node, number], [b, ofB]: [Node, number]): boolean {
  const [shareA, shareB] = [ofA / (a.pairs.length + 1), ofB / (b.pairs.length + 1)];
  if (shareA !== shareB) return shareA > shareB;
  if (ofA !== ofB) return ofA > ofB;
  return a.address < b.address;
}
