/** The lines or items of a request with many of them, and what came of each. @module */
import { UserError } from "../../base/errors.ts";
import type { LineError } from "./schemas.ts";

/** A line that is to be answered. */
export interface Line {
  /** From 1. */
  readonly line: number;
  /** The value of the line. @throws {UserError} If it cannot be read. */
  read(): unknown;
}

/** The answer to a line, or its error. */
export type Answered<Answer> = { readonly line: number; readonly answer: Answer } | LineError;

/** The items of an array as lines. */
export async function* itemsOf(items: Iterable<unknown>): AsyncGenerator<Line> {
  let line = 0;
  for (const item of items) yield { line: ++line, read: () => item };
}

/** Lines of JSON; empty ones are skipped, but counted. */
export async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<Line> {
  let line = 0;
  for await (const text of texts) {
    line++;
    if (text.trim() !== "") yield { line, read: () => jsonOf(text) };
  }
}

/** The answers and errors alone: in an array, the place says the line. */
export async function listed<Answer>(
  lines: AsyncIterable<Answered<Answer>>,
): Promise<(Answer | LineError)[]> {
  return await Array.fromAsync(lines, (line) => "error" in line ? line : line.answer);
}

/** The answers with their lines. */
export async function* flat<Answer>(
  lines: AsyncIterable<Answered<Answer>>,
): AsyncGenerator<({ line: number } & Answer) | LineError> {
  for await (const line of lines) yield "error" in line ? line : { line: line.line, ...line.answer };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new UserError("found no JSON, expected a JSON object", { cause: error });
    }
    throw error;
  }
}

/**
 * Works on items; results come as soon as those before them are there.
 *
 * @param work Must end by itself when the caller loses interest, whose promise is then awaited by nobody.
 * @param most How many items are taken in before their results are taken out: the bound of memory.
 * @throws What `items` or `work` throws.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
  most: number,
): AsyncGenerator<Result> {
  const iterator = items[Symbol.asyncIterator]();
  const running: Promise<Result>[] = [];
  let taking: Promise<IteratorResult<Item>> | undefined;
  let isDone = false;
  try {
    while (!isDone || running.length > 0) {
      if (!isDone && running.length < most) taking ??= iterator.next();
      const first = running[0];
      const item = taking?.then((next) => ({ next }));
      const result = first?.then((value) => ({ value }));
      const came = await Promise.race([result, item].filter((promise) => promise !== undefined));
      if ("value" in came) {
        running.shift();
        yield came.value;
        continue;
      }
      taking = undefined;
      if (came.next.done) isDone = true;
      else running.push(handled(work(came.next.value)));
    }
  } finally {
    const ended = iterator.return?.();
    // An item that is being waited for may never come.
    if (taking) ended?.catch(() => {});
    else await ended;
  }
}

/** A promise whose failure is no unhandled one where nobody awaits it. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
