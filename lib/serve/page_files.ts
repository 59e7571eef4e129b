/**
 * The files of the page, which `deno task bundle` makes, and as the server sends them.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ensure } from "../base/errors.ts";
import docsHtml from "./bundle/docs.html" with { type: "text" };
import docsJs from "./bundle/docs.js.txt" with { type: "text" };
import iconSvg from "./bundle/icon.svg" with { type: "text" };
import indexHtml from "./bundle/index.html" with { type: "text" };
import pageCss from "./bundle/page.css" with { type: "text" };
import pageJs from "./bundle/page.js.txt" with { type: "text" };
import workerJs from "./bundle/worker.js.txt" with { type: "text" };

/** The file that a browser opens. */
export const PAGE = "index.html";
/**
 * Files in `bundle/`, imported, since programs of a registry have no files beside them. Scripts have another ending there,
 * since `deno publish` rewrites the imports of modules.
 */
const TEXTS = {
  "docs.html": docsHtml,
  "docs.js": docsJs,
  "icon.svg": iconSvg,
  [PAGE]: indexHtml,
  "page.css": pageCss,
  "page.js": pageJs,
  "worker.js": workerJs,
};

/** The files of the page: the bytes of each by its name. */
export function readPage(): Map<string, Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  return new Map(Object.entries(TEXTS).map(([name, text]) => [name, encoder.encode(text)]));
}

/** The files of the page for an exported site: without the description of the HTTP API, which a site does not have. */
export function readSitePage(): Map<string, Uint8Array<ArrayBuffer>> {
  return new Map([...readPage()].filter(([name]) => !name.startsWith("docs.")));
}

/**
 * Content-Security-Policy of the page: files of its own server. The page states it too, for exported sites; only a
 * header can forbid frames.
 */
export const PAGE_POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
  ...["connect-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'none'"],
  "frame-ancestors 'none'",
].join("; ");
/** Content-Security-Policy of other answers: a browser that shows them loads nothing. */
export const ANSWER_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** A file of the page. */
export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Its media type. */
  readonly type: string;
  /** An entity tag of its content, with quotes. */
  readonly etag: string;
}

const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The files of the page by path, such as `/page.js`; the page itself is at `/`, the description of the API at `/docs`. */
export function readPageFiles(): Map<string, PageFile> {
  return new Map([...readPage()].map(([name, body]) => {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    ensure(type, `the page has ${name}, whose media type is not known`);
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    return [name === PAGE ? "/" : `/${name.replace(/\.html$/, "")}`, { body, type, etag }];
  }));
}
