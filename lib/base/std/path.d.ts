/** Types of the @std/path functions in use (https://jsr.io/@std/path), for the npm copy, which has none. */

/** The last part of a path, without `suffix` if it ends with that. */
export function basename(path: string, suffix?: string): string;
/** The path without its last part. */
export function dirname(path: string): string;
export function join(path: string | URL, ...paths: string[]): string;
/** Normalizes `.` and `..`. */
export function normalize(path: string): string;
export function resolve(...pathSegments: string[]): string;
/** The path of `to` as seen from `from`. */
export function relative(from: string, to: string): string;
export function isGlob(str: string): boolean;
/** The regular expression that matches the same texts as the whole glob. */
export function globToRegExp(glob: string, options?: {
  extended?: boolean;
  globstar?: boolean;
  caseInsensitive?: boolean;
}): RegExp;
export function fromFileUrl(url: string | URL): string;
export function toFileUrl(path: string): URL;
