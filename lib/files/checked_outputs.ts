/**
 * Checks that what our stages wrote is still what their manifests say: a broken copy of a folder would be read as a
 * smaller one in silence.
 *
 * Of a folder that is named everything is checked, also what its reader leaves out, such as the splits that `train`
 * does not need: a copy that lost one of them has mostly lost more. Of a file that is named, or of one split's
 * folder, only that: it was chosen on purpose. What no manifest speaks of passes, as it was made by other means.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename } from "@std/path";
import { explainFileError, UserError } from "../errors.ts";
import { ByteFile } from "./byte_file.ts";
import { findListedOutputs, type ListedOutput, type OutputSearch, Places } from "./listed_outputs.ts";

/**
 * Outputs that have no more bytes together are always compared by SHA-256. That takes 12 ms (1.4 GB/s on a core of a
 * shared server), the stage that reads them a second.
 */
const SMALL_BYTES = 1 << 24;
/** How long the thread is held before signals are let in. */
const HOLD_MS = 50;
/** A shorter comparison shows no progress. */
const SHOW_AFTER_MS = 2000;

/** How {@link checkOutputs} works, and whom it tells. */
export interface OutputCheck extends OutputSearch {
  /** Whether every SHA-256 is compared, however long it takes; by default those of small inputs are. */
  verify?: boolean;
  /** With "skip", damage is no reason to refuse an input unless `verify` asks for it. */
  onCorrupt?: "error" | "skip";
  /** The check ends with the signal's reason soon after it is aborted. */
  signal?: AbortSignal;
  /** Called with the bytes compared and all of them, if that takes long. */
  onProgress?: (phase: string, done: number, total: number) => void;
}

/** What the manifests say of files that were checked. */
export class CheckedOutputs {
  /** The files that were checked, sorted. */
  readonly paths: readonly string[];
  readonly #listed: ReadonlyMap<string, ListedOutput>;
  readonly #places = new Places();

  /**
   * Keeps what the manifests say.
   *
   * @param listed All that they list, by place.
   * @param inputs Those of them that were checked.
   */
  constructor(listed: ReadonlyMap<string, ListedOutput>, inputs: readonly ListedOutput[]) {
    this.#listed = listed;
    this.paths = inputs.map(({ path }) => path).sort();
  }

  /**
   * Refuses a file that has another number of records than its manifest says.
   *
   * @throws {UserError} If it has.
   */
  requireRecords(path: string, numRecords: number): void {
    const listed = this.#listed.get(this.#places.of(path));
    const wanted = listed?.output.counts?.records;
    if (!listed || wanted === undefined || wanted === numRecords) return;
    throw changed(listed, `has ${numRecords} records, ${wanted} were wanted`);
  }
}

/**
 * Checks all that manifests list of the inputs: that it is there, has its size and, where that takes no time or is
 * asked for, its SHA-256; and that no data file lies among it that they do not list.
 *
 * @param paths Files, folders and globs, as `listInputs` takes them.
 * @throws {UserError} If something is missing, changed or too much, or a run or task did not finish.
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
      `Cannot read ${folder}: no manifest lists ${path}${more(others.length)}, only files of ${stage} were ` +
        `wanted; move it to another folder or delete it`,
    );
  }
  const sizeBytes = inputs.reduce((sum, { output }) => sum + output.sizeBytes, 0);
  const { verify, onCorrupt } = check;
  if (verify || onCorrupt !== "skip" && sizeBytes <= SMALL_BYTES) {
    await compareHashes(inputs, sizeBytes, check);
  }
  return new CheckedOutputs(listed, inputs);
}

function requireThere(inputs: readonly ListedOutput[]): void {
  const missing: ListedOutput[] = [];
  for (const input of inputs) {
    try {
      const { size } = Deno.statSync(input.path);
      const { sizeBytes } = input.output;
      if (size !== sizeBytes) throw changed(input, `has ${size} bytes, ${sizeBytes} were wanted`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw explainFileError(error, `read ${input.path}`);
      missing.push(input);
    }
  }
  if (missing.length === 0) return;
  const [{ output, stage, folder, manifestPath }, ...others] = missing;
  throw new UserError(
    `Cannot read ${folder ?? manifestPath}: ${output.path} is missing${more(others.length)}, all that ` +
      `${basename(manifestPath)} lists was wanted; copy it again, run ${stage} again with the same ` +
      "options, which makes missing files anew, or delete the manifest to use what is there",
  );
}

async function compareHashes(
  inputs: readonly ListedOutput[],
  totalBytes: number,
  { signal, onProgress }: OutputCheck,
): Promise<void> {
  const startMs = performance.now();
  let lastMs = startMs;
  let doneBytes = 0;
  for (const input of inputs) {
    const hash = createHash("sha256");
    using file = ByteFile.open(input.path);
    for (const chunk of file.chunks()) {
      hash.update(chunk);
      doneBytes += chunk.length;
      const nowMs = performance.now();
      if (nowMs - lastMs < HOLD_MS) continue;
      await new Promise((resolve) => setTimeout(resolve, 0));
      lastMs = performance.now();
      signal?.throwIfAborted();
      if (nowMs - startMs > SHOW_AFTER_MS) onProgress?.("comparing SHA-256", doneBytes, totalBytes);
    }
    if (hash.digest("hex") !== input.output.sha256) {
      throw changed(input, "has another SHA-256 than was written, the same content was wanted");
    }
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
