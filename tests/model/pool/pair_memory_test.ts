import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { hashesOf, pairHashes } from "../../../lib/model/embedding_table.ts";
import { CollectedPair, PairMemory, thinToSize } from "../../../lib/model/pool/pair_memory.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";
import { NUM_KERNELS, NUM_SHARES } from "../../../lib/model/pool/time_kernels.ts";

const START_S = 1_700_000_000;
const address = (i: number) => Uint8Array.of(192, 0, 2, i);
const pairOf = (i: number, j: number) => pairHashes(hashesOf(address(i)), hashesOf(address(j)), 0);
const sumOf = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);

/** Measures pairs of the first address once a minute; 5 % are lost. */
function tablesOf(numPairs: number, each: number, options: { memoryMb?: number } = {}): PoolTables {
  const random = new RandomStream(0, "tests/pair_memory");
  const tables = new PoolTables(undefined, options);
  const ends = Array.from({ length: numPairs + 1 }, (_, i) => PoolTables.endOf(address(i)));
  for (let i = 0; i < each; i++) {
    for (let pair = 1; pair <= numPairs; pair++) {
      const code = random.below(20) === 0 ? null : encodeRttCode(10 * pair * (1 + random.float64()));
      // Each direction in turn.
      const [source, destination] = i % 2 === 0 ? [0, pair] : [pair, 0];
      tables.add(ends[source], ends[destination], code, START_S + 60 * i);
    }
  }
  return tables;
}

Deno.test("a memory finds every measurement of both directions of a pair, oldest first", () => {
  const tables = new PoolTables();
  const [a, b, c] = [1, 2, 3].map((i) => PoolTables.endOf(address(i)));
  const [code, other] = [20, 30].map(encodeRttCode);
  const results: [timeS: number, code: number][] = [[900, 0], [0, code], [600, other], [600, 0], [30, code]];
  results.forEach(([timeS, code], i) => {
    const [source, destination] = i % 2 === 0 ? [a, b] : [b, a];
    tables.add(source, destination, code === 0 ? null : code, START_S + timeS);
  });
  tables.add(a, c, null, START_S + 1200);
  const memory = new PairMemory(tables.save(fitPool([])));
  const found = memory.find(pairOf(1, 2));
  assert(found);
  assertEquals([...found.timesS], [0, 30, 600, 600, 900].map((timeS) => START_S + timeS));
  assertEquals([...found.codes], [code, code, other, 0, 0]);
  assertEquals([...found.counts], [1, 1, 1, 1, 1]);
  for (let first = 0; first < NUM_SHARES; first += NUM_KERNELS) {
    assertAlmostEquals(sumOf(found.shares.subarray(first, first + NUM_KERNELS)), 1, 1e-12);
  }
  assertEquals([...memory.find(pairOf(3, 1))?.codes ?? []], [0]);
  assertEquals(memory.find(pairOf(2, 3)), undefined);
  assertEquals(memory.newestS, START_S + 1200);
});

/** A pair that was measured every minute, with RTTs of 20 to 20 (1 + spread) ms; a share of `lost` had no reply. */
function collected(length: number, { spread = 0.5, lost = 0 } = {}): CollectedPair {
  const random = new RandomStream(length, "tests/pair_memory");
  const pair = new CollectedPair();
  for (let i = 0; i < length; i++) {
    const code = random.float64() < lost ? 0 : encodeRttCode(20 * (1 + spread * random.float64()));
    pair.add(START_S + 60 * i, code);
  }
  return pair;
}

const lostOf = ({ codes, counts }: { codes: ArrayLike<number>; counts: ArrayLike<number> }) =>
  sumOf(Array.from(counts, (count, i) => codes[i] === 0 ? count : 0));

Deno.test("thinning keeps counts, losses and the newest half; density falls with age", () => {
  const pair = collected(6000, { lost: 0.1 });
  const before = pair.sorted();
  pair.thin(500);
  const after = pair.sorted();
  assert(after.timesS.length <= 500 && after.timesS.length > 200, `${after.timesS.length}`);
  assertEquals(sumOf(after.counts), 6000);
  assertEquals(lostOf(after), lostOf(before));
  const half = Math.floor(after.timesS.length / 2);
  assertEquals(after.timesS.slice(-half), before.timesS.slice(-half));
  assertEquals(after.codes.slice(-half), before.codes.slice(-half));
  // The first measurement of each eighth, and the time that eighths span.
  const eighths = Array.from(
    { length: 9 },
    (_, i) => after.timesS[Math.min(after.timesS.length - 1, Math.floor(i * after.timesS.length / 8))],
  );
  const spans = eighths.slice(1).map((timeS, i) => timeS - eighths[i]);
  spans.slice(1).forEach((span, i) => assert(span <= 1.2 * spans[i], `${spans}`));
  assert(spans[0] > 20 * spans[7], `${spans}`);
  // Both kinds of results are left over the whole time.
  const oldLoss = after.timesS[after.codes.indexOf(0)];
  assert(oldLoss < START_S + 60 * 2000, `${oldLoss - START_S}`);
});

Deno.test("steady pairs without losses are thinned more than others, pairs with few measurements not at all", () => {
  const [varied, steady, lossy, few] = [
    collected(4000),
    collected(4000, { spread: 0.001 }),
    collected(4000, { spread: 0.001, lost: 0.01 }),
    collected(30),
  ];
  thinToSize([varied, steady, lossy, few], 0.02);
  const total = sumOf([varied, steady, lossy, few].map(({ length }) => length));
  assert(total <= 2500 && total > 1200, `${total}`);
  assertEquals(few.length, 30);
  assert(steady.length < 0.4 * varied.length && steady.length < 0.4 * lossy.length, `${steady.length}`);
  for (const pair of [varied, steady, lossy]) assertEquals(sumOf(pair.counts), 4000);
});

Deno.test("a memory has at most its megabytes, whatever was measured", () => {
  const memoryMb = 0.02;
  const tensors = tablesOf(8, 1500, { memoryMb }).save(fitPool([]));
  const measurements = tensors.get("pool.measurements") ?? [];
  const bytes = 4 * measurements.length;
  assert(bytes <= 1e6 * memoryMb && bytes > 0.4e6 * memoryMb, `${bytes} bytes`);
  const memory = new PairMemory(tensors);
  for (let pair = 1; pair <= 8; pair++) {
    const found = memory.find(pairOf(0, pair));
    assert(found);
    assertEquals(sumOf(found.counts), 1500);
    assertEquals(found.timesS[found.timesS.length - 1], START_S + 60 * 1499);
  }
});
