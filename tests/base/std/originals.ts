/**
 * Compares modules of npm's `deno-std` with what the Deno authors publish on JSR; prints what came of it as JSON. Started
 * with leave to reach jsr.io: `originals.ts FOLDER MODULE…`, the folder of the package and paths in it.
 *
 * @module
 */
import { stripTypeScriptTypes } from "node:module";

/** The outcome of a comparison. */
export interface Comparison {
  /** Modules that are like no published version. */
  different: string[];
  /** Why nothing could be compared; absent if all was. */
  unreachable?: string;
}

const TIMEOUT_MS = 20_000;
/** How many versions are looked at, from the newest. */
const MAX_VERSIONS = 20;

/**
 * Whether a published module and a republished one are the same program: the same words and operators in the same order.
 * Types, comments, layout, braces around single statements and where imports come from may differ.
 *
 * @param published TypeScript.
 * @param republished JavaScript.
 */
export function isSameProgram(published: string, republished: string): boolean {
  return wordsOf(stripTypeScriptTypes(published)) === wordsOf(republished);
}

function wordsOf(code: string): string {
  // Strings and regular expressions come before comments, which they may seem to hold.
  const token = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(\/\*[^]*?\*\/|\/\/.*)/g;
  return code.replace(/^ *\/\/.*$/gm, "").replace(token, (_, text = "") => text)
    .replace(/(\bimport\b[^;]*?\bfrom\b|\bexport\b[^;]*?\bfrom\b)\s*"[^"]*"/g, "$1")
    .replace(/import\s*\{\s*\}\s*from/g, "")
    .replace(/[\s{}();,]+/g, " ").trim();
}

async function fetchText(path: string): Promise<string | undefined> {
  const response = await fetch(`https://jsr.io/@std/${path}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const text = await response.text();
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`jsr.io answers ${response.status}`);
  return text;
}

/** The newest versions of a package. @param name Such as `assert`. */
async function listVersions(name: string): Promise<string[]> {
  const { versions } = JSON.parse(await fetchText(`${name}/meta.json`) ?? '{"versions": {}}');
  const key = (version: string) => version.split(/[.-]/).map((part) => part.padStart(6, "0")).join(".");
  return Object.keys(versions).filter((version) => /^[\d.]+$/.test(version))
    .sort((a, b) => key(a) < key(b) ? 1 : -1).slice(0, MAX_VERSIONS);
}

async function compare(folder: string, modules: readonly string[]): Promise<Comparison> {
  const versions = new Map<string, string[]>();
  const different: string[] = [];
  for (const module of modules) {
    const [name, ...rest] = module.split("/");
    if (!versions.has(name)) versions.set(name, await listVersions(name));
    const code = Deno.readTextFileSync(`${folder}/${module}`);
    let isPublished = false;
    for (const version of versions.get(name) ?? []) {
      const published = await fetchText(`${name}/${version}/${rest.join("/").replace(/\.js$/, ".ts")}`);
      isPublished = published !== undefined && isSameProgram(published, code);
      if (isPublished) break;
    }
    if (!isPublished) different.push(module);
  }
  return { different };
}

if (import.meta.main) {
  const [folder, ...modules] = Deno.args;
  const comparison: Comparison = await compare(folder, modules).catch((error) => ({
    different: [],
    unreachable: String(error.message ?? error),
  }));
  console.log(JSON.stringify(comparison));
}
