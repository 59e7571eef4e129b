/**
 * Finds the outputs that manifests list among a stage's inputs, and the data files there that no manifest lists.
 *
 * Files are compared by their places, paths without links, so that different names of one folder are equal.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { FormatError, UserError } from "../../base/errors.ts";
import { exists, findFiles, type IsRead, type OnLink, readText } from "./inputs.ts";
import { type Manifest, type ManifestOutput, manifestPathBeside, readManifest } from "./manifest.ts";
import { realPath } from "./real_path.ts";
import {
  manifestName,
  readManifests,
  refuseHalfMoved,
  requireFinished,
  type TaskManifest,
} from "./task_manifests.ts";

const DATA = [".parquet", ".arrayrecord"];
/** The end of the name of a manifest that describes the file beside it. */
const BESIDE = ".manifest.json";

/** An output of a manifest. */
export interface ListedOutput {
  /** Its expected path. */
  path: string;
  output: ManifestOutput;
  stage: string;
  manifestPath: string;
  /** The folder that the manifest describes; absent if it describes the file beside it. */
  folder?: string;
}

/** Options of {@link findListedOutputs}. */
export interface OutputSearch {
  /** Whether a file of a folder counts, by path; all by default. */
  isRead?: IsRead | undefined;
  /** Called with the links that are followed. */
  onLink?: OnLink | undefined;
}

/** The result of {@link findListedOutputs}. */
interface FoundOutputs {
  /** All outputs of the manifests, by place. */
  listed: ReadonlyMap<string, ListedOutput>;
  /** The outputs that the arguments name. */
  inputs: ListedOutput[];
  /** Data files that no manifest lists, among files that the stage wrote to the folder. */
  strangers: { path: string; folder: string; stage: string }[];
}

/** The files and folders that arguments name. */
interface Scope {
  /** Places of folders. */
  folders: Set<string>;
  /** Places of files. */
  files: Set<string>;
  /** Paths of the data files in the folders, by place. */
  dataFiles: Map<string, string>;
  /** Folders that may have manifests, by place. */
  writtenFolders: Map<string, string>;
  /** Manifests beside their files. */
  besides: Set<string>;
}

/** A folder with manifests. */
interface WrittenFolder {
  place: string;
  folder: string;
  manifests: TaskManifest[];
  outputs: ListedOutput[];
}

/** The places of files: the path without links of the folder that a file is in, and the file's name. */
export class Places {
  readonly #folders = new Map<string, string>();

  /** The place of a file, which need not exist. */
  of(path: string): string {
    const folder = dirname(path);
    let place = this.#folders.get(folder);
    if (place === undefined) {
      place = realPath(folder);
      this.#folders.set(folder, place);
    }
    return join(place, basename(path));
  }
}

/**
 * Finds the manifests in the inputs and right above them, and what they list.
 *
 * @param paths Files, folders and globs. A folder names all outputs in it, a file only itself.
 * @throws {UserError} If a run or task that wrote what is named did not finish.
 */
export function findListedOutputs(paths: readonly string[], search: OutputSearch = {}): FoundOutputs {
  const places = new Places();
  const scope = findScope(paths, places, search);
  const { isRead } = search;
  const folders = [...scope.writtenFolders].flatMap(([place, folder]) =>
    // An unfinished run may have left only its work folder.
    readFolder(place, folder, scope.folders.has(place) ? requireFinished : readManifests, isRead)
  );
  const outputs = [...[...scope.besides].flatMap(readBeside), ...folders.flatMap(({ outputs }) => outputs)];
  const listed = new Map(outputs.map((output) => [places.of(output.path), output]));
  const written = new Set(folders.map(({ place }) => place));
  const filesOf = Map.groupBy(scope.dataFiles.keys(), (place) => nearestFolder(written, place));
  const strangers = folders.flatMap((folder) => {
    const files = filesOf.get(folder.place) ?? [];
    const data = folder.outputs.filter(({ path }) => isData(path));
    const isNamed = files.length > 0 || data.some(({ path }) => isWithin(scope.folders, places.of(path)));
    // A folder of another stage, such as a run of `train`, may hold data that were put there later.
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

function findScope(paths: readonly string[], places: Places, search: OutputSearch): Scope {
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
    const found = findFiles(path, { extensions: [...DATA, ".json"], ...search });
    const isFolder = exists(path) && Deno.statSync(path).isDirectory;
    if (isFolder) {
      scope.folders.add(realPath(path));
      addWritten(path);
      addWritten(dirname(realPath(path)));
    }
    for (const file of found.values()) {
      if (isFolder && isData(file)) scope.dataFiles.set(places.of(file), file);
      else if (isFolder && file.endsWith(BESIDE)) scope.besides.add(file);
      else if (isFolder && basename(file).startsWith("manifest")) addWritten(dirname(file));
      if (isFolder) continue;
      scope.files.add(places.of(file));
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
  const manifests = unlessForeign(() => {
    refuseHalfMoved(folder);
    return read(folder, isRead);
  }) ?? [];
  if (manifests.length === 0) return [];
  const outputs = manifests.flatMap(({ task, manifest }) =>
    listOutputs(manifest, { folder, manifestPath: join(folder, manifestName(task)) })
  );
  return [{ place, folder, manifests, outputs }];
}

/** The output that a manifest beside its file lists. @throws {UserError} If the file is not finished. */
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

/** Reads a manifest; undefined if it is another program's `manifest.json` or may not be read. */
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

/** Whether an error says that a file may not be read. */
export function isClosed(error: unknown): boolean {
  const cause = error instanceof UserError ? error.cause : error;
  return cause instanceof Deno.errors.PermissionDenied || cause instanceof Deno.errors.NotCapable;
}

function isForeign(path: string): boolean {
  try {
    const value: unknown = JSON.parse(readText(path));
    return typeof value !== "object" || value === null || !("stage" in value);
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
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

/** Whether a file is where a folder's data are: in the same subfolders, or anywhere if some data are in no subfolder. */
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
