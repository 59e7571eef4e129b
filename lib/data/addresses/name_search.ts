/**
 * Searches names of places and addresses.
 *
 * @module
 */
import { editDistance } from "../../base/text.ts";

export interface SearchedName {
  /** The name as {@link comparable} returns it. */
  readonly key: string;
  /** A short name; its beginning also finds the entry. */
  readonly code?: string;
  readonly name: () => string;
}

/**
 * Finds names that begin with a text, then those with a word that does, then similar ones.
 *
 * @param wanted As {@link comparable} returns it.
 * @returns The first entry of each name, by name.
 */
export function matchingNames<T extends SearchedName>(
  names: readonly T[],
  wanted: string,
  limit: number,
): Map<string, T> {
  const found = new Map<string, T>();
  if (wanted === "") return found;
  for (
    const matches of [
      ({ code }: SearchedName) => code === wanted,
      ({ key, code = "" }: SearchedName) =>
        key.startsWith(wanted) || wanted.length > 2 && code.startsWith(wanted),
      ({ key }: SearchedName) => key.includes(` ${wanted}`),
      // Comparing all names of the Internet would take 0.2 s, and the first letter is rarely wrong.
      ({ key }: SearchedName) =>
        key[0] === wanted[0] && Math.abs(key.length - wanted.length) <= 2 &&
        editDistance(key, wanted) <= Math.min(2, wanted.length / 3),
    ]
  ) {
    for (const each of names) {
      if (found.size >= limit) return found;
      if (!matches(each)) continue;
      const name = each.name();
      if (!found.has(name)) found.set(name, each);
    }
  }
  return found;
}

/** Converts a name to the form used in comparisons, without case, accents and punctuation. */
export function comparable(text: string): string {
  return text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
