/**
 * The permissions of a stage: no more than its options ask for.
 *
 * @module
 */
import { refuseOverlap } from "../io/files/output_guard.ts";
import { urlHost } from "../base/text.ts";
import { splitArguments } from "./flags.ts";
import { accessOf, namedInput, type PathUse } from "./path_uses.ts";

/** What a stage needs besides its own code. */
export interface StageNeeds {
  /** How the paths of an option are used, by its name without `--`; "" for arguments without option. */
  paths?: Record<string, PathUse>;
  /** Paths of options that are not given. */
  defaults?: Record<string, () => string>;
  /** What it always reads. */
  reads?: () => (string | URL)[];
  /** What it asks the operating system for. */
  sys?: "systemMemoryInfo"[];
  /** Whether it starts processes of Deno. */
  startsProcesses?: boolean;
  /** Variables of the environment that show whether an MPI launcher started it. */
  launchVariables?: readonly string[];
  /** Names of other programs that it starts. */
  programs?: string[];
  /** Where it takes connections if `--host` and `--port` do not say so. */
  listens?: { host: string; port: string };
  /** Whether it has all permissions of this process. */
  everything?: boolean;
}

/** The folders of code that threads of a stage load with the stage's permissions. */
const CODE = ["../", "../../deno.json"].map((path) => new URL(path, import.meta.url));
/** Options of every stage that take no value. */
const SWITCHES = ["json", "quiet", "help", "version"];

/**
 * The permissions of a stage with its arguments, as far as this process has them.
 *
 * @param needs What the stage needs.
 * @param args The arguments after the stage's name. The stage will report errors in them.
 */
export function permissionsOf(needs: StageNeeds, args: readonly string[]): Deno.PermissionOptions {
  if (needs.everything) return "inherit";
  const {
    reads = () => [],
    sys = [],
    startsProcesses = false,
    programs = [],
    launchVariables = [],
    listens,
  } = needs;
  const accesses = namedPaths(needs, args).map(({ use, values }) => accessOf(use, values));
  const isGranted = (wanted: Deno.PermissionDescriptor) =>
    Deno.permissions.querySync(wanted).state === "granted";
  const allowed = (name: "read" | "write", further: readonly (string | URL)[] = []) =>
    [...new Set([...accesses.flatMap((access) => access[name]), ...further])]
      .filter((path) => isGranted({ name, path }));
  const started = [...(startsProcesses ? [Deno.execPath()] : []), ...programs];
  return {
    read: allowed("read", [...CODE, ...reads()]),
    write: allowed("write"),
    run: started.filter((command) => isGranted({ name: "run", command })),
    sys: sys.filter((kind) => isGranted({ name: "sys", kind })),
    net: (listens ? [placeOf(listens, needs, args)] : []).filter((host) =>
      isAddress(host) && isGranted({ name: "net", host })
    ),
    env: launchVariables.filter((variable) => isGranted({ name: "env", variable })),
    ffi: launchVariables.some((name) => isGranted({ name: "env", variable: name }) && Deno.env.has(name)) &&
      isGranted({ name: "ffi" }),
    import: false,
  };
}

/**
 * Refuses outputs of a stage that are, contain or lie in its inputs. The stage checks its own files, but may not read the
 * folders around them.
 *
 * @throws {UsageError} If they overlap.
 */
export function refuseOverlaps(needs: StageNeeds, args: readonly string[]): void {
  const named = namedPaths(needs, args).flatMap(({ use, values }) =>
    values.filter((value) => value !== "").map((value) => ({ role: use.role, value }))
  );
  const valuesOf = (role: PathUse["role"]) =>
    named.filter((path) => path.role === role).map(({ value }) => value);
  const inputs = valuesOf("input").map(namedInput).filter((path) => path !== undefined);
  for (const output of valuesOf("output")) refuseOverlap(output, inputs);
}

/** The host and port of a stage that takes connections. */
function placeOf(
  defaults: NonNullable<StageNeeds["listens"]>,
  needs: StageNeeds,
  args: readonly string[],
): string {
  const named = namedValues(needs, args, Object.keys(defaults));
  const [host = defaults.host] = named.get("host") ?? [];
  const [port = defaults.port] = named.get("port") ?? [];
  return `${urlHost(host)}:${port}`;
}

/** Whether it is an address and a port; of anything else Deno makes no permission, and the stage reports an error. */
function isAddress(place: string): boolean {
  return /^(?:\[.*\]|\d+(?:\.\d+){3})$/.test(URL.parse(`http://${place}`)?.hostname ?? "");
}

/** The options with paths, and their values. */
function namedPaths(needs: StageNeeds, args: readonly string[]): { use: PathUse; values: string[] }[] {
  const { paths = {}, defaults = {} } = needs;
  const named = namedValues(needs, args, Object.keys(paths));
  for (const [option, path] of Object.entries(defaults)) {
    if (!named.has(option)) named.set(option, [path()]);
  }
  return [...named].map(([option, values]) => ({ use: paths[option], values }));
}

/** The values of some of the options. */
function namedValues(
  { paths = {} }: StageNeeds,
  args: readonly string[],
  wanted: readonly string[],
): Map<string, string[]> {
  const named = new Map<string, string[]>();
  const arityOf = (option: string) => paths[option]?.arity ?? (SWITCHES.includes(option) ? "boolean" : "one");
  for (const { option = "", values } of splitArguments(args, arityOf)) {
    if (wanted.includes(option)) named.set(option, [...named.get(option) ?? [], ...values]);
  }
  return named;
}
