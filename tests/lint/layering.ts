/**
 * The lint plugin of this repository: imports go down the layers, `.wgsl` is imported by one module, and what runs in a
 * browser uses only what a browser has.
 *
 * Used by `deno lint` (deno.json, lint.plugins) and by layering_test.ts.
 *
 * @module
 */

/** The folders of lib/, in order: each imports itself and those before it. */
export const LAYERS = ["base", "io", "data", "tensor", "model", "train", "query", "eval", "serve", "cli"];

/** Folders of lib/ whose modules run in a browser as they do in Deno; folders inside them are named of their own. */
export const IN_BROWSER: readonly string[] = [
  ...["base", "base/report"],
  ...["data/addresses", "data/formats", "data/tokens"],
  ...["tensor", "tensor/ops", "train/optim"],
  ...["model", "model/coordinates", "model/pool", "model/pool/forecasts"],
  ...[
    "query",
    "query/adapt",
    "query/destinations",
    "query/likelihood",
    "query/changes",
    "query/questions",
    "query/rtt",
    "query/score",
  ],
  ...["serve/api", "serve/page"],
];

/** Whether a module runs in a browser. @param path From the repository's root. */
function runsInBrowser(path: string): boolean {
  const folder = /^lib\/(.*)\/[^/]*$/.exec(path)?.[1];
  return folder !== undefined && IN_BROWSER.includes(folder);
}

/**
 * Says why a browser has not what a module imports, if it is one that runs there.
 *
 * @param importer The importing file's path from the repository's root.
 * @param specifier The specifier in the import of a value; types are nothing at run time.
 * @returns The fault, or undefined.
 */
export function faultInBrowser(importer: string, specifier: string): string | undefined {
  if (!runsInBrowser(importer)) return undefined;
  if (/^(?:node:|@std\/)/.test(specifier)) return `${importer} runs in a browser, which has no ${specifier}`;
  const target = new URL(specifier, `file:///${importer}`).pathname.slice(1);
  if (!specifier.startsWith(".") || !/\.tsx?$/.test(target) || runsInBrowser(target)) return undefined;
  return `${importer} runs in a browser, ${target} does not`;
}

const WGSL_IMPORTER = "lib/tensor/kernels.ts";

/**
 * Says what is wrong with an import, if anything.
 *
 * @param importer The importing file's path from the repository's root, such as `lib/tensor/device.ts`.
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
  },
};
export default plugin;
