/** Folders that are gone after a test. @module */
import { join } from "@std/path";

/** A temporary folder that is deleted when disposed. */
export class TemporaryFolder implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "ping-llm-test-" });

  /** A path within the folder. */
  at(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

/** Runs a test with a temporary folder. */
export async function withFolder(test: (folder: string) => Promise<void> | void): Promise<void> {
  using folder = new TemporaryFolder();
  await test(folder.path);
}

/** {@link withFolder} for a test that awaits nothing. */
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

/** All files and folders below a folder with the texts of files, which are empty for folders. */
export function contentOf(folder: string, within = ""): Record<string, string> {
  const contents = [...Deno.readDirSync(join(folder, within))].map(({ name, isDirectory }) => {
    const path = join(within, name);
    if (isDirectory) return { [path]: "", ...contentOf(folder, path) };
    return { [path]: Deno.readTextFileSync(join(folder, path)) };
  });
  return Object.assign({}, ...contents);
}
