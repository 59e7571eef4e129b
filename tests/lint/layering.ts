/**
 * The house's lint plugin: imports go down the layers, `.wgsl` comes in through one module, what runs in a browser
 * keeps to what a browser has, no object literal is spread into another, and `let` takes no array literal apart.
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
  "config": [ERRORS, "text"],

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
MAY_IMPORT["query_files"] = [...BELOW, "query", "api"];
MAY_IMPORT["page"] = [
  ERRORS,
  "addresses",
  "api",
  "atlas",
  "measurement",
  "model",
  "query",
  "report",
  "site",
  "tensor_files",
  "text",
];
MAY_IMPORT["serve"] = [...BELOW, "query", "api", "site"];
MAY_IMPORT["site"] = [...BELOW, "api"];

/** What runs in a browser as it does in Deno: rooms, and modules of rooms that also read and write files. */
export const IN_BROWSER: readonly string[] = [
  ...[ERRORS, "collections", "config", "random", "text", "runtime/queue_idle.ts"],
  "tensor_files/safetensors_header.ts",
  ...["addresses", "atlas", "context", "tokens", "measurement/batch.ts", "measurement/time_text.ts"],
  ...["contexts", "context_form", "context_keys", "sampling_config"].map((name) => `loader/${name}.ts`),
  ...["coordinates", "gpu", "model", "optim", "report"],
  ...["adapt", "query", "score/result_surprise.ts", "score/score_results.ts", "api"],
  ...["site/site_file.ts", "page"],
];

/** Modules of such rooms that run in Deno only. */
export const NOT_IN_BROWSER: readonly string[] = [
  "adapt/checkpoint.ts",
  "gpu/autotune.ts",
  "gpu/bench.ts",
  "page/bundle.ts",
];

/** Whether a module runs in a browser. @param path From the repository's root. */
function runsInBrowser(path: string): boolean {
  const [top, room, ...rest] = path.split("/");
  const name = [room, ...rest].join("/");
  return top === "lib" && !NOT_IN_BROWSER.includes(name) &&
    IN_BROWSER.some((each) => [room, name].includes(each));
}

/**
 * Says why a browser has not what a module imports, if it is one that runs there.
 *
 * @param importer The importing file's path from the repository's root.
 * @param specifier What stands in the import of a value; types are nothing at run time.
 * @returns The fault, or undefined.
 */
export function faultInBrowser(importer: string, specifier: string): string | undefined {
  if (!runsInBrowser(importer)) return undefined;
  if (/^(?:node:|@std\/)/.test(specifier)) return `${importer} runs in a browser, which has no ${specifier}`;
  const target = new URL(specifier, `file:///${importer}`).pathname.slice(1);
  if (!specifier.startsWith(".") || !/\.tsx?$/.test(target) || runsInBrowser(target)) return undefined;
  return `${importer} runs in a browser, ${target} does not`;
}

/** What the README.md of a room says of its imports, such as "May import: `files`, `text`." */
export function importsLine(room: string): string {
  const allowed = [...new Set(MAY_IMPORT[room])].filter((name) => !name.endsWith(".ts"));
  const isAnswer = BELOW.every((name) => name.endsWith(".ts") || allowed.includes(name));
  const named = (isAnswer ? allowed.filter((name) => !BELOW.includes(name)) : allowed).sort();
  const names = named.map((name) => `\`${name}\``);
  if (isAnswer) names.unshift("all rooms below the answers");
  return names.length === 0 ? "May import no other folder." : `May import: ${names.join(", ")}.`;
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

/** The path of the file that is checked, from the repository's root, if it is one of ours. */
function pathOf({ filename }: Deno.lint.RuleContext): string | undefined {
  return /(?:^|\/)((?:lib|tasks|tests|mod\.ts).*)$/.exec(filename.replaceAll("\\", "/"))?.[1];
}

/** Calls back for every import and re-export of a file. */
function onImports(
  check: (source: Deno.lint.StringLiteral, isTypeOnly: boolean) => void,
): Deno.lint.LintVisitor {
  return {
    ImportDeclaration: ({ source, importKind, specifiers }) =>
      check(
        source,
        importKind === "type" || specifiers.length > 0 &&
            specifiers.every((each) => each.type === "ImportSpecifier" && each.importKind === "type"),
      ),
    ExportNamedDeclaration({ source, exportKind, specifiers }) {
      const isTypeOnly = exportKind === "type" || specifiers.every((each) => each.exportKind === "type");
      if (source) check(source, isTypeOnly);
    },
    ExportAllDeclaration: ({ source, exportKind }) => check(source, exportKind === "type"),
  };
}

const plugin: Deno.lint.Plugin = {
  name: "ping-llm",
  rules: {
    "layering": {
      create(context) {
        const importer = pathOf(context);
        if (!importer) return {};
        return onImports((source) => {
          const fault = faultOfImport(importer, source.value);
          if (fault) context.report({ node: source, message: fault });
        });
      },
    },
    "browser": {
      create(context) {
        const importer = pathOf(context);
        if (!importer || !runsInBrowser(importer)) return {};
        return {
          ...onImports((source, isTypeOnly) => {
            const fault = isTypeOnly ? undefined : faultInBrowser(importer, source.value);
            if (fault) context.report({ node: source, message: fault });
          }),
          VariableDeclaration(node) {
            if (node.kind !== "using" && node.kind !== "await using") return;
            context.report({ node, message: `${importer} runs in a browser, and not all know using` });
          },
          Identifier(node) {
            if (node.name !== "Deno") return;
            context.report({ node, message: `${importer} runs in a browser, which has no Deno` });
          },
        };
      },
    },
    "plain-literals": {
      create(context) {
        return {
          "ObjectExpression > SpreadElement > ObjectExpression"(node: Deno.lint.ObjectExpression) {
            const properties = context.sourceCode.getText(node).slice(1, -1).trim().replace(/,$/, "");
            context.report({
              node: node.parent,
              message: "properties that are spread from a literal stand plainly in the object",
              fix: (fixer) => fixer.replaceTextRange([node.parent.range[0], node.range[1]], properties),
            });
          },
          "VariableDeclaration[kind='let'] > VariableDeclarator[id.type='ArrayPattern'][init.type='ArrayExpression']"(
            node: Deno.lint.VariableDeclarator,
          ) {
            context.report({ node, message: "each variable that changes has a let of its own" });
          },
        };
      },
    },
  },
};
export default plugin;
