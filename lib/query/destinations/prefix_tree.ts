/**
 * Best-first search for the most probable addresses, over the tree of their bytes.
 *
 * A node's mass bounds those of all nodes below it, so once as many addresses are found as are wanted and no unexpanded
 * node has more mass than the least of them, they are the most probable ones (best-first search with an admissible
 * bound: Hart, Nilsson, Raphael, IEEE Trans. SSC 4, 1968). Nothing is estimated.
 *
 * A node whose bytes are known keeps its children in order of mass and a place in that order; the frontier holds
 * one entry for each such node, its likeliest child that was not taken yet. A node takes 2.5 kB.
 *
 * @module
 */
import { Heap, partitionPoint } from "../../base/collections.ts";
import { ensure } from "../../base/errors.ts";

const NUM_BYTES = 256;

/** The beginning of an address whose next byte is asked for, or an address. */
export interface PrefixNode {
  /** The bytes, none for the root. */
  readonly bytes: readonly number[];
  /** P(the address begins with them). */
  readonly mass: number;
}

/** A node whose next byte is known. */
interface ExpandedNode {
  readonly node: PrefixNode;
  /** Mass of each child, (256). */
  readonly masses: Float64Array;
  /** The children, the likeliest first. */
  readonly order: Uint8Array;
  /** How many of them were taken. */
  numTaken: number;
}

/** The search: it chooses the nodes to expand and gets the probabilities of their next bytes. */
export class PrefixSearch {
  /** Expanded nodes, the one with the likeliest remaining child first. */
  readonly #frontier = new Heap<ExpandedNode>((a, b) => nextMass(a) > nextMass(b));
  /** The addresses found so far, the most probable first; equal ones in the order in which they were found. */
  readonly found: PrefixNode[] = [];
  #root: PrefixNode | undefined = { bytes: [], mass: 1 };
  /** Nodes that were handed out and are not expanded yet. */
  readonly #handedOut = new Set<PrefixNode>();
  /** How many nodes were expanded. */
  numExpanded = 0;

  /** Begins at the root. @param options `numBytes`: of an address; `top`: how many addresses are wanted. */
  constructor(readonly options: { readonly numBytes: number; readonly top: number }) {}

  /** Takes the most probable nodes whose expansion may change what is found; none if the result is proven. */
  take(count: number): PrefixNode[] {
    const nodes: PrefixNode[] = [];
    if (this.#root && count > 0 && this.options.top > 0) {
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
   * Adds what follows a node of {@link take} or of an earlier expansion. @param probabilities P(next byte),
   * (256).
   *
   * @returns Its likeliest child, taken, if there is a byte below it to ask for.
   */
  expand(node: PrefixNode, probabilities: Float64Array): PrefixNode | undefined {
    ensure(this.#handedOut.delete(node), "a node is expanded that was not taken");
    this.numExpanded++;
    const masses = probabilities.map((probability) => node.mass * probability);
    if (node.bytes.length + 1 === this.options.numBytes) {
      masses.forEach((mass, byte) => this.#addFound({ bytes: [...node.bytes, byte], mass }));
      return undefined;
    }
    const order = Uint8Array.from({ length: NUM_BYTES }, (_, byte) => byte);
    order.sort((a, b) => masses[b] - masses[a] || a - b);
    const expanded: ExpandedNode = { node, masses, order, numTaken: 1 };
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

  /** The mass that an address must exceed to matter; 0 while there is room for more. */
  get #leastMass(): number {
    return this.found.length < this.options.top ? 0 : this.found.at(-1)?.mass ?? Infinity;
  }

  /** Adds an address if it is among the most probable. */
  #addFound(found: PrefixNode): void {
    if (found.mass <= this.#leastMass) return;
    const isLess = (index: number) => this.found[index].mass < found.mass;
    this.found.splice(partitionPoint(this.found.length, isLess), 0, found);
    if (this.found.length > this.options.top) this.found.pop();
  }
}

function nextMass({ masses, order, numTaken }: ExpandedNode): number {
  return masses[order[numTaken]];
}

function childOf({ node, masses }: ExpandedNode, byte: number): PrefixNode {
  return { bytes: [...node.bytes, byte], mass: masses[byte] };
}
