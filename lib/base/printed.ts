/**
 * Everything that the program prints for people passes here, since parts of it come from others: names of files, lines of
 * inputs, answers of servers. None of them gives commands to the terminal, and no key is shown.
 *
 * @module
 */

/** Control characters except tab and line feed, and those that reverse the direction of text. */
// deno-lint-ignore no-control-regex
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;
/** The shortest beginning of a key that is hidden where a message was shortened within it. */
const MIN_PART_CHARACTERS = 4;

/** Keys of this thread. */
const secrets = new Set<string>();

/** Hides a text in everything that this thread prints. @returns The text. */
export function keepSecret(text: string): string {
  secrets.add(text);
  return text;
}

/** A text without keys, with control characters as JSON escapes them, so that printed JSON stays what it is. */
export function printable(text: string): string {
  let shown = text;
  for (const secret of secrets) {
    shown = shown.replaceAll(secret, "[key]");
    for (let length = secret.length - 1; length >= MIN_PART_CHARACTERS; length--) {
      shown = shown.replaceAll(`${secret.slice(0, length)}…`, "[key]…");
    }
  }
  return shown.replaceAll(CONTROLS, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Prints on standard error. @param text A line, or several. */
export function printLog(text: string): void {
  console.error(printable(text));
}
