/**
 * The model that questions go to. A newer one can take its place while requests are in flight: these finish on the
 * model that they began with, which is closed after the last of them.
 *
 * @module
 */
import type { PingService } from "../api/ping_service.ts";

/** A model that answers. */
export interface ServedModel {
  readonly service: PingService;
  /** What its answers depend on besides the question; another model, calibration or program has another one. */
  readonly tag: string;
  readonly step: number;
  /** Why it cannot answer any more, such as a lost GPU; undefined if it can. */
  fault(): string | undefined;
  /** Frees the GPU. */
  close(): void;
}

/** The use of a model by one request, until it is disposed. */
export interface ModelLease extends Disposable {
  readonly model: ServedModel;
}

/** The current model, and earlier ones that requests still use. */
export class ServedModels implements Disposable {
  #current: Shared;
  /** How often the model was replaced. */
  numSwaps = 0;
  /** How often a newer model could not be loaded. */
  numFailedLoads = 0;

  /** Begins with a model. */
  constructor(first: ServedModel) {
    this.#current = new Shared(first);
  }

  /** The model that new requests get. */
  get current(): ServedModel {
    return this.#current.model;
  }

  /** Uses the current model. */
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

/** A model, and how many requests use it. */
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
