/**
 * The query of a URL as the fields of a question.
 *
 * @module
 */
import { ApiError } from "../api/api_error.ts";
import { shortened } from "../errors.ts";

/** How the texts of fields are read; what is not here is a text. */
const READ: Record<string, (text: string) => unknown> = {
  quantiles: listOf,
  at: listOf,
  rtt: (text) => {
    const ends = text.split("..");
    return (ends.length === 1 ? [text, text] : ends).map(numberOf);
  },
};
for (
  const name of [
    ...["cdf", "draws", "seed", "context"],
    ...["top", "prefix_length", "candidates", "max_expansions"],
  ]
) READ[name] = numberOf;

/**
 * Reads a query. What it says is checked where the question is answered.
 *
 * @throws {ApiError} If a field is given twice.
 */
export function queryFields(url: string): Record<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const [name, text] of new URL(url).searchParams) {
    if (fields.has(name)) {
      throw new ApiError(400, `Cannot answer: found ${shortened(name)} twice, it was wanted once`);
    }
    fields.set(name, Object.hasOwn(READ, name) ? READ[name](text) : text);
  }
  return Object.fromEntries(fields);
}

function listOf(text: string): unknown[] {
  return text.split(",").map(numberOf);
}

/** A number; another text as it is, for the message. */
function numberOf(text: string): number | string {
  const number = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(number) ? number : text;
}
