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

/** A temporary folder that is deleted when disposed. */
export class TemporaryFolder implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "ping-llm-test-" });

  /** A path within the folder. */
  at(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}
