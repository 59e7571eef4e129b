/**
 * The house's lint plugin: imports go down the layers, `.wgsl` comes in through one module.
 *
 * Used by `deno lint` (deno.json, lint.plugins) and by layering_test.ts.
 *
 * @module
 */

/** For each folder (or file) of lib/, what it may import besides itself. Lower layers stand first. */
export const MAY_IMPORT: Record<string, readonly string[]> = {
  "std": [],
  "errors.ts": [],
  "version.ts": [],
  "collections": [],
  "random": ["errors.ts"],
  "coordinates": ["errors.ts", "random"],
  "plot": [],
  "threads": ["errors.ts"],
  "files": ["errors.ts", "version.ts"],
  "cli": ["errors.ts", "files", "threads", "version.ts"],
  "compile": ["errors.ts", "files"],
  "cluster": ["cli", "errors.ts", "files"],
  "tokens": ["errors.ts", "random"],
  "measurement": ["cli", "errors.ts", "files", "random", "threads", "tokens", "version.ts"],
  "records": ["cli", "collections", "errors.ts", "files", "tokens"],
  "preprocess": [
    "cli",
    "collections",
    "errors.ts",
    "files",
    "measurement",
    "random",
    "records",
    "threads",
    "tokens",
  ],
  "loader": ["cli", "collections", "errors.ts", "files", "random", "records", "threads", "tokens"],
  "gpu": ["cli", "errors.ts", "files", "version.ts"],
  "model": ["cli", "coordinates", "errors.ts", "gpu", "random", "tokens"],
  "optim": ["cli", "errors.ts", "gpu", "model", "random"],
  "mpi": ["errors.ts"],
  "train": [
    "cli",
    "errors.ts",
    "files",
    "gpu",
    "loader",
    "model",
    "mpi",
    "optim",
    "plot",
    "random",
    "records",
    "tokens",
    "version.ts",
  ],
};

MAY_IMPORT["adapt"] = ["errors.ts", "gpu", "model", "optim", "tokens", "train"];

const BELOW_TASKS = [...Object.keys(MAY_IMPORT)];
for (const folder of ["query", "evaluate", "inspect", "pretokenize", "bench"]) {
  MAY_IMPORT[folder] = BELOW_TASKS;
}
MAY_IMPORT["evaluate"] = [...BELOW_TASKS, "query"];
MAY_IMPORT["score"] = [...BELOW_TASKS, "query", "evaluate"];

const WGSL_IMPORTER = "lib/gpu/kernels.ts";

/**
 * Says what is wrong with an import, if anything.
 *
 * @param importer The importing file's path from the repository's root, such as `lib/gpu/device.ts`.
 * @param specifier What stands in the import.
 * @returns The fault, or undefined.
 */
export function faultOfImport(importer: string, specifier: string): string | undefined {
  if (specifier.endsWith(".wgsl")) {
    return importer === WGSL_IMPORTER ? undefined : `.wgsl is imported in ${WGSL_IMPORTER} only`;
  }
  if (!specifier.startsWith(".")) return undefined;
  const target = new URL(specifier, `file:///${importer}`).pathname.slice(1);
  const [fromTop, from] = importer.split("/");
  const [toTop, to] = target.split("/");
  if (toTop === "tasks" && fromTop !== "tasks" && fromTop !== "tests") return "nothing imports tasks";
  if (toTop === "tests" && fromTop !== "tests") return "only tests import tests";
  if (fromTop !== "lib" || toTop !== "lib" || from === to) return undefined;
  if (target.split("/").at(-1)?.startsWith("_")) return `${target} is private to its folder`;
  const allowed = MAY_IMPORT[from];
  if (!allowed) return `lib/${from} has no place among the layers; give it one in tests/lint/layering.ts`;
  return allowed.includes(to) ? undefined : `lib/${from} may not import lib/${to}`;
}

const plugin: Deno.lint.Plugin = {
  name: "ping-llm",
  rules: {
    "layering": {
      create(context) {
        const importer = /(?:^|\/)((?:lib|tasks|tests|mod\.ts).*)$/.exec(
          context.filename.replaceAll("\\", "/"),
        )?.[1];
        if (!importer) return {};
        const check = (node: { source: Deno.lint.StringLiteral | null }) => {
          const fault = node.source && faultOfImport(importer, node.source.value);
          if (node.source && fault) context.report({ node: node.source, message: fault });
        };
        return {
          ImportDeclaration: check,
          ExportNamedDeclaration: check,
          ExportAllDeclaration: check,
        };
      },
    },
  },
};
export default plugin;
