/** Loads the page's files from their bundle, and describes them as the server sends them. @module */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { fromFileUrl, join } from "@std/path";
import { ensure, UserError } from "../base/errors.ts";
import { exists } from "../io/files/inputs.ts";
import { hashOfFiles } from "../io/files/manifest.ts";

export const PAGE = "index.html";
const ROOT = new URL("../../", import.meta.url);

/** The content of `page_bundle.json`, made by `deno task bundle`: the page as browsers load it. */
export interface PageBundle {
  /** Paths of the source files, relative to the root of the checkout. */
  readonly sources: readonly string[];
  /** The {@link hashOfFiles} of the sources. */
  readonly hash: string;
  /** Text of each file of the page, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** The licences of the whole program and its packages; the page's own are in its `licenses.txt`. */
  readonly licenses: string;
}

/** Loads the bundle, or reports what is wrong with it. In a checkout it must match the current sources. */
export async function loadBundle(): Promise<PageBundle | "missing" | "outdated"> {
  const bundle = await importBundle();
  if (bundle === "missing") return bundle;
  // Packages and executables contain the bundle but not all of its sources.
  if (ROOT.protocol !== "file:" || Deno.build.standalone) return bundle;
  const root = fromFileUrl(ROOT);
  if (!exists(join(root, "deno.lock"))) return bundle;
  const isCurrent = bundle.sources.every((name) => exists(join(root, name))) &&
    hashOfFiles(root, bundle.sources) === bundle.hash;
  return isCurrent ? bundle : "outdated";
}

async function importBundle(): Promise<PageBundle | "missing"> {
  try {
    // Imported, because a program from a registry has no files next to it.
    return (await import("./page_bundle.json", { with: { type: "json" } })).default as PageBundle;
  } catch { // The file is missing or truncated.
    return "missing";
  }
}

function requireBundle(found: PageBundle | "missing" | "outdated", action: string): PageBundle {
  if (typeof found !== "string") return found;
  throw new UserError(`Cannot ${action}: the page's bundle is ${found}; run deno task bundle`);
}

/**
 * Loads the licences of the program, without permission to read files.
 *
 * @throws {UserError} If the bundle is missing.
 */
export async function programLicenses(): Promise<string> {
  return requireBundle(await importBundle(), "print licences").licenses;
}

/**
 * Reads the page: the bytes of each file by name.
 *
 * @param action What the caller wants to do, for the error message.
 * @throws {UserError} If the bundle is missing or was made from other sources.
 */
export async function readPage(action: string): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const bundle = requireBundle(await loadBundle(), action);
  const encoder = new TextEncoder();
  return new Map(Object.entries(bundle.files).map(([name, text]) => [name, encoder.encode(text)]));
}

/** The files of an exported site: all except the description of the HTTP API, which a site does not have. */
export function siteFiles<T>(page: ReadonlyMap<string, T>): Map<string, T> {
  return new Map([...page].filter(([name]) => !name.startsWith("docs.")));
}

/**
 * Content-Security-Policy of the page: only files from its own server. The page states the policy too, for
 * exported sites, but only a header can forbid frames.
 */
export const PAGE_POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
  ...["connect-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'none'"],
  "frame-ancestors 'none'",
].join("; ");
/** Content-Security-Policy of other answers: a browser that shows them loads nothing else. */
export const ANSWER_POLICY = "default-src 'none'; frame-ancestors 'none'";

export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** Hash of the content. */
  readonly hash: string;
}

const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

/** The page's files by path, such as `/page.js`. The page is at `/`, the API description at `/docs`. */
export function pageFiles(page: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): Map<string, PageFile> {
  return new Map([...page].map(([name, body]) => {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    ensure(type, `the page has ${name}, whose media type is not known`);
    const hash = createHash("sha256").update(body).digest("base64url").slice(0, 22);
    const gzip = new Uint8Array(gzipSync(body));
    return [name === PAGE ? "/" : `/${name.replace(/\.html$/, "")}`, { body, gzip, type, hash }];
  }));
}
