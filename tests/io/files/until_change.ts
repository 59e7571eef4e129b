/** Ends work at one of its changes of the file system, as kill -9 does. @module */

const CHANGES = ["rename", "remove", "mkdir", "writeTextFile", "writeFile", "copyFile", "symlink", "link"];
/** Those change something only with options to write. */
const OPENING = ["open", "create"];
const IN_FILES = ["write", "truncate"];

/**
 * Runs an action until its n-th change of the file system, synchronous or not: neither that one nor any later one takes
 * place, as if the process were killed. Reading goes on, and locks are released.
 *
 * @param intervene If given, the work goes on: this is called once, after the n-th change.
 * @returns Whether the action ended before.
 */
export async function runUntilChange(
  n: number,
  action: () => unknown,
  intervene?: () => void,
): Promise<boolean> {
  class Killed extends Error {}
  let numChanges = 0;
  const owners: [owner: object, names: string[]][] = [[Deno, [...CHANGES, ...OPENING]], [
    Deno.FsFile.prototype,
    IN_FILES,
  ]];
  const originals = owners.flatMap(([owner, names]) =>
    names.flatMap((name) => [name, `${name}Sync`]).map((name) => ({
      owner,
      name,
      original: Reflect.get(owner, name),
    }))
  );
  for (const { owner, name, original } of originals) {
    const isSync = name.endsWith("Sync");
    const changed = function (this: unknown, ...args: unknown[]): unknown {
      const options = args[1] as Deno.OpenOptions | undefined;
      const isChange = !name.startsWith("open") || options?.write || options?.append;
      // A write to open files belongs to the change that opened them.
      if (isChange && owner === Deno) numChanges++;
      if (!isChange || numChanges < n) return Reflect.apply(original, this, args);
      if (intervene) {
        const result = Reflect.apply(original, this, args);
        if (owner === Deno && numChanges === n) intervene();
        return result;
      }
      const killed = new Killed(name);
      if (isSync) throw killed;
      return Promise.reject(killed);
    };
    Object.assign(owner, { [name]: changed });
  }
  try {
    await action();
  } catch (error) {
    if (numChanges < n || intervene) throw error;
  } finally {
    for (const { owner, name, original } of originals) Object.assign(owner, { [name]: original });
  }
  return numChanges < n;
}
