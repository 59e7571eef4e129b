/**
 * The model that questions go to. When a newer one takes its place, requests in flight finish on the model
 * that they began with, which is closed after the last of them.
 *
 * @module
 */
import { pause } from "../io/threads/stage_hooks.ts";
import type { PingService } from "./api/ping_service.ts";
import { UserError } from "../base/errors.ts";
import { modelFilesOf } from "../train/checkpoint.ts";

export interface ServedModel {
  readonly service: PingService;
  /** A hash of all that its answers depend on besides the question: the model, the calibration, the program. */
  readonly tag: string;
  readonly step: number;
  /** Why it cannot answer any more, such as a lost GPU; undefined if it can. */
  fault(): string | undefined;
  close(): void;
}

/** The use of a model by one request, until it is disposed. */
interface ModelLease extends Disposable {
  readonly model: ServedModel;
}

export class ServedModels implements Disposable {
  #current: Shared;
  /** How often the model was replaced. */
  numSwaps = 0;
  /** How often a newer model could not be loaded. */
  numFailedLoads = 0;

  constructor(first: ServedModel) {
    this.#current = new Shared(first);
  }

  /** The model that new requests get. */
  get current(): ServedModel {
    return this.#current.model;
  }

  lease(): ModelLease {
    return this.#current.lease();
  }

  /** Gives new requests another model. The one before is closed when no request uses it. */
  replace(next: ServedModel): void {
    const before = this.#current;
    this.#current = new Shared(next);
    this.numSwaps++;
    before.retire();
  }

  /** Closes the current model when no request uses it. */
  [Symbol.dispose](): void {
    this.#current.retire();
  }
}

class Shared {
  #numLeases = 0;
  #isRetired = false;

  constructor(readonly model: ServedModel) {}

  lease(): ModelLease {
    this.#numLeases++;
    let isHeld = true;
    return {
      model: this.model,
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#numLeases--;
        this.#closeIfUnused();
      },
    };
  }

  retire(): void {
    this.#isRetired = true;
    this.#closeIfUnused();
  }

  #closeIfUnused(): void {
    if (this.#isRetired && this.#numLeases === 0) this.model.close();
  }
}

/** The files that a model is loaded from. */
interface WatchedFiles {
  /** A run, or a folder of an adapted checkpoint. */
  checkpoint: string;
  files: readonly string[];
}

/** The files to watch, and how. */
interface WatchOptions extends WatchedFiles {
  /** The {@link stateOf} the files before the served model was loaded, so that nothing is missed. */
  seen: string;
  /** Seconds between two looks. */
  everyS: number;
  /** Loads the newest checkpoint. */
  load: () => Promise<ServedModel>;
  signal: AbortSignal;
  log: (line: string) => void;
}

/** Replaces the served model by each newer one, until the signal. One that cannot be loaded is logged once. */
export async function watchCheckpoint(models: ServedModels, options: WatchOptions): Promise<void> {
  const { everyS, load, signal, log } = options;
  let { seen } = options;
  let lastFault: string | undefined;
  while (true) {
    await pause(1000 * everyS, signal);
    if (signal.aborted) return;
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

/** The newest checkpoint, and when its files were written. */
export function stateOf({ checkpoint, files }: WatchedFiles): string {
  try {
    const paths = [...modelFilesOf(checkpoint), ...files];
    return paths.map((path) => `${path} ${Deno.statSync(path).mtime?.getTime()}`).join("\n");
  } catch (error) {
    return String(error);
  }
}
