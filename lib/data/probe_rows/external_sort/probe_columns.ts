/**
 * The rows of `probe-rows` in spill files and in memory, with addresses as ids, and the order of groups.
 *
 * @module
 */
import { hashKey, type KeyTable } from "./keys.ts";
import type { ColumnData, SpillColumn } from "./spill.ts";

/** The columns by which measurements can be grouped into sources. */
export type GroupKey = "src_addr" | "prb_id";

const BASE_SCHEMA: readonly SpillColumn[] = [
  { name: "timeUs", type: "f64" },
  { name: "rttMs", type: "f32" },
  { name: "src", type: "key" },
  { name: "dst", type: "key" },
];

/**
 * The spill file's columns. When grouping by src_addr, the source's address is the group's key, and the probe
 * is a further column: the address if it is unknown.
 */
export function probeSchema(groupBy: GroupKey): readonly SpillColumn[] {
  return [...BASE_SCHEMA, { name: groupBy === "src_addr" ? "probe" : "group", type: "key" }];
}

export interface ProbeColumns {
  /** µs since 1970. */
  timeUs: Float64Array;
  /** Milliseconds; -1 for no reply. */
  rttMs: Float32Array | Float64Array;
  /** Id in `keys`. */
  src: Uint32Array;
  /** Id in `keys`. */
  dst: Uint32Array;
  /** Id in `keys` of the source's address or of the probe. */
  group: Uint32Array;
  /** The kind of an address is its IP version. */
  keys: KeyTable;
  /** Further columns that are sorted along. */
  further: readonly ColumnData[];
}

/** Names the columns of a block: those of every schema, then the group if it is not the source. */
export function nameColumns(
  schema: readonly SpillColumn[],
  columns: readonly ColumnData[],
  keys: KeyTable,
): ProbeColumns {
  const [timeUs, rttMs, src, dst, ...further] = columns;
  const group = schema[4].name === "group" ? further.shift() : src;
  return {
    timeUs: timeUs as Float64Array,
    rttMs: rttMs as Float32Array | Float64Array,
    src: src as Uint32Array,
    dst: dst as Uint32Array,
    group: group as Uint32Array,
    keys,
    further,
  };
}

/** A group's key as words, with its kind and hash. */
export interface Group {
  words: readonly [number, number, number, number];
  kind: number;
  /** See {@link hashKey}. Groups are in hash order. */
  hash: Uint32Array;
}

export function makeGroup({ words, kinds }: KeyTable, id: number, seed: number): Group {
  const at = 4 * id;
  const key = [words[at], words[at + 1], words[at + 2], words[at + 3]] as const;
  return { words: key, kind: kinds[id], hash: hashKey(key, kinds[id], seed) };
}

/**
 * The order of groups in the output: by hash, which is pseudo-random, then by kind. The hash is a bijection
 * of the words, so different groups never tie.
 */
export function compareGroups(a: Group, b: Group): number {
  for (let i = 0; i < 4; i++) {
    if (a.hash[i] !== b.hash[i]) return a.hash[i] - b.hash[i];
  }
  return a.kind - b.kind;
}
