/** Folders that are deleted after a test. @module */
import { join } from "@std/path";
import { equals } from "@std/bytes";

/** A temporary folder that is deleted on disposal. */
export class TemporaryFolder implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "ping-llm-test-" });

  at(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

export async function withFolder(test: (folder: string) => Promise<void> | void): Promise<void> {
  using folder = new TemporaryFolder();
  await test(folder.path);
}

/** {@link withFolder} for a synchronous test. */
export function inFolder(test: (folder: string) => void): void {
  using folder = new TemporaryFolder();
  test(folder.path);
}

export function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    const copy = isDirectory ? copyFolder : Deno.copyFileSync;
    copy(join(from, name), join(to, name));
  }
}

/** The bytes of all files below a folder by path; undefined for folders. */
export type FolderState = Map<string, Uint8Array<ArrayBuffer> | undefined>;

export function stateOf(folder: string, within = "", state: FolderState = new Map()): FolderState {
  const entries = [...Deno.readDirSync(join(folder, within))].sort((a, b) => a.name < b.name ? -1 : 1);
  for (const { name, isDirectory } of entries) {
    const path = join(within, name);
    try {
      state.set(path, isDirectory ? undefined : Deno.readFileSync(join(folder, path)));
    } catch (error) {
      // A worker thread has renamed its temporary file.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    if (isDirectory) stateOf(folder, path, state);
  }
  return state;
}

export function isSameState(a: FolderState, b: FolderState | undefined): boolean {
  if (a.size !== b?.size) return false;
  return [...a].every(([path, content]) => {
    const other = b.get(path);
    return content && other ? equals(content, other) : b.has(path) && content === other;
  });
}

/** The texts of all files below a folder, and empty texts for folders. */
export function contentOf(folder: string): Record<string, string> {
  const decoder = new TextDecoder();
  return Object.fromEntries([...stateOf(folder)].map(([path, bytes]) => [path, decoder.decode(bytes)]));
}
