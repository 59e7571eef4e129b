/**
 * Reads damaged files under limits on time and memory, and summarises the results.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import type { FormatName } from "./formats.ts";
import type { Outcome } from "./worker.ts";

export interface FuzzOptions {
  seed: number;
  /** Index of the first case. */
  from: number;
  count: number;
  folder: string;
  bounds?: Bounds;
  /** The script that reads the files: worker.ts, or forge_worker.ts for checkpoints. */
  worker?: string;
  onCase?: (done: number) => void;
}

export interface Bounds {
  /** Per file. */
  seconds: number;
  /** Private writable memory of the process (RLIMIT_DATA, getrlimit(2)). */
  memoryBytes: number;
}

/**
 * Limits of the suite for files of some 10 to 200 KB. Reading takes less than a second, but a busy machine
 * must not look like a reader that hangs.
 */
export const BOUNDS: Bounds = { seconds: 300, memoryBytes: 1.2e9 };

const [WORKER, FORGE_WORKER] = ["worker.ts", "forge_worker.ts"].map((name) =>
  fromFileUrl(new URL(name, import.meta.url))
);

/** The most cases per process, since its memory grows with them. */
const CASES_OF_PROCESS = 300;

/** Damaged files of a format, or forged checkpoints. */
export type FuzzedName = FormatName | "checkpoint";

export interface Summary {
  format: FuzzedName;
  numCases: number;
  counts: Record<Outcome["kind"], number>;
  /** Cases that ended in a forbidden way. */
  faults: Outcome[];
  /** Error messages without numbers and paths, with their counts. */
  messages: Map<string, number>;
  peakBytes: number;
}

export async function fuzzFormat(format: FuzzedName, options: FuzzOptions): Promise<Summary> {
  const { seed, from, count, folder, bounds = BOUNDS } = options;
  const { worker = format === "checkpoint" ? FORGE_WORKER : WORKER } = options;
  const summary: Summary = {
    format,
    numCases: 0,
    counts: { error: 0, rejected: 0, read: 0, fault: 0 },
    faults: [],
    messages: new Map(),
    peakBytes: 0,
  };
  let next = from;
  while (next < from + count) {
    const end = Math.min(next + CASES_OF_PROCESS, from + count);
    const args = [worker, format, String(seed), String(next), String(end), folder];
    next = await runWorker(args, bounds, (outcome) => {
      add(summary, outcome);
      options.onCase?.(summary.numCases);
    });
  }
  return summary;
}

/** Runs one worker until it ends or must be killed. @returns The index of the next case. */
async function runWorker(args: string[], bounds: Bounds, take: (outcome: Outcome) => void): Promise<number> {
  const command = [Deno.execPath(), "run", "--no-prompt", "--allow-read", "--allow-write", ...args];
  // Deno cannot read the memory use of another process, so the system limits it (not on macOS).
  const limit = `ulimit -d ${Math.round(bounds.memoryBytes / 1024)} && exec "$0" "$@"`;
  const [program, ...rest] = Deno.build.os === "windows" ? command : ["sh", "-c", limit, ...command];
  const child = new Deno.Command(program, {
    args: rest,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const watch = new Watch(child, bounds.seconds);
  const stderr = new Response(child.stderr).text();
  let running: Outcome | undefined;
  let next = Number(args[3]);
  let text = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (text + piece).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const outcome: Outcome = JSON.parse(line);
      next = outcome.index + 1;
      watch.restart();
      if (outcome.kind) take(outcome);
      running = outcome.kind ? undefined : outcome;
    }
  }
  const { code } = await child.status;
  const why = watch.close();
  if (code === 0) return next;
  const message = why ?? `the process ended with ${code}: ${(await stderr).slice(0, 2000)}`;
  if (!running) throw new Error(`The worker failed outside of a case: ${message}`);
  take({ ...running, kind: "fault", message, rssBytes: 0 });
  return next;
}

/** How long a process may take to reach its first case. */
const LONGEST_START_MS = 300_000;

/** Kills a process that takes too long for a case. */
class Watch {
  #startMs = performance.now() + LONGEST_START_MS;
  #why: string | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(child: Deno.ChildProcess, seconds: number) {
    this.#timer = setInterval(() => {
      if (performance.now() - this.#startMs <= seconds * 1000) return;
      this.#why ??= `it hangs: no end after ${seconds} s`;
      try {
        child.kill("SIGKILL");
      } catch { /* it has ended */ }
    }, 50);
  }

  restart(): void {
    this.#startMs = performance.now();
  }

  close(): string | undefined {
    clearInterval(this.#timer);
    return this.#why;
  }
}

function add(summary: Summary, outcome: Outcome): void {
  summary.numCases++;
  summary.counts[outcome.kind]++;
  summary.peakBytes = Math.max(summary.peakBytes, outcome.rssBytes);
  if (outcome.kind === "fault") summary.faults.push(outcome);
  if (outcome.kind !== "error") return;
  const general = outcome.message.replace(/\/\S+/g, "FILE").replace(/\d+/g, "N").replace(/"[^"]*"/g, '"…"');
  summary.messages.set(general, (summary.messages.get(general) ?? 0) + 1);
}
