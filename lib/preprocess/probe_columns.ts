/**
 * The rows of `probe-rows` as they lie in spill files and in memory: addresses as four words, 45 bytes a row
 * (61 when grouped by prb_id), and the order in which groups come.
 *
 * @module
 */
import { hashKey, KeyKind } from "./source_key.ts";
import type { ColumnData, SpillColumn } from "./spill.ts";

/** What makes measurements one source. */
export const GROUP_KEYS = ["src_addr", "prb_id"] as const;
/** One of {@link GROUP_KEYS}. */
export type GroupKey = typeof GROUP_KEYS[number];

const BASE_SCHEMA: readonly SpillColumn[] = [
  { name: "timeUs", type: "f64", width: 1 },
  { name: "rttMs", type: "f32", width: 1 },
  { name: "src", type: "u32", width: 4 },
  { name: "dst", type: "u32", width: 4 },
  { name: "version", type: "u8", width: 1 },
];

/** The spill file's columns. Grouped by src_addr, the source's address is the group's key. */
export function probeSchema(groupBy: GroupKey): readonly SpillColumn[] {
  return groupBy === "src_addr" ? BASE_SCHEMA : [...BASE_SCHEMA, { name: "group", type: "u32", width: 4 }];
}

/** The columns by name. */
export interface ProbeColumns {
  /** µs since 1970. */
  timeUs: Float64Array;
  /** Milliseconds; -1: no reply. */
  rttMs: Float32Array;
  /** Four words per row. */
  src: Uint32Array;
  /** Four words per row. */
  dst: Uint32Array;
  /** 4 or 6. */
  version: Uint8Array;
  /** Four words per row: the source's address again, or the probe id. */
  group: Uint32Array;
  /** Whether `group` is the source's address. */
  isGroupedBySource: boolean;
}

/** Names the columns of a block of {@link probeSchema}. */
export function nameColumns(columns: readonly ColumnData[]): ProbeColumns {
  const [timeUs, rttMs, src, dst, version, group] = columns;
  return {
    timeUs: timeUs as Float64Array,
    rttMs: rttMs as Float32Array,
    src: src as Uint32Array,
    dst: dst as Uint32Array,
    version: version as Uint8Array,
    group: (group ?? src) as Uint32Array,
    isGroupedBySource: group === undefined,
  };
}

/** The kind of the row's group key: an address's version is its kind. */
export function groupKind(columns: ProbeColumns, row: number): number {
  return columns.isGroupedBySource ? columns.version[row] : KeyKind.PROBE;
}

/** The words of a group's key with its kind and hash. */
export interface Group {
  words: readonly [number, number, number, number];
  kind: number;
  /** See {@link hashKey}: groups come in the order of their hashes. */
  hash: Uint32Array;
}

/** Makes the group of the key at `at`. */
export function makeGroup(words: Uint32Array, at: number, kind: number, seed: number): Group {
  const key = [words[at], words[at + 1], words[at + 2], words[at + 3]] as const;
  return { words: key, kind, hash: hashKey(key, kind, seed) };
}

/** Whether the key at `at` is the group's. */
export function isOfGroup(group: Group, words: Uint32Array, at: number, kind: number): boolean {
  return group.words[3] === words[at + 3] && group.words[2] === words[at + 2] &&
    group.words[1] === words[at + 1] && group.words[0] === words[at] && group.kind === kind;
}

/**
 * The order of groups in the output: by hash, which is as good as random, then by kind. The hash is a bijection
 * of the words, so different groups never tie.
 */
export function compareGroups(a: Group, b: Group): number {
  for (let i = 0; i < 4; i++) {
    if (a.hash[i] !== b.hash[i]) return a.hash[i] - b.hash[i];
  }
  return a.kind - b.kind;
}
