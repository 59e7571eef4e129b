/**
 * Assigns measurements to train, val and test.
 *
 * Modes: `probe` by hash of the source (src_addr, or prb_id when rows are grouped by it); `time`: the latest
 * rows are test, those before them val (`time_cuts.ts`); `row` by hash of (msm_id, event_time), or of
 * (src_addr, dst_addr, event_time) without msm_id; `pair` by hash of the unordered pair of addresses, because
 * the reverse direction would reveal the answer; `destination` by hash of dst_addr; `node` by the hashes of
 * both addresses: test if either is, else val if either is. An address has the same hash as a source, as a
 * destination and as a node.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { ensure, shortened, UsageError } from "../../base/errors.ts";
import { fillPhiloxBlock } from "../../base/random.ts";
import { infoOf, type IsRead, listInputs } from "../../io/files/inputs.ts";
import type { ManifestOutput } from "../../io/files/manifest.ts";
import type { MeasurementBatch } from "../formats/batch.ts";
import { integerToWords, KeyKind, type SourceKeys } from "./external_sort/keys.ts";
import type { TimeCuts } from "./time_cuts.ts";

/** The splits, in the order of all arrays and files. */
export const SPLIT_NAMES = ["train", "val", "test"] as const;
export type SplitName = typeof SPLIT_NAMES[number];

export const SPLIT_MODES = ["probe", "time", "row", "pair", "destination", "node"] as const;
export type SplitMode = typeof SPLIT_MODES[number];

/** The shares of train, val and test, which sum to 1. */
export type SplitRatios = readonly [train: number, val: number, test: number];

/** Largest number in {@link parseRatios}. It keeps sums finite and no share is lost to rounding. */
const MAX_RATIO = 1e6;

export interface SplitPlan {
  mode: SplitMode;
  ratios: SplitRatios;
  /** A u32 that changes the random split. */
  seed: number;
  /** Required by mode `time` with several splits. */
  timeCuts?: Pick<TimeCuts, "valUs" | "testUs"> | undefined;
}

export interface KeyedBatch {
  batch: MeasurementBatch;
  keys: SourceKeys;
  srcId: Uint32Array;
  dstId: Uint32Array;
  /** The group's key, per row: the source's address or the probe. */
  groupId: Uint32Array;
}

/**
 * Parses a text such as `80,10,10`.
 *
 * @param text Three numbers from 0 to 1,000,000, not all 0; they need not sum to 100.
 * @throws {UsageError} If the text has any other form.
 */
export function parseRatios(text: string): SplitRatios {
  const parts = text.split(",").map((part) => part.trim() === "" ? NaN : Number(part));
  const isInRange = parts.length === 3 && parts.every((part) => part >= 0 && part <= MAX_RATIO);
  if (!isInRange || parts.every((part) => part === 0)) {
    throw new UsageError(
      `Cannot use --ratios ${shortened(text)}: expected three numbers train,val,test from 0 to ` +
        `${MAX_RATIO}, not all 0, such as 80,10,10`,
    );
  }
  const total = parts[0] + parts[1] + parts[2];
  return [parts[0] / total, parts[1] / total, parts[2] / total];
}

/**
 * Assigns the rows of a batch to splits.
 *
 * @param keyed Mode `row` uses the batch's msm_id if present.
 * @returns An index into {@link SPLIT_NAMES} per row.
 */
export function assignSplits(plan: SplitPlan, keyed: KeyedBatch): Uint8Array {
  const { mode, ratios: [train, val, test], timeCuts } = plan;
  const splits = new Uint8Array(keyed.batch.numRows);
  const only = plan.ratios.indexOf(1);
  if (only >= 0) return splits.fill(only);
  // A last share of exactly 0 must stay empty, despite rounding of the sum.
  let [trainEnd, valEnd] = [train, test === 0 ? 2 : train + val];
  if (mode === "time") {
    ensure(timeCuts, "a split by time has no cuts");
    [trainEnd, valEnd] = [timeCuts.valUs, timeCuts.testUs];
  }
  const placeOf = placesOf(plan, keyed);
  for (let row = 0; row < splits.length; row++) {
    const place = placeOf(row);
    splits[row] = place < trainEnd ? 0 : place < valEnd ? 1 : 2;
  }
  return splits;
}

/** The number of each row that is compared with the ends of train and val: in [0, 1), or the row's time. */
function placesOf(
  { mode, seed }: SplitPlan,
  { batch, keys, srcId, dstId, groupId }: KeyedBatch,
): (row: number) => number {
  const { eventTimeUs, msmId } = batch;
  const { hashes } = keys;
  const hash = new Uint32Array(4);
  const ofKey = (ids: Uint32Array) => (row: number) => splitFraction(hashes, 4 * ids[row]);
  switch (mode) {
    case "probe":
      return ofKey(groupId);
    case "destination":
      return ofKey(dstId);
    case "time":
      return (row) => eventTimeUs[row];
    case "node": {
      // Since train, val and test are in ascending order, the larger fraction belongs to the endpoint that is
      // held out more strictly.
      const [ofSrc, ofDst] = [ofKey(srcId), ofKey(dstId)];
      return (row) => Math.max(ofSrc(row), ofDst(row));
    }
    case "pair":
      // The wordwise sum of both addresses' hashes does not depend on their order; it is hashed again.
      return (row) => {
        const a = 4 * srcId[row];
        const b = 4 * dstId[row];
        fillPhiloxBlock(
          hash,
          hashes[a] + hashes[b],
          hashes[a + 1] + hashes[b + 1],
          hashes[a + 2] + hashes[b + 2],
          hashes[a + 3] + hashes[b + 3],
          seed,
          KeyKind.PAIR,
        );
        return splitFraction(hash, 0);
      };
    case "row": {
      const words = new Uint32Array(4);
      return (row) => {
        const msm = msmId?.[row] ?? NaN;
        if (!Number.isNaN(msm)) integerToWords(msm, words, 0);
        else {
          // Unlike a sum, these words distinguish the two directions of a pair.
          words[0] = hashes[4 * srcId[row] + 2] + hashes[4 * dstId[row]];
          words[1] = hashes[4 * srcId[row] + 3] + hashes[4 * dstId[row] + 1];
        }
        integerToWords(eventTimeUs[row], words, 2);
        fillPhiloxBlock(hash, words[0], words[1], words[2], words[3], seed, KeyKind.ROW);
        return splitFraction(hash, 0);
      };
    }
  }
}

/** The last 53 bits of a hash as a number in [0, 1). */
function splitFraction(hashes: Uint32Array, at: number): number {
  return ((hashes[at + 2] >>> 5) * 2 ** 26 + (hashes[at + 3] >>> 6)) * 2 ** -53;
}

const PARQUET: InputKind = { extensions: [".parquet"], wanted: "a Parquet file" };

/** Input files, with their splits if folders determine them. */
export interface SplitInputs {
  files: string[];
  /** Split of each file; absent if a rule splits the rows. */
  splitOfFile?: ReadonlyMap<string, SplitName>;
}

/** The files of a folder that count, and what error messages call them. */
interface InputKind {
  extensions: string[];
  wanted: string;
}

/**
 * Lists inputs and determines whether they are already split.
 *
 * @param isRead Which inputs count if they are known to be split, for example from `neededParts()`; all by
 *   default.
 * @throws {UserError} If there are no files, or if only some of the paths are split folders.
 */
export function listSplitInputs(
  paths: readonly string[],
  kind: InputKind = PARQUET,
  isRead?: IsRead,
): SplitInputs {
  const folders = new Map(paths.map((path) => [path, splitFoldersOf(path, isRead ? undefined : kind)]));
  const split = paths.filter((path) => folders.get(path)?.length);
  if (split.length === 0) return { files: listInputs(paths, kind) };
  if (split.length < paths.length) {
    const other = paths.find((path) => !split.includes(path));
    throw new UsageError(
      `Cannot use --input ${other} with ${split[0]}: only one of them has folders train, val, test; ` +
        "use separate runs for them",
    );
  }
  const files = listInputs([...folders.values()].flat(), { ...kind, isRead });
  return {
    files,
    splitOfFile: new Map(files.map((file) => [file, splitOf(file, split)])),
  };
}

/**
 * The folders train, val and test within a folder; some may be missing.
 *
 * @param kind If given, folders only count if they contain such files that are not hidden.
 */
function splitFoldersOf(path: string, kind: InputKind | undefined): string[] {
  const isWanted = (name: string) =>
    !name.startsWith(".") && kind?.extensions.some((extension) => name.endsWith(extension));
  return SPLIT_NAMES.map((name) => join(path, name)).filter((folder) =>
    infoOf(folder)?.isDirectory &&
    (!kind || [...Deno.readDirSync(folder)].some(({ name }) => isWanted(name)))
  );
}

function splitOf(file: string, roots: readonly string[]): SplitName {
  const tops = new Set(roots.map((root) => join(root)));
  let folder = dirname(file);
  while (!tops.has(dirname(folder)) && dirname(folder) !== folder) folder = dirname(folder);
  return SPLIT_NAMES.find((name) => name === basename(folder)) ?? "train";
}

/**
 * Sums the counts of outputs by split, with `all` for outputs outside of splits. Outputs without counts are
 * omitted.
 *
 * @param names What to call the number of outputs, and the counts to sum; `bytes` is added.
 * @param splits Splits to include even if they have no outputs.
 */
export function sumBySplit(
  outputs: readonly ManifestOutput[],
  [files, ...counted]: readonly [files: string, ...counted: string[]],
  splits: readonly SplitName[] = [],
): Record<string, Record<string, number>> {
  const zeros = () => Object.fromEntries([files, "bytes", ...counted].map((name) => [name, 0]));
  const sums: Record<string, Record<string, number>> = Object.fromEntries(
    splits.map((split) => [split, zeros()]),
  );
  for (const { path, sizeBytes, counts } of outputs) {
    if (!counts) continue;
    const sum = sums[SPLIT_NAMES.find((name) => path.startsWith(`${name}/`)) ?? "all"] ??= zeros();
    sum[files]++;
    sum.bytes += sizeBytes;
    for (const name of counted) sum[name] += counts[name];
  }
  return sums;
}
