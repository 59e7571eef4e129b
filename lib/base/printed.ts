/**
 * Everything that the program prints for people passes through here, because parts of it are untrusted: file
 * names, input lines, server answers. None of them can send commands to the terminal, and no key is shown.
 *
 * @module
 */

/** Control characters except tab and line feed, and characters that reverse the text direction. */
// deno-lint-ignore no-control-regex
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;
/** The shortest prefix of a key to hide if a message was shortened within the key. */
const MIN_PART_CHARACTERS = 4;

/** The keys known to this thread. */
const secrets = new Set<string>();

/** Hides a text in everything that this thread prints. @returns The text. */
export function keepSecret(text: string): string {
  secrets.add(text);
  return text;
}

/** Removes keys, and escapes control characters as in JSON, so that printed JSON keeps its meaning. */
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

/** Prints to standard error. @param text One or more lines. */
export function printLog(text: string): void {
  console.error(printable(text));
}
