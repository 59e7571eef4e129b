/**
 * What a stage reads and writes on behalf of the paths that its options name.
 *
 * This runs at every start of the program, before a stage is loaded, so it does without the modules that stages use.
 *
 * @module
 */
import { TRACE } from "../files/array_task.ts";
import { absolutePath, folderOf, nameOf, realPath } from "../files/real_path.ts";
import type { Arity } from "./arguments.ts";

/** Absolute paths that may be read and written, with all that lies below them. */
export interface Access {
  read: string[];
  write: string[];
}

/** What the values of an option stand for. */
export interface PathUse {
  readonly arity: Exclude<Arity, "boolean">;
  /** An output may not be, hold or lie in an input of the same command. */
  readonly role: "input" | "output" | "other";
  /** What a stage needs for the sake of these paths, which are absolute. */
  accessTo(paths: string[]): Access;
}

/** Of more files than this their folders are allowed: each access is compared with all that is. */
const MAX_NAMED = 64;
/** A folder of runs, a run, its checkpoints, one of them. */
const WATCHED_LEVELS = 4;
/** What a glob has in it, or begins with; a little more than the stages take for one. */
const PATTERN = /^!|[*?[{(]/;

/** Files, folders, globs, or `-`. */
export const inputs: PathUse = {
  arity: "many",
  role: "input",
  accessTo: (paths) => {
    const named = paths.filter((path) => nameOf(path) !== "-").map((path) => ({ path, root: rootOf(path) }));
    const places = new Set(named.map(({ root }) => named.length > MAX_NAMED ? folderOf(root) : root));
    const targets = named.flatMap(({ path, root }) => linkTargets(root, levelsOf(path, root)));
    return reading([...withManifests([...places]), ...targets]);
  },
};

/** A file or folder. */
export const input: PathUse = {
  arity: "one",
  role: "input",
  accessTo: (paths) => reading([...withManifests(paths), ...paths.flatMap((path) => linkTargets(path))]),
};

/** A configuration: a file, or the name of one of ours, which may also be that of some folder. */
export const config: PathUse = { ...input, role: "other" };

/** A run or one of its checkpoints: the whole run; of an adapted checkpoint also that of its base. */
export const run: PathUse = {
  arity: "one",
  // Much is written beside checkpoints.
  role: "other",
  accessTo: (paths) => {
    const runs = withReal([...paths, ...paths.flatMap(basesOf)]).map((path) => {
      const folder = folderOf(path);
      return nameOf(folder) === "checkpoints" ? folderOf(folder) : path;
    });
    return reading([...runs, ...runs.flatMap((path) => linkTargets(path))]);
  },
};

/** Probe rows, and what tells of the measurements that they were made of. */
export const rowsWithTruth: PathUse = {
  arity: "one",
  role: "input",
  accessTo: (paths) => {
    const { read } = input.accessTo(paths);
    return reading([...read, ...paths.flatMap(originsOf)]);
  },
};

/** Runs and outputs, or folders of these, whose manifests are read. */
export const watched: PathUse = {
  arity: "many",
  role: "other",
  accessTo: (paths) => {
    const places = withReal(paths).flatMap((path) => {
      if (isFolder(path)) return [path, ...linkTargets(path, WATCHED_LEVELS)];
      return TRACE.test(nameOf(path)) ? [folderOf(path)] : writtenWith(path.replace(/\.manifest\.json$/, ""));
    });
    return reading(places);
  },
};

/** A folder to write. */
export const outputFolder: PathUse = {
  arity: "one",
  role: "output",
  accessTo: (paths) => ({ read: paths, write: paths }),
};

/**
 * A file to write, which is made in `.NAME.work/` beside it.
 *
 * @param besides How further files beside it end where it has its extension, such as `.truth.json`.
 */
export function outputFile(...besides: string[]): PathUse {
  const written = (path: string) => [
    path,
    `${path}.manifest.json`,
    `${folderOf(path)}/.${nameOf(path)}.work`,
    ...besides.map((ending) => withEnding(path, ending)),
  ];
  return {
    arity: "one",
    role: "output",
    accessTo: (paths) => {
      const places = withReal(paths);
      return { read: places.map(folderOf), write: places.flatMap(written) };
    },
  };
}

/**
 * What a stage needs for the sake of one option.
 *
 * @param use What its values stand for.
 * @param values Its values.
 */
export function accessOf(use: PathUse, values: readonly string[]): Access {
  const { read, write } = use.accessTo(
    values.filter((value) => value !== "").map((value) => absolutePath(value)),
  );
  return { read: withReal(read), write: withReal(write) };
}

/**
 * The folder or file that an input names; of a glob the folder that it is searched in, if with all folders below.
 *
 * @returns Undefined for standard input, and for other globs: their files are known when they are listed.
 */
export function namedInput(value: string): string | undefined {
  const path = absolutePath(value);
  const root = rootOf(path);
  return value === "-" || levelsOf(path, root) < Infinity ? undefined : root;
}

function reading(read: string[]): Access {
  return { read, write: [] };
}

/** Inputs with their manifests; of what lies in the output folder of a stage, that folder. */
function withManifests(paths: string[]): string[] {
  const parents = new Set(paths.map(folderOf).flatMap((folder) => [folder, folderOf(folder)]));
  const written = [...parents].filter((folder) => tracesIn(folder).length > 0);
  return [...paths.flatMap((path) => [path, `${path}.manifest.json`]), ...written];
}

/**
 * Where the links in a folder lead to, and those in the folders there: permissions are of places, not of names.
 *
 * @param levels How many levels of folders are looked through.
 */
function linkTargets(folder: string, levels = Infinity, seen: Set<string> = new Set()): string[] {
  if (levels < 1) return [];
  return entriesOf(folder).filter(({ name }) => !name.startsWith(".")).flatMap(
    ({ name, isDirectory, isSymlink }) => {
      const path = `${folder}/${name}`;
      if (!isSymlink) return isDirectory ? linkTargets(path, levels - 1, seen) : [];
      const target = realPath(path);
      if (seen.has(target)) return [];
      seen.add(target);
      return [target, ...linkTargets(target, levels - 1, seen)];
    },
  );
}

/** Nothing of what is no folder, or cannot be read: the stage will say so. */
function entriesOf(folder: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)];
  } catch {
    return [];
  }
}

/** The truth of a synthetic Internet beside the measurements that rows were made of, perhaps by way of shards. */
function originsOf(folder: string): string[] {
  const origins = inputsOf(folder);
  const parents = new Set(origins.map((path) => folderOf(folderOf(path))));
  const shards = [...parents].filter((parent) => tracesIn(parent).length > 0);
  const truths = [...origins, ...shards.flatMap(inputsOf)].map((path) => withEnding(path, ".truth.json"));
  return [...shards, ...truths.filter(exists)];
}

/** The paths of what the stage that wrote a folder read. */
function inputsOf(folder: string): string[] {
  return inManifests(folder, ({ inputs }) => inputs.map(({ path }) => absolutePath(path)));
}

/** The checkpoint that the one in a folder was adapted from. */
function basesOf(folder: string): string[] {
  return inManifests(folder, ({ stage, options: { base } }) => {
    return stage === "adapt" && typeof base === "string" ? [absolutePath(base)] : [];
  });
}

/** An output file, its manifests and work folder, and what the same stage wrote beside it. */
function writtenWith(file: string): string[] {
  const folder = folderOf(file);
  const [beside, work] = [`${file}.manifest.json`, `${folder}/.${nameOf(file)}.work`];
  const listed = [beside, `${work}/manifest.json`].flatMap((path) =>
    inManifest(path, ({ outputs }) => outputs.map(({ path }) => absolutePath(path, folder)))
  );
  return [file, beside, work, ...listed];
}

/** What the manifests of a folder say. */
function inManifests(folder: string, read: (manifest: WrittenManifest) => string[]): string[] {
  return tracesIn(folder).flatMap((name) => inManifest(`${folder}/${name}`, read));
}

/** What a manifest says, if there is one. */
function inManifest(path: string, read: (manifest: WrittenManifest) => string[]): string[] {
  try {
    return read(JSON.parse(Deno.readTextFileSync(path)) as WrittenManifest);
  } catch {
    // The stage will say what is wrong with it.
    return [];
  }
}

/** What is used of manifests. */
interface WrittenManifest {
  stage: string;
  inputs: { path: string }[];
  outputs: { path: string }[];
  options: Record<string, unknown>;
}

function tracesIn(folder: string): string[] {
  return entriesOf(folder).map(({ name }) => name).filter((name) => TRACE.test(name));
}

/** Of a glob how many levels of folders it is searched in, of a file or folder all there are. */
function levelsOf(path: string, root: string): number {
  return root === path || path.includes("**") ? Infinity : path.slice(root.length + 1).split("/").length;
}

/** Of a glob the folder that it is searched in. */
function rootOf(path: string): string {
  let root = path;
  if (!exists(path)) { while (PATTERN.test(root)) root = folderOf(root); }
  return root;
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path) !== undefined;
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

function withReal(paths: string[]): string[] {
  return [...new Set(paths.flatMap((path) => [path, realPath(path)]))];
}

function withEnding(path: string, ending: string): string {
  return path.replace(/(\.[^./]+)?$/, ending);
}
