/**
 * The files of the page, read once, with what a browser may do with them.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** A file of the page. */
export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Its media type. */
  readonly type: string;
  /** An entity tag of its content, with quotes. */
  readonly etag: string;
  /** The Content-Security-Policy; of pages only. */
  readonly policy?: string;
}

/** Where `deno task bundle` puts the page. */
const BUNDLE = new URL("../page/bundle/", import.meta.url);

const TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/** What is shown where there is no page: the API can be used without one. */
const NO_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>ping-llm</title>
<h1>ping-llm</h1><p>This server has no page. <a href="openapi.json">openapi.json</a> describes its API.</p></html>
`;

/**
 * Reads the page.
 *
 * @param folder Its files, all of one level.
 * @returns By path, such as `/page.js`; `index.html` is at `/`.
 */
export function readPageFiles(folder: URL = BUNDLE): Map<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const name of namesIn(folder)) {
    const type = TYPES[/\.\w+$/.exec(name)?.[0] ?? ""];
    if (type === undefined) continue;
    const body = Deno.readFileSync(new URL(name, folder));
    files.set(name === "index.html" ? "/" : `/${name}`, pageFile(body, type));
  }
  if (!files.has("/")) files.set("/", pageFile(new TextEncoder().encode(NO_PAGE), TYPES[".html"]));
  return files;
}

function pageFile(body: Uint8Array<ArrayBuffer>, type: string): PageFile {
  const file = { body, type, etag: `"${sha256(body, "base64url").slice(0, 22)}"` };
  return type === TYPES[".html"] ? { ...file, policy: policyOf(new TextDecoder().decode(body)) } : file;
}

/**
 * The policy of a page: files and requests of its own server only, and the scripts and styles that stand in it.
 *
 * Specification: W3C Content Security Policy Level 3.
 */
function policyOf(html: string): string {
  const hashesOf = (element: string) =>
    [...html.matchAll(new RegExp(`<${element}[^>]*>([^]*?)</${element}>`, "g"))]
      .filter(([, text]) => text !== "")
      .map(([, text]) => ` 'sha256-${sha256(new TextEncoder().encode(text), "base64")}'`).join("");
  return [
    "default-src 'none'",
    `script-src 'self'${hashesOf("script")}`,
    `style-src 'self'${hashesOf("style")}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function sha256(bytes: Uint8Array, encoding: "base64" | "base64url"): string {
  return createHash("sha256").update(bytes).digest(encoding);
}

function namesIn(folder: URL): string[] {
  try {
    return [...Deno.readDirSync(folder)].filter(({ isFile }) => isFile).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
