/**
 * Collects the content of the executable: the code and the packages that it imports. `deno compile` makes the
 * executable: a runtime stub, which Deno fetches, followed by the content.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { arch, platform } from "node:process";
import { join, toFileUrl } from "@std/path";
import { exists, readText } from "../../io/files/inputs.ts";
import { hashOfFiles } from "../../io/files/manifest.ts";
import { UserError } from "../../base/errors.ts";
import { moduleGraph } from "../../serve/site/licenses.ts";
import { embedCommit, programCommit } from "../version.ts";
import type { TarEntry } from "./launcher.ts";

/** A checkout and its entry modules. */
export interface Program {
  root: string;
  main: string;
  /** Modules of the stages, relative to the root, each loaded when its stage runs. */
  stages: readonly string[];
  /** Further files that stages read, relative to the root. */
  data: readonly string[];
  /** Deno's flags by stage, such as `-R`. */
  flags: ReadonlyMap<string, readonly string[]>;
}

/** Files and folders of a checkout that are part of the program. */
const CODE = ["configs", "kernels", "lib", "tasks"];
const LICENSE = "LICENSE";
/** Modules that are loaded by a URL when they are needed: those of threads and of charts. */
const LATE_MODULE = /_worker\.ts$|\/vega\.ts$/;
/** Files of packages that are loaded; others are types, sources and documentation. */
const LOADED = /\.(?:js|mjs|cjs|json|wasm)$/;
const PACKAGES = "node_modules";
/** The package of Dawn (see lib/tensor/engine.ts) and its files for this system. */
const DAWN = `lib/tensor/dawn/${PACKAGES}/webgpu`;
const DAWN_FILES = [
  "LICENSE.md",
  "package.json",
  "index.js",
  `dist/${platform}-${platform === "darwin" ? "universal" : arch}/dawn.node`,
];

export function codeFiles({ root, data }: Program): string[] {
  const code = CODE.flatMap((folder) => filesIn(root, folder)).filter((name) => !name.includes(PACKAGES));
  return [...code, ...data, "deno.json", LICENSE].sort();
}

export function lateModules(program: Program): string[] {
  return codeFiles(program).filter((name) => LATE_MODULE.test(name));
}

/** A hash of the code, the locked packages and the runtime. */
export function hashOfProgram(program: Program): string {
  const files = hashOfFiles(program.root, [...codeFiles(program), "deno.lock"]);
  return createHash("sha256").update(`${Deno.version.deno} ${Deno.build.target} ${files}`).digest("hex");
}

/**
 * Collects the code and packages in the layout of the unpacked folder `program/`.
 *
 * @param workFolder A folder to install packages in.
 * @throws {UserError} If packages are missing and cannot be fetched.
 */
export async function collectProgram(
  program: Program,
  workFolder: string,
  signal: AbortSignal,
): Promise<TarEntry[]> {
  const { root } = program;
  const names = await namesOfPackages(program, signal);
  Deno.mkdirSync(workFolder, { recursive: true });
  for (const name of ["deno.json", "deno.lock"]) Deno.copyFileSync(join(root, name), join(workFolder, name));
  // A hoisted layout needs no links and has fewer files.
  const layout = ["--node-modules-dir=manual", "--node-modules-linker=hoisted"];
  await requireDeno(["install", "--quiet", "--frozen", ...layout], { cwd: workFolder, signal });
  // A separate workspace, so that a deno.json above the cache folder has no effect.
  const own = { lock: false, nodeModulesDir: "manual", workspace: [] };
  const config = { ...JSON.parse(readText(join(root, "deno.json"))), ...own, commit: programCommit() };
  Deno.writeTextFileSync(join(workFolder, "deno.json"), JSON.stringify(config, null, 2));
  const packages = filesIn(workFolder, PACKAGES).filter((name) =>
    LOADED.test(name) && names.has(packageOf(name))
  );
  const code = codeFiles(program).filter((name) => name !== "deno.json");
  const entryOf = (folder: string) => (name: string) => ({
    name: `program/${name}`,
    path: join(folder, name),
  });
  return [...code.map(entryOf(root)), ...["deno.json", ...packages].map(entryOf(workFolder))];
}

/** Dawn in the layout of the unpacked folder. @throws {UserError} If it is not installed. */
export function dawnFiles({ root }: Pick<Program, "root">): TarEntry[] {
  const names = DAWN_FILES.map((name) => `${DAWN}/${name}`);
  if (!names.every((name) => exists(join(root, name)))) {
    throw new UserError("Cannot compile with --dawn: Dawn is not installed; run sh setup.sh --dawn");
  }
  return names.map((name) => ({ name: `program/${name}`, path: join(root, name) }));
}

/** The names of the packages that the program imports, directly or indirectly. */
async function namesOfPackages(program: Program, signal: AbortSignal): Promise<Set<string>> {
  const { root, main, stages } = program;
  const modules = [main, ...stages, ...lateModules(program)].map((name) => toFileUrl(join(root, name)).href);
  const run = async (args: readonly string[]) => (await requireDeno(args, { cwd: root, signal })).stdout;
  return new Set((await moduleGraph(modules, run)).packages.map(({ name }) => name));
}

/** The package that a file in `node_modules` belongs to. */
function packageOf(name: string): string {
  const [first, second] = name.slice(name.lastIndexOf(`${PACKAGES}/`) + PACKAGES.length + 1).split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}

async function requireDeno(
  args: readonly string[],
  where: { cwd: string; signal: AbortSignal },
): Promise<{ stdout: string }> {
  const output = await runDeno(args, where);
  if (output.success) return output;
  const why = /^error: (.*)$/m.exec(output.stderr)?.[1] ?? "it printed no error";
  throw new UserError(
    `Cannot compile: deno ${args[0]} failed: ${why}; run sh setup.sh, which fetches packages`,
  );
}

/** All files in a folder and its subfolders, sorted, relative to the root. */
function filesIn(root: string, folder: string): string[] {
  const found = [...Deno.readDirSync(join(root, folder))].flatMap(({ name, isDirectory, isFile }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? filesIn(root, path) : isFile ? [path] : [];
  });
  return found.sort();
}

interface RuntimeOutput {
  success: boolean;
  stdout: string;
  stderr: string;
}

/** @param cwd The working directory. @param signal Ends the command. */
export async function runDeno(
  args: readonly string[],
  { cwd, signal }: { cwd: string; signal: AbortSignal },
): Promise<RuntimeOutput> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    signal,
    env: { NO_COLOR: "1" },
    stdin: "null",
  });
  const { success, stdout, stderr } = await command.output();
  signal.throwIfAborted();
  const text = new TextDecoder();
  return { success, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** Matches Deno's message if it cannot fetch its runtime stub. */
const NO_STUB = /denort|base binary/;

/**
 * Runs `deno compile`. The process has the permissions of all stages; the thread of each stage has only its
 * own, as in a checkout.
 *
 * @returns False if Deno's runtime stub cannot be fetched.
 * @throws {UserError} If it fails for any other reason.
 */
export async function writeCompiled(path: string, program: Program, signal: AbortSignal): Promise<boolean> {
  const args = compileArguments(path, program);
  const { success, stderr } = await runDeno(args, { cwd: program.root, signal });
  if (success) return true;
  if (NO_STUB.test(stderr)) return false;
  const why = /^error: (.*)$/m.exec(stderr)?.[1] ?? "it printed no error";
  throw new UserError(`Cannot compile: deno compile failed: ${why}; try --form launcher`);
}

/** The arguments with which Deno compiles a program into a file. */
export function compileArguments(path: string, program: Program): string[] {
  const flags = new Set([...program.flags.values()].flat());
  const loaded = [...program.stages, ...lateModules(program), ...program.data];
  const found = ["--quiet", "--no-check", "--frozen", "--exclude-unused-npm"];
  return [
    "compile",
    ...found,
    ...flags,
    ...loaded.flatMap((path) => ["--include", path]),
    "--output",
    path,
    program.main,
    ...embedCommit(programCommit()),
  ];
}
