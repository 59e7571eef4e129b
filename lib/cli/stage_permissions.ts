/** The permissions of a stage: only what its options require. @module */
import { UsageError } from "../base/errors.ts";
import { resolve } from "@std/path";
import { realPath, refuseOverlap } from "../io/files/real_path.ts";
import { exists } from "../io/files/inputs.ts";
import { urlHost } from "../base/text.ts";
import { type Command, type Group, leavesOf } from "./command.ts";
import { splitArguments } from "./options.ts";
import { REGISTRY_HOST } from "./own_program.ts";
import { accessOf, type PathUse } from "./path_uses.ts";

/** The folders of code that a stage's threads load with the stage's permissions, if the code is in files. */
const CODE = ["../", "../../deno.json"].map((path) => new URL(path, import.meta.url));
/** The folder of Dawn, see lib/tensor/engine.ts. */
const DAWN = new URL("../tensor/dawn", import.meta.url);

/**
 * The permissions of a stage with its arguments, as far as this process has them.
 *
 * @throws {UsageError} If an option is unknown, or has too many values or none.
 */
export function permissionsOf(command: Command, args: readonly string[]): Deno.PermissionOptions {
  const {
    files = () => [],
    trains,
    deno,
    programs = [],
    launchVariables = [],
    variables = [],
    ...needs
  } = command.needs ?? {};
  const isGranted = (wanted: Deno.PermissionDescriptor) =>
    Deno.permissions.querySync(wanted).state === "granted";
  const accesses = namedPaths(command, args).map(({ use, values }) => accessOf(use, values));
  const allowed = (name: "read" | "write", further: readonly (string | URL)[] = []) =>
    [...new Set([...accesses.flatMap((access) => access[name]), ...further])]
      .filter((path) => !(path instanceof URL && path.protocol !== "file:") && isGranted({ name, path }));
  const env = [...launchVariables, ...variables].filter((variable) => isGranted({ name: "env", variable }));
  const isLaunched = launchVariables.some((name) => env.includes(name) && Deno.env.has(name));
  const hosts = [
    ...(needs.listens ? [addressOf(command, args)].filter(isAddress) : []),
    ...hostsAsked(command, args),
  ];
  return {
    read: allowed("read", [...CODE, ...files()]),
    write: allowed("write"),
    run: [...(deno ? [Deno.execPath()] : []), ...programs].filter((command) =>
      isGranted({ name: "run", command })
    ),
    sys: trains && isGranted({ name: "sys", kind: "systemMemoryInfo" }) ? ["systemMemoryInfo"] : [],
    net: hosts.filter((host) => isGranted({ name: "net", host })),
    env,
    ffi: isLaunched && isGranted({ name: "ffi" }) ||
      mayUseDawn(command, args) && isGranted({ name: "ffi", path: DAWN }) && [DAWN],
    import: REGISTRY_HOST === undefined ? false : [REGISTRY_HOST],
  };
}

/** Whether a command may run kernels with Dawn, if Dawn is in files. */
function mayUseDawn({ options }: Command, args: readonly string[]): boolean {
  if (!("engine" in options) || DAWN.protocol !== "file:") return false;
  return splitArguments(args, options).texts.engine[0] !== "deno";
}

/**
 * Deno's flags for the process of a command: every permission that its stages may get, and no others.
 *
 * @param dawn The flag that allows loading Dawn; undefined if Dawn cannot be present.
 */
export function denoFlagsOf(command: Command | Group, dawn?: string): string[] {
  const kinds = leavesOf({ command });
  const needs = kinds.flatMap(({ needs = [] }) => needs);
  const options = kinds.flatMap(({ options }) => Object.entries(options));
  const launchVariables = needs.flatMap(({ launchVariables = [] }) => launchVariables);
  const variables = [...launchVariables, ...needs.flatMap(({ variables = [] }) => variables)];
  const trains = needs.some(({ trains }) => trains);
  const mayUseDawn = dawn !== undefined && options.some(([name]) => name === "engine");
  return [
    "--no-prompt",
    ...(trains ? ["--v8-flags=--expose-gc"] : []),
    "-R",
    ...(options.some(([, { use }]) => use?.role === "output") ? ["-W"] : []),
    ...(needs.some(({ listens, connects }) => listens || connects) ? ["-N"] : []),
    ...(needs.some(({ deno, programs }) => deno || programs) ? ["--allow-run"] : []),
    ...(trains ? ["-S=systemMemoryInfo"] : []),
    ...(launchVariables.length > 0 ? ["--allow-ffi"] : mayUseDawn ? [dawn] : []),
    ...(variables.length > 0 ? [`-E=${variables.join()}`] : []),
  ];
}

/** Folders in which the runtime opens no files for a program, whatever its permissions. */
const SYSTEM = /^\/(?:dev|proc|sys)(?:\/|$)/;

/**
 * Rejects outputs of a stage that are, contain or lie in what it reads, that are the same file, or that are
 * devices. The stage checks what an output may replace.
 *
 * @throws {UserError} If there is such an output.
 */
export function refuseOutputs(command: Command, args: readonly string[]): void {
  const named = namedPaths(command, args).map(({ use, values }) => (
    { use, values: values.filter((value) => value !== "") }
  ));
  const places = new Set<string>();
  for (const { use, values } of named) {
    if (use.role === "input") continue;
    for (const output of values) {
      const place = realPath(output);
      if (SYSTEM.test(place)) {
        throw new UsageError(
          `Cannot write to ${output}: it is in a device folder, expected another path; name a file, or for standard ` +
            "output leave out the option if it is optional",
        );
      }
      if (places.has(place)) {
        throw new UsageError(
          `Cannot write to ${output}: two options name it; choose a different path for one`,
        );
      }
      places.add(place);
      const kept = named.flatMap(({ use, values }) => use.kept?.(values, output) ?? []);
      // Further files next to it count only if they would be replaced.
      const { write } = use.accessTo([resolve(output)]);
      for (const path of [output, ...write.filter(exists)]) refuseOverlap(path, kept);
    }
  }
}

function addressOf({ options, needs }: Command, args: readonly string[]): string {
  const { texts, switches } = splitArguments(args, options);
  const { listens } = needs ?? {};
  if (typeof listens === "string") return texts[listens][0] ?? "";
  if (typeof listens === "object" && switches[listens.unless]) return "";
  const [host, port] = ["host", "port"].map((name) => String(texts[name][0] ?? options[name].default));
  return `${urlHost(host)}:${port}`;
}

/** The host that a stage connects to, with its port; empty if its URL is wrong, which the stage reports. */
function hostsAsked({ options, needs }: Command, args: readonly string[]): string[] {
  if (!needs?.connects) return [];
  const { to, ifGiven } = needs.connects;
  const { texts } = splitArguments(args, options);
  if (ifGiven !== undefined && texts[ifGiven].length === 0) return [];
  const url = URL.parse(texts[to][0] ?? String(options[to].default));
  const port = url?.port || (url?.protocol === "https:" ? 443 : 80);
  return url?.hostname ? [`${url.hostname}:${port}`] : [];
}

/**
 * Whether text is an IP address and a port. Deno accepts no permission for anything else, and the stage
 * reports an error.
 */
function isAddress(place: string): boolean {
  return /^(?:\[.*\]|\d+(?:\.\d+){3})$/.test(URL.parse(`http://${place}`)?.hostname ?? "");
}

function namedPaths(
  { options, positionals }: Command,
  args: readonly string[],
): { use: PathUse; values: readonly string[] }[] {
  const { texts, positionals: others } = splitArguments(args, options);
  const paths = Object.entries(options).flatMap(([name, { use, default: usual }]) => {
    if (!use) return [];
    // The default of an input is a preset instead of a path.
    const other = use.role === "output" ? usual : undefined;
    const values: string[] = texts[name].length === 0 && other !== undefined ? [other].flat() : texts[name];
    return [{ use, values }];
  });
  if (positionals?.use) paths.push({ use: positionals.use, values: others });
  return paths;
}
