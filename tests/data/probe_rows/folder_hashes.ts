/**
 * Hashes of the files in an output folder, for comparing runs.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join, relative } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";

/** SHA-256 of every file under the folder, by relative path. */
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

/** As {@link folderHashes}, of the outputs that an unfinished run has made, by the names they will have. */
export function unfinishedHashes(folder: string): Record<string, string> {
  const next = join(folder, ".work", "next");
  return exists(next) ? folderHashes(next) : {};
}
