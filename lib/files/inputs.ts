/**
 * Input arguments (files, directories, globs) turned into a sorted list of files.
 *
 * @module
 */
import { dirname, globToRegExp, isGlob, join, normalize } from "@std/path";
import { explainFileError, UserError } from "../errors.ts";

/** What an input file was when a stage read it; kept in manifests to tell a rerun from another run. */
export interface InputFingerprint {
  /** The path as given. */
  path: string;
  /** Size in bytes. */
  sizeBytes: number;
  /** Time of last change, milliseconds since 1970. */
  mtimeMs: number;
}

/**
 * Lists the files that the arguments name, sorted, each once.
 *
 * @param paths Files, directories (searched recursively) and globs.
 * @param options `extensions`: which files of a directory count, such as `[".parquet"]`; a file named
 *   by itself always counts. `wanted`: what the error message asks for, such as `a Parquet file`.
 * @throws {UserError} If a path does not exist or a directory or glob has no such file.
 */
export function listInputs(
  paths: readonly string[],
  options: { extensions: string[]; wanted: string },
): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    const files = isGlob(path) && !exists(path) ? listGlob(path) : listPath(path, options.extensions);
    if (files.length === 0) {
      throw new UserError(
        `Cannot read ${path}: no ${
          options.extensions.join(" or ")
        } file in it, ${options.wanted} was wanted; check the path`,
      );
    }
    for (const file of files) found.add(file);
  }
  return [...found].sort();
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

/** The text of a file. @throws {UserError} If it cannot be read. */
export function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

/** Whether the path exists. */
export function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw explainFileError(error, `read ${path}`);
  }
}

function listPath(path: string, extensions: string[]): string[] {
  try {
    if (!Deno.statSync(path).isDirectory) return [path];
    return walk(path).filter((file) => extensions.some((extension) => file.endsWith(extension)));
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

function listGlob(glob: string): string[] {
  let root = normalize(glob);
  while (isGlob(root)) root = dirname(root);
  if (!exists(root)) return [];
  const pattern = globToRegExp(normalize(glob), { globstar: true });
  return walk(root).filter((file) => pattern.test(normalize(file)));
}

function walk(folder: string): string[] {
  const files: string[] = [];
  for (const entry of Deno.readDirSync(folder)) {
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory) files.push(...walk(path));
    else if (entry.isFile || entry.isSymlink) files.push(path);
  }
  return files;
}
