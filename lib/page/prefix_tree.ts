/** Listed prefixes of several lengths as one tree. @module */
import {
  formatPrefix,
  type IpPrefix,
  parsePrefix,
  prefixContains,
  prefixOfAddress,
} from "../addresses/ip_prefix.ts";

/** A prefix and how probable it is that the destination lies in it. */
export interface ListedPrefix {
  prefix: string;
  probability: number;
}

/** A prefix with the listed ones inside it, the most probable first. */
export interface PrefixNode extends ListedPrefix {
  children: PrefixNode[];
  /** The probability of what lies in it and in no child, not below 0. */
  restProbability: number;
}

/** The lengths of prefixes that a tree has: of IPv4 down to whole addresses, of IPv6 down to one network. */
export const TREE_LENGTHS = { 4: [8, 16, 24, 32], 6: [16, 32, 48, 64] } as const;

/** Adds up listed prefixes by a shorter length, the most probable first. */
export function prefixSums(listed: readonly ListedPrefix[], length: number): ListedPrefix[] {
  const sums = new Map<string, number>();
  for (const { prefix, probability } of listed) {
    const shorter = formatPrefix(prefixOfAddress(parsePrefix(prefix).bytes, length));
    sums.set(shorter, (sums.get(shorter) ?? 0) + probability);
  }
  return Array.from(sums, ([prefix, probability]) => ({ prefix, probability }))
    .sort((a, b) => b.probability - a.probability);
}

/**
 * Makes the tree. A prefix lies below the longest listed one that holds it, at the top if there is none.
 *
 * @param lists The listed prefixes of each length, the shortest first.
 */
export function prefixTree(lists: readonly (readonly ListedPrefix[])[]): PrefixNode[] {
  const top: PrefixNode[] = [];
  const parsed: { node: PrefixNode; prefix: IpPrefix }[] = [];
  for (const listed of lists.flat()) {
    const prefix = parsePrefix(listed.prefix);
    const node = { ...listed, children: [], restProbability: listed.probability };
    const parent = parsed.findLast((other) =>
      other.prefix.length < prefix.length && prefixContains(other.prefix, prefix.bytes)
    );
    (parent?.node.children ?? top).push(node);
    if (parent) {
      parent.node.restProbability = Math.max(0, parent.node.restProbability - listed.probability);
    }
    parsed.push({ node, prefix });
  }
  const sort = (nodes: PrefixNode[]) => {
    nodes.sort((a, b) => b.probability - a.probability);
    for (const { children } of nodes) sort(children);
  };
  sort(top);
  return top;
}
