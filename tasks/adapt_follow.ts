/**
 * `adapt --follow`: keeps an adapted checkpoint up to date with the measurements on standard input.
 *
 * A published checkpoint is kept until the next one replaces it. A killed run loses the measurements after the last
 * publication; the same command continues from there.
 *
 * @module
 */
import type { AdaptOptions } from "../lib/query/adapt/adapt.ts";
import type { AdaptedModel } from "../lib/query/adapt/adapted_model.ts";
import { addressesOf, unknownAddresses } from "../lib/query/adapt/free_rows.ts";
import type { StageContext, StageResult } from "../lib/cli/stage.ts";
import { UserError } from "../lib/base/errors.ts";
import type { StagedOutput } from "../lib/io/files/staged_output.ts";
import { Gpu } from "../lib/tensor/device.ts";
import { KernelRegistry } from "../lib/tensor/registry.ts";
import { STANDARD_INPUT } from "../lib/io/compression/decompress.ts";
import { measurementOfLine } from "../lib/query/files/measurement_files.ts";
import type { TextLine } from "../lib/query/text_lines.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import type { TokenMeasurement } from "../lib/data/tokens/vocab_v2.ts";
import { isAdapted, UPDATE_FILE, writeAdapted } from "../lib/train/adapted_checkpoint.ts";
import type { AdaptedFrom } from "../lib/train/checkpoint_files.ts";
import { countsOf, noteAdaptation } from "./adapt_text.ts";

/** The largest number of unusable lines that are logged one by one. */
const MAX_SHOWN_LINES = 20;

/** The arguments of `adapt --follow`. */
export interface FollowOptions {
  output: string;
  base: AdaptedFrom;
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
  const { output, base, maxMeasurements, fit } = options;
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const arrivals = new Arrivals(options, stage);
  let kept: TokenMeasurement[] = [];
  let numPublished = 0;
  const publish = async (counts: Record<string, unknown>) => {
    staged.begin();
    writeAdapted(staged.folder, model, base);
    await staged.record(UPDATE_FILE);
    staged.manifest.counts = { ...counts, measurements: arrivals.numTaken };
    staged.publish();
    numPublished++;
  };
  if (!isAdapted(output)) await publish({ rows: model.rows.size });
  for await (const fresh of arrivals.groups()) {
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
      base: base.base,
    },
  };
}

/** The measurements of standard input. */
class Arrivals {
  /** The number of measurements passed on. */
  numTaken = 0;
  /** The number of unusable lines. */
  numBad = 0;
  #numLines = 0;

  constructor(
    readonly options: Pick<FollowOptions, "everyLines" | "everySeconds">,
    readonly stage: StageContext,
  ) {}

  /**
   * Groups of `everyLines` measurements, or of those that arrived within `everySeconds`. Reads at most one line
   * ahead.
   */
  async *groups(): AsyncGenerator<TokenMeasurement[]> {
    const { everyLines, everySeconds } = this.options;
    const { signal } = this.stage;
    let wake = () => {};
    signal.addEventListener("abort", () => wake());
    const lines = readLines(STANDARD_INPUT);
    let next = lines.next();
    for (let isOver = false; !isOver && !signal.aborted;) {
      const group: TokenMeasurement[] = [];
      using timers = new DisposableStack();
      while (group.length < everyLines) {
        const awoken = Promise.withResolvers<undefined>();
        wake = () => awoken.resolve(undefined);
        const line = await Promise.race([next, awoken.promise]);
        isOver = line?.done === true;
        if (!line || line.done) break;
        next = lines.next();
        const measurement = this.#measurementOf(line.value);
        if (measurement && group.push(measurement) === 1) {
          timers.adopt(setTimeout(() => wake(), 1000 * everySeconds), clearTimeout);
        }
      }
      this.numTaken += group.length;
      if (group.length > 0) yield group;
    }
  }

  #measurementOf(line: TextLine): TokenMeasurement | undefined {
    this.#numLines++;
    try {
      return measurementOfLine(line);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      if (++this.numBad <= MAX_SHOWN_LINES) this.stage.log(`line ${this.#numLines}: ${error.message}`);
      return undefined;
    }
  }
}
