/**
 * Reads damaged files one after another and prints a line of JSON before and after each. It is a separate
 * process, because a reader that hangs or takes all memory can only be stopped from outside (supervise.ts).
 *
 * Arguments: format, seed, first case, end of the cases, folder for the files.
 *
 * @module
 */
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { FORMAT, type FormatName, FORMATS } from "./formats.ts";
import { mutate } from "./mutate.ts";

export interface Outcome {
  index: number;
  mutation: string;
  /**
   * `error`: a one-line error; `rejected`: bad rows or chunks were counted; `read`: the damage cannot be
   * detected, such as another digit in a number; `fault`: anything else.
   */
  kind: "error" | "rejected" | "read" | "fault";
  /** The error's line, or a description of the fault. */
  message: string;
  rssBytes: number;
}

export function print(value: Partial<Outcome>): void {
  const bytes = new TextEncoder().encode(JSON.stringify(value) + "\n");
  for (let done = 0; done < bytes.length;) done += Deno.stdout.writeSync(bytes.subarray(done));
}

/** The damaged file of a case. */
function caseFile(
  format: FormatName,
  good: Uint8Array[],
  { seed, index }: { seed: number; index: number },
): { name: string; bytes: Uint8Array } {
  const random = new RandomStream(seed, "tests/fuzz", FORMATS.indexOf(format), index);
  return mutate(good[index % good.length], random);
}

async function readCase(
  format: FormatName,
  path: string,
  numGoodBad: number,
): Promise<Pick<Outcome, "kind" | "message">> {
  try {
    const { numRead, numRejected } = await FORMAT[format].read(path);
    const message = `${numRead} read, ${numRejected} rejected`;
    if (numRejected > numGoodBad) return { kind: "rejected", message };
    return { kind: FORMAT[format].seesEverything ? "fault" : "read", message };
  } catch (error) {
    if (error instanceof UserError) {
      const { message } = error;
      const isClear = message.startsWith("Cannot ") && message.includes(path) && !message.includes("\n");
      return { kind: isClear ? "error" : "fault", message };
    }
    return { kind: "fault", message: error instanceof Error ? `${error.stack}` : String(error) };
  }
}

async function main(): Promise<void> {
  const [name, ...rest] = Deno.args;
  const format = FORMATS.find((known) => known === name);
  if (!format) throw new Error(`unknown format ${name}`);
  const [seed, from, to] = rest.map(Number);
  const folder = rest[3];
  const good = await FORMAT[format].makeFiles(folder);
  const numGoodBad: number[] = [];
  const path = join(folder, `case.${format}`);
  for (const bytes of good) {
    Deno.writeFileSync(path, bytes);
    numGoodBad.push((await FORMAT[format].read(path)).numRejected);
  }
  for (let index = from; index < to; index++) {
    const { name: mutation, bytes } = caseFile(format, good, { seed, index });
    Deno.writeFileSync(path, bytes);
    print({ index, mutation });
    const outcome = await readCase(format, path, numGoodBad[index % good.length]);
    print({ index, mutation, ...outcome, rssBytes: Deno.memoryUsage().rss });
  }
}

if (import.meta.main) await main();
