/**
 * Expands input arguments (files, directories, globs) to a sorted list of files.
 *
 * @module
 */
import { dirname, globToRegExp, isGlob, join, normalize } from "@std/path";
import { isObject, parseJson } from "../../base/collections.ts";
import { FormatError, UserError } from "../../base/errors.ts";
import { readRegularText, requireRegular } from "./byte_file.ts";
import { explained, unlessMissing } from "./file_errors.ts";

/** The state of an input file when a stage read it. Manifests store it to detect reruns. */
export interface InputFingerprint {
  /** The path as given. */
  path: string;
  sizeBytes: number;
  /** Last modification, milliseconds since 1970. */
  mtimeMs: number;
}

/** Whether a file or folder counts, by its path as given. Others are ignored. */
export type IsRead = (path: string) => boolean;

/** Called with a line for the user, such as `following data/a -> /store/b`. */
export type OnLink = (line: string) => void;

/** Which files of folders to select, and callbacks for the others. */
interface FileChoice {
  /** For example `[".parquet"]`. A file given as an argument may have any extension. */
  extensions: readonly string[];
  /** Maps a path to the name whose extension counts; the file's own name by default. */
  nameOf?: (path: string) => string;
  isRead?: IsRead | undefined;
  /** Files to leave out despite their extensions. */
  isLeftOut?: IsRead | undefined;
  onLink?: OnLink | undefined;
  /** Called for each file left out because of its extension. */
  onOther?: OnLink | undefined;
}

/**
 * Lists the files that the arguments select, sorted, each once.
 *
 * @param paths Files, globs, and directories. Directories are searched recursively, including through links.
 * @param choice `wanted`: what errors say is expected, such as `a Parquet file`. With `isRead` a directory
 *   may contain no file.
 * @throws {UserError} If a path does not exist, is neither a file nor a directory, or a directory or glob
 *   contains no such file.
 */
export function listInputs(paths: readonly string[], choice: FileChoice & { wanted: string }): string[] {
  const found = new Map<string, string>();
  for (const path of paths) {
    const files = findFiles(path, choice);
    if (files.size === 0 && !choice.isRead) {
      throw new UserError(
        `Cannot read ${path}: it contains no ${
          listed(choice.extensions)
        } file, expected ${choice.wanted}; check the path`,
      );
    }
    for (const [real, file] of files) if (!found.has(real)) found.set(real, file);
  }
  return [...found.values()].sort();
}

/** Lists extensions for messages, without those of compressed files. */
function listed(extensions: readonly string[]): string {
  return extensions.filter((extension) => !/\.(?:gz|bz2|zst)$/.test(extension)).join(" or ");
}

/**
 * Finds the files that one argument selects. Hidden names are left out.
 *
 * @returns The paths of the files, as the argument states them, by real path.
 * @throws {UserError} If it does not exist or is neither a file nor a directory, or if a link is dangling.
 */
export function findFiles(
  path: string,
  {
    extensions,
    nameOf = (name) => name,
    isRead = () => true,
    isLeftOut = () => false,
    onLink = () => {},
    onOther = () => {},
  }: FileChoice,
): Map<string, string> {
  return explained(`read ${path}`, () => {
    if (isGlob(path) && !exists(path)) return findMatches(path, onLink);
    const info = Deno.statSync(path);
    if (info.isDirectory) {
      const isWanted = (file: string) => {
        if (!isRead(file) || isLeftOut(file)) return false;
        const hasExtension = extensions.some((extension) => nameOf(file).endsWith(extension));
        if (!hasExtension) onOther(file);
        return hasExtension;
      };
      return walk(path, { isWanted, mayEnter: isRead, onLink });
    }
    requireRegular(info, `read ${path}`);
    return new Map([[Deno.realPathSync(path), path]]);
  });
}

/** @throws {UserError} If the file does not exist. */
export function fingerprint(path: string): InputFingerprint {
  const { size, mtime } = explained(`read ${path}`, () => Deno.statSync(path));
  return { path, sizeBytes: size, mtimeMs: mtime?.getTime() ?? 0 };
}

/**
 * Reads the text of a file.
 *
 * @param options `mayBePipe`: also reads the output of another program, such as `<(pass show key)`; only for
 *   files that a user names and that are read once.
 * @throws {UserError} If it cannot be read or is not a regular file.
 */
export function readText(path: string, { mayBePipe = false }: { mayBePipe?: boolean } = {}): string {
  return explained(`read ${path}`, () => mayBePipe ? Deno.readTextFileSync(path) : readRegularText(path));
}

/**
 * @param wanted The expected content, for errors, such as `a run configuration`.
 * @throws {FormatError} If the file is not a JSON object. @throws {UserError} If it cannot be read.
 */
export function readJsonObject(path: string, wanted: string): Record<string, unknown> {
  const value = parseJson(readText(path));
  if (isObject(value)) return value;
  throw new FormatError(`it is not ${value === undefined ? "JSON" : "a JSON object"}, expected ${wanted}`, {
    path,
  });
}

export function exists(path: string): boolean {
  return infoOf(path) !== undefined;
}

/** Describes the file or folder at a path, or a link's target; undefined if it is missing. @throws {UserError} */
export function infoOf(path: string): Deno.FileInfo | undefined {
  return explained(`read ${path}`, () => unlessMissing(() => Deno.statSync(path)));
}

function findMatches(glob: string, onLink: OnLink): Map<string, string> {
  const whole = normalize(glob);
  let root = whole;
  while (isGlob(root)) root = dirname(root);
  if (!exists(root)) return new Map();
  const matches = (pattern: string, path: string) =>
    globToRegExp(pattern, { globstar: true }).test(normalize(path));
  const segments = whole.split("/");
  // A globstar or an alternative may match several folders.
  const hasFixedDepth = !/\*\*|[({]/.test(whole);
  const mayEnter = (folder: string) => {
    const depth = normalize(folder).split("/").length;
    return !hasFixedDepth || depth < segments.length && matches(segments.slice(0, depth).join("/"), folder);
  };
  return walk(root, { isWanted: (path) => matches(whole, path), mayEnter, onLink });
}

interface WalkOptions {
  isWanted: (path: string) => boolean;
  mayEnter: (folder: string) => boolean;
  onLink: OnLink;
}

/** Traverses a folder and the folders that its links lead to, each once. */
function walk(root: string, options: WalkOptions): Map<string, string> {
  const { isWanted, mayEnter, onLink } = options;
  const files = new Map<string, string>();
  const entered = new Set<string>();
  const fileLinks: string[] = [];
  let links: string[] = [];
  const enter = (folder: string, real: string): void => {
    entered.add(real);
    for (const entry of Deno.readDirSync(folder)) {
      if (entry.name.startsWith(".")) continue;
      const [path, realPath] = [join(folder, entry.name), join(real, entry.name)];
      if (entry.isSymlink) links.push(path);
      else if (entry.isDirectory) {
        if (mayEnter(path) && !entered.has(realPath)) enter(path, realPath);
      } else if (isWanted(path)) {
        if (!entry.isFile) requireRegular(Deno.statSync(path), `read ${path}`);
        files.set(realPath, path);
      }
    }
  };
  enter(root, Deno.realPathSync(root));
  // Links come last, so that files in the folder itself keep their own paths.
  while (links.length > 0) {
    const next = links.sort();
    links = [];
    for (const link of next) {
      const target = targetOf(link, options);
      if (!target) continue;
      const { real, isDirectory } = target;
      if (entered.has(real) || files.has(real)) {
        onLink(`leaving out ${link} -> ${real}, which was already read`);
      } else if (isDirectory) {
        onLink(`following ${link} -> ${real}`);
        enter(link, real);
      } else {
        fileLinks.push(`${link} -> ${real}`);
        files.set(real, link);
      }
    }
  }
  const others = fileLinks.length > 1 ? ` and ${fileLinks.length - 1} more links to files` : "";
  if (fileLinks.length > 0) onLink(`following ${fileLinks[0]}${others}`);
  return files;
}

/** The target of a link, if it counts. @throws {UserError} If the link is dangling. */
function targetOf(
  link: string,
  { isWanted, mayEnter }: WalkOptions,
): { real: string; isDirectory: boolean } | undefined {
  if (!isWanted(link) && !mayEnter(link)) return undefined;
  let info: Deno.FileInfo;
  try {
    info = Deno.statSync(link);
  } catch (cause) {
    const { NotFound, NotADirectory, FilesystemLoop } = Deno.errors;
    if (![NotFound, NotADirectory, FilesystemLoop].some((kind) => cause instanceof kind)) throw cause;
    throw new UserError(
      `Cannot read ${link}: it is a link to ${
        Deno.readLinkSync(link)
      }, which does not exist, expected a file ` +
        "or folder; mount or copy that, or delete the link",
      { cause },
    );
  }
  const { isDirectory } = info;
  if (isDirectory ? !mayEnter(link) : !isWanted(link)) return undefined;
  if (!isDirectory) requireRegular(info, `read ${link}`);
  return { real: Deno.realPathSync(link), isDirectory };
}
