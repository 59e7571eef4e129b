/**
 * `adapt --follow`: keeps an adapted checkpoint current with the measurements that come on standard input.
 *
 * What is published stays whole until the next is: a run that is killed loses what came after the last publication,
 * and the same command goes on from that.
 *
 * @module
 */
import { join } from "@std/path";
import type { AdaptOptions } from "../lib/adapt/adapt.ts";
import type { AdaptedModel } from "../lib/adapt/adapted_model.ts";
import { addressesOf, unknownAddresses } from "../lib/adapt/free_rows.ts";
import type { StageContext, StageResult } from "../lib/cli/stage.ts";
import { UserError } from "../lib/errors.ts";
import type { StagedOutput } from "../lib/files/staged_output.ts";
import { Gpu } from "../lib/gpu/device.ts";
import { KernelRegistry } from "../lib/gpu/registry.ts";
import { STANDARD_INPUT } from "../lib/compression/decompress.ts";
import { measurementOfLine } from "../lib/query/measurement_files.ts";
import { readLines } from "../lib/query/text_lines.ts";
import type { TokenMeasurement } from "../lib/tokens/vocab_v2.ts";
import { DELTA_FILE, isAdapted } from "../lib/train/adapted_checkpoint.ts";
import { countsOf, noteAdaptation } from "./adapt_text.ts";

/** Lines that cannot be used and are shown one by one. */
const MAX_SHOWN_LINES = 20;
/** How long nothing at all may happen before it is looked again. */
const IDLE_MS = 3_600_000;

/** What `adapt --follow` is called with. */
export interface FollowOptions {
  output: string;
  everyLines: number;
  everySeconds: number;
  maxMeasurements: number;
  fit: Omit<AdaptOptions, "adapted">;
}

/**
 * Follows standard input to its end.
 *
 * @throws {InterruptedError} The signal's reason, with everything saved.
 */
export async function followLines(
  model: AdaptedModel,
  options: FollowOptions,
  { staged, stage }: { staged: StagedOutput; stage: StageContext },
): Promise<StageResult> {
  const { output, everyLines, everySeconds, maxMeasurements, fit } = options;
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const arrivals = new Arrivals(everyLines, stage);
  let kept: TokenMeasurement[] = [];
  let numPublished = 0;
  const publish = async (counts: Record<string, unknown>) => {
    staged.begin();
    model.write(join(staged.folder, DELTA_FILE));
    await staged.record(DELTA_FILE);
    staged.manifest.counts = { ...counts, measurements: arrivals.numTaken };
    staged.publish();
    numPublished++;
  };
  if (!isAdapted(output)) await publish({ rows: model.rows.size });
  while (await arrivals.wait(everySeconds)) {
    const fresh = arrivals.take();
    kept = [...kept, ...fresh].slice(-maxMeasurements);
    const named = new Set(fit.addresses ?? unknownAddresses(model, fresh, model.rows));
    const addresses = [...addressesOf(fresh).keys()].filter((address) => named.has(address));
    if (addresses.length === 0) continue;
    const adaptation = await model.fit(registry, kept, { ...fit, addresses });
    noteAdaptation(adaptation, stage.log);
    await publish(countsOf(adaptation, model));
    const loss = adaptation.lossAfter?.toFixed(2);
    stage.log(`published ${output}: ${addresses.length} addresses, loss of an RTT ${loss} nats`);
  }
  stage.signal.throwIfAborted();
  const { numTaken: measurements, numBad } = arrivals;
  return {
    text:
      `${output} is current: ${measurements} measurements, ${numBad} other lines, published ${numPublished} times`,
    json: {
      stage: "adapt",
      measurements,
      numBad,
      numPublished,
      rows: model.rows.size,
      base: model.base.base,
    },
  };
}

/** The measurements of standard input that nobody took yet, no more than are published at once. */
class Arrivals {
  numTaken = 0;
  numBad = 0;
  #waiting: TokenMeasurement[] = [];
  #firstMs = 0;
  #isOver = false;
  #fault: unknown;
  #ring = () => {};
  #goOn = () => {};

  constructor(readonly most: number, readonly stage: StageContext) {
    stage.signal.addEventListener("abort", () => this.#ring());
    this.#read().catch((error) => this.#fault = error).finally(() => {
      this.#isOver = true;
      this.#ring();
    });
  }

  /** Waits until some are to be taken. @returns Whether there are; if not, none will come. */
  async wait(seconds: number): Promise<boolean> {
    for (;;) {
      const isEnd = this.#isOver || this.stage.signal.aborted;
      const count = this.#waiting.length;
      const leftMs = count === 0 ? IDLE_MS : this.#firstMs + 1000 * seconds - performance.now();
      if (count >= this.most || (count > 0 && (isEnd || leftMs <= 0))) return true;
      if (isEnd && this.#fault !== undefined) throw this.#fault;
      if (isEnd) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Takes all that wait. */
  take(): TokenMeasurement[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.numTaken += taken.length;
    this.#goOn();
    return taken;
  }

  async #read(): Promise<void> {
    let number = 0;
    for await (const line of readLines(STANDARD_INPUT)) {
      number++;
      const measurement = this.#measurementOf(line, number);
      if (!measurement) continue;
      if (this.#waiting.push(measurement) === 1) {
        this.#firstMs = performance.now();
        this.#ring();
      }
      if (this.#waiting.length < this.most) continue;
      this.#ring();
      await new Promise<void>((resolve) => this.#goOn = resolve);
    }
  }

  #measurementOf(
    line: Parameters<typeof measurementOfLine>[0],
    number: number,
  ): TokenMeasurement | undefined {
    try {
      return measurementOfLine(line);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      if (++this.numBad <= MAX_SHOWN_LINES) this.stage.log(`line ${number}: ${error.message}`);
      return undefined;
    }
  }
}
