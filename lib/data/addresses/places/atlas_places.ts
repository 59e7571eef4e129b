/**
 * Places from the probe archive of RIPE Atlas, whose hosts told where their probes are, and from its anchors. A probe's address gives the place of
 * its /24 or /40, as coarse as a table of places, the announced prefix around it only the AS.
 *
 * Source: https://ftp.ripe.net/ripe/atlas/probes/archive/ and the objects of https://atlas.ripe.net/api/v2/probes/
 * and https://atlas.ripe.net/api/v2/anchors/.
 *
 * @module
 */
import { isObject } from "../../../base/collections.ts";
import { FormatError } from "../../../base/errors.ts";
import { parseAddress } from "../ip.ts";
import { addressNumber, NUMBER_BYTES, type Place, type PlaceSource } from "../place_table.ts";
import { faultOfPrefix, parsePrefix } from "../ip_prefix.ts";
import { JsonObjectScanner, parsePiece } from "../../measurement/json_stream.ts";

/** The lengths of the prefixes that a probe's own address gives a place: those of the blocks of a `PlaceTable`. */
const OWN_BITS = { 4: 24, 16: 40 } as const;

/** So many bytes' probes are in memory at once. */
const CHUNK_BYTES = 1 << 18;

/** The places of probes. */
export class AtlasPlaces implements PlaceSource {
  /** By the address's length, then the prefix's length in bits, then its first number. */
  readonly #places = { 4: new Map<number, Map<number, Place>>(), 16: new Map<number, Map<number, Place>>() };
  #numProbes = 0;

  /** @param bytes The whole file. @param path Its name, for errors. @throws {FormatError} If it has no probes. */
  constructor(bytes: Uint8Array, path: string) {
    const scanner = new JsonObjectScanner(path);
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      const piece = scanner.push(bytes.subarray(at, at + CHUNK_BYTES));
      parsePiece(piece, (object) => this.#addAll(object));
    }
    scanner.end();
    if (this.#numProbes > 0) return;
    throw new FormatError(
      "found no probes; expected the probe archive of RIPE Atlas, a list of objects with `id`",
      {
        path,
      },
    );
  }

  locate(address: Uint8Array): Place | undefined {
    const length = address.length === 4 ? 4 : 16;
    const number = addressNumber(address);
    let place: Place | undefined;
    // From general to specific, field by field.
    for (const bits of [...this.#places[length].keys()].sort((a, b) => a - b)) {
      const found = this.#places[length].get(bits)?.get(firstOf(number, bits, length));
      if (found) place = place ? { ...place, ...found } : found;
    }
    return place;
  }

  visitBounds(length: 4 | 16, visit: (number: number) => void): void {
    for (const [bits, places] of this.#places[length]) {
      for (const number of places.keys()) {
        visit(number);
        visit(number + 2 ** (8 * NUMBER_BYTES[length] - bits));
      }
    }
  }

  #addAll(value: Record<string, unknown> | undefined): void {
    if (Array.isArray(value?.objects)) {
      for (const each of value.objects) if (isObject(each)) this.#addAll(each);
    } else if (typeof value?.id === "number") this.#add(value);
  }

  #add(probe: Record<string, unknown>): void {
    this.#numProbes++;
    const coordinates = isObject(probe.geometry) ? probe.geometry.coordinates : undefined;
    const [longitude, latitude] = Array.isArray(coordinates)
      ? coordinates
      : [probe.longitude, probe.latitude];
    const hasPosition = typeof latitude === "number" && typeof longitude === "number";
    const code = probe.country_code ?? probe.country;
    const own: Place = {
      ...(hasPosition && { latitude, longitude }),
      ...(typeof code === "string" && /^[A-Z]{2}$/.test(code) && { countryCode: code }),
    };
    for (const version of ["v4", "v6"]) {
      const asNumber = probe[`asn_${version}`] ?? probe[`as_${version}`];
      const network: Place = typeof asNumber === "number" && asNumber > 0 ? { asNumber } : {};
      const prefix = probe[`prefix_${version}`];
      if (typeof prefix === "string" && network.asNumber !== undefined && !faultOfPrefix(prefix)) {
        const { bytes, length } = parsePrefix(prefix);
        this.#put(bytes, length, network);
      }
      const address = parseAddress(String(probe[`address_${version}`] ?? probe[`ip_${version}`]));
      if (address) this.#put(address, OWN_BITS[address.length === 4 ? 4 : 16], { ...own, ...network });
    }
  }

  #put(address: Uint8Array, bits: number, place: Place): void {
    const length = address.length === 4 ? 4 : 16;
    const known = Math.min(bits, 8 * NUMBER_BYTES[length]);
    const places = this.#places[length].get(known) ?? new Map<number, Place>();
    this.#places[length].set(known, places);
    places.set(firstOf(addressNumber(address), known, length), place);
  }
}

/** The first number of the prefix of some bits around a number. */
function firstOf(number: number, bits: number, length: 4 | 16): number {
  const scale = 2 ** (8 * NUMBER_BYTES[length] - bits);
  return Math.floor(number / scale) * scale;
}
