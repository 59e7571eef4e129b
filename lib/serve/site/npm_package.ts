/**
 * An exported site as an npm package: the worker's module, the model, and types generated from the API
 * description.
 *
 * @module
 */
import { isObject } from "../../base/collections.ts";
import { ensure } from "../../base/errors.ts";
import { placeCredits } from "../../data/addresses/place_credits.ts";
import type { ModelInfo } from "../api/schemas.ts";
import { openApiDocument } from "../openapi.ts";

type Json = Record<string, unknown>;

const OLDEST_NODE = 22;

/** The files of the package except those of the model. @param page Files of the page, by name. */
export function npmPackage(
  { version, step, config }: ModelInfo,
  page: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
): Map<string, Uint8Array<ArrayBuffer>> {
  const [module, licenses] = ["worker.js", "licenses.txt"].map((name) => page.get(name));
  ensure(module && licenses, "the page has a worker and licences");
  const { places } = config.model as { places?: { sources: string[] } };
  const credits = placeCredits(places?.sources ?? []).map(({ text, url }) => `- ${text}: ${url}\n`);
  const manifest = {
    name: "ping-llm-model",
    version,
    description: `A generative model of RTTs, ${step} steps of training`,
    license: "MIT",
    type: "module",
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
    engines: { node: `>=${OLDEST_NODE}` },
    peerDependencies: { webgpu: ">=0.3" },
    peerDependenciesMeta: { webgpu: { optional: true } },
  };
  const texts = {
    "package.json": JSON.stringify(manifest, null, 2),
    "index.js": ENTRY,
    "index.d.ts": declarations(),
    "README.md": `${README}${credits.length > 0 ? "\n" : ""}${credits.join("")}`,
  };
  const encoded = Object.entries(texts).map(([name, text]) =>
    [name, new TextEncoder().encode(text)] as const
  );
  return new Map([["model.js", module], ["LICENSE", licenses], ...encoded]);
}

const README = `# ping-llm-model

A generative model of the Internet's round-trip times. It runs on WebGPU: in browsers, in Deno, and in Node ${OLDEST_NODE} or later
with the package \`webgpu\` installed. Types and bounds of all questions are in \`index.d.ts\`.

\`\`\`js
import { openModel } from "ping-llm-model";

const model = await openModel();
const { quantiles_ms, p_failed } = await model.rtt({ src: "192.0.2.1", dst: "198.51.100.7" });
console.log(quantiles_ms["0.5"], p_failed);
model.close();
\`\`\`
`;

/**
 * The package's module. It imports `model.js` late, because older versions of Node cannot load it, and
 * provides Chromium's WebGPU in Node. For uncaught errors Node prints the source line, here half a megabyte,
 * and the stack; errors about a question have neither.
 */
const ENTRY = `const WEBGPU = "webgpu";

export async function openModel(site = new URL("site.json", import.meta.url)) {
  try {
    await requireWebGpu();
    const { openModel } = await import("./model.js");
    return new Proxy(await openModel(site), {
      get(model, name) {
        const value = model[name];
        return typeof value === "function" ? (...args) => withoutStack(value.apply(model, args)) : value;
      },
    });
  } catch (error) {
    throw shortened(error);
  }
}

function withoutStack(result) {
  return result instanceof Promise ? result.catch((error) => Promise.reject(shortened(error))) : result;
}

function shortened(error) {
  if (error instanceof Error && ("exitCode" in error || "problem" in error)) error.stack = \`error: \${error.message}\`;
  return error;
}

function failure(found) {
  const error = new Error(\`Cannot run the model: \${found}\`);
  error.stack = \`error: \${error.message}\`;
  return error;
}

async function requireWebGpu() {
  const version = globalThis.process?.versions?.node;
  if (Number.parseInt(version) < ${OLDEST_NODE}) {
    throw failure(\`found Node \${version}, expected Node ${OLDEST_NODE} or later; install one from https://nodejs.org\`);
  }
  if (version === undefined || navigator.gpu) return;
  const dawn = await import(WEBGPU).catch(importFromProgram).catch(({ code, message }) => {
    const found = code === "MODULE_NOT_FOUND" ? "no package webgpu" : message.split("\\n")[0];
    throw failure(\`found \${found}, expected Chromium's WebGPU for Node; run npm install webgpu\`);
  });
  Object.assign(globalThis, dawn.globals);
  Object.defineProperty(navigator, "gpu", { value: dawn.create([]), configurable: true });
}

// If this package is a symlink, packages next to the program are not found from here.
async function importFromProgram() {
  const [{ createRequire }, { pathToFileURL }] = await Promise.all(["node:module", "node:url"].map((name) => import(name)));
  const { resolve } = createRequire(process.argv[1] ?? \`\${process.cwd()}/\`);
  return await import(pathToFileURL(resolve(WEBGPU)).href);
}
`;

function declarations(): string {
  const { components, paths } = openApiDocument() as {
    components: { schemas: Record<string, Json> };
    paths: Record<string, Record<string, Json>>;
  };
  const types = Object.entries(components.schemas).map(([name, schema]) =>
    `export type ${name} = ${typeOf(schema, "")};`
  );
  const asked = Object.entries(paths).flatMap(([path, { get, post }]) => {
    const [, name] = /^\/v1\/([a-z]+)$/.exec(path) ?? [];
    const question = post && contentOf(post.requestBody);
    const answer = contentOf(((post ?? get)?.responses as Json | undefined)?.["200"]);
    if (name === undefined || !answer || (post && !question)) return [];
    const args = question ? `question: ${typeOf(question, "")}, ` : "";
    return `  /** ${(get ?? post).summary} */\n  ${name}(${args}signal?: AbortSignal): ` +
      `Promise<${typeOf(answer, "")}>;`;
  });
  return [
    "/** A model of RTTs. Questions that cannot be answered throw a one-line error. */",
    ...["export interface PingModel {", ...asked, "  /** Frees the GPU. */", "  close(): void;", "}"],
    "/** Opens the model of this package, or of an exported site. @param site The URL of its site.json. */",
    "export declare function openModel(site?: string | URL): Promise<PingModel>;",
    ...types,
  ].join("\n") + "\n";
}

/** The schema of a body that is a single JSON value. */
function contentOf(body: unknown): Json | undefined {
  const { content } = (body ?? {}) as { content?: Record<string, { schema: Json }> };
  return content?.["application/json"]?.schema;
}

/** Converts a JSON Schema of the API to a TypeScript type. @param indent Precedes each line. */
function typeOf(schema: Json, indent: string): string {
  const {
    $ref,
    anyOf,
    enum: words,
    type,
    items,
    minItems,
    maxItems,
    properties,
    required,
    additionalProperties,
  } = schema;
  if (typeof $ref === "string") return $ref.slice($ref.lastIndexOf("/") + 1);
  if (Array.isArray(anyOf)) return anyOf.map((each) => typeOf(each, indent)).join(" | ");
  if (Array.isArray(words)) return words.map((word) => JSON.stringify(word)).join(" | ");
  if (type === "integer") return "number";
  if (type === "array") {
    const item = typeOf(items as Json, indent);
    if (minItems !== undefined && minItems === maxItems) {
      return `[${Array.from({ length: Number(minItems) }, () => item).join(", ")}]`;
    }
    return `(${item})[]`;
  }
  if (type !== "object") return typeof type === "string" ? type : "unknown";
  if (!properties) {
    return "Record<string, " +
      `${isObject(additionalProperties) ? typeOf(additionalProperties as Json, indent) : "unknown"}>`;
  }
  const fields = Object.entries(properties as Record<string, Json>).map(([name, field]) => {
    const isRequired = (required as string[] | undefined)?.includes(name);
    const doc = field.description === undefined ? "" : `${indent}  /** ${field.description} */\n`;
    return `${doc}${indent}  ${name}${isRequired ? "" : "?"}: ${typeOf(field, `${indent}  `)};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}
