// `unicodeWidth` of @std/cli; npm's `deno-std` leaves out the table that it reads.
import { eastAsianWidth } from "npm:get-east-asian-width@1.7.0";

/** Control characters, combining marks and invisible characters. */
const WITHOUT_WIDTH = /[\p{Cc}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/u;

/** The number of columns that a terminal needs for a text. */
export function unicodeWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const char of text) if (!WITHOUT_WIDTH.test(char)) width += eastAsianWidth(char.codePointAt(0) ?? 0);
  return width;
}
