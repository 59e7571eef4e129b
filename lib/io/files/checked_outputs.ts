/**
 * Compares the inputs of a stage with their manifests: a broken copy of a folder would be read as a smaller data set
 * without an error.
 *
 * A named folder is checked as a whole, with the splits that the stage does not read: a copy that lacks one of them
 * often lacks more. A named file, or the folder of one split, is checked alone. Files without a manifest are accepted.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { explainFileError } from "./file_errors.ts";
import { ByteFile } from "./byte_file.ts";
import { hashOfEnds } from "./manifest.ts";
import { findListedOutputs, type ListedOutput, type OutputSearch, Places } from "./listed_outputs.ts";

/**
 * Inputs of at most this many bytes are compared by SHA-256, which takes 12 ms (1.4 GB/s on one core). Of larger
 * inputs only the ends of each file are compared.
 */
const SMALL_BYTES = 1 << 24;
/** The longest time between two checks for signals. */
const HOLD_MS = 50;
/** A comparison that takes less shows no progress. */
const SHOW_AFTER_MS = 2000;

/** Options and callbacks of {@link checkOutputs}. */
export interface OutputCheck extends OutputSearch {
  /** Whether all bytes of all files are compared; by default those of small inputs, and the ends of other files. */
  verify?: boolean | undefined;
  /** With "skip", a damaged input is accepted unless `verify` is set. */
  onCorrupt?: "error" | "skip" | undefined;
  /** Ends the check with its reason soon after it is aborted. */
  signal?: AbortSignal;
  /** Called with the bytes compared and their total, if the comparison takes long. */
  onProgress?: (phase: string, done: number, total: number) => void;
}

/** The manifests' facts about the files that were checked. */
export class CheckedOutputs {
  /** The files that were checked, sorted. */
  readonly paths: readonly string[];
  readonly #listed: ReadonlyMap<string, ListedOutput>;
  readonly #places = new Places();

  /** Stores the manifests' facts. @param listed All outputs, by place. @param inputs The checked ones. */
  constructor(listed: ReadonlyMap<string, ListedOutput>, inputs: readonly ListedOutput[]) {
    this.#listed = listed;
    this.paths = inputs.map(({ path }) => path).sort();
  }

  /** Compares a file's number of records with its manifest. @throws {UserError} If they differ. */
  requireRecords(path: string, numRecords: number): void {
    const listed = this.#listed.get(this.#places.of(path));
    const wanted = listed?.output.counts?.records;
    if (!listed || wanted === undefined || wanted === numRecords) return;
    throw changed(listed, `has ${numRecords} records, expected ${wanted}`);
  }
}

/**
 * Checks that all outputs that the manifests list exist with the same size and the same SHA-256 (of all bytes if they
 * are small, or with `verify`; else of their ends), and that no other data file lies among them.
 *
 * @param paths Files, folders and globs, as `listInputs` takes them.
 * @throws {UserError} If a file is missing, changed or not listed, or a run or task did not finish.
 */
export async function checkOutputs(
  paths: readonly string[],
  check: OutputCheck = {},
): Promise<CheckedOutputs> {
  const { listed, inputs, strangers } = findListedOutputs(paths, check);
  requireThere(inputs);
  if (strangers.length > 0) {
    const [{ path, folder, stage }, ...others] = strangers;
    throw new UserError(
      `Cannot read ${folder}: no manifest lists ${path}${more(others.length)}, expected only files of ` +
        `${stage}; move it to another folder or delete it`,
    );
  }
  const sizeBytes = inputs.reduce((sum, { output }) => sum + output.sizeBytes, 0);
  const { verify, onCorrupt } = check;
  if (verify || onCorrupt !== "skip") {
    const compare = verify || sizeBytes <= SMALL_BYTES ? compareHashes : compareEnds;
    await compare(inputs, sizeBytes, check);
  }
  return new CheckedOutputs(listed, inputs);
}

function requireThere(inputs: readonly ListedOutput[]): void {
  const missing: ListedOutput[] = [];
  for (const input of inputs) {
    try {
      const { size } = Deno.statSync(input.path);
      const { sizeBytes } = input.output;
      if (size !== sizeBytes) throw changed(input, `has ${size} bytes, expected ${sizeBytes}`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw explainFileError(error, `read ${input.path}`);
      missing.push(input);
    }
  }
  if (missing.length === 0) return;
  const [{ output, stage, folder, manifestPath }, ...others] = missing;
  throw new UserError(
    `Cannot read ${folder ?? manifestPath}: ${output.path} is missing${
      more(others.length)
    }, expected all that ` +
      `${basename(manifestPath)} lists; copy it again, run ${stage} again with the same ` +
      "options, which makes missing files again, or delete the manifest to use the existing files",
  );
}

/** Detects files of another run, whatever their size: an interrupted copy mixes files of two runs. */
async function compareEnds(
  inputs: readonly ListedOutput[],
  totalBytes: number,
  check: OutputCheck,
): Promise<void> {
  const comparison = new Comparison("comparing the ends of files", totalBytes, check);
  for (const input of inputs) {
    const { endsSha256, sizeBytes } = input.output;
    if (endsSha256 !== undefined && hashOfEnds(input.path) !== endsSha256) {
      throw changed(input, "has other bytes at its ends than were written, expected the same content");
    }
    await comparison.advance(sizeBytes);
  }
}

async function compareHashes(
  inputs: readonly ListedOutput[],
  totalBytes: number,
  check: OutputCheck,
): Promise<void> {
  const comparison = new Comparison("comparing SHA-256", totalBytes, check);
  for (const input of inputs) {
    const hash = createHash("sha256");
    using file = ByteFile.open(input.path);
    for (const chunk of file.chunks()) {
      hash.update(chunk);
      await comparison.advance(chunk.length);
    }
    if (hash.digest("hex") !== input.output.sha256) {
      throw changed(input, "has another SHA-256 than was written, expected the same content");
    }
  }
}

/** Shows the progress of a comparison, and lets signals be handled during it. */
class Comparison {
  readonly #startMs = performance.now();
  #lastMs = this.#startMs;
  #doneBytes = 0;

  constructor(readonly title: string, readonly totalBytes: number, readonly check: OutputCheck) {}

  /** Counts compared bytes; now and then shows the progress and yields to signals. @throws The reason of the signal. */
  async advance(numBytes: number): Promise<void> {
    this.#doneBytes += numBytes;
    if (performance.now() - this.#lastMs < HOLD_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#lastMs = performance.now();
    this.check.signal?.throwIfAborted();
    if (this.#lastMs - this.#startMs <= SHOW_AFTER_MS) return;
    this.check.onProgress?.(this.title, this.#doneBytes, this.totalBytes);
  }
}

function changed({ path, output, stage, manifestPath, folder }: ListedOutput, found: string): UserError {
  const name = basename(manifestPath);
  const again = `run ${stage} again with the same options`;
  return new UserError(
    folder === undefined
      ? `Cannot read ${path}: it ${found} as ${name} says; copy both again, delete both and ${again}, ` +
        "or delete the manifest if the change was on purpose"
      : `Cannot read ${folder}: ${output.path} ${found} as ${name} says; copy it again, or delete it ` +
        `and ${again}`,
  );
}

function more(count: number): string {
  return count > 0 ? ` (and ${count} more)` : "";
}
