// `unicodeWidth` of @std/cli. npm's `deno-std` leaves out its table of widths; npm's `string-width` has one.
import stringWidth from "npm:string-width@8.3.0";

/** The columns of a terminal that a text takes. */
export const unicodeWidth: (text: string) => number = stringWidth;
