/** Whether a text is well-formed XML, for the tests of pictures. @module */

const NAME = "[A-Za-z_:][\\w:.-]*";
const ATTRIBUTE = `\\s+${NAME}\\s*=\\s*(?:"[^"<]*"|'[^'<]*')`;
/** A start or end tag, a comment or declaration, or text up to the next of them. */
const PIECE = new RegExp(
  `<(${NAME})((?:${ATTRIBUTE})*)\\s*(/?)>|</(${NAME})\\s*>|<!--[^]*?-->|<\\?[^]*?\\?>|([^<]+)`,
  "y",
);
const NAMED_VALUE = new RegExp(`(${NAME})\\s*=\\s*(?:"[^"]*"|'[^']*')`, "g");
const LONE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\dA-Fa-f]+);)/;

/**
 * Checks what XML 1.0 (section 2.1) requires of elements: one root, each closed in turn, attributes quoted
 * and unique, only predefined entities.
 *
 * @returns The fault and its position; undefined if there is none.
 */
export function faultOfXml(text: string): string | undefined {
  const open: string[] = [];
  let numRoots = 0;
  for (PIECE.lastIndex = 0; PIECE.lastIndex < text.length;) {
    const at = PIECE.lastIndex;
    const match = PIECE.exec(text);
    if (!match) return `no markup at ${at}: ${text.slice(at, at + 40)}`;
    const [piece, start, attributes = "", isEmpty, end, characters] = match;
    if (LONE_AMPERSAND.test(start ? attributes : characters ?? "")) {
      return `a lone & at ${at}: ${piece.slice(0, 80)}`;
    }
    if (characters !== undefined && characters.trim() !== "" && open.length === 0) {
      return `text outside at ${at}`;
    }
    const names = [...attributes.matchAll(NAMED_VALUE)].map(([, name]) => name);
    if (new Set(names).size < names.length) return `an attribute twice at ${at}: ${piece.slice(0, 80)}`;
    if (start && open.length === 0) numRoots++;
    if (start && !isEmpty) open.push(start);
    if (end && open.pop() !== end) return `</${end}> closes another element at ${at}`;
  }
  if (open.length > 0) return `<${open.at(-1)}> is not closed`;
  return numRoots === 1 ? undefined : `${numRoots} roots`;
}
