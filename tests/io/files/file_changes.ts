/** The changes that an action makes to the file system. @module */

const CHANGES = ["rename", "remove", "mkdir", "writeTextFile", "writeFile", "copyFile", "symlink", "link"];
/** These only change something with options for writing. */
const OPENING = ["open", "create"];

/**
 * Runs an action.
 *
 * @param after Called after each of its changes, synchronous or not, with the change's number from 1: after
 *   opening a file for writing, not after each write to it. Changes in other threads do not count.
 */
export async function watchChanges(action: () => unknown, after: (change: number) => void): Promise<void> {
  let numChanges = 0;
  let isCalling = false;
  const call = () => {
    isCalling = true;
    after(++numChanges);
    isCalling = false;
  };
  const names = [...CHANGES, ...OPENING].flatMap((name) => [name, `${name}Sync`]);
  const originals = Object.fromEntries(names.map((name) => [name, Reflect.get(Deno, name)]));
  for (const name of names) {
    const watched = (...args: unknown[]): unknown => {
      const options = args[1] as Deno.OpenOptions | undefined;
      const isChange = !name.startsWith("open") || options?.write || options?.append;
      const result = Reflect.apply(originals[name], Deno, args);
      if (!isChange || isCalling) return result;
      if (result instanceof Promise) return result.finally(call);
      call();
      return result;
    };
    Object.assign(Deno, { [name]: watched });
  }
  try {
    await action();
  } finally {
    Object.assign(Deno, originals);
  }
}
