/**
 * What the stages that write one file have in common: `import` and `synth`.
 *
 * @module
 */
import { basename, dirname } from "@std/path";
import {
  describeOutput,
  type Manifest,
  manifestPathBeside,
  newManifest,
  openOutputFile,
  writeManifest,
} from "../lib/files/manifest.ts";

/** What was written: the counts for the manifest, and further files beside the output. */
export interface WrittenFile extends Pick<Manifest, "counts"> {
  /** Rows of the output file. */
  rows: number;
  /** How many rows were rejected, by reason; none by default. */
  rejected?: Manifest["rejected"];
  /** Paths of files that were written beside the output. */
  besides: readonly string[];
}

/** A file that is there now. */
export interface FileRun {
  /** Its manifest, complete. */
  manifest: Manifest;
  /** What the work took; 0 if it was done before. */
  seconds: number;
  /** Whether an earlier run with the same inputs and options had made it. */
  isDone: boolean;
}

/**
 * Makes an output file and its manifest, unless the same run has made it before.
 *
 * @param output The file.
 * @param start What the run depends on, whether another run's file may be replaced, and `mayWrite`: the files beside
 *   the output that the stage may write.
 * @param make Writes the file.
 * @throws {UserError} If the file is another run's.
 */
export async function makeOutputFile(
  output: string,
  start: Pick<Manifest, "stage" | "inputs" | "options"> & { overwrite: boolean; mayWrite: readonly string[] },
  make: () => Promise<WrittenFile>,
): Promise<FileRun> {
  const startMs = performance.now();
  const { overwrite, mayWrite, ...identity } = start;
  const manifest = newManifest(identity);
  const earlier = openOutputFile(output, manifest, { overwrite, besides: mayWrite });
  if (earlier) return { manifest: earlier, seconds: 0, isDone: true };
  const { counts, rows, rejected = {}, besides } = await make();
  const outputs = [await describeOutput(dirname(output), basename(output), { rows })];
  for (const path of besides) outputs.push(await describeOutput(dirname(output), basename(path)));
  const finished: Manifest = { ...manifest, counts, rejected, outputs, complete: true };
  writeManifest(manifestPathBeside(output), finished);
  return { manifest: finished, seconds: (performance.now() - startMs) / 1000, isDone: false };
}

/** The paths of a manifest's outputs. */
export function outputPaths(output: string, { outputs }: Manifest): string[] {
  return outputs.map(({ path }) => `${dirname(output)}/${path}`);
}
