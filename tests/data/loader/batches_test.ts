import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type Batch,
  BatchLoader,
  type DataPosition,
  type LoaderOptions,
  validationBatches,
} from "../../../lib/data/loader/batches.ts";
import { shareOf } from "../../../lib/model/batch_rows.ts";
import { DEFAULT_SAMPLING } from "../../../lib/data/tokens/contexts.ts";
import { ConfigError, UserError } from "../../../lib/base/errors.ts";
import { formatAddress } from "../../../lib/data/addresses/ip.ts";
import { type DecodedMeasurement, decodeTokens } from "../../../lib/data/tokens/vocab_v2.ts";
import { contextsOf, MemoryRowSource, syntheticRow, syntheticRows } from "./synthetic_rows.ts";

const SOURCE = new MemoryRowSource(syntheticRows(1, 60, 25));
const OPTIONS: LoaderOptions = { seed: 5, sequenceLength: 256, batchSize: 3, blockRows: 20 };

const take = (loader: BatchLoader, numBatches: number) =>
  Array.fromAsync({ length: numBatches }, () => loader.next());
const open = (change: Partial<LoaderOptions> = {}) => BatchLoader.open(SOURCE, { ...OPTIONS, ...change });

/** The rows of batches as strings, to compare streams of sequences. */
function sequencesOf(batches: Batch[]): string[] {
  return batches.flatMap((batch) =>
    Array.from({ length: batch.batchSize }, (_, row) => {
      const T = batch.sequenceLength;
      return batch.tokens.subarray(row * T, (row + 1) * T).join() + "|" +
        batch.targets.subarray(row * T, (row + 1) * T).join();
    })
  );
}

const measurementsOf = (batches: Batch[]): DecodedMeasurement[] =>
  batches.flatMap(contextsOf).flatMap((tokens) => decodeTokens(tokens));

Deno.test("next() follows the rules for targets, loss mask, segments and padding", async () => {
  let numPadded = 0;
  let numFullToTheEnd = 0;
  for (const batch of await take(open({ sequenceLength: 201 }), 40)) {
    const T = batch.sequenceLength;
    let numPaddingTokens = 0;
    let numTargets = 0;
    for (let row = 0; row < batch.batchSize; row++) {
      let isPadding = false;
      for (let i = 0; i < T; i++) {
        const at = row * T + i;
        const start = batch.segmentStart[at];
        const startsHere = start === i;
        assert(start <= i && batch.segmentStart[row * T + start] === start);
        if (startsHere) assertEquals(batch.tokens[at], 0, "a context opens with MeasurementStart");
        isPadding ||= startsHere && (i + 1 === T || batch.segmentStart[at + 1] === i + 1);
        if (isPadding) {
          assertEquals([batch.tokens[at], batch.targets[at], batch.lossMask[at], start], [0, 0, 0, i]);
          numPaddingTokens++;
        } else if (i + 1 < T) {
          assertEquals(batch.targets[at], batch.tokens[at + 1]);
          assertEquals(batch.lossMask[at], batch.segmentStart[at + 1] === start ? 1 : 0);
        } else if (batch.lossMask[at] === 1) numFullToTheEnd++;
        numTargets += batch.lossMask[at];
      }
      if (isPadding) numPadded++;
    }
    assertEquals(batch.numPaddingTokens, numPaddingTokens);
    assertEquals(batch.numTargets, numTargets);
  }
  assert(numPadded > 0 && numFullToTheEnd > 0, `${numPadded} padded, ${numFullToTheEnd} full`);
});

Deno.test("next() is reproducible for a seed, and differs between seeds and epochs", async () => {
  const batches = sequencesOf(await take(open(), 20));
  assertEquals(sequencesOf(await take(open(), 20)), batches);
  assertNotEquals(sequencesOf(await take(open({ seed: 6 }), 20)), batches);
  const second = open({ position: { epoch: 1, block: 0, sequence: 0 } });
  const firstEpoch = new Set(batches.slice(0, 30));
  assertEquals(new Set(sequencesOf(await take(second, 10))).intersection(firstEpoch).size, 0);
});

Deno.test("a loader resumes at any position with the same batches", async () => {
  for (const batchSize of [1, 3]) {
    const loader = open({ batchSize });
    const positions: DataPosition[] = [];
    const batches: Batch[] = [];
    // More than three blocks per epoch, and into the third epoch.
    while (loader.position.epoch < 2) {
      positions.push(JSON.parse(JSON.stringify(loader.position)));
      batches.push(await loader.next());
    }
    assertEquals(new Set(positions.map((p) => `${p.epoch} ${p.block}`)).size, 6);
    for (const [i, position] of positions.entries()) {
      const resumed = open({ batchSize, position });
      assertEquals(resumed.position, position);
      for (const batch of batches.slice(i, i + 4)) assertEquals(await resumed.next(), batch);
    }
  }
});

Deno.test("a loader rejects a position outside the data", async () => {
  for (const change of [{ block: 3 }, { sequence: 5000 }, { epoch: -1 }, { block: 0.5 }]) {
    const position = { epoch: 0, block: 0, sequence: 0, ...change };
    await assertRejects(
      async () => await open({ position }).next(),
      UserError,
      "Cannot resume at data position",
    );
  }
});

Deno.test("ranks share a batch: rank r receives the sequences r, r + R, …", async () => {
  const batch = await open({ batchSize: 12 }).next();
  const whole = sequencesOf([batch]);
  for (const size of [1, 2, 3, 4]) {
    const shares = Array.from({ length: size }, (_, rank) => shareOf(batch, 12, { rank, size }));
    const texts = shares.map((share) => sequencesOf([{ ...batch, ...share, batchSize: 12 / size } as Batch]));
    assertEquals(whole.map((_, i) => texts[i % size][Math.floor(i / size)]), whole);
    for (const key of ["lossMask", "segmentStart", "histories"] as const) {
      const length = batch[key].length / 12;
      const last = shares[size - 1][key] ?? [];
      assertEquals(last.slice(-length), batch[key].slice(-length));
    }
  }
});

Deno.test("the stream of sequences does not depend on the batch size or the cache", async () => {
  const whole = sequencesOf(await take(open({ batchSize: 12 }), 5));
  assertEquals(sequencesOf(await take(open({ batchSize: 1 }), 60)), whole);
  assertEquals(sequencesOf(await take(open({ batchSize: 12, cacheBytes: 0 }), 5)), whole);
  assertEquals(sequencesOf(await take(open({ batchSize: 12, cacheBytes: 40_000 }), 5)), whole);
});

/** The rows that measurements come from, by source address (see synthetic_rows.ts). */
function rowsOf(measurements: DecodedMeasurement[]): number[] {
  return measurements.map(({ source }) =>
    source.length === 4
      ? source[1] << 16 | source[2] << 8 | source[3]
      : parseInt(formatAddress(source).slice("2001:db8::".length) || "0", 16)
  );
}

Deno.test("an epoch visits every row, large and small", async () => {
  // 70 % of the rows have 1 to 3 measurements, 30 % several hundred.
  const rows = Array.from({ length: 90 }, (_, i) => syntheticRow(2, i, i % 10 < 7 ? 1 + i % 3 : 300 + i));
  const source = new MemoryRowSource(rows);
  for (const epoch of [0, 1]) {
    const position = { epoch, block: 0, sequence: 0 };
    const loader = BatchLoader.open(source, { ...OPTIONS, batchSize: 1, position });
    const batches: Batch[] = [];
    let isWhole = false;
    while (!isWhole) {
      const batch = await loader.next();
      // The first batch of the next epoch shows that this epoch is over.
      isWhole = loader.position.epoch > epoch;
      if (!isWhole) batches.push(batch);
    }
    const visited = rowsOf(measurementsOf(batches));
    assertEquals(new Set(visited).size, rows.length);
  }
});

Deno.test("a campaign's share of the tokens follows its measurements to the power of campaignExponent", async () => {
  const starts = [0, 4, 64];
  const sizes = [60, 40, 10];
  const campaignOf = (row: number) => starts.findLastIndex((start) => start <= row);
  const rows = Array.from({ length: 94 }, (_, row) => syntheticRow(1, row, sizes[campaignOf(row)] + row % 5));
  const numMeasurements = starts.map((start, i) =>
    rows.slice(start, starts[i + 1]).reduce((sum, { rttMs }) => sum + rttMs.length, 0)
  );
  const source = new MemoryRowSource(rows, starts);
  for (const campaignExponent of [0, 0.5, 1]) {
    const sampling = { ...DEFAULT_SAMPLING, campaignExponent };
    const { blockRows: _, ...options } = OPTIONS;
    const loader = BatchLoader.open(source, { ...options, sampling });
    const numTokens = [0, 0, 0];
    const visited = new Set<number>();
    for (const tokens of (await take(loader, 300)).flatMap(contextsOf)) {
      const [row] = rowsOf(decodeTokens(tokens));
      numTokens[campaignOf(row)] += tokens.length;
      visited.add(row);
    }
    assertEquals(visited.size, rows.length);
    const weights = numMeasurements.map((size) => size ** campaignExponent);
    const [total, all] = [weights, numTokens].map((each) => each.reduce((sum, each) => sum + each));
    weights.forEach((weight, i) => {
      const [wanted, found] = [weight / total, numTokens[i] / all];
      assert(Math.abs(found / wanted - 1) < 0.25, `${found} instead of ${wanted}`);
    });
  }
});

Deno.test("each epoch puts the rows into different blocks", async () => {
  const rowsOfFirstBlock = async (epoch: number) => {
    const loader = open({ batchSize: 1, position: { epoch, block: 0, sequence: 0 } });
    const batches: Batch[] = [];
    do batches.push(await loader.next()); while (loader.position.block === 0);
    batches.pop();
    return new Set(rowsOf(measurementsOf(batches)));
  };
  const [first, second] = [await rowsOfFirstBlock(0), await rowsOfFirstBlock(1)];
  assertEquals([first.size, second.size], [20, 20]);
  // 20 of 60 rows: 6.7 common ones are expected; 18 or more occur in less than 1 of 10^9 draws.
  assert(first.intersection(second).size < 18);
});

Deno.test("the sequences of a block are shuffled, not in packing order with the longest contexts first", async () => {
  const source = new MemoryRowSource(syntheticRows(6, 600, 4));
  const loader = BatchLoader.open(source, { ...OPTIONS, batchSize: 1, blockRows: 600 });
  const longest: number[] = [];
  while (loader.position.epoch === 0) {
    longest.push(Math.max(...contextsOf(await loader.next()).map(({ length }) => length)));
  }
  const half = longest.length >> 1;
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const share = sum(longest.slice(0, half)) / sum(longest.slice(0, 2 * half));
  // In packing order the first half would have two thirds of the sum.
  assert(Math.abs(share - 0.5) < 0.06, `${share} of ${longest.length}`);
});

Deno.test("a row that fits is used whole and once per epoch, except in the last sequence of a block", async () => {
  const rows = Array.from({ length: 400 }, (_, i) => syntheticRow(3, i, 5, { ipv6: 0 }));
  const loader = BatchLoader.open(new MemoryRowSource(rows), { ...OPTIONS, batchSize: 1, blockRows: 400 });
  const batches: Batch[] = [];
  while (loader.position.epoch === 0) batches.push(await loader.next());
  batches.pop();
  const counts = new Map<number, number>();
  for (const row of rowsOf(measurementsOf(batches))) counts.set(row, (counts.get(row) ?? 0) + 1);
  assertEquals(counts.size, 400);
  const numExtra = [...counts.values()].reduce((sum, count) => sum + count, 0) - 400 * 5;
  assert([...counts.values()].every((count) => count >= 5) && numExtra <= 257 / 12, `${numExtra} extra`);
});

Deno.test("validationBatches() returns the same sequences for any batch size, and pads the last batch", async () => {
  const options = { sequenceLength: 256, numSequences: 10, seed: 3 };
  const one = await validationBatches(SOURCE, { ...options, batchSize: 1 });
  const four = await validationBatches(SOURCE, { ...options, batchSize: 4 });
  assertEquals([one.length, four.length], [10, 3]);
  assertEquals(sequencesOf(four).slice(0, 10), sequencesOf(one));
  const last = four[2];
  assert(last.numPaddingTokens >= 2 * 256);
  assertEquals(last.lossMask.subarray(2 * 256).indexOf(1), -1);
  assertEquals([...last.segmentStart.subarray(2 * 256, 3 * 256)], [...Array(256).keys()]);
  assertEquals(await validationBatches(SOURCE, { ...options, batchSize: 4 }), four);
  const unknown = { ...DEFAULT_SAMPLING, unknownSourceShare: 1 };
  assertEquals(await validationBatches(SOURCE, { ...options, sampling: unknown, batchSize: 4 }), four);
  assertNotEquals(
    sequencesOf(await validationBatches(SOURCE, { ...options, seed: 4, batchSize: 1 })),
    sequencesOf(one),
  );
});

Deno.test("a loader reads a source smaller than one sequence, and rejects one without measurements", async () => {
  const tiny = new MemoryRowSource([syntheticRow(1, 1, 1, { failed: 0, ipv6: 0 }), syntheticRow(1, 2, 0)]);
  assert(measurementsOf(await take(BatchLoader.open(tiny, OPTIONS), 2)).length >= 6);
  const empty = new MemoryRowSource([syntheticRow(1, 1, 0)]);
  const loader = BatchLoader.open(empty, OPTIONS);
  await assertRejects(() => loader.next(), UserError, "none of its rows has measurements");
  assertThrows(() => BatchLoader.open(new MemoryRowSource([]), OPTIONS), UserError, "no probe rows");
});

Deno.test("a loader rejects options out of range and names them", () => {
  const refused: Partial<LoaderOptions>[] = [
    { sequenceLength: 46 },
    { sequenceLength: 65536 },
    { batchSize: 0 },
    { seed: -1 },
    { blockRows: 0 },
  ];
  for (const change of refused) {
    const error = assertThrows(() => open(change), ConfigError);
    assert(error.keyPath in { ...OPTIONS, ...change }, error.message);
  }
});
