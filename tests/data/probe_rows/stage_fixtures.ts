/** Shared by the tests of both stages: options with few shards, hashes of output folders. @module */
import type { ProbeRowsOptions } from "../../../lib/data/probe_rows/probe_rows.ts";
import type { ShardOptions } from "../../../lib/data/probe_rows/shard.ts";
import { createHash } from "node:crypto";
import { join, relative } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";

const COMMON = {
  groupBy: "src_addr",
  seed: 0,
  maxRejectRatio: 0.05,
  memoryLimitBytes: 2e9,
  overwrite: false,
} as const;

/** For `shardMeasurements()`. */
export const SHARD_OPTIONS: Omit<ShardOptions, "inputs" | "output"> = {
  ...COMMON,
  splitBy: "probe",
  ratios: [0.8, 0.1, 0.1],
  numShards: [5, 2, 2],
};

/** For `buildProbeRows()`. */
export const PROBE_ROWS_OPTIONS: Omit<ProbeRowsOptions, "inputs" | "output"> = {
  ...COMMON,
  splits: { plan: { mode: "probe", ratios: [0.8, 0.1, 0.1], seed: 0 } },
  numShards: [4, 1, 1],
  maxRowSizeBytes: 8e6,
  compression: "zstd",
};

/** SHA-256 of every file below the folder, by relative path. */
export function folderHashes(folder: string): Record<string, string> {
  const hashes: Record<string, string> = {};
  const visit = (path: string) => {
    for (const entry of Deno.readDirSync(path)) {
      const full = join(path, entry.name);
      if (entry.isDirectory) visit(full);
      else {hashes[relative(folder, full)] = createHash("sha256").update(Deno.readFileSync(full)).digest(
          "hex",
        );}
    }
  };
  visit(folder);
  return Object.fromEntries(Object.entries(hashes).sort());
}

/** Like {@link folderHashes}, for the outputs that an unfinished run has made, by their final names. */
export function unfinishedHashes(folder: string): Record<string, string> {
  const next = join(folder, ".work", "next");
  return exists(next) ? folderHashes(next) : {};
}
