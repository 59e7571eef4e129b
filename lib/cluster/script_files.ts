/**
 * The scripts of jobs in their places.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { writeFileAtomic } from "../files/atomic.ts";
import { exists, readText } from "../files/inputs.ts";
import type { ChainJob } from "./chain.ts";

/** What stands in a script that was written here. */
const SIGN = "# Written by ping-llm slurm";

/**
 * Writes scripts; those that are there already, as they are to be, stay.
 *
 * @param jobs The jobs.
 * @param overwrite Whether scripts that were written here, with other options or changed by hand, are replaced.
 * @throws {UserError} If a file is there and may not be replaced; then none is written.
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
