/** Rotates a log while its watch is killed and restarted. @module */
import { assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { USUAL_READING } from "../../../lib/data/formats/format.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { alarmLine } from "../../../lib/query/changes/alarm_lines.ts";
import { PairWatch } from "../../../lib/query/changes/pair_watch.ts";
import { ArrivingMeasurements } from "../../../lib/query/files/arriving.ts";
import { spawnStage } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { until } from "../../until.ts";

const START_S = 1_480_000_000;
/** Lines per file. Two pairs alternate; every 80 lines of a pair its level is the usual one or a new one. */
const LINES_PER_FILE = 400;

/** The lines of one of the files. @param file Counts from 0. */
export function linesOf(file: number): string[] {
  return Array.from({ length: LINES_PER_FILE }, (_, i) => {
    const number = file * LINES_PER_FILE + i;
    const [pair, row] = [number % 2, number >> 1];
    const step = Math.floor(row / 80 + 0.3 * pair);
    const levelMs = step % 2 === 0 ? 20 : 58 + 20 * step;
    const rtt = levelMs + 0.1 * (row % 3);
    return `${
      JSON.stringify({ src: `10.0.0.${1 + pair}`, dst: "192.0.2.1", time: START_S + 120 * number, rtt })
    }\n`;
  });
}

/** Alarms that a watch reports for a file by the time it has read it and waits for more. */
async function alarmsOf(path: string): Promise<string[]> {
  const { signal } = new AbortController();
  const watch = new PairWatch({ maxPairs: 10 });
  const lines: string[] = [];
  const reading = { isFollowing: false, reading: USUAL_READING, signal, log: () => {} };
  for await (const measurement of new ArrivingMeasurements([path], reading)) {
    lines.push(...watch.add(measurement).map((event) => JSON.stringify(alarmLine(event))));
  }
  return lines;
}

/** A watch in a separate process, which is killed on disposal. */
export class RunningWatch implements AsyncDisposable {
  stdout = "";
  stderr = "";
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<unknown>;

  constructor(args: readonly string[], options: Parameters<typeof spawnStage>[1] = {}) {
    this.#child = spawnStage(["watch", ...args], options);
    const read = async (name: "stdout" | "stderr") => {
      for await (const text of this.#child[name].pipeThrough(new TextDecoderStream())) this[name] += text;
    };
    this.#reading = Promise.all([read("stdout"), read("stderr")]);
  }

  /** Terminates it with a signal. @returns The exit code. */
  async end(signal: Deno.Signal): Promise<number> {
    this.#child.kill(signal);
    const { code } = await this.#child.status;
    await this.#reading;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL").catch(() => {});
  }
}

/** The text of a file; empty if it does not exist. */
export const textOf = (path: string) => exists(path) ? Deno.readTextFileSync(path) : "";

/**
 * Writes a log in pieces, renames each complete file, and kills the watch at random moments. Its alarms must
 * be those of an undisturbed watch.
 *
 * @returns The number of alarm lines.
 */
export async function requireSameAlarms(
  { numRotations, numKills, seed }: { numRotations: number; numKills: number; seed: number },
): Promise<number> {
  using folder = new TemporaryFolder();
  const random = new RandomStream(seed, "rotated_watch");
  const files = Array.from({ length: numRotations + 1 }, (_, file) => linesOf(file).join(""));
  const whole = folder.at("whole.jsonl");
  Deno.writeTextFileSync(whole, files.join(""));
  const expected = (await alarmsOf(whole)).map((line) => `${line}\n`);
  const undisturbed = folder.at("undisturbed.jsonl");
  const output = folder.at("alarms.jsonl");
  const log = folder.at("pings.jsonl");
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  let numLeft = numKills;
  const numPieces = 8;
  await using stack = new AsyncDisposableStack();
  const start = (input: string, output: string) =>
    stack.use(new RunningWatch(["--input", input, "--follow", "--output", output, "--quiet"]));
  start(whole, undisturbed);
  let watching = start(`${log}*`, output);
  const kill = async () => {
    await watching.end("SIGKILL");
    assertEquals(watching.stderr, "");
  };
  for (const [file, text] of files.entries()) {
    for (let piece = 0; piece < numPieces; piece++) {
      // Pieces end in the middle of lines.
      const [from, to] = [piece, piece + 1].map((part) => Math.floor(part * text.length / numPieces));
      Deno.writeTextFileSync(log, text.slice(from, to), { append: true });
      const numPiecesLeft = (files.length - file) * numPieces - piece;
      if (random.float64() * numPiecesLeft >= numLeft) continue;
      numLeft--;
      // Often while it starts, otherwise after it has reported something or while it waits.
      const before = textOf(output);
      if (numLeft % 2 === 0) await pause(1500 * random.float64());
      else for (let i = 0; i < 100 && textOf(output) === before; i++) await pause(30);
      await kill();
      if (numLeft % 5 === 0) Deno.writeTextFileSync(output, '{"event":"be', { append: true, create: true });
      watching = start(`${log}*`, output);
    }
    if (file === numRotations) break;
    Deno.renameSync(log, `${log}.${String(file).padStart(3, "0")}`);
    await pause(100 * random.float64());
  }
  assertEquals(numLeft, 0);
  for (const path of [undisturbed, output]) {
    await until(
      () => `${expected.length} lines in ${path}, found ${textOf(path).split("\n").length - 1}`,
      // A watch that has just started may still have to remove an unfinished line.
      () => textOf(path).length >= expected.join("").length && textOf(path).endsWith("\n"),
    );
  }
  await kill();
  assertEquals(textOf(undisturbed), expected.join(""));
  assertEquals(textOf(output), expected.join(""));
  return expected.length;
}
