/**
 * Compares the inputs of a stage with their manifests. Otherwise an incomplete copy of a folder would
 * silently be read as a smaller data set.
 *
 * A folder argument is checked as a whole, including splits that the stage does not read, because a copy that
 * lacks one of them often lacks more. A file argument, or the folder of one split, is checked alone. Files
 * without a manifest are accepted. Files are compared by their paths without links, so that different names
 * of one folder are equal.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename, dirname, join } from "@std/path";
import { getOrMake, isObject, parseJson } from "../../base/collections.ts";
import { FormatError, UserError } from "../../base/errors.ts";
import { EventLoopPacer, type StageHooks } from "../threads/stage_hooks.ts";
import { ByteFile } from "./byte_file.ts";
import { exists, findFiles, infoOf, type IsRead, type OnLink, readText } from "./inputs.ts";
import {
  hashOfEnds,
  type Manifest,
  type ManifestOutput,
  manifestPathBeside,
  readManifest,
} from "./manifest.ts";
import { realPath } from "./real_path.ts";
import { manifestName, readManifests, requireFinished, type TaskManifest } from "./task_manifests.ts";

const DATA = [".parquet", ".arrayrecord"];
/** Suffix of a manifest that describes the file next to it. */
const BESIDE = ".manifest.json";
/**
 * Inputs of at most this size are compared by SHA-256, which takes 12 ms (1.4 GB/s on one core). For larger
 * inputs only the beginning and end of each file are compared.
 */
const SMALL_BYTES = 1 << 24;
/** Shorter comparisons show no progress. */
const SHOW_AFTER_MS = 2000;

/** Options and callbacks of {@link checkOutputs}. Progress is in bytes. */
export interface OutputCheck extends StageHooks {
  /** Whether to include a file of a folder, by its path; all by default. */
  isRead?: IsRead | undefined;
  onLink?: OnLink | undefined;
  /**
   * Whether to compare all bytes of all files. By default only small inputs are compared whole, and only the
   * beginning and end of other files.
   */
  verify?: boolean | undefined;
  /** With "skip", a damaged input is accepted unless `verify` is set. */
  onCorrupt?: "error" | "skip" | undefined;
}

/** What the manifests state about the checked files. */
export class CheckedOutputs {
  readonly #listed: ReadonlyMap<string, ListedOutput>;
  readonly #placeOf: PlaceOf;

  /** Stores the manifests' records. @param listed All outputs, by real path. */
  constructor(listed: ReadonlyMap<string, ListedOutput>, placeOf: PlaceOf) {
    this.#listed = listed;
    this.#placeOf = placeOf;
  }

  /** Compares a file's number of records with its manifest. @throws {UserError} If they differ. */
  requireRecords(path: string, numRecords: number): void {
    const listed = this.#listed.get(this.#placeOf(path));
    const wanted = listed?.output.counts?.records;
    if (!listed || wanted === undefined || wanted === numRecords) return;
    throw changed(listed, `has ${numRecords} records, expected ${wanted}`);
  }
}

/**
 * Checks that all outputs listed in the manifests exist with the same size and the same SHA-256 (of all bytes
 * if they are small or `verify` is set, else of their beginning and end), and that there is no other data
 * file among them.
 *
 * @param paths Files, folders and globs. A folder stands for all outputs in it, a file only for itself.
 * @throws {UserError} If a file is missing, changed or not listed, or if a run or task did not finish.
 */
export async function checkOutputs(
  paths: readonly string[],
  check: OutputCheck = {},
): Promise<CheckedOutputs> {
  const placeOf = memoizedPlaces();
  const { listed, inputs, strangers } = findListedOutputs(paths, placeOf, check);
  requireThere(inputs);
  if (strangers.length > 0) {
    const [{ path, folder, stage }, ...others] = strangers;
    throw new UserError(
      `Cannot read ${folder}: no manifest lists ${path}${more(others.length)}, expected only files of ` +
        `${stage}; move it to another folder or delete it`,
    );
  }
  if (check.verify || check.onCorrupt !== "skip") await compare(inputs, check);
  return new CheckedOutputs(listed, placeOf);
}

interface ListedOutput {
  /** Where the output is expected. */
  path: string;
  output: ManifestOutput;
  stage: string;
  manifestPath: string;
  /** The folder that the manifest describes; absent if the manifest describes the file next to it. */
  folder?: string;
}

/** Returns the real path of a file, which need not exist: its folder's path without links, and its name. */
type PlaceOf = (path: string) => string;

function memoizedPlaces(): PlaceOf {
  const folders = new Map<string, string>();
  return (path) => {
    const folder = dirname(path);
    return join(getOrMake(folders, folder, () => realPath(folder)), basename(path));
  };
}

interface FoundOutputs {
  /** All outputs of the manifests, by real path. */
  listed: ReadonlyMap<string, ListedOutput>;
  /** The outputs that the arguments select. */
  inputs: ListedOutput[];
  /** Data files that no manifest lists, among files that the stage wrote to the folder. */
  strangers: { path: string; folder: string; stage: string }[];
}

/** The files and folders that the arguments select. */
interface Scope {
  /** Real paths. */
  folders: Set<string>;
  /** Real paths. */
  files: Set<string>;
  /** Paths of the data files in the folders, by real path. */
  dataFiles: Map<string, string>;
  /** Folders that may contain manifests, by real path. */
  writtenFolders: Map<string, string>;
  /** Manifests next to their files. */
  besides: Set<string>;
}

interface WrittenFolder {
  place: string;
  folder: string;
  manifests: TaskManifest[];
  outputs: ListedOutput[];
}

/**
 * Finds manifests in the inputs and directly above them, and the outputs that they list.
 *
 * @throws {UserError} If a run or task that wrote an input did not finish.
 */
function findListedOutputs(paths: readonly string[], placeOf: PlaceOf, check: OutputCheck): FoundOutputs {
  const scope = findScope(paths, placeOf, check);
  const folders = [...scope.writtenFolders].flatMap(([place, folder]) =>
    // An unfinished run may have left only its work folder.
    readFolder(place, folder, scope.folders.has(place) ? requireFinished : readManifests, check.isRead)
  );
  const outputs = [...[...scope.besides].flatMap(readBeside), ...folders.flatMap(({ outputs }) => outputs)];
  const listed = new Map(outputs.map((output) => [placeOf(output.path), output]));
  const written = new Set(folders.map(({ place }) => place));
  const filesOf = Map.groupBy(scope.dataFiles.keys(), (place) => nearestFolder(written, place));
  const strangers = folders.flatMap((folder) => {
    const files = filesOf.get(folder.place) ?? [];
    const data = folder.outputs.filter(({ path }) => isData(path));
    const isNamed = files.length > 0 || data.some(({ path }) => isWithin(scope.folders, placeOf(path)));
    // A folder of another stage, such as a run of `train`, may contain data that were added later.
    if (!isNamed || data.length === 0 && !scope.folders.has(folder.place)) return [];
    if (!scope.folders.has(folder.place)) requireFinished(folder.folder);
    const unlisted = files.filter((place) => !listed.has(place) && isAmongData(place, folder, data));
    const { stage } = folder.manifests[0].manifest;
    return unlisted.map((place) => ({
      path: scope.dataFiles.get(place) ?? place,
      folder: folder.folder,
      stage,
    }));
  });
  const isInput = ([place]: [string, ListedOutput]) =>
    scope.files.has(place) || isWithin(scope.folders, place);
  return { listed, inputs: [...listed].filter(isInput).map(([, output]) => output), strangers };
}

function findScope(paths: readonly string[], placeOf: PlaceOf, { isRead, onLink }: OutputCheck): Scope {
  const scope: Scope = {
    folders: new Set(),
    files: new Set(),
    dataFiles: new Map(),
    writtenFolders: new Map(),
    besides: new Set(),
  };
  const addWritten = (folder: string) => {
    const place = realPath(folder);
    if (!scope.writtenFolders.has(place)) scope.writtenFolders.set(place, folder);
  };
  for (const path of new Set(paths)) {
    const found = findFiles(path, { extensions: [...DATA, ".json"], isRead, onLink });
    const isFolder = infoOf(path)?.isDirectory ?? false;
    if (isFolder) {
      scope.folders.add(realPath(path));
      addWritten(path);
      addWritten(dirname(realPath(path)));
    }
    for (const file of found.values()) {
      if (isFolder && isData(file)) scope.dataFiles.set(placeOf(file), file);
      else if (isFolder && file.endsWith(BESIDE)) scope.besides.add(file);
      else if (isFolder && basename(file).startsWith("manifest")) addWritten(dirname(file));
      if (isFolder) continue;
      scope.files.add(placeOf(file));
      addWritten(dirname(file));
      addWritten(dirname(realPath(dirname(file))));
      if (exists(manifestPathBeside(file))) scope.besides.add(manifestPathBeside(file));
    }
  }
  return scope;
}

function readFolder(
  place: string,
  folder: string,
  read: typeof readManifests,
  isRead: IsRead | undefined,
): WrittenFolder[] {
  const manifests = unlessForeign(() => read(folder, isRead)) ?? [];
  if (manifests.length === 0) return [];
  const outputs = manifests.flatMap(({ task, manifest }) =>
    listOutputs(manifest, { folder, manifestPath: join(folder, manifestName(task)) })
  );
  return [{ place, folder, manifests, outputs }];
}

/** The output listed by the manifest next to it. @throws {UserError} If the file is not finished. */
function readBeside(manifestPath: string): ListedOutput[] {
  const manifest = unlessForeign(() => readManifest(manifestPath));
  if (!manifest) return [];
  if (manifest.complete) return listOutputs(manifest, { manifestPath });
  throw new UserError(
    `Cannot read the output of ${manifestPath}: ${manifest.stage} did not finish it, expected a whole file; ` +
      `run ${manifest.stage} again with the same options, or delete the manifest`,
  );
}

function listOutputs(
  { stage, outputs }: Manifest,
  from: Pick<ListedOutput, "manifestPath" | "folder">,
): ListedOutput[] {
  const folder = dirname(from.manifestPath);
  return outputs.map((output) => ({ ...from, stage, output, path: join(folder, output.path) }));
}

/** Reads a manifest; undefined if another program wrote the `manifest.json` or it may not be read. */
export function unlessForeign<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof FormatError && isForeign(error.path)) return undefined;
    // This is the manifest of a folder above the inputs.
    if (isClosed(error)) return undefined;
    throw error;
  }
}

/** Whether an error means that a file may not be read. */
export function isClosed(error: unknown): boolean {
  const cause = error instanceof UserError ? error.cause : error;
  return cause instanceof Deno.errors.PermissionDenied || cause instanceof Deno.errors.NotCapable;
}

function isForeign(path: string): boolean {
  const value = parseJson(readText(path));
  return value !== undefined && !(isObject(value) && "stage" in value);
}

function nearestFolder(folders: ReadonlySet<string>, place: string): string | undefined {
  for (let folder = dirname(place); folder !== dirname(folder); folder = dirname(folder)) {
    if (folders.has(folder)) return folder;
  }
  return undefined;
}

function isWithin(folders: ReadonlySet<string>, place: string): boolean {
  for (const folder of folders) if (place.startsWith(join(folder, "/"))) return true;
  return false;
}

/**
 * Whether a file is where the folder's data are: in the same subfolders, or anywhere if some data are in no
 * subfolder.
 */
function isAmongData(place: string, folder: WrittenFolder, data: readonly ListedOutput[]): boolean {
  const top = topFolder(place.slice(folder.place.length + 1));
  return data.some(({ output }) => ["", top].includes(topFolder(output.path)));
}

/** The first folder of a relative path; empty if it has none. */
function topFolder(path: string): string {
  return /^(.*?)[\\/]/.exec(path)?.[1] ?? "";
}

function isData(path: string): boolean {
  return DATA.some((extension) => path.endsWith(extension));
}

function requireThere(inputs: readonly ListedOutput[]): void {
  const missing: ListedOutput[] = [];
  for (const input of inputs) {
    const size = infoOf(input.path)?.size;
    const { sizeBytes } = input.output;
    if (size === undefined) missing.push(input);
    else if (size !== sizeBytes) throw changed(input, `has ${size} bytes, expected ${sizeBytes}`);
  }
  if (missing.length === 0) return;
  const [{ output, stage, folder, manifestPath }, ...others] = missing;
  throw new UserError(
    `Cannot read ${folder ?? manifestPath}: ${output.path} is missing${
      more(others.length)
    }, expected all files that ` +
      `${basename(manifestPath)} lists; copy it again, run ${stage} again with the same ` +
      "options, which makes missing files again, or delete the manifest to use the existing files",
  );
}

async function compare(
  inputs: readonly ListedOutput[],
  { verify, signal, onProgress = () => {} }: OutputCheck,
): Promise<void> {
  const totalBytes = inputs.reduce((sum, { output }) => sum + output.sizeBytes, 0);
  const isWhole = verify || totalBytes <= SMALL_BYTES;
  const pacer = new EventLoopPacer({ signal });
  const startMs = performance.now();
  let doneBytes = 0;
  const advance = async (numBytes: number) => {
    doneBytes += numBytes;
    await pacer.yieldToEventLoop();
    if (performance.now() - startMs < SHOW_AFTER_MS) return;
    onProgress(
      isWhole ? "comparing SHA-256" : "comparing the first and last bytes of files",
      doneBytes,
      totalBytes,
    );
  };
  for (const input of inputs) {
    const { sha256, endsSha256, sizeBytes } = input.output;
    if (isWhole) {
      const hash = createHash("sha256");
      using file = ByteFile.open(input.path);
      for (const chunk of file.chunks()) {
        hash.update(chunk);
        await advance(chunk.length);
      }
      if (hash.digest("hex") === sha256) continue;
      throw changed(input, "has a different SHA-256, expected the same");
    }
    // Files of another run, mixed in by an interrupted copy, differ there whatever their size.
    if (hashOfEnds(input.path) !== endsSha256) {
      throw changed(input, "has different first or last bytes, expected the same");
    }
    await advance(sizeBytes);
  }
}

function changed({ path, output, stage, manifestPath, folder }: ListedOutput, found: string): UserError {
  const name = basename(manifestPath);
  const again = `run ${stage} again with the same options`;
  return new UserError(
    folder === undefined
      ? `Cannot read ${path}: it ${found} as ${name} says; copy both again, delete both and ${again}, ` +
        "or delete the manifest if the change was intended"
      : `Cannot read ${folder}: ${output.path} ${found} as ${name} says; copy it again, or delete it ` +
        `and ${again}`,
  );
}

function more(count: number): string {
  return count > 0 ? ` (and ${count} more)` : "";
}
