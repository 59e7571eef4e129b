/**
 * `manifest.json`, which every stage writes next to its output: its inputs, options and outputs. A rerun with
 * the same inputs and options finds it and does not repeat the work (output.ts).
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import * as z from "zod";
import { FormatError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { WORK } from "./array_task.ts";
import { writeJsonAtomic } from "./atomic.ts";
import { ByteFile, openRegularFile, readRegularText } from "./byte_file.ts";
import { explained, unlessMissing } from "./file_errors.ts";
import type { InputFingerprint } from "./inputs.ts";

/** Number of bytes that {@link hashOfEnds} reads at the beginning of a file. */
const FIRST_BYTES = 1 << 16;
/** Number of bytes it reads at the end: two blocks of an ArrayRecord file. */
const LAST_BYTES = 1 << 17;

const inputsSchema = z.array(z.object({ path: z.string(), sizeBytes: z.number(), mtimeMs: z.number() }));
const nameSchema = z.string().refine(isWithinFolder, {
  error: ({ input }) => `it lists ${JSON.stringify(input)} as output, expected names within its folder`,
});
const outputSchema = z.object({
  /** Relative to the folder. */
  path: nameSchema,
  sizeBytes: z.number(),
  sha256: z.string(),
  /** From {@link hashOfEnds}. */
  endsSha256: z.string(),
  counts: z.record(z.string(), z.number()).optional(),
});

const manifestSchema = z.object({
  stage: z.string(),
  version: z.string(),
  inputs: inputsSchema,
  /** The manifests of all inputs, if the inputs are divided among tasks and each task has other `inputs`. */
  inputManifests: inputsSchema.optional(),
  options: z.record(z.string(), z.unknown()),
  counts: z.record(z.string(), z.unknown()),
  rejected: z.record(z.string(), z.number()),
  outputs: z.array(outputSchema),
  /** Only while outputs are moved into place: the files of an earlier run that will be deleted. */
  replaces: z.array(nameSchema).optional(),
  complete: z.boolean(),
});

/** A stage's inputs, options and outputs. Output paths are relative to the folder. */
export type Manifest = z.infer<typeof manifestSchema>;
/** The fields known when a {@link Manifest} is started. */
export type ManifestStart = Pick<Manifest, "stage" | "inputs" | "inputManifests" | "options">;
export type ManifestOutput = z.infer<typeof outputSchema>;

/** Starts the manifest of a stage with the current software version. */
export function newManifest({ stage, inputs, inputManifests, options }: ManifestStart): Manifest {
  // In schema order, as in a manifest read from a file.
  return {
    stage,
    version: VERSION,
    inputs,
    ...(inputManifests ? { inputManifests } : {}),
    options,
    counts: {},
    rejected: {},
    outputs: [],
    complete: false,
  };
}

/** Reads a manifest; undefined if there is no file. @throws {FormatError} If the file is not a manifest. */
export function readManifest(path: string): Manifest | undefined {
  const text = explained(`read ${path}`, () => unlessMissing(() => readRegularText(path)));
  if (text === undefined) return undefined;
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch (cause) {
    const custom = cause instanceof z.ZodError && cause.issues.find(({ code }) => code === "custom")?.message;
    throw new FormatError(
      `${custom || "it is not a manifest of this program"}; delete it or choose another output folder`,
      { path, cause },
    );
  }
}

/** Whether an output's name is a path within its folder and outside the work folders there. */
function isWithinFolder(name: string): boolean {
  const names = name.split(/[/\\]/);
  return !names[0].endsWith(":") && names[0] !== WORK && !names[0].startsWith(`${WORK}-`) &&
    names.every((part) => !["", ".", ".."].includes(part));
}

/** Writes the manifest atomically. @param check Called before the file gets its final name; may throw. */
export function writeManifest(path: string, manifest: Manifest, check?: () => void): void {
  writeJsonAtomic(path, manifest, check);
}

/** Whether two manifests are from the same run: equal stage, version, options and divided inputs. */
export function isSameRun(a: Manifest, b: Manifest): boolean {
  const identity = ({ stage, version, options }: Manifest) =>
    JSON.stringify([stage, version, Object.entries(options).sort()]);
  const divided = ({ inputs, inputManifests = inputs }: Manifest) => inputManifests;
  return identity(a) === identity(b) && areSameFiles(divided(a), divided(b));
}

/** Like {@link isSameRun}, with equal inputs too. */
export function isSameWork(a: Manifest, b: Manifest): boolean {
  return isSameRun(a, b) && areSameFiles(a.inputs, b.inputs);
}

/** Whether two lists have equal entries for the same files. */
export function areSameFiles(a: readonly InputFingerprint[], b: readonly InputFingerprint[]): boolean {
  const isSame = (file: InputFingerprint, other: InputFingerprint) =>
    file.path === other.path && file.sizeBytes === other.sizeBytes && file.mtimeMs === other.mtimeMs;
  return a === b || a.length === b.length && a.every((file, i) => isSame(file, b[i]));
}

/**
 * SHA-256 of a file's first 64 KiB and last 128 KiB, or of the whole file if it is smaller. These are quick
 * to read at any file size, and differ between files of equal size with different records: an ArrayRecord
 * file ends with its index and one block of 64 KiB, a Parquet file with its statistics.
 *
 * @throws {UserError} If the file cannot be read.
 */
export function hashOfEnds(path: string): string {
  using file = ByteFile.open(path);
  const { sizeBytes } = file;
  const firstBytes = Math.min(FIRST_BYTES, sizeBytes);
  const lastBytes = Math.min(LAST_BYTES, sizeBytes - firstBytes);
  const bytes = new Uint8Array(firstBytes + lastBytes);
  file.readAt(0, bytes.subarray(0, firstBytes));
  file.readAt(sizeBytes - lastBytes, bytes.subarray(firstBytes));
  return createHash("sha256").update(bytes).digest("hex");
}

/** Hashes the names, sizes and bytes of files. @param folder The folder that contains the names. */
export function hashOfFiles(folder: string, names: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const name of names) {
    const content = Deno.readFileSync(join(folder, name));
    hash.update(`${name} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

/**
 * Describes a finished output file for the manifest: name, size, SHA-256 of its bytes and {@link hashOfEnds}.
 * The file is read once.
 */
export async function describeOutput(
  folder: string,
  name: string,
  counts?: Record<string, number>,
): Promise<ManifestOutput> {
  const path = join(folder, name);
  const [all, ends] = [createHash("sha256"), createHash("sha256")];
  const file = openRegularFile(path);
  const lastAt = Math.max(FIRST_BYTES, (await file.stat()).size - LAST_BYTES);
  let sizeBytes = 0;
  for await (const chunk of file.readable) {
    all.update(chunk);
    ends.update(chunk.subarray(0, Math.max(0, FIRST_BYTES - sizeBytes)));
    ends.update(chunk.subarray(Math.max(0, lastAt - sizeBytes)));
    sizeBytes += chunk.length;
  }
  const [sha256, endsSha256] = [all, ends].map((hash) => hash.digest("hex"));
  return { path: name, sizeBytes, sha256, endsSha256, ...(counts ? { counts } : {}) };
}

/** Path of the manifest of a stage that writes one file: `F.parquet.manifest.json` for `F.parquet`. */
export function manifestPathBeside(file: string): string {
  return `${file}.manifest.json`;
}
