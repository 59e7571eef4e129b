/**
 * What is in an output folder, for comparing runs.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join, relative } from "@std/path";

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
