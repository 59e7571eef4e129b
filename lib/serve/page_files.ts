/**
 * The files of the page as the server sends them.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ensure } from "../errors.ts";
import { PAGE, readPage } from "../site/page_bundle.ts";

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
 * @returns By path, such as `/page.js`; the page itself is at `/`.
 */
export function readPageFiles(folder?: URL): Map<string, PageFile> {
  return new Map([...readPage(folder)].map(([name, body]) => {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    ensure(type, `the page has ${name}, whose media type is not known`);
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    return [name === PAGE ? "/" : `/${name}`, { body, type, etag }];
  }));
}
