/**
 * What the stages that read data of other stages have in common: `--verify`.
 *
 * @module
 */
import { flag } from "../lib/cli/flags.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import type { StageContext } from "../lib/cli/stage.ts";
import { type CheckedOutputs, checkOutputs, type OutputCheck } from "../lib/files/checked_outputs.ts";

/** The option. */
export const verifyFlag = flag.boolean(
  "compare the SHA-256 of all input files with their manifests, not only of small inputs",
);

/**
 * Checks the inputs of a stage against their manifests; says which links are followed.
 *
 * @param paths Files, folders and globs.
 * @param options The stage's, as {@link checkOutputs} takes them.
 * @param context The stage's.
 * @throws {UserError} If something is missing, changed or too much.
 */
export async function checkInputs(
  paths: readonly string[],
  { verify, onCorrupt, isRead }: Pick<OutputCheck, "verify" | "onCorrupt" | "isRead">,
  context: StageContext,
): Promise<CheckedOutputs> {
  using progress = new PhaseProgress(context, "bytes");
  return await checkOutputs(paths, {
    verify,
    onCorrupt,
    isRead,
    signal: context.signal,
    onProgress: progress.update,
    onLink: context.log,
  });
}
