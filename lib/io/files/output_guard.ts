/**
 * Refuses an output that would replace, delete or mix with the inputs of the same command.
 *
 * @module
 */
import { UsageError } from "../../base/errors.ts";
import { folderOf, realPath } from "./real_path.ts";

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
