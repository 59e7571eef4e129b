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

/** The keys known to this thread, in all forms in which a server may repeat them. */
const secrets = new Set<string>();

/** Hides a text in everything that this thread prints. @returns The text. */
export function keepSecret(text: string): string {
  secrets.add(text);
  for (const form of encodedForms(text)) if (form.length >= 2 * MIN_PART_CHARACTERS) secrets.add(form);
  return text;
}

/** A text in percent-encoding, hexadecimal, escapes of JSON and HTML, and base64, also as a part of more. */
function encodedForms(text: string): string[] {
  const bytes = new TextEncoder().encode(text);
  const each = (form: (unit: number) => string) =>
    Array.from(text, (_, i) => form(text.charCodeAt(i))).join("");
  const hex = (unit: number, length: number) => unit.toString(16).padStart(length, "0");
  const cased = [
    Array.from(bytes, (byte) => `%${hex(byte, 2)}`).join(""),
    bytes.toHex(),
    each((unit) => `\\u${hex(unit, 4)}`),
    each((unit) => `&#x${hex(unit, 2)};`),
  ];
  const base64 = [0, 1, 2].flatMap((before) => {
    const padded = new Uint8Array(before + bytes.length);
    padded.set(bytes, before);
    // Without the characters that also depend on what is around the text.
    const whole = [Math.ceil(before * 4 / 3), Math.floor(padded.length * 4 / 3)];
    return (["base64", "base64url"] as const).map((alphabet) =>
      padded.toBase64({ alphabet }).slice(...whole)
    );
  });
  const upper = cased.map((form) =>
    form.replace(/[0-9a-f]+(?=[%&\\;]|$)/g, (digits) => digits.toUpperCase())
  );
  return [
    ...[encodeURIComponent(text), JSON.stringify(text).slice(1, -1), each((unit) => `&#${unit};`)],
    ...[...cased, ...upper, ...base64],
  ];
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
