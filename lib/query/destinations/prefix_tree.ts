/**
 * Best-first search for the most probable prefixes of addresses, over the tree of their bytes.
 *
 * The probability of a prefix is a mixture: each of K components gives a probability to every next byte. A node's
 * mass bounds those of all nodes below it, so once as many prefixes are found as are wanted and no unexpanded node
 * has more mass than the least of them, they are the most probable ones (best-first search with an admissible
 * bound: Hart, Nilsson, Raphael, IEEE Trans. SSC 4, 1968). Nothing is estimated.
 *
 * A node whose bytes are known keeps its children in order of mass and a place in that order; the frontier holds
 * one entry for each such node, its likeliest child that was not taken yet.
 *
 * @module
 */
import { Heap } from "../../collections/heap.ts";
import { partitionPoint } from "../../collections/partition_point.ts";
import { ensure } from "../../errors.ts";

const NUM_BYTES = 256;

/** What a search holds at most. */
const MAX_SEARCH_BYTES = 2 ** 31;

/**
 * How many nodes a search can expand in 2 GiB.
 *
 * @param options `numComponents`: K; `top`: how many prefixes it keeps.
 */
export function maxNodes({ numComponents, top }: { numComponents: number; top: number }): number {
  // A node has the next bytes' probabilities by component, their masses and order; what is found its joint masses.
  const nodeBytes = NUM_BYTES * (8 * numComponents + 8 + 1) + 1024;
  const foundBytes = 8 * numComponents + 256;
  return Math.max(1, Math.floor((MAX_SEARCH_BYTES - top * foundBytes) / nodeBytes));
}

/** A prefix of whole bytes whose next byte is asked for. */
export interface PrefixNode {
  /** The bytes, none for the root. */
  readonly bytes: readonly number[];
  /** For each component, its weight times its probability of the bytes, (K). */
  readonly joint: Float64Array;
}

/** A prefix of the wanted length. */
export interface FoundPrefix {
  /** Its bytes; in the last one the bits after the prefix are 0. None if the prefix has no bits. */
  readonly bytes: readonly number[];
  /** For each component, its weight times its probability of the prefix, (K). */
  readonly joint: Float64Array;
  /** The sum of `joint`. */
  readonly mass: number;
}

/** A node whose next byte is known. */
interface ExpandedNode {
  readonly node: PrefixNode;
  /** P(byte | component, bytes), (K, 256). */
  readonly probabilities: Float64Array;
  /** Mass of each child, (256). */
  readonly masses: Float64Array;
  /** The children, the likeliest first. */
  readonly order: Uint8Array;
  /** How many of them were taken. */
  numTaken: number;
}

/** The search: it chooses the nodes to expand and gets the probabilities of their next bytes. */
export class PrefixSearch {
  readonly #prefixLength: number;
  readonly #top: number;
  /** Expanded nodes, that with the likeliest remaining child first. */
  readonly #frontier = new Heap<ExpandedNode>((a, b) => nextMass(a) > nextMass(b));
  readonly #found: FoundPrefix[] = [];
  #root: PrefixNode | undefined;
  /** Nodes that were handed out and are not expanded yet. */
  readonly #handedOut = new Set<PrefixNode>();
  #numExpanded = 0;

  /**
   * Begins at the root.
   *
   * @param weights Weights of the components, (K); they sum to 1.
   * @param options `prefixLength`: bits of the prefixes that are wanted; `top`: how many of them.
   */
  constructor(weights: Float64Array, { prefixLength, top }: { prefixLength: number; top: number }) {
    this.#prefixLength = prefixLength;
    this.#top = top;
    const root = { bytes: [], joint: weights };
    if (prefixLength > 0) this.#root = root;
    else this.#found.push({ ...root, mass: sum(weights) });
  }

  /** The prefixes found so far, the most probable first; equal ones in the order in which they were found. */
  get found(): readonly FoundPrefix[] {
    return this.#found;
  }

  /** How many nodes were expanded. */
  get numExpanded(): number {
    return this.#numExpanded;
  }

  /** No prefix that was not found has more mass than this. */
  get unfoundAtMost(): number {
    const waiting = [...this.#handedOut, ...(this.#root ? [this.#root] : [])].map(({ joint }) => sum(joint));
    const searched = Math.max(0, this.#greatestWaiting, ...waiting);
    // What is not found although it was seen has no more than the least that is.
    return this.#found.length < this.#top ? searched : Math.max(searched, this.#leastMass);
  }

  /** Whether nothing that was not found is more probable than what was. */
  get isProven(): boolean {
    return this.#root === undefined && this.#handedOut.size === 0 &&
      this.#greatestWaiting <= this.#leastMass;
  }

  /**
   * Takes the most probable nodes whose expansion may change what is found.
   *
   * @param count How many at most.
   * @returns Nodes to {@link expand}; none if the result is proven.
   */
  take(count: number): PrefixNode[] {
    const nodes: PrefixNode[] = [];
    if (this.#root && count > 0) {
      nodes.push(this.#root);
      this.#root = undefined;
    }
    while (nodes.length < count && this.#greatestWaiting > this.#leastMass) {
      nodes.push(this.#takeLikeliest());
    }
    for (const node of nodes) this.#handedOut.add(node);
    return nodes;
  }

  /**
   * Tells the search what follows a node.
   *
   * @param node One of {@link take} or of an earlier expansion.
   * @param probabilities P(next byte | component, bytes), (K, 256); kept, not copied.
   * @returns Its likeliest child, taken, if there is a byte below it to ask for.
   */
  expand(node: PrefixNode, probabilities: Float64Array): PrefixNode | undefined {
    ensure(this.#handedOut.delete(node), "a node is expanded that was not taken");
    this.#numExpanded++;
    const numBitsLeft = this.#prefixLength - 8 * node.bytes.length;
    if (numBitsLeft <= 8) {
      this.#addFound(node, probabilities, numBitsLeft);
      return undefined;
    }
    const masses = massesOf(node, probabilities);
    const order = Uint8Array.from({ length: NUM_BYTES }, (_, byte) => byte);
    order.sort((a, b) => masses[b] - masses[a] || a - b);
    const expanded: ExpandedNode = { node, probabilities, masses, order, numTaken: 1 };
    this.#frontier.add(expanded);
    const likeliest = childOf(expanded, order[0]);
    this.#handedOut.add(likeliest);
    return likeliest;
  }

  /** The mass of the likeliest child that was not taken; 0 if there is none. */
  get #greatestWaiting(): number {
    return this.#frontier.first ? nextMass(this.#frontier.first) : 0;
  }

  #takeLikeliest(): PrefixNode {
    const { first } = this.#frontier;
    ensure(first, "a child is taken where there is none");
    const child = childOf(first, first.order[first.numTaken++]);
    if (first.numTaken === NUM_BYTES) this.#frontier.removeFirst();
    else this.#frontier.sinkFirst();
    return child;
  }

  /** The mass that a prefix must exceed to matter; 0 while there is room for more. */
  get #leastMass(): number {
    return this.#found.length < this.#top ? 0 : this.#found[this.#found.length - 1].mass;
  }

  /** Adds the prefixes that end within the next byte, if they are among the most probable. */
  #addFound(node: PrefixNode, probabilities: Float64Array, numBits: number): void {
    const size = 2 ** (8 - numBits);
    for (let first = 0; first < NUM_BYTES; first += size) {
      const joint = node.joint.map((mass, component) => {
        const row = component * NUM_BYTES + first;
        return mass * sum(probabilities.subarray(row, row + size));
      });
      const mass = sum(joint);
      if (mass <= this.#leastMass) continue;
      const isLess = (index: number) => this.#found[index].mass < mass;
      this.#found.splice(partitionPoint(this.#found.length, isLess), 0, {
        bytes: [...node.bytes, first],
        joint,
        mass,
      });
      if (this.#found.length > this.#top) this.#found.pop();
    }
  }
}

function nextMass({ masses, order, numTaken }: ExpandedNode): number {
  return masses[order[numTaken]];
}

function childOf({ node, probabilities }: ExpandedNode, byte: number): PrefixNode {
  const joint = node.joint.map((mass, component) => mass * probabilities[component * NUM_BYTES + byte]);
  return { bytes: [...node.bytes, byte], joint };
}

function massesOf({ joint }: PrefixNode, probabilities: Float64Array): Float64Array {
  const masses = new Float64Array(NUM_BYTES);
  joint.forEach((mass, component) => {
    const row = component * NUM_BYTES;
    for (let byte = 0; byte < NUM_BYTES; byte++) masses[byte] += mass * probabilities[row + byte];
  });
  return masses;
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
