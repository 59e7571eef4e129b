/**
 * The files of the page, made by `deno task bundle`.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { explainFileError } from "../../io/files/file_errors.ts";

/** The output folder of `deno task bundle`. */
const BUNDLE = new URL("../page/bundle/", import.meta.url);
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
