/**
 * The common part of the stages that write one file: `import` and `synth`.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { exists } from "../lib/io/files/inputs.ts";
import type { Manifest } from "../lib/io/files/manifest.ts";
import { type OutputStart, placeOfFile, StagedOutput } from "../lib/io/files/staged_output.ts";

/** The counts of the output for the manifest. */
export interface WrittenFile extends Pick<Manifest, "counts"> {
  /** Rows of the output file. */
  rows: number;
  /** Numbers of rejected rows by reason; none by default. */
  rejected?: Manifest["rejected"];
}

/** A finished file. */
export interface FileRun {
  /** Its manifest, complete. */
  manifest: Manifest;
  /** The duration of the work; 0 if it was done before. */
  seconds: number;
  /** Whether an earlier run with the same inputs and options had made it. */
  isDone: boolean;
}

/**
 * Makes an output file and its manifest, unless a run with the same inputs and options has made them before.
 *
 * @param output The file.
 * @param start The inputs and options of the run, whether the file of another run may be replaced, and `besides`: the
 *   further files that the stage may write beside it.
 * @param make Writes the file to `path` in the work folder, further files beside it, and temporary ones to `workPath`.
 * @throws {UserError} If one of the files is another run's, or another process writes them.
 */
export async function makeOutputFile(
  output: string,
  start: OutputStart & { besides: (path: string) => readonly string[] },
  make: (work: { path: string; workPath(name: string): string }) => Promise<WrittenFile>,
): Promise<FileRun> {
  const startMs = performance.now();
  const { path } = placeOfFile(output);
  using staged = StagedOutput.openFile(path, { ...start, besides: start.besides(path) });
  const { manifest } = staged;
  if (staged.isComplete) return { manifest, seconds: 0, isDone: true };
  const made = join(staged.folder, basename(path));
  const { counts, rows, rejected = {} } = await make({
    path: made,
    workPath: (name) => staged.workPath(name),
  });
  Object.assign(manifest, { counts, rejected });
  await staged.record(basename(path), { rows });
  for (const beside of start.besides(made)) if (exists(beside)) await staged.record(basename(beside));
  staged.publish();
  return { manifest, seconds: (performance.now() - startMs) / 1000, isDone: false };
}

/** The paths of a manifest's outputs. */
export function outputPaths(output: string, { outputs }: Manifest): string[] {
  return outputs.map(({ path }) => `${dirname(output)}/${path}`);
}
