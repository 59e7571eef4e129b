/**
 * Determines which files a stage reads and writes from the paths in its options. This runs at every start of
 * the program, before a stage is loaded, so it imports no module of a stage.
 *
 * @module
 */
import { basename, dirname, globToRegExp, resolve } from "@std/path";
import { TRACE, WORK } from "../io/files/array_task.ts";
import { CHECKPOINTS, hasState, RUN_FILES, runOfCheckpoint } from "../io/files/checkpoint_folder.ts";
import { findFiles } from "../io/files/inputs.ts";
import { realPath } from "../io/files/real_path.ts";

/** Absolute paths that may be read and written, including everything below them. */
interface Access {
  read: string[];
  write: string[];
}

export interface PathUse {
  /** The name of such a path in `--help`. */
  readonly value: string;
  readonly role: "input" | "output";
  /** The access that a stage needs for these absolute paths. */
  accessTo(paths: string[]): Access;
  /**
   * Files and folders that the command reads because of these values: an output must not be, contain or lie
   * in one of them. {@link accessTo} allows more to be read.
   */
  kept?(values: readonly string[], output: string): string[];
}

/** For more files than this, their folders are allowed: each access is compared with all allowed paths. */
const MAX_NAMED = 64;
/** Levels of a folder of runs: the folder, a run, its checkpoints, one checkpoint. */
const WATCHED_LEVELS = 4;
/** Matches globs, and some texts that stages do not treat as globs. */
const PATTERN = /^!|[*?[{(]/;

/** Files, folders, globs, or `-`. */
export const inputs: PathUse = {
  value: "PATH",
  role: "input",
  accessTo: (paths) => {
    const named = paths.filter((path) => basename(path) !== "-").map((path) => ({
      path,
      root: rootOf(path),
    }));
    const places = new Set(named.map(({ root }) => named.length > MAX_NAMED ? dirname(root) : root));
    const targets = named.flatMap(({ path, root }) => linkTargets(root, levelsOf(path, root)));
    return reading([...withManifests([...places]), ...targets]);
  },
  kept: (values, output) => values.flatMap((value) => filesNamed(value, output)),
};

/** A file or folder. */
export const input: PathUse = {
  value: "FILE",
  role: "input",
  accessTo: (paths) => reading([...withManifests(paths), ...paths.flatMap((path) => linkTargets(path))]),
  kept: (values) => [...values],
};

/** A configuration: a file, or the name of a preset. A folder may have the same name as a preset. */
export const config: PathUse = {
  ...input,
  value: "NAME|FILE",
  kept: (values) => values.filter((value) => infoOf(value)?.isFile),
};

/** A run or one of its checkpoints: the whole run is read, and an adapted checkpoint's base's run. */
export const run: PathUse = {
  value: "DIR",
  role: "input",
  accessTo: (paths) => {
    const runs = runsOf(paths);
    return reading([...runs, ...runs.flatMap((path) => linkTargets(path))]);
  },
  // Outputs may lie next to the files of a run, and a run may be continued.
  kept: (values, output) =>
    runsOf(values.map((value) => resolve(value)))
      .filter((path) => realPath(path) !== realPath(output))
      .flatMap((path) => namesIn(path).map((name) => `${path}/${name}`)),
};

/** Like {@link run}, plus the evaluations next to the run, where `demo` writes them. */
export const runWithEvaluation: PathUse = {
  ...run,
  accessTo: (paths) => {
    const { read } = run.accessTo(paths);
    return reading([...read, ...read.map((path) => `${dirname(path)}/eval`)]);
  },
};

/** Probe rows, and the true distributions of the measurements that they were made from. */
export const rowsWithTruth: PathUse = rowsWith(({ shards, measurements }) => [
  ...shards,
  ...measurements.map((path) => withEnding(path, ".truth.json")).filter(exists),
]);

/** Probe rows, and the manifests of the stages before them, which describe the measurements. */
export const rowsWithOrigin: PathUse = rowsWith(({ shards, measurements }) => [
  ...shards.flatMap((folder) => tracesIn(folder).map((name) => `${folder}/${name}`)),
  ...measurements.map((path) => `${path}.manifest.json`).filter(exists),
]);

function rowsWith(further: (sources: Sources) => string[]): PathUse {
  return {
    ...input,
    value: "DIR",
    accessTo: (paths) => {
      const { read } = input.accessTo(paths);
      return reading([...read, ...paths.flatMap((path) => further(sourcesOf(path)))]);
    },
  };
}

/** Runs and outputs, or folders of them, whose manifests are read. */
export const watched: PathUse = {
  value: "PATH",
  role: "input",
  accessTo: (paths) => {
    const places = withReal(paths).flatMap((path) => {
      if (infoOf(path)?.isDirectory) return [path, ...linkTargets(path, WATCHED_LEVELS)];
      return TRACE.test(basename(path))
        ? [dirname(path)]
        : writtenWith(path.replace(/\.manifest\.json$/, ""));
    });
    return reading(places);
  },
};

export const outputFolder: PathUse = {
  value: "DIR",
  role: "output",
  accessTo: (paths) => ({ read: paths, write: paths }),
};

/**
 * A file to write. It is made in `.NAME.work/` in the same folder.
 *
 * @param besides Endings that replace its extension, such as `.truth.json`, for further files next to it.
 */
export function outputFile(...besides: string[]): PathUse {
  const written = (path: string) => [
    path,
    `${path}.manifest.json`,
    `${dirname(path)}/.${basename(path)}.work`,
    ...besides.map((ending) => withEnding(path, ending)),
  ];
  return {
    value: "FILE",
    role: "output",
    accessTo: (paths) => {
      const places = withReal(paths);
      return { read: places.map(dirname), write: places.flatMap(written) };
    },
  };
}

/** The access that a stage needs for one option. @param use How it uses the values. */
export function accessOf(use: PathUse, values: readonly string[]): Access {
  const { read, write } = use.accessTo(
    values.filter((value) => value !== "").map((value) => resolve(value)),
  );
  return { read: withReal(read), write: withReal(write) };
}

/**
 * The files and folders that an input names. A glob that searches all levels of a folder names that folder;
 * any other glob names the files that it matches, and the output if it matches that.
 */
function filesNamed(value: string, output: string): string[] {
  if (value === "-") return [];
  const path = resolve(value);
  const root = rootOf(path);
  if (levelsOf(path, root) === Infinity) return [root];
  const isMatch = globToRegExp(path, { globstar: true }).test(resolve(output));
  return [...findFiles(path, { extensions: [] }).values(), ...isMatch ? [output] : []];
}

/** The runs of these paths: checkpoints, runs, or adapted checkpoints, whose bases count too. */
function runsOf(paths: string[]): string[] {
  return withReal([...paths, ...paths.flatMap(basesOf)]).map((path) => runOfCheckpoint(path) ?? path);
}

/** The names of a run's own files, whether they exist or not, or those of a checkpoint outside of a run. */
function namesIn(run: string): string[] {
  if (exists(`${run}/${CHECKPOINTS}`)) return [CHECKPOINTS, WORK, ...Object.values(RUN_FILES)];
  return entriesOf(run).filter(({ isDirectory }) => !isDirectory).map(({ name }) => name);
}

function reading(read: string[]): Access {
  return { read, write: [] };
}

/** Inputs with their manifests. If an input is in the output folder of a stage, also that folder. */
function withManifests(paths: string[]): string[] {
  const parents = new Set(paths.map(dirname).flatMap((folder) => [folder, dirname(folder)]));
  const written = [...parents].filter((folder) => tracesIn(folder).length > 0);
  return [...paths.flatMap((path) => [path, `${path}.manifest.json`]), ...written];
}

/**
 * The targets of links in a folder, and of links in these targets: permissions are for real paths.
 *
 * @param levels How many levels of folders to search.
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

/** Lists a folder; empty if it cannot be read, which the stage will report. */
function entriesOf(folder: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)];
  } catch {
    return [];
  }
}

/** The inputs that probe rows were made from, directly or through shards. */
interface Sources {
  shards: string[];
  measurements: string[];
}

function sourcesOf(folder: string): Sources {
  const inputs = inputsOf(folder);
  const parents = [...new Set(inputs.map((path) => dirname(dirname(path))))];
  const shards = parents.filter((parent) => tracesIn(parent).length > 0);
  return { shards, measurements: [...new Set([...inputs, ...shards.flatMap(inputsOf)])] };
}

function inputsOf(folder: string): string[] {
  return inManifests(folder, ({ inputs }) => inputs.map(({ path }) => resolve(path)));
}

/** The base of the adapted checkpoint in a folder. A forged base that is not a checkpoint is not allowed. */
function basesOf(folder: string): string[] {
  return inManifests(folder, ({ stage, options: { base } }) => {
    if (stage !== "adapt" || typeof base !== "string") return [];
    return hasState(base) ? [resolve(base)] : [];
  });
}

/** An output file, its manifests and work folder, and the other outputs of the same stage. */
function writtenWith(file: string): string[] {
  const folder = dirname(file);
  const beside = `${file}.manifest.json`;
  const work = `${folder}/.${basename(file)}.work`;
  const listed = [beside, `${work}/manifest.json`].flatMap((path) =>
    inManifest(path, ({ outputs }) => outputs.map(({ path }) => resolve(folder, path)))
  );
  return [file, beside, work, ...listed];
}

function inManifests(folder: string, read: (manifest: WrittenManifest) => string[]): string[] {
  return tracesIn(folder).flatMap((name) => inManifest(`${folder}/${name}`, read));
}

function inManifest(path: string, read: (manifest: WrittenManifest) => string[]): string[] {
  try {
    // A pipe would block the thread that takes signals.
    if (!infoOf(path)?.isFile) return [];
    return read(JSON.parse(Deno.readTextFileSync(path)) as WrittenManifest);
  } catch {
    // The stage will report what is wrong with it.
    return [];
  }
}

interface WrittenManifest {
  stage: string;
  inputs: { path: string }[];
  outputs: { path: string }[];
  options: Record<string, unknown>;
}

function tracesIn(folder: string): string[] {
  return entriesOf(folder).map(({ name }) => name).filter((name) => TRACE.test(name));
}

/** How many levels of folders a glob searches; Infinity for a file or folder. */
function levelsOf(path: string, root: string): number {
  return root === path || path.includes("**") ? Infinity : path.slice(root.length + 1).split("/").length;
}

/** The folder that a glob searches; the path itself if it is not a glob. */
function rootOf(path: string): string {
  if (exists(path)) return path;
  let root = path;
  while (PATTERN.test(root)) root = dirname(root);
  return root;
}

function exists(path: string): boolean {
  return infoOf(path) !== undefined;
}

function infoOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}

function withReal(paths: string[]): string[] {
  return [...new Set(paths.flatMap((path) => [path, realPath(path)]))];
}

function withEnding(path: string, ending: string): string {
  return path.replace(/(\.[^./]+)?$/, ending);
}
