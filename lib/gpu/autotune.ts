/**
 * The autotuner: of a dispatch that can be launched in several ways with the same bits as its result, it times all
 * on the tensors it is bound to, and keeps the fastest.
 *
 * What was fastest is remembered in a JSON file, by adapter, runtime, WGSL text and the dispatch's own key. No result
 * depends on a choice, so a damaged file, or one of another machine, costs only the time to measure again.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { writeOutputFile } from "../files/output_file.ts";
import { BusyError } from "../files/output_lock.ts";
import { exists, readText } from "../files/inputs.ts";
import { timeRun } from "./bench.ts";
import { type Dispatch, type Launch, Program } from "./program.ts";
import type { KernelRegistry } from "./registry.ts";

/** Timed runs of each way, of which the median counts. */
const NUM_RUNS = 3;
/** A timed run repeats a dispatch for about so long: 20 times the cost of a submit (lib/gpu/README.md). */
export const RUN_S = 0.002;
const MAX_REPETITIONS = 200;

/** Where choices are remembered, and how they are made. */
export interface AutotunerOptions {
  /** The cache; undefined: choices are forgotten with the process. */
  path?: string | undefined;
  /** Called with lines for the user. */
  onLog?: ((line: string) => void) | undefined;
  /** Measures a dispatch as one of its launches makes it, in seconds; by default by running it. */
  measure?: (dispatch: Dispatch, launch: Launch) => Promise<number>;
}

/** Chooses launches for the programs of one device. */
export class Autotuner {
  readonly #registry: KernelRegistry;
  readonly #path: string | undefined;
  readonly #measure: (dispatch: Dispatch, launch: Launch) => Promise<number>;
  /** Key -> name of the launch. */
  readonly #choices: Map<string, string>;
  #numMeasured = 0;

  /**
   * Reads what is remembered, if anything.
   *
   * @param registry Compiles the kernels.
   * @param options Where choices are remembered.
   */
  constructor(registry: KernelRegistry, options: AutotunerOptions = {}) {
    const { path, onLog = () => {} } = options;
    this.#registry = registry;
    this.#path = path;
    this.#measure = options.measure ??
      ((dispatch, launch) => measureLaunch(registry, { ...dispatch, ...launch }));
    this.#choices = path === undefined ? new Map() : readChoices(path, onLog);
  }

  /** How many dispatches were measured since the tuner was made. */
  get numMeasured(): number {
    return this.#numMeasured;
  }

  /**
   * Makes every dispatch of a program that leaves a choice the fastest it can be. Where nothing is remembered the
   * dispatches are run several times, which changes what they write, and adds several times what they add.
   *
   * @param program One that has not been run.
   */
  async tune(program: Program): Promise<void> {
    for (const [index, dispatch] of program.dispatches.entries()) {
      const { tuning } = dispatch;
      if (!tuning) continue;
      const key = this.#keyOf(dispatch, tuning.key);
      const remembered = this.#choices.get(key);
      const launch = tuning.launches.find(({ name }) => name === remembered) ??
        await this.#fastest(dispatch, tuning.launches);
      this.#choices.set(key, launch.name);
      program.choose(index, launch);
    }
  }

  /** Remembers the choices, unless another process does so just now. @throws {UserError} If the file cannot be written. */
  save(): void {
    if (this.#path === undefined || this.#numMeasured === 0) return;
    const choices = Object.fromEntries([...this.#choices].sort(([a], [b]) => a < b ? -1 : 1));
    try {
      const content = JSON.stringify({ choices }, null, 2) + "\n";
      writeOutputFile(this.#path, content, { stage: "train", inputs: [] });
    } catch (error) {
      if (!(error instanceof BusyError)) throw error;
    }
  }

  async #fastest(dispatch: Dispatch, launches: readonly Launch[]): Promise<Launch> {
    this.#numMeasured++;
    let best = { launch: launches[0], seconds: Infinity };
    for (const launch of launches) {
      const seconds = await this.#measure(dispatch, launch);
      if (seconds < best.seconds) best = { launch, seconds };
    }
    return best.launch;
  }

  #keyOf({ kernel }: Dispatch, key: string): string {
    const hash = createHash("sha256").update(this.#registry.source(kernel)).digest("hex").slice(0, 12);
    return [this.#registry.gpu.info.name, navigator.userAgent, `${kernel} ${hash}`, key].join(" | ");
  }
}

/** Seconds of a dispatch, by the median of some runs after one to warm up. */
async function measureLaunch(registry: KernelRegistry, dispatch: Dispatch): Promise<number> {
  const repeated = (count: number) => {
    const program = new Program(registry, "autotuning");
    for (let i = 0; i < count; i++) program.add(dispatch);
    return program;
  };
  const once = repeated(1);
  await timeRun(registry.gpu, once);
  await registry.ready();
  const estimateS = await timeRun(registry.gpu, once);
  const count = Math.min(MAX_REPETITIONS, Math.max(1, Math.ceil(RUN_S / Math.max(estimateS, 1e-6))));
  const program = repeated(count);
  const times: number[] = [];
  while (times.length < NUM_RUNS) times.push(await timeRun(registry.gpu, program));
  return times.sort((a, b) => a - b)[NUM_RUNS >> 1] / count;
}

function readChoices(path: string, onLog: (line: string) => void): Map<string, string> {
  if (!exists(path)) return new Map();
  const text = readText(path);
  try {
    const { choices } = JSON.parse(text) as { choices: Record<string, string> };
    return new Map(Object.entries(choices));
  } catch {
    onLog(`${path} is damaged, it is measured anew which kernels are fastest`);
    return new Map();
  }
}
