/**
 * Writes the scripts of jobs.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { writeFileAtomic } from "../files/atomic.ts";
import { exists, readText } from "../files/inputs.ts";
import type { ChainJob } from "./chain.ts";

/** Marks the scripts that slurm wrote. */
const SIGN = "# Written by ping-llm slurm";

/**
 * Writes scripts. Existing files with the same text are left alone.
 *
 * @param jobs The jobs.
 * @param overwrite Whether to replace scripts of slurm with other options or with changes by hand.
 * @throws {UserError} If an existing file may not be replaced; then none is written.
 */
export function writeScripts(jobs: readonly ChainJob[], overwrite: boolean): void {
  const changed = jobs.filter(({ path, script }) => {
    if (!exists(path)) return true;
    const found = readText(path);
    if (found === script) return false;
    if (!found.includes(SIGN)) {
      throw new UserError(
        `Cannot write ${path}: a file that slurm did not write is there, none was wanted; choose another --output`,
      );
    }
    if (overwrite) return true;
    throw new UserError(
      `Cannot write ${path}: it was made with other options or changed by hand, the same was wanted; ` +
        "submit it with sbatch as it is, or add --overwrite",
    );
  });
  for (const { path, script } of changed) writeFileAtomic(path, script);
}
