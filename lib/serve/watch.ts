/**
 * Waits for a newer checkpoint, and has it served.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { modelFileOf } from "../train/checkpoint.ts";
import type { ServedModel, ServedModels } from "./served_models.ts";

/** What a model is loaded from. */
export interface WatchedFiles {
  /** A run, or a folder of an adapted checkpoint. */
  checkpoint: string;
  /** Further files that a model is loaded with. */
  files: readonly string[];
}

/** What is watched. */
export interface WatchOptions extends WatchedFiles {
  /** The {@link stateOf} the files before the served model was loaded, so that nothing is missed. */
  seen: string;
  /** Seconds between two looks. */
  everyS: number;
  /** Loads the newest checkpoint. */
  load: () => Promise<ServedModel>;
  /** Ends the watch. */
  signal: AbortSignal;
  /** Prints a line for the operator. */
  log: (line: string) => void;
}

/** Replaces the served model by each newer one, until the signal. One that cannot be loaded is logged once. */
export async function watchCheckpoint(models: ServedModels, options: WatchOptions): Promise<void> {
  const { everyS, load, signal, log } = options;
  let { seen } = options;
  let lastFault: string | undefined;
  while (await pause(everyS, signal)) {
    const state = stateOf(options);
    if (state === seen) continue;
    try {
      const next = await load();
      if (next.tag === models.current.tag) next.close();
      else {
        log(`step ${next.step} is served in place of step ${models.current.step}`);
        models.replace(next);
      }
      seen = state;
      lastFault = undefined;
    } catch (error) {
      // It may be whole at the next look.
      models.numFailedLoads++;
      const fault = error instanceof UserError ? error.message : String(error);
      if (fault !== lastFault) log(`${fault}; step ${models.current.step} is still served`);
      lastFault = fault;
    }
  }
}

/** Which checkpoint is the newest, and when its files were written. */
export function stateOf({ checkpoint, files }: WatchedFiles): string {
  try {
    const paths = [modelFileOf(checkpoint), ...files];
    return paths.map((path) => `${path} ${Deno.statSync(path).mtime?.getTime()}`).join("\n");
  } catch (error) {
    return String(error);
  }
}

/** Waits. @returns False if the signal came. */
function pause(seconds: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve(!signal.aborted);
    };
    const timer = setTimeout(done, 1000 * seconds);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
