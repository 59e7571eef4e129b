/**
 * Opens files with names of addresses.
 *
 * @module
 */
import { readWhole } from "../../../io/compression/decompress.ts";
import { ToUtf8 } from "../../../io/text/utf8.ts";
import { AddressNames } from "../address_names.ts";

/**
 * Reads files of names.
 *
 * @param paths CSV or hosts files, compressed or not. Later ones override earlier ones.
 * @throws {UserError} If a file cannot be read or has an invalid line.
 */
export async function openNames(paths: readonly string[]): Promise<AddressNames> {
  const names = new AddressNames();
  for (const path of paths) names.add(new ToUtf8().push(await readWhole(path), true), path);
  return names;
}
