/**
 * The files of the page as the server sends them.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ensure } from "../base/errors.ts";
import { PAGE, readPage } from "./site/page_bundle.ts";

/**
 * What the page may load: files of its own server. The page says the same itself, for exported sites; frames only a
 * header can forbid.
 */
export const PAGE_POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
  ...["connect-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'none'"],
  "frame-ancestors 'none'",
].join("; ");
/** What other answers may load if a browser shows them: nothing. */
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
