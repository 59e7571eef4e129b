/**
 * The version of the checkpoint format, and how tensors of earlier versions are converted. A file without a
 * version has version 1.
 *
 * @module
 */
import { FormatError, UserError } from "../base/errors.ts";
import type { TensorArray } from "../base/safetensors_header.ts";
import { faultAt, USE_ANOTHER } from "./finite.ts";
import { whole } from "./possible_numbers.ts";

/** The version written to the metadata of tensor files, to `state.json` and to `site.json`. */
export const FORMAT_VERSION = 3;

/** Metadata of all tensor files of a checkpoint. `pt` tells PyTorch's readers that tensors are row-major. */
export const FORMAT_METADATA = { format: "pt", format_version: String(FORMAT_VERSION) } as const;

interface TensorContent {
  shapes: Map<string, number[]>;
  tensors: Map<string, TensorArray>;
}

/**
 * Checks the version of a file.
 *
 * @param found As the file states it; undefined for version 1.
 * @throws {UserError} If this program does not know it.
 */
export function checkFormatVersion(found: unknown, path: string): void {
  const version = Number(found ?? 1);
  if (Number.isInteger(version) && version >= 1 && version <= FORMAT_VERSION) return;
  throw new UserError(
    `Cannot read ${path}: found format version ${found}, expected 1 to ${FORMAT_VERSION}; use the version of the ` +
      "program that wrote it",
  );
}

/**
 * Converts tensors to the present version.
 *
 * @param content As read from the file.
 * @param version As the file states it; undefined for version 1.
 * @throws {UserError} As {@link checkFormatVersion}.
 * @throws {FormatError} If a number of an earlier version does not fit its present type.
 */
export function presentTensors(content: TensorContent, version: unknown, path: string): TensorContent {
  const shapes = presentNames(content.shapes, version, path);
  const tensors = presentNames(content.tensors, version, path);
  return Number(version ?? 1) < 3 ? typed({ shapes, tensors }, path) : { shapes, tensors };
}

/** Prefix of names in version 1. In GPT-2 `wpe` is the position embedding. */
const PREFIX_V1 = "wpe.";
const PREFIX = "address_embed.";

/** Renames tensors, their shapes or optimizer states like {@link presentTensors}; types do not change. */
export function presentNames<T>(
  byName: ReadonlyMap<string, T>,
  version: unknown,
  path: string,
): Map<string, T> {
  checkFormatVersion(version, path);
  if (Number(version ?? 1) > 1) return new Map(byName);
  const present = (name: string) => name.startsWith(PREFIX_V1) ? PREFIX + name.slice(PREFIX_V1.length) : name;
  return new Map([...byName].map(([name, value]) => [present(name), value]));
}

/**
 * Versions 1 and 2 stored integers as F32. Each letter is a number of a row: `w` unchanged, `h` as its upper
 * and lower 16 bits, `t` as a multiple of 2^20 and the rest.
 */
const WHOLE = new Map(Object.entries({
  "address_embed.keys": "h",
  "address_embed.rows": "h",
  "address_embed.history": "wwwwwwwwwt",
  "coordinates.keys": "h",
  "coordinates.numbers": "h",
  v4: "h",
  v6: "hhhh",
  seen: "hhhh",
  pairs: "hhhh",
  "adaptation.v4": "h",
  "adaptation.v6": "hhhh",
  "adaptation.seen": "hhhh",
  "adaptation.pairs": "hhhh",
  "pool.range": "wwt",
  "pool.pairs": "hhw",
  "pool.rtts": "ww",
  "pool.ends": "hhww",
  "pool.usual": "w",
  "pool.all": "w",
  "pool.end_tries": "hhwwww",
  "pool.pair_tries": "hhww",
  "pool.roots": "w",
}));
/** Exclusive bounds on the parts of a number. */
const LIMITS: Readonly<Record<string, readonly number[]>> = {
  w: [2 ** 32],
  h: [2 ** 16, 2 ** 16],
  t: [2 ** 12, 2 ** 20],
};

/** Tensors whose rows began with two hashes, which are now a separate tensor, and the width of the rest. */
const HASHED = new Map(Object.entries({
  "pool.factors": { hashes: "pool.factor_hashes", width: 20 },
  "pool.excesses": { hashes: "pool.excess_hashes", width: 2 },
}));

/** Converts tensors of versions 1 and 2, which had only F32, to their present types. */
function typed({ shapes, tensors }: TensorContent, path: string): TensorContent {
  const present: TensorContent = { shapes: new Map(), tensors: new Map() };
  const add = (name: string, values: TensorArray, width: number) => {
    present.tensors.set(name, values);
    present.shapes.set(name, [values.length / width, width]);
  };
  for (const [name, values] of tensors) {
    const converted = (parts: string, own = values) => wholeNumbers(own, parts, { name, path });
    const [parts, hashed] = [WHOLE.get(name), HASHED.get(name)];
    if (parts) add(name, converted(parts), parts.length);
    else if (hashed) {
      const isHash = (i: number) => i % (4 + hashed.width) < 4;
      add(hashed.hashes, converted("hh", values.filter((_, i) => isHash(i))), 2);
      add(name, values.filter((_, i) => !isHash(i)), hashed.width);
    } else if (name === "places.table") add(name, bytesOf(converted("w")), 3);
    else if (name === "pool.kriging_ends") add(name, Uint8Array.from(converted("w")), 17);
    else {
      present.tensors.set(name, values);
      present.shapes.set(name, shapes.get(name) ?? [values.length]);
    }
  }
  const range = present.tensors.get("pool.range");
  if (!range) return present;
  // Times of the pool were relative to the start of its range.
  const startS = range[2];
  const times = present.tensors.get("pool.rtts");
  for (let i = 1; times && i < times.length; i += 2) times[i] += startS;
  add("pool.range", range.subarray(0, 2), 2);
  return present;
}

/** @throws {FormatError} If a number is too large or not an integer. */
function wholeNumbers(
  values: TensorArray,
  parts: string,
  { name, path }: { name: string; path: string },
): Uint32Array {
  const limits = [...parts].map((part) => LIMITS[part]);
  const width = limits.flat().length;
  const numbers = new Uint32Array(values.length / width * parts.length);
  let at = 0;
  for (let i = 0; i < numbers.length; i++) {
    let number = 0;
    for (const limit of limits[i % parts.length]) {
      const value = values[at++];
      if (!(value >= 0 && value < limit && Number.isInteger(value))) {
        const fault = faultAt(name, values, at - 1, whole(0, limit - 1).wanted);
        throw new FormatError(`${fault}; ${USE_ANOTHER}`, { path });
      }
      number = number * limit + value;
    }
    numbers[i] = number;
  }
  return numbers;
}

/** Three bytes per number, most significant first. */
function bytesOf(numbers: Uint32Array): Uint8Array {
  return Uint8Array.from(
    { length: 3 * numbers.length },
    (_, i) => numbers[Math.floor(i / 3)] >> (16 - 8 * (i % 3)),
  );
}
