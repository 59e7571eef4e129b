/**
 * Input arguments (files, directories, globs) turned into a sorted list of files.
 *
 * @module
 */
import { dirname, globToRegExp, isGlob, join, normalize } from "@std/path";
import { isObject } from "../../base/collections.ts";
import { FormatError, UserError } from "../../base/errors.ts";
import { readRegularText, requireRegular } from "./byte_file.ts";
import { explainFileError, isNameTooLong } from "./file_errors.ts";

/** An input file's state when a stage read it; kept in manifests to tell a rerun from another run. */
export interface InputFingerprint {
  /** The path as given. */
  path: string;
  sizeBytes: number;
  /** Time of last change, milliseconds since 1970. */
  mtimeMs: number;
}

/** Whether a file or folder counts, by its path as given; others are ignored. */
export type IsRead = (path: string) => boolean;

/** Called with a line for the user, such as `following data/a -> /store/b`. */
export type OnLink = (line: string) => void;

/** The files of folders that count, and who hears of others. */
export interface FileChoice {
  /** Such as `[".parquet"]`; a file named by itself counts with any. */
  extensions: readonly string[];
  /** The name of a file whose extension counts, by its path; its own by default. */
  nameOf?: (path: string) => string;
  isRead?: IsRead | undefined;
  /** Which files do not count in spite of their extension. */
  isLeftOut?: IsRead | undefined;
  /** Called with the links that are followed. */
  onLink?: OnLink | undefined;
  /** Called with the files that do not count because of their extension. */
  onOther?: OnLink | undefined;
}

/**
 * Lists the files that the arguments name, sorted, each once.
 *
 * @param paths Files, directories (searched recursively, as the links in them are) and globs.
 * @param choice `wanted`: what the error says is expected, such as `a Parquet file`. With `isRead` a directory may have none.
 * @throws {UserError} If a path does not exist, is neither a file nor a directory, or a directory or glob has no
 *   such file.
 */
export function listInputs(paths: readonly string[], choice: FileChoice & { wanted: string }): string[] {
  const found = new Map<string, string>();
  for (const path of paths) {
    const files = findFiles(path, choice);
    if (files.size === 0 && !choice.isRead) {
      throw new UserError(
        `Cannot read ${path}: no ${
          listed(choice.extensions)
        } file in it, expected ${choice.wanted}; check the path`,
      );
    }
    for (const [real, file] of files) if (!found.has(real)) found.set(real, file);
  }
  return [...found.values()].sort();
}

/** Extensions for people, without those of compressed files. */
function listed(extensions: readonly string[]): string {
  return extensions.filter((extension) => !/\.(?:gz|bz2|zst)$/.test(extension)).join(" or ");
}

/**
 * Finds the files that one argument names. Hidden names are left out.
 *
 * @returns The paths of the files, as the argument gives them, by their places without links.
 * @throws {UserError} If it does not exist or is neither a file nor a directory, or a link leads nowhere.
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
  try {
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
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

/** Reads the fingerprint of a file. @throws {UserError} If it does not exist. */
export function fingerprint(path: string): InputFingerprint {
  try {
    const info = Deno.statSync(path);
    return { path, sizeBytes: info.size, mtimeMs: info.mtime?.getTime() ?? 0 };
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

/**
 * The text of a file.
 *
 * @param options `mayBePipe`: also reads what another program writes, such as `<(pass show key)`; only for files that
 *   a user names and that are read once.
 * @throws {UserError} If it cannot be read or is not a regular file.
 */
export function readText(path: string, { mayBePipe = false }: { mayBePipe?: boolean } = {}): string {
  try {
    return mayBePipe ? Deno.readTextFileSync(path) : readRegularText(path);
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

/**
 * The object in a JSON file.
 *
 * @param wanted The expected content, for errors, such as `a run configuration`.
 * @throws {FormatError} If it is not a JSON object. @throws {UserError} If it cannot be read.
 */
export function readJsonObject(path: string, wanted: string): Record<string, unknown> {
  const text = readText(path);
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch (cause) {
    throw new FormatError(`it is not JSON, expected ${wanted}`, { path, cause });
  }
  throw new FormatError(`it is not a JSON object, expected ${wanted}`, { path });
}

/** Whether the path exists. */
export function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw explainFileError(error, `read ${path}`);
  }
}

/** Whether an error says that there is no such file: no file has a name that is too long. */
export function isMissing(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    isNameTooLong(error);
}

function findMatches(glob: string, onLink: OnLink): Map<string, string> {
  const whole = normalize(glob);
  let root = whole;
  while (isGlob(root)) root = dirname(root);
  if (!exists(root)) return new Map();
  const matches = (pattern: string, path: string) =>
    globToRegExp(pattern, { globstar: true }).test(normalize(path));
  const segments = whole.split("/");
  // A globstar or an alternative may stand for several folders.
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

/** Walks a folder, and the folders that links in it lead to, each once. */
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
  // Links come last, so that what lies in the folder itself keeps its own path.
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

/** The target of a link, if it counts. @throws {UserError} If it leads nowhere. */
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
