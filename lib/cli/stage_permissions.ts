/**
 * The permissions of a stage: no more than its options ask for.
 *
 * @module
 */
import { splitArguments } from "./arguments.ts";
import { accessOf, type PathUse } from "./path_uses.ts";

/** What a stage needs beside its own code. */
export interface StageNeeds {
  /** What the paths after an option are for, by its name without `--`; "" stands for arguments without option. */
  paths?: Record<string, PathUse>;
  /** Paths of options that are not given. */
  defaults?: Record<string, () => string>;
  /** What it asks of the operating system. */
  sys?: "systemMemoryInfo"[];
  /** Whether it starts processes of this program's runtime. */
  startsProcesses?: boolean;
  /** Whether it may do what this process may do. */
  everything?: boolean;
}

/** What the threads of a stage are loaded from: with its permissions, unlike the stage itself. */
const CODE = ["../", "../../deno.json"].map((path) => new URL(path, import.meta.url));
/** Options of every stage that take no value. */
const SWITCHES = ["json", "quiet", "help", "version"];

/**
 * The permissions of a stage with its arguments. What this process may not do itself is left out.
 *
 * @param needs What the stage needs.
 * @param args The arguments after the stage's name; what is wrong with them, the stage will say.
 */
export function permissionsOf(needs: StageNeeds, args: readonly string[]): Deno.PermissionOptions {
  if (needs.everything) return "inherit";
  const { paths = {}, defaults = {}, sys = [], startsProcesses = false } = needs;
  const named = new Map<string, string[]>();
  const arityOf = (option: string) => paths[option]?.arity ?? (SWITCHES.includes(option) ? "boolean" : "one");
  for (const { option = "", values } of splitArguments(args, arityOf)) {
    if (Object.hasOwn(paths, option)) named.set(option, [...named.get(option) ?? [], ...values]);
  }
  for (const [option, path] of Object.entries(defaults)) {
    if (!named.has(option)) named.set(option, [path()]);
  }
  const accesses = [...named].map(([option, values]) => accessOf(paths[option], values));
  const isGranted = (wanted: Deno.PermissionDescriptor) =>
    Deno.permissions.querySync(wanted).state === "granted";
  const allowed = (name: "read" | "write", further: readonly URL[] = []) =>
    [...new Set([...accesses.flatMap((access) => access[name]), ...further])]
      .filter((path) => isGranted({ name, path }));
  const programs = startsProcesses ? [Deno.execPath()] : [];
  return {
    read: allowed("read", CODE),
    write: allowed("write"),
    run: programs.filter((command) => isGranted({ name: "run", command })),
    sys: sys.filter((kind) => isGranted({ name: "sys", kind })),
    net: false,
    env: false,
    ffi: false,
    import: false,
  };
}
