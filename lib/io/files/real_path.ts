/**
 * Paths as the file system sees them, and whether an output would replace, delete or mix with the inputs of the same
 * command. The program loads this module at every start, before it loads a stage.
 *
 * @module
 */
import { UsageError } from "../../base/errors.ts";

const [SEPARATORS, ROOT] = Deno.build.os === "windows" ? [/[/\\]+/, /^([A-Za-z]:)?[/\\]/] : [/\/+/, /^\//];

/**
 * The path without links. Parts that do not exist or may not be read are kept as they are.
 *
 * @param path An absolute path, or one of the current folder.
 */
export function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch { /* the part of it that can be followed counts */ }
  const whole = absolutePath(path);
  const folder = folderOf(whole);
  if (folder === whole) return whole;
  const realFolder = realPath(folder);
  try {
    return realPath(absolutePath(Deno.readLinkSync(whole), realFolder));
  } catch {
    return `${realFolder === "/" ? "" : realFolder}/${nameOf(whole)}`;
  }
}

/** A path without `.` and `..`. @param folder The base folder of a relative path. */
export function absolutePath(path: string, folder: string = Deno.cwd()): string {
  const names: string[] = [];
  for (const name of (ROOT.test(path) ? path : `${folder}/${path}`).split(SEPARATORS)) {
    if (name === ".." && names.length > 1) names.pop();
    else if (names.length === 0 || !["", ".", ".."].includes(name)) names.push(name);
  }
  return names.length > 1 ? names.join("/") : `${names[0]}/`;
}

/** The folder of an absolute path; the root's folder is the root. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** The last name of an absolute path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Refuses an output that is an input, lies in an input folder, or has an input within it.
 *
 * Paths are compared as the file system sees them: links are followed, and two paths are equal if they name the same
 * file, whatever their spelling.
 *
 * @param output The file or folder to be written; it may not exist.
 * @param inputs Files and folders that are read; those that do not exist are ignored.
 * @throws {UsageError} If they overlap.
 */
export function refuseOverlap(output: string, inputs: readonly string[]): void {
  const ancestors = new Ancestors();
  for (const input of inputs) {
    const fault = ancestors.areSame(output, input)
      ? "it is read too"
      : ancestors.isWithin(input, output)
      ? `${input} is read and lies in it`
      : ancestors.isWithin(output, input)
      ? `it lies in ${input}, which is read`
      : undefined;
    if (fault === undefined) continue;
    throw new UsageError(
      `Cannot write to ${output}: ${fault}, expected a path apart from the inputs; choose another one`,
    );
  }
}

/** Compares paths by the files that they name, and caches the file system's answers. */
class Ancestors {
  readonly #identities = new Map<string, string>();
  readonly #realPaths = new Map<string, string>();

  areSame(a: string, b: string): boolean {
    return this.#identity(this.#realPath(a)) === this.#identity(this.#realPath(b));
  }

  isWithin(inner: string, outer: string): boolean {
    const wanted = this.#identity(this.#realPath(outer));
    for (let path = this.#realPath(inner); folderOf(path) !== path; path = folderOf(path)) {
      if (this.#identity(folderOf(path)) === wanted) return true;
    }
    return false;
  }

  #realPath(path: string): string {
    const real = this.#realPaths.get(path) ?? realPath(path);
    this.#realPaths.set(path, real);
    return real;
  }

  /** Device and inode if the system has them and they may be read, else the path. */
  #identity(path: string): string {
    const known = this.#identities.get(path);
    if (known !== undefined) return known;
    let identity = path;
    try {
      const { dev, ino } = Deno.statSync(path);
      if (ino !== null) identity = `${dev}:${ino}`;
    } catch { /* there is nothing, or it may not be read: its path must do */ }
    this.#identities.set(path, identity);
    return identity;
  }
}
