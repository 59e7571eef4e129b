/**
 * The model that answers questions. When a newer model replaces it, requests in flight finish on the model
 * that they started with, which is closed after the last of them.
 *
 * @module
 */
import { pause } from "../io/threads/stage_hooks.ts";
import type { PingService } from "./api/ping_service.ts";
import { UserError } from "../base/errors.ts";
import { modelFilesOf } from "../train/checkpoint.ts";

export interface ServedModel {
  readonly service: PingService;
  /** Hash of what answers depend on apart from the question: model, calibration, program. */
  readonly tag: string;
  readonly step: number;
  /** Why the model can no longer answer, such as a lost GPU; undefined if it can. */
  fault(): string | undefined;
  close(): void;
}

/** Use of a model by one request, until disposed. */
interface ModelLease extends Disposable {
  readonly model: ServedModel;
}

export class ServedModels implements Disposable {
  #current: Shared;
  numSwaps = 0;
  numFailedLoads = 0;

  constructor(first: ServedModel) {
    this.#current = new Shared(first);
  }

  /** The model for new requests. */
  get current(): ServedModel {
    return this.#current.model;
  }

  lease(): ModelLease {
    return this.#current.lease();
  }

  /** Sets the model for new requests. The previous model is closed when no request uses it. */
  replace(next: ServedModel): void {
    const before = this.#current;
    this.#current = new Shared(next);
    this.numSwaps++;
    before.retire();
  }

  /** Closes the current model once no request uses it. */
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

interface WatchedFiles {
  /** A run, or the folder of an adapted checkpoint. */
  checkpoint: string;
  files: readonly string[];
}

interface WatchOptions extends WatchedFiles {
  /** Result of {@link stateOf} before the served model was loaded, so that no change is missed. */
  seen: string;
  /** Seconds between checks. */
  everyS: number;
  load: () => Promise<ServedModel>;
  signal: AbortSignal;
  log: (line: string) => void;
}

/** Replaces the served model with newer ones until aborted. A failure to load is logged once. */
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
        log(`now serving step ${next.step} instead of step ${models.current.step}`);
        models.replace(next);
      }
      seen = state;
      lastFault = undefined;
    } catch (error) {
      // The files may be complete at the next check.
      models.numFailedLoads++;
      const fault = error instanceof UserError ? error.message : String(error);
      if (fault !== lastFault) log(`${fault}; still serving step ${models.current.step}`);
      lastFault = fault;
    }
  }
}

/** Identifies the newest checkpoint and the modification times of its files. */
export function stateOf({ checkpoint, files }: WatchedFiles): string {
  try {
    const paths = [...modelFilesOf(checkpoint), ...files];
    return paths.map((path) => `${path} ${Deno.statSync(path).mtime?.getTime()}`).join("\n");
  } catch (error) {
    return String(error);
  }
}
