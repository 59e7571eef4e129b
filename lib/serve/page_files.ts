/**
 * The files of the page, which `deno task bundle` makes, and as the server sends them.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ensure, UserError } from "../base/errors.ts";
import { explainFileError } from "../io/files/file_errors.ts";

/** The output folder of `deno task bundle`. */
const BUNDLE = new URL("./page/bundle/", import.meta.url);
/** The file that a browser opens. */
export const PAGE = "index.html";

/**
 * Reads the files of the page.
 *
 * @param folder Their folder.
 * @returns The bytes of each by its name.
 * @throws {UserError} If they are missing.
 */
export function readPage(folder: URL = BUNDLE): Map<string, Uint8Array<ArrayBuffer>> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  try {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (isFile) files.set(name, Deno.readFileSync(new URL(name, folder)));
    }
  } catch (error) {
    throw explainFileError(error, `read ${folder.pathname}`);
  }
  if (!files.has(PAGE)) {
    throw new UserError(`Cannot read the page: found no ${PAGE} in ${folder.pathname}; run deno task bundle`);
  }
  return files;
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

/**
 * Reads the page, once.
 *
 * @param folder As for `readPage`.
 * @returns By path, such as `/page.js`; the page itself is at `/`, the description of the API at `/docs`.
 */
export function readPageFiles(folder?: URL): Map<string, PageFile> {
  return new Map([...readPage(folder)].map(([name, body]) => {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    ensure(type, `the page has ${name}, whose media type is not known`);
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    return [name === PAGE ? "/" : `/${name.replace(/\.html$/, "")}`, { body, type, etag }];
  }));
}
