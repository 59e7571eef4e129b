/**
 * Best-first search for the most probable addresses, over the tree of their bytes.
 *
 * A node's probability bounds that of all nodes below it. So once enough addresses are found and no
 * unexpanded node is more probable than the least probable of them, they are the most probable ones
 * (best-first search with an admissible bound: Hart, Nilsson, Raphael, IEEE Trans. SSC 4, 1968). The result
 * is exact.
 *
 * An expanded node keeps its children in descending order and an index into that order. The frontier has one
 * entry per expanded node: its most probable child not yet taken. A node takes 2.5 kB.
 *
 * @module
 */
import { BinaryHeap } from "@std/data-structures/binary-heap";
import { partitionPoint } from "../../base/collections.ts";
import { ensure } from "../../base/errors.ts";

const NUM_BYTES = 256;

/** The beginning of an address, or a whole address. */
interface PrefixNode {
  /** Empty for the root. */
  readonly bytes: readonly number[];
  /** P(the address begins with `bytes`). */
  readonly mass: number;
}

/** A node whose children's probabilities are known. */
interface ExpandedNode {
  readonly node: PrefixNode;
  /** Probability of each child, (256). */
  readonly masses: Float64Array;
  /** The children, most probable first. */
  readonly order: Uint8Array;
  numTaken: number;
}

/** Chooses the nodes to expand; the caller provides the probabilities of their next bytes. */
export class PrefixSearch {
  /** Expanded nodes, the one with the most probable remaining child first. */
  readonly #frontier = new BinaryHeap<ExpandedNode>((a, b) => nextMass(b) - nextMass(a));
  /** The addresses found so far, most probable first; equal ones in the order found. */
  readonly found: PrefixNode[] = [];
  #root: PrefixNode | undefined = { bytes: [], mass: 1 };
  /** Nodes taken but not yet expanded. */
  readonly #handedOut = new Set<PrefixNode>();
  numExpanded = 0;

  /** @param options `numBytes`: length of an address; `top`: number of addresses wanted. */
  constructor(readonly options: { readonly numBytes: number; readonly top: number }) {}

  /** Takes the most probable nodes that could still change the result; none if the result is final. */
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
   * Expands a node returned by {@link take} or by an earlier expansion. @param probabilities P(next byte),
   * (256).
   *
   * @returns Its most probable child, which is taken too, unless the child is a whole address.
   */
  expand(node: PrefixNode, probabilities: Float64Array): PrefixNode | undefined {
    ensure(this.#handedOut.delete(node), "expanded a node that was not taken");
    this.numExpanded++;
    const masses = probabilities.map((probability) => node.mass * probability);
    if (node.bytes.length + 1 === this.options.numBytes) {
      masses.forEach((mass, byte) => this.#addFound({ bytes: [...node.bytes, byte], mass }));
      return undefined;
    }
    const order = Uint8Array.from({ length: NUM_BYTES }, (_, byte) => byte);
    order.sort((a, b) => masses[b] - masses[a] || a - b);
    const expanded: ExpandedNode = { node, masses, order, numTaken: 1 };
    this.#frontier.push(expanded);
    const likeliest = childOf(expanded, order[0]);
    this.#handedOut.add(likeliest);
    return likeliest;
  }

  /** Probability of the most probable child not yet taken; 0 if there is none. */
  get #greatestWaiting(): number {
    const first = this.#frontier.peek();
    return first ? nextMass(first) : 0;
  }

  #takeLikeliest(): PrefixNode {
    const first = this.#frontier.pop();
    ensure(first, "took a child of a node that has none left");
    const child = childOf(first, first.order[first.numTaken++]);
    if (first.numTaken < NUM_BYTES) this.#frontier.push(first);
    return child;
  }

  /** The probability that an address must exceed to be listed; 0 while the list is not full. */
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
