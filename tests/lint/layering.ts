/**
 * Lint plugin of this repository: imports go down the layers, only one module imports `.wgsl`, and modules
 * that run in a browser use only what browsers provide.
 *
 * Used by `deno lint` (deno.json, lint.plugins) and by layering_test.ts.
 *
 * @module
 */

/** Folders of lib/, in order. Each imports only from itself and the folders before it. */
export const LAYERS = ["base", "io", "data", "tensor", "model", "train", "query", "eval", "serve", "cli"];

/** Folders of lib/ whose modules also run in a browser. Subfolders are listed separately. */
export const IN_BROWSER: readonly string[] = [
  ...["base", "base/report"],
  ...["io/text", "data/addresses", "data/formats", "data/tokens"],
  ...["tensor", "tensor/ops", "train/optim"],
  ...["model", "model/coordinates", "model/pool", "model/pool/forecasts"],
  ...[
    "query",
    "query/adapt",
    "query/destinations",
    "query/changes",
    "query/questions",
    "query/places",
    "query/rtt",
    "query/score",
  ],
  ...["serve/api", "serve/page"],
];

/** Whether a module runs in a browser. @param path Relative to the repository's root. */
function runsInBrowser(path: string): boolean {
  const folder = /^lib\/(.*)\/[^/]*$/.exec(path)?.[1];
  return folder !== undefined && IN_BROWSER.includes(folder);
}

/**
 * Checks whether a browser has what a module imports, if the module runs there.
 *
 * @param importer Path of the importing file, relative to the repository's root.
 * @param specifier The specifier of a value import; types do not exist at run time.
 * @returns The fault, or undefined.
 */
export function faultInBrowser(importer: string, specifier: string): string | undefined {
  if (!runsInBrowser(importer)) return undefined;
  if (/^(?:node:|@std\/(?:assert|path)$)/.test(specifier)) {
    return `${importer} runs in a browser, which has no ${specifier}`;
  }
  const target = new URL(specifier, `file:///${importer}`).pathname.slice(1);
  if (!specifier.startsWith(".") || !/\.tsx?$/.test(target) || runsInBrowser(target)) return undefined;
  return `${importer} runs in a browser, ${target} does not`;
}

const WGSL_IMPORTER = "lib/tensor/kernels.ts";

/**
 * Checks an import.
 *
 * @param importer Path of the importing file relative to the repository's root, such as
 *   `lib/tensor/device.ts`.
 * @param specifier The specifier in the import.
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
  if (!LAYERS.includes(from)) return `lib/${from} is not among the layers of tests/lint/layering.ts`;
  return LAYERS.indexOf(to) < LAYERS.indexOf(from) ? undefined : `lib/${from} may not import lib/${to}`;
}

/** Path of the checked file relative to the repository's root; undefined if it is outside. */
function pathOf({ filename }: Deno.lint.RuleContext): string | undefined {
  return /(?:^|\/)((?:lib|tasks|tests|mod\.ts).*)$/.exec(filename.replaceAll("\\", "/"))?.[1];
}

/** Calls back for every import and re-export in a file. */
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
  },
};
export default plugin;
