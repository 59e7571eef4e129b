/**
 * Lists the packages that modules import, and joins their licences into one text.
 *
 * @module
 */
import { join } from "@std/path";
import * as z from "zod";

const packageSchema = z.object({
  name: z.string(),
  version: z.string(),
  dependencies: z.array(z.string()),
  /** Its folder in Deno's cache. */
  localPath: z.string(),
});
const graphSchema = z.object({
  modules: z.array(z.object({ specifier: z.string(), npmPackage: z.string().optional() })),
  npmPackages: z.record(z.string(), packageSchema),
});

type Package = z.infer<typeof packageSchema>;

export interface ModuleGraph {
  /** URLs of the modules, including the first ones. */
  readonly urls: readonly string[];
  /** The packages that they import, directly or indirectly. */
  readonly packages: readonly Package[];
  /** All packages in the lock file. */
  readonly locked: readonly Package[];
}

/**
 * Finds everything that modules import.
 *
 * @param modules URLs of modules.
 * @param runDeno Runs Deno in the checkout and returns what it prints.
 */
export async function moduleGraph(
  modules: readonly string[],
  runDeno: (args: readonly string[]) => Promise<string>,
): Promise<ModuleGraph> {
  const imports = modules.map((url) => `import ${JSON.stringify(url)};`).join("");
  const module = `data:application/typescript,${encodeURIComponent(imports)}`;
  const graph = graphSchema.parse(JSON.parse(await runDeno(["info", "--json", module])));
  const reached = new Set(graph.modules.flatMap(({ npmPackage }) => npmPackage ?? []));
  // Iterating over a set includes elements added meanwhile.
  for (const id of reached) graph.npmPackages[id].dependencies.forEach((next) => reached.add(next));
  return {
    urls: graph.modules.map(({ specifier }) => specifier).filter((url) => url !== module),
    packages: [...reached].sort().map((id) => graph.npmPackages[id]),
    locked: Object.values(graph.npmPackages),
  };
}

/** The licences of this program and of packages, each text once with the names that it applies to. */
export function licensesText(own: string, packages: readonly Package[]): string {
  const names = new Map([[own.trim(), ["ping-llm"]]]);
  for (const each of packages) {
    const text = licenseOf(each);
    names.set(text, [...names.get(text) ?? [], `${each.name} ${each.version}`]);
  }
  const line = "=".repeat(80);
  return [...names].map(([text, names]) => `${line}\n${names.sort().join(", ")}\n\n${text}`).join("\n\n");
}

function licenseOf({ name, localPath }: Package): string {
  const files = [...Deno.readDirSync(localPath)].map(({ name }) => name);
  const texts = files.filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file)).sort()
    .map((file) => Deno.readTextFileSync(join(localPath, file)).replaceAll("\r", "").trim());
  if (texts.length > 0) return texts.join("\n\n");
  const { license } = JSON.parse(Deno.readTextFileSync(join(localPath, "package.json")));
  const notices = copyrightLines(localPath);
  if (typeof license !== "string" || notices.size === 0) {
    throw new Error(`The package ${name} has no licence`);
  }
  return [`License: ${license}`, ...notices].join("\n");
}

/** The distinct lines of the copyright comments at the top of a folder's modules. */
function copyrightLines(folder: string): Set<string> {
  const lines = [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }): string[] => {
    const path = join(folder, name);
    if (isDirectory) return [...copyrightLines(path)];
    if (!name.endsWith(".js")) return [];
    const [comment] = /^(?:\/\/.*\n)+/.exec(Deno.readTextFileSync(path)) ?? [""];
    return /copyright/i.test(comment) ? comment.split("\n") : [];
  });
  return new Set(lines.map((line) => line.replace(/^\/\/ ?/, "")).filter((line) => line !== ""));
}
