/**
 * `manifest.json`, which every stage leaves beside its output: what it read, how, and what it wrote.
 *
 * A rerun with the same inputs and options finds its own manifest and does not do the work again; a folder
 * that holds another run's output is refused.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename, dirname, join } from "@std/path";
import { z } from "zod";
import { FormatError, UserError } from "../errors.ts";
import { VERSION } from "../version.ts";
import { removeStaleTemporaries, writeJsonAtomic } from "./atomic.ts";
import { exists, fingerprint } from "./inputs.ts";

const outputSchema = z.object({
  path: z.string(),
  sizeBytes: z.number(),
  sha256: z.string(),
  counts: z.record(z.string(), z.number()).optional(),
});

const manifestSchema = z.object({
  stage: z.string(),
  version: z.string(),
  inputs: z.array(z.object({ path: z.string(), sizeBytes: z.number(), mtimeMs: z.number() })),
  options: z.record(z.string(), z.unknown()),
  counts: z.record(z.string(), z.unknown()),
  rejected: z.record(z.string(), z.number()),
  outputs: z.array(outputSchema),
  complete: z.boolean(),
});

/** What a stage read, with which options, and what it wrote. Paths of outputs are relative to the folder. */
export type Manifest = z.infer<typeof manifestSchema>;
/** One output file of a {@link Manifest}. */
export type ManifestOutput = z.infer<typeof outputSchema>;

/** Starts the manifest of a stage with the current software version. */
export function newManifest(start: Pick<Manifest, "stage" | "inputs" | "options">): Manifest {
  return { ...start, version: VERSION, counts: {}, rejected: {}, outputs: [], complete: false };
}

/**
 * The manifest at `path`.
 *
 * @returns The manifest, or undefined if there is none.
 * @throws {FormatError} If the file is no manifest.
 */
export function readManifest(path: string): Manifest | undefined {
  if (!exists(path)) return undefined;
  try {
    return manifestSchema.parse(JSON.parse(Deno.readTextFileSync(path)));
  } catch (cause) {
    throw new FormatError("it is no manifest of this program; delete it or choose another output folder", {
      path,
      cause,
    });
  }
}

/** Writes the manifest atomically. */
export function writeManifest(path: string, manifest: Manifest): void {
  writeJsonAtomic(path, manifest);
}

/** Whether two manifests stand for the same work: stage, version, inputs and options. */
export function isSameRun(a: Manifest, b: Manifest): boolean {
  const identity = ({ stage, version, inputs, options }: Manifest) =>
    JSON.stringify([stage, version, inputs, Object.entries(options).sort()]);
  return identity(a) === identity(b);
}

/**
 * Decides what an output folder means for a run: fresh, to be resumed, or another run's.
 *
 * @param folder The output folder; it may not exist.
 * @param manifest The manifest this run starts with.
 * @param options `overwrite`: another run's files are deleted instead of refused.
 * @returns The manifest of the same run that was started or finished here earlier, if any.
 * @throws {UserError} If the folder holds files of another run.
 */
export function openOutputFolder(
  folder: string,
  manifest: Manifest,
  options: { overwrite: boolean },
): Manifest | undefined {
  const path = join(folder, "manifest.json");
  const earlier = readManifest(path);
  if (earlier && isSameRun(earlier, manifest)) return earlier;
  const occupied = exists(folder) && [...Deno.readDirSync(folder)].length > 0;
  if (occupied && !options.overwrite) {
    const found = earlier
      ? `${earlier.stage} with other inputs or options wrote to it`
      : "it holds other files";
    throw new UserError(
      `Cannot write to ${folder}: ${found}, an empty folder was wanted; choose another --output or add --overwrite`,
    );
  }
  if (occupied) {
    if (!earlier) {
      throw new UserError(
        `Cannot overwrite ${folder}: it has no manifest.json of this program; delete the folder by hand`,
      );
    }
    removeContents(folder);
  }
  Deno.mkdirSync(folder, { recursive: true });
  writeManifest(path, manifest);
  return undefined;
}

/**
 * Decides what the output file of a stage that writes one file means for a run: to be made, or made already.
 *
 * @param file The output file; its manifest lies beside it, see {@link manifestPathBeside}.
 * @param manifest The manifest this run starts with; it is written if the run has to work.
 * @param options `overwrite`: another run's file is replaced instead of refused; `besides`: further files that the
 *   stage may write, of which a killed run may have left temporaries.
 * @returns The manifest of the same run that finished earlier, if all its outputs are still there.
 * @throws {UserError} If the file is another run's.
 */
export function openOutputFile(
  file: string,
  manifest: Manifest,
  options: { overwrite: boolean; besides?: readonly string[] },
): Manifest | undefined {
  const path = manifestPathBeside(file);
  const earlier = readManifest(path);
  const isSame = earlier !== undefined && isSameRun(earlier, manifest);
  const folder = dirname(file);
  const isThere = (output: ManifestOutput) =>
    exists(join(folder, output.path)) &&
    fingerprint(join(folder, output.path)).sizeBytes === output.sizeBytes;
  if (isSame && earlier.complete && earlier.outputs.every(isThere)) return earlier;
  if (exists(file) && !isSame && !options.overwrite) {
    const found = earlier ? `${earlier.stage} with other inputs or options wrote it` : "it exists already";
    throw new UserError(`Cannot write ${file}: ${found}; choose another --output or add --overwrite`);
  }
  for (const only of [file, path, ...options.besides ?? []]) removeStaleTemporaries(folder, { only });
  writeManifest(path, manifest);
  return undefined;
}

/** Empties the folder, the manifest last: after a kill on the way it is still known as this program's. */
function removeContents(folder: string): void {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
    name !== "manifest.json"
  );
  for (const name of [...names, "manifest.json"]) Deno.removeSync(join(folder, name), { recursive: true });
}

/** Describes a finished output file for the manifest: name, size, SHA-256 of its bytes. */
export async function describeOutput(
  folder: string,
  name: string,
  counts?: Record<string, number>,
): Promise<ManifestOutput> {
  const path = join(folder, name);
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const file = await Deno.open(path);
  for await (const chunk of file.readable) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  return { path: name, sizeBytes, sha256: hash.digest("hex"), ...(counts ? { counts } : {}) };
}

/** The manifest's place for a stage that writes one file: `F.manifest.json` beside `F.parquet`. */
export function manifestPathBeside(file: string): string {
  return file.slice(0, file.length - basename(file).length) + basename(file).replace(/\.[^.]+$/, "") +
    ".manifest.json";
}
