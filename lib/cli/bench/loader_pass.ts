/**
 * Times the loader: the first pass over probe rows, which decodes them, and later passes.
 *
 * @module
 */
import { BatchLoader } from "../../data/loader/batches.ts";
import { openProbeRows } from "../../data/loader/row_source.ts";
import { join } from "@std/path";
import { RandomStream } from "../../base/random.ts";
import { ArrayRecordWriter } from "../../io/array_record/writer.ts";
import { encodeProbeRow, type ProbeRow } from "../../data/probe_rows/probe_row.ts";
import { measureUsage, type Usage } from "./usage.ts";

export interface LoaderPassOptions {
  data: string;
  split: string;
  seed: number;
  sequenceLength: number;
  batchSize: number;
  /** Threads that make batches; 0 for none. */
  numWorkers: number;
  /** The least duration of the later passes. The first pass takes one epoch. */
  seconds: number;
}

export interface LoaderPass {
  usage: Usage;
  numTokens: number;
  numPaddingTokens: number;
}

/**
 * @returns The first epoch, including opening the files, and the later passes.
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

/** Exponential short rows; or half of 1 to 5, half short ones, and four with most of the data. */
type RowMix = "short rows" | "mixed rows";

/** ASSUMPTION: mean size of a short row; rows of menog-2019-05 have a median of 23, a mean of 288. */
const MEAN_SHORT = 60;
/** Measurements of a huge row, fewer if the total is small. */
const MAX_HUGE = 200_000;
const NUM_HUGE = 4;
const NUM_ADDRESSES = 8;
const FIRST_TIME_S = 1_750_000_000;

/**
 * Writes a train split of rows whose sizes are difficult for a loader; rows of `synth` have similar sizes.
 *
 * @param options `numMeasurements`: the approximate total.
 * @returns The number of rows.
 */
export async function writeRowMix(
  folder: string,
  mix: RowMix,
  { numMeasurements, seed }: { numMeasurements: number; seed: number },
): Promise<number> {
  const split = join(folder, "train");
  Deno.mkdirSync(split, { recursive: true });
  const writer = await ArrayRecordWriter.create(join(split, "train-00000-of-00001.arrayrecord"));
  const random = new RandomStream(seed, `bench/${mix}`);
  let numRows = 0;
  for (const size of sizesOf(mix, numMeasurements, random)) {
    writer.write(encodeProbeRow(makeRow(numRows++, size, random)));
  }
  writer.close();
  return numRows;
}

function* sizesOf(mix: RowMix, numMeasurements: number, random: RandomStream): Generator<number> {
  let left = numMeasurements;
  if (mix === "mixed rows") {
    const huge = Math.min(MAX_HUGE, Math.floor(numMeasurements / (NUM_HUGE + 1)));
    for (let i = 0; i < NUM_HUGE; i++, left -= huge) yield huge;
  }
  for (let i = 0; left > 0; i++) {
    const isTiny = mix === "mixed rows" && i % 2 === 0;
    const size = isTiny ? 1 + random.below(5) : Math.ceil(MEAN_SHORT * random.exponential());
    left -= size;
    yield Math.max(1, size);
  }
}

function makeRow(row: number, numMeasurements: number, random: RandomStream): ProbeRow {
  const half = NUM_ADDRESSES / 2;
  const made: ProbeRow = {
    srcId: BigInt(row),
    eventTimeUs: new Float64Array(numMeasurements),
    srcAddrs: [
      `10.${row >> 16 & 255}.${row >> 8 & 255}.${row & 255}`,
      `2001:db8::${(row & 0xffff).toString(16)}`,
    ],
    srcIndex: new Int32Array(numMeasurements),
    dstAddrs: Array.from({ length: NUM_ADDRESSES }, (_, i) => i < half ? `192.0.2.${i}` : `2001:db8:1::${i}`),
    dstIndex: new Int32Array(numMeasurements),
    ipVersion: new Int8Array(numMeasurements),
    rttMs: new Float32Array(numMeasurements),
  };
  let timeS = FIRST_TIME_S + random.below(86_400);
  for (let i = 0; i < numMeasurements; i++) {
    const isIpv6 = random.float64() < 0.4;
    timeS += 240 * random.exponential();
    made.eventTimeUs[i] = Math.floor(timeS * 1e6);
    made.srcIndex[i] = isIpv6 ? 1 : 0;
    made.dstIndex[i] = random.below(half) + (isIpv6 ? half : 0);
    made.ipVersion[i] = isIpv6 ? 6 : 4;
    made.rttMs[i] = random.float64() < 0.05 ? -1 : 50 * Math.exp(random.normal());
  }
  return made;
}
