/**
 * Times the loader: the first pass over probe rows, which decodes them, and the passes after it.
 *
 * @module
 */
import { BatchLoader } from "../../data/loader/batches.ts";
import { openProbeRows } from "../../data/loader/row_source.ts";
import { measureUsage, type Usage } from "./usage.ts";

/** The data and the options of loading it. */
export interface LoaderPassOptions {
  /** The output folder of `probe-rows`. */
  data: string;
  split: string;
  seed: number;
  sequenceLength: number;
  batchSize: number;
  /** Threads that make batches, 0 for none. */
  numWorkers: number;
  /** The least duration of the passes after the first, seconds; the first ends with its epoch. */
  seconds: number;
}

/** A pass over the data. */
export interface LoaderPass {
  usage: Usage;
  numTokens: number;
  numPaddingTokens: number;
}

/**
 * Loads batches.
 *
 * @returns The first epoch, with the opening of the files, and the passes after it.
 * @throws {UserError} If there are no probe rows.
 */
export async function passLoader(
  options: LoaderPassOptions,
): Promise<{ numRows: number; first: LoaderPass; later: LoaderPass }> {
  const { data, split, seed, sequenceLength, batchSize, numWorkers, seconds } = options;
  const counts = { numTokens: 0, numPaddingTokens: 0 };
  const load = async (loader: BatchLoader, isDone: () => boolean) => {
    Object.assign(counts, { numTokens: 0, numPaddingTokens: 0 });
    while (!isDone()) {
      const batch = await loader.next();
      counts.numTokens += batch.tokens.length;
      counts.numPaddingTokens += batch.numPaddingTokens;
    }
  };
  const opened = await measureUsage(async () => {
    const source = await openProbeRows(data, split);
    const loader = await BatchLoader.openWithWorkers(source, { seed, sequenceLength, batchSize, numWorkers });
    await load(loader, () => loader.position.epoch > 0);
    return { source, loader };
  });
  using source = opened.result.source;
  using loader = opened.result.loader;
  const first = { usage: opened.usage, ...counts };
  const { usage } = await measureUsage(async () => {
    const endMs = performance.now() + seconds * 1000;
    await load(loader, () => performance.now() > endMs);
  });
  return { numRows: source.numRows, first, later: { usage, ...counts } };
}
