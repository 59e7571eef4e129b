/**
 * The autotuner. Some dispatches can be launched in several ways that give the same bits. It times all of them on the
 * bound tensors and keeps the fastest.
 *
 * Choices are kept in a JSON file, by adapter, runtime, WGSL text and the dispatch's key. No result depends on a choice, so
 * a damaged file, or one of another machine, only costs the time to measure again.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { writeOutputFile } from "../../io/files/output_file.ts";
import { BusyError } from "../../io/files/output_lock.ts";
import { exists, readText } from "../../io/files/inputs.ts";
import { repeatedProgram } from "./bench.ts";
import type { Dispatch, Launch, Program } from "../program.ts";
import type { KernelRegistry } from "../registry.ts";

/** Timed runs of each launch; the median is used. */
const NUM_RUNS = 3;
/** A timed run repeats the dispatch for about this time: 20 times the cost of a submit (lib/tensor/README.md). */
export const RUN_S = 0.002;
const MAX_REPETITIONS = 200;

/** The storage of choices, and the way of measuring. */
export interface AutotunerOptions {
  /** The file of choices; if undefined, they are lost with the process. */
  path?: string | undefined;
  /** Called with lines for the user. */
  onLog?: ((line: string) => void) | undefined;
  /** Measures a dispatch with a launch, in seconds; by default it runs the dispatch. */
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
   * Reads earlier choices, if there are any.
   *
   * @param registry Compiles the kernels.
   * @param options The storage of choices.
   */
  constructor(registry: KernelRegistry, options: AutotunerOptions = {}) {
    const { path, onLog = () => {} } = options;
    this.#registry = registry;
    this.#path = path;
    this.#measure = options.measure ??
      ((dispatch, launch) => measureLaunch(registry, { ...dispatch, ...launch }));
    this.#choices = path === undefined ? new Map() : readChoices(path, onLog);
  }

  /** The number of dispatches measured since the tuner was made. */
  get numMeasured(): number {
    return this.#numMeasured;
  }

  /**
   * Chooses the fastest launch for each dispatch of a program that has several. Without an earlier choice the dispatch is
   * run several times: its outputs change, and sums are added several times.
   *
   * @param program A program that has not been run.
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

  /** Writes the choices, unless another process is writing them. @throws {UserError} If the file cannot be written. */
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

/** Seconds of a dispatch: the median of some runs. */
async function measureLaunch(registry: KernelRegistry, dispatch: Dispatch): Promise<number> {
  const { program } = await repeatedProgram(registry, (program) => void program.add(dispatch), {
    label: "autotuning",
    seconds: RUN_S,
    maxRepetitions: MAX_REPETITIONS,
  });
  const times: number[] = [];
  while (times.length < NUM_RUNS) times.push(await registry.gpu.timeS(() => program.run()));
  return times.sort((a, b) => a - b)[NUM_RUNS >> 1] / program.length;
}

function readChoices(path: string, onLog: (line: string) => void): Map<string, string> {
  if (!exists(path)) return new Map();
  const text = readText(path);
  try {
    const { choices } = JSON.parse(text) as { choices: Record<string, string> };
    return new Map(Object.entries(choices));
  } catch {
    onLog(`${path} is damaged; the kernels are measured again`);
    return new Map();
  }
}
