/**
 * Opens files of places: MMDB, CSV of ip-location-db, the probe archive of RIPE Atlas, compressed or not. The
 * content of a file tells its format. Several files are merged field by field; later ones override earlier ones. Also opens
 * files of names.
 *
 * @module
 */
import { openInput } from "../../../io/compression/decompress.ts";
import { isMmdb } from "../../../io/mmdb.ts";
import { AddressNames } from "../address_names.ts";
import { composedPlace, type Place, type PlaceSource } from "../place_table.ts";
import { AtlasPlaces } from "./atlas_places.ts";
import { CsvPlaces } from "./csv_places.ts";
import { MmdbPlaces } from "./mmdb_places.ts";

/**
 * Opens files of places as one source.
 *
 * @param paths At least one file.
 * @throws {UserError} If a file cannot be read.
 * @throws {FormatError} If it is damaged, or nothing of the above.
 */
export async function openPlaces(paths: readonly string[]): Promise<PlaceSource> {
  const sources: PlaceSource[] = [];
  for (const path of paths) sources.push(placesOf(await readWhole(path), path));
  return sources.length === 1 ? sources[0] : new ComposedPlaces(sources);
}

/**
 * Reads files of names.
 *
 * @param paths CSV, compressed or not; later ones override earlier ones.
 * @throws {UserError} If a file cannot be read or a line of it is invalid.
 */
export async function openNames(paths: readonly string[]): Promise<AddressNames> {
  const names = new AddressNames();
  for (const path of paths) names.add(await readWhole(path), path);
  return names;
}

function placesOf(bytes: Uint8Array, path: string): PlaceSource {
  if (isMmdb(bytes)) return new MmdbPlaces(bytes, path);
  const first = bytes.find((byte) => byte > 0x20);
  const isJson = first === "[".charCodeAt(0) || first === "{".charCodeAt(0);
  return isJson ? new AtlasPlaces(bytes, path) : new CsvPlaces(bytes, path);
}

async function readWhole(path: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await openInput(path)).chunks) chunks.push(chunk);
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Several sources as one. */
class ComposedPlaces implements PlaceSource {
  constructor(readonly parts: readonly PlaceSource[]) {}

  locate(address: Uint8Array): Place | undefined {
    return composedPlace(this.parts.map((part) => part.locate(address)));
  }

  visitBounds(length: 4 | 16, visit: (number: number) => void): void {
    for (const part of this.parts) part.visitBounds(length, visit);
  }
}
