/**
 * The house's lint plugin: imports go down the layers, `.wgsl` comes in through one module.
 *
 * Used by `deno lint` (deno.json, lint.plugins) and by layering_test.ts.
 *
 * @module
 */

const ERRORS = "errors.ts";
/** Files and what they need. */
const FILES = [ERRORS, "files", "version.ts"];
const ARRAY_RECORD = ["array_record", "collections", "probe_rows"];

/** For each folder (or file) of lib/, what it may import besides itself, floor by floor. */
export const MAY_IMPORT: Record<string, readonly string[]> = {
  // Ground.
  "errors.ts": [],
  "version.ts": [],
  "std": [],
  "collections": [],
  "text": [],
  "random": [ERRORS],
  "runtime": [ERRORS],
  "threads": [ERRORS],
  "files": [ERRORS, "version.ts"],
  "config": [ERRORS, "files", "text"],

  // Formats, which know nothing of measurements.
  "compression": [ERRORS, "files", "runtime"],
  "parquet": FILES,
  "arrow": [ERRORS],
  "array_record": [ERRORS, "collections", "compression", "files"],
  "tensor_files": [ERRORS, "files"],

  // Measurements on their way to a batch.
  "addresses": [ERRORS],
  "tokens": [ERRORS, "addresses", "random"],
  "measurement": [...FILES, "addresses", "parquet", "tokens"],
  "probe_rows": [ERRORS, "arrow"],
  "synth": [...FILES, "addresses", "measurement", "parquet", "random", "threads", "tokens"],
  "atlas": [ERRORS, "addresses", "measurement"],
  "import": [...FILES, "addresses", "atlas", "compression", "measurement", "parquet"],
  "context": ["tokens"],
  "external_sort": [ERRORS, "addresses", "collections", "files", "random"],
  "preprocess": [
    ...FILES,
    ...ARRAY_RECORD,
    ...["addresses", "external_sort", "measurement", "parquet", "random", "runtime", "threads"],
  ],
  "loader": [...FILES, ...ARRAY_RECORD, "addresses", "random", "threads", "tokens"],
  "pretokenize": [
    ...FILES,
    ...[
      "addresses",
      "loader",
      "measurement",
      "parquet",
      "preprocess",
      "random",
      "runtime",
      "threads",
      "tokens",
    ],
  ],

  // What learns.
  "coordinates": [ERRORS, "random"],
  "gpu": [...FILES, "runtime", "text"],
  "model": [ERRORS, "addresses", "config", "coordinates", "gpu", "random", "tokens"],
  "optim": [ERRORS, "config", "gpu", "model", "random"],
  "mpi": [ERRORS],
  "report": [],

  // What starts tasks, in this process or on a cluster.
  "cli": [...FILES, "text", "threads"],
  "compile": [ERRORS, "files"],
  "cluster": [ERRORS, "config", "files"],
};
MAY_IMPORT["train"] = [
  ...FILES,
  ...ARRAY_RECORD,
  ...["addresses", "config", "gpu", "loader", "model", "mpi", "optim", "random", "report", "runtime"],
  ...["tensor_files", "text", "tokens"],
];
MAY_IMPORT["adapt"] = [ERRORS, "addresses", "gpu", "model", "optim", "tokens", "train"];

// What is asked of a model, and how good it is: all below but what starts tasks.
const BELOW = Object.keys(MAY_IMPORT).filter((name) => !["cli", "compile", "cluster"].includes(name));
for (const folder of ["query", "inspect", "bench"]) MAY_IMPORT[folder] = BELOW;
MAY_IMPORT["evaluate"] = [...BELOW, "query"];
MAY_IMPORT["score"] = [...BELOW, "query", "evaluate"];
MAY_IMPORT["api"] = [...BELOW, "query", "score"];
MAY_IMPORT["page"] = [ERRORS, "addresses", "api", "atlas", "measurement", "report", "text"];
MAY_IMPORT["serve"] = [...BELOW, "query", "api"];

/** What the README.md of a room says of its imports, such as "May import: `files`, `text`." */
export function importsLine(room: string): string {
  const allowed = [...new Set(MAY_IMPORT[room])].filter((name) => !name.endsWith(".ts"));
  const isAnswer = BELOW.every((name) => name.endsWith(".ts") || allowed.includes(name));
  const named = (isAnswer ? allowed.filter((name) => !BELOW.includes(name)) : allowed).sort();
  const names = named.map((name) => `\`${name}\``);
  if (isAnswer) names.unshift("all rooms below the answers");
  return names.length === 0 ? "May import no other room." : `May import: ${names.join(", ")}.`;
}

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
