import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  type Context,
  DEFAULT_SAMPLING,
  MAX_MEASUREMENT_TOKENS,
  numContextsOfRow,
  sampleContext,
  samplingSchema,
  type TimestampMode,
} from "../../../lib/data/tokens/contexts.ts";
import { type PreparedRow, prepareRow } from "../../../lib/data/loader/prepared_row.ts";
import { lowerBound } from "../../../lib/base/collections.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { rttHistoryOf } from "../../../lib/data/tokens/rtt_history.ts";
import { decodeTokens, QUERY_ORDER, TokenWriter } from "../../../lib/data/tokens/vocab_v2.ts";
import { syntheticRow } from "./synthetic_rows.ts";

const ROOM = 1025;

function row(numMeasurements: number, options = {}): PreparedRow {
  const prepared = prepareRow(syntheticRow(1, 1, numMeasurements, options), { path: "test", index: 0 });
  // All times differ, so that a time identifies its measurement.
  prepared.timeS.forEach((_, i) => {
    if (i > 0 && prepared.timeS[i] <= prepared.timeS[i - 1]) prepared.timeS[i] = prepared.timeS[i - 1] + 1;
  });
  return prepared;
}

function only(mode: TimestampMode) {
  return samplingSchema.parse({ timestampModes: { full: 0, partial: 0, none: 0, [mode]: 1 } });
}

function sample(from: PreparedRow, draw: number, config = DEFAULT_SAMPLING, room = ROOM): Context {
  return sampleContext(from, room, new RandomStream(7, "test/context", draw), config);
}

function encode(context: Context): Uint16Array {
  const out = new Uint16Array(context.numTokens);
  const writer = new TokenWriter(out);
  for (const measurement of context.measurements) writer.write(measurement, measurement.order);
  assertEquals(writer.at, out.length);
  return out;
}

const times = (context: Context) => context.measurements.flatMap((m) => m.timeS === null ? [] : [m.timeS]);
const isAscending = (values: number[]) => values.every((value, i) => i === 0 || value > values[i - 1]);

Deno.test("numContextsOfRow() is clamp(ceil(n / 30), 1, 16), and 0 for an empty row", () => {
  const found = [0, 1, 30, 31, 60, 480, 481, 200_000].map((n) => numContextsOfRow(n, DEFAULT_SAMPLING));
  assertEquals(found, [0, 1, 1, 2, 2, 16, 16, 16]);
});

Deno.test("sampleContext() counts its tokens exactly, fits the room and round-trips", () => {
  for (const numMeasurements of [1, 2, 20, 40, 70, 300, 5000]) {
    const from = row(numMeasurements);
    for (let draw = 0; draw < 60; draw++) {
      const room = draw % 3 === 0 ? MAX_MEASUREMENT_TOKENS + draw : ROOM;
      const context = sample(from, draw, DEFAULT_SAMPLING, room);
      assert(context.measurements.length >= 1 && context.numTokens <= room);
      const decoded = decodeTokens(encode(context));
      assertEquals(
        decoded.map(({ order: _, position: __, ...measurement }) => measurement),
        context.measurements.map(({ order: _, rttMs: __, rttHistory: ___, ...measurement }) => measurement),
      );
      for (const { rttMs, rttCode } of context.measurements) {
        assertEquals(rttMs === null ? null : encodeRttCode(rttMs), rttCode);
      }
    }
  }
});

Deno.test("sampleContext() keeps time order in full mode, and the result of each measurement", () => {
  const from = row(400);
  for (let draw = 0; draw < 100; draw++) {
    const context = sample(from, draw, only("full"));
    assertEquals(times(context).length, context.measurements.length);
    // Ascending, distinct times: each measurement is taken once.
    assert(isAscending(times(context)));
    for (const m of context.measurements) {
      const index = from.timeS.indexOf(m.timeS ?? -1);
      assertEquals(m.source, from.sources[from.srcIndex[index]]);
      assertEquals(m.destination, from.destinations[from.dstIndex[index]]);
      assertEquals(m.rttCode, from.rttMs[index] < 0 ? null : encodeRttCode(from.rttMs[index]));
    }
  }
});

Deno.test("sampleContext() keeps the order of timed measurements in partial mode and mixes in the others", () => {
  const from = row(50, { ipv6: 0 });
  const shares: number[] = [];
  let numUntimedFirst = 0;
  let numMixed = 0;
  for (let draw = 0; draw < 300; draw++) {
    const context = sample(from, draw, only("partial"));
    assert(isAscending(times(context)));
    shares.push(1 - times(context).length / context.measurements.length);
    numMixed += times(context).length;
    if (context.measurements[0].timeS === null) numUntimedFirst++;
  }
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  // The share is uniform in 0.1..0.9 plus binomial noise of 50: deviation about 0.24 per draw; 5 deviations.
  assertAlmostEquals(mean, 0.5, 5 * 0.24 / Math.sqrt(shares.length));
  assert(Math.min(...shares) < 0.2 && Math.max(...shares) > 0.8);
  assert(numUntimedFirst > 100 && numUntimedFirst < 200, `${numUntimedFirst} begin without a time`);
  assert(numMixed > 0);
});

Deno.test("sampleContext() shuffles in none mode: each measurement is as likely first as last, in every order of blocks", () => {
  const from = row(6, { failed: 0 });
  const codes = [...from.rttMs].map(encodeRttCode);
  const counts = new Float64Array(6);
  const orders = new Set<string>();
  for (let draw = 0; draw < 3000; draw++) {
    const context = sample(from, draw, only("none"));
    assertEquals(times(context), []);
    counts[codes.indexOf(context.measurements[0].rttCode ?? 0)]++;
    orders.add(String(context.measurements[0].order));
  }
  assertEquals(orders.size, 24);
  // Binomial(3000, 1/6): mean 500, standard deviation 20.4; 5 deviations.
  for (const count of counts) assert(Math.abs(count - 500) < 102, `${counts}`);
});

Deno.test("sampleContext() draws the modes in their configured shares", () => {
  const from = row(3);
  const counts = { full: 0, partial: 0, none: 0 };
  const numDraws = 5000;
  for (let draw = 0; draw < numDraws; draw++) counts[sample(from, draw).mode]++;
  for (const [mode, share] of Object.entries(DEFAULT_SAMPLING.timestampModes)) {
    const found = counts[mode as TimestampMode] / numDraws;
    assertAlmostEquals(found, share, 5 * Math.sqrt(share * (1 - share) / numDraws), mode);
  }
});

Deno.test("sampleContext() draws log-uniform windows at uniform positions", () => {
  const numMeasurements = 100_000;
  const from = row(numMeasurements, { meanGapS: 600 });
  const numDraws = 1000;
  let numShort = 0;
  const [logSpans, places]: [number[], number[]] = [[], []];
  for (let draw = 0; draw < numDraws; draw++) {
    const context = sample(from, draw, only("full"));
    const indexes = times(context).map((timeS) => lowerBound(from.timeS, timeS));
    const span = indexes[indexes.length - 1] - indexes[0] + 1;
    if (span < Math.sqrt(numMeasurements)) numShort++;
    logSpans.push(Math.log(span));
    if (span < numMeasurements / 100) places.push(indexes[0] / numMeasurements);
  }
  // Half of all windows are below the square root: binomial, 5 deviations. A sample spans slightly less than
  // its window, by a factor near (k-1)/(k+1) for k >= 40 measurements, hence the tolerance of 0.01.
  assertAlmostEquals(numShort / numDraws, 0.5, 5 * Math.sqrt(0.25 / numDraws) + 0.01);
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  assertAlmostEquals(
    mean(logSpans) / Math.log(numMeasurements),
    0.5,
    5 * Math.sqrt(1 / 12 / numDraws) + 0.01,
  );
  assertAlmostEquals(mean(places), 0.5, 5 * Math.sqrt(1 / 12 / places.length) + 0.01);
  // The whole distribution, by the Kolmogorov-Smirnov test: the bound is exceeded in one of 10^6 draws.
  logSpans.sort((a, b) => a - b);
  const distance = Math.max(
    ...logSpans.map((logSpan, i) => Math.abs((i + 0.5) / numDraws - logSpan / Math.log(numMeasurements))),
  );
  assert(distance < Math.sqrt(Math.log(2e6) / 2 / numDraws) + 0.01, `${distance}`);
});

Deno.test("sampleContext() uses as many measurements of its window as fit", () => {
  const from = row(5000, { ipv6: 0, failed: 0, meanGapS: 10 });
  let numFull = 0;
  for (let draw = 0; draw < 200; draw++) {
    const { numTokens } = sample(from, draw, only("full"));
    // Another measurement would take at most 19 tokens.
    if (numTokens > ROOM - 19) numFull++;
  }
  // Windows with at least 64 measurements: 1 - ln 64 / ln 5000 = 51 %, minus 5 deviations.
  assert(numFull / 200 > 0.51 - 5 * Math.sqrt(0.25 / 200), `${numFull}`);
});

Deno.test("sampleContext() with fewDestinationsShare draws any one destination half the time, and seldom many", () => {
  const from = row(2000);
  const config = { ...only("full"), fewDestinationsShare: 1 };
  const seen = new Map<string, number>();
  const counts = new Map<number, number>();
  for (let draw = 0; draw < 400; draw++) {
    const { measurements } = sample(from, draw, config);
    const distinct = new Set(measurements.map(({ destination }) => String(destination)));
    for (const destination of distinct) seen.set(destination, (seen.get(destination) ?? 0) + 1);
    if (measurements.length > 30) counts.set(distinct.size, (counts.get(distinct.size) ?? 0) + 1);
  }
  assertEquals(seen.size, 8);
  // 1 of 8 with probability 1/2, 4 or more with 1/8; windows of 30 are likelier among many destinations.
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const share = (isCounted: (size: number) => boolean) =>
    [...counts].reduce((sum, [size, count]) => sum + (isCounted(size) ? count : 0), 0) / total;
  assertAlmostEquals(share((size) => size === 1), 0.5, 0.12);
  assertAlmostEquals(share((size) => size >= 4), 0.125, 0.09);
  for (let draw = 0; draw < 40; draw++) {
    const { measurements } = sample(from, draw, only("full"));
    if (measurements.length <= 30) continue;
    assert(new Set(measurements.map(({ destination }) => String(destination))).size > 4);
  }
});

Deno.test("sampleContext() with denseWindowShare uses all measurements that fit up to a random moment", () => {
  const from = row(2000);
  const config = { ...only("full"), denseWindowShare: 1 };
  const indexOf = new Map([...from.timeS].map((timeS, index) => [timeS, index]));
  const last: number[] = [];
  for (let draw = 0; draw < 400; draw++) {
    const { measurements, numTokens } = sample(from, draw, config);
    const indexes = measurements.map(({ timeS }) => indexOf.get(timeS ?? NaN) ?? NaN);
    assert(indexes.every((index, i) => i === 0 || index === indexes[i - 1] + 1), `${indexes}`);
    if (indexes[0] > 0) assert(numTokens + MAX_MEASUREMENT_TOKENS > ROOM, `${numTokens} tokens`);
    last.push(indexes[indexes.length - 1]);
  }
  const mean = last.reduce((sum, index) => sum + index, 0) / last.length;
  assertAlmostEquals(mean / 2000, 0.5, 0.06);
  let numOfOne = 0;
  for (let draw = 0; draw < 40; draw++) {
    const { measurements } = sample(from, draw, { ...config, fewDestinationsShare: 1 });
    const destinations = new Set(measurements.map(({ destination }) => String(destination)));
    if (destinations.size > 1) continue;
    const ofOne = [...from.timeS].filter((_, i) =>
      destinations.has(String(from.destinations[from.dstIndex[i]]))
    );
    const first = ofOne.indexOf(measurements[0].timeS ?? NaN);
    assertEquals(measurements.map(({ timeS }) => timeS), ofOne.slice(first, first + measurements.length));
    numOfOne++;
  }
  assert(numOfOne > 10, `${numOfOne}`);
});

Deno.test("sampleContext() with maxMeasurements draws no more, even from short rows, and any of them", () => {
  for (const numMeasurements of [3, 2000]) {
    const from = row(numMeasurements);
    const counts = new Set<number>();
    const times = new Set<number | null>();
    for (let draw = 0; draw < 200; draw++) {
      const { measurements } = sample(from, draw, { ...only("full"), maxMeasurements: 2 });
      counts.add(measurements.length);
      for (const { timeS } of measurements) times.add(timeS);
    }
    assertEquals([...counts].sort(), [1, 2]);
    assert(times.size >= Math.min(numMeasurements, 150), `${times.size} different times`);
  }
});

Deno.test("sampleContext() with queryOrderShare writes that share of the contexts in query order", () => {
  const from = row(2000);
  const config = { ...only("full"), queryOrderShare: 0.5 };
  let numOrdered = 0;
  for (let draw = 0; draw < 400; draw++) {
    const { measurements } = sample(from, draw, config);
    if (measurements.length < 10) continue;
    const inOrder = measurements.filter(({ order }) => order === QUERY_ORDER).length;
    assert(inOrder === 0 || inOrder === measurements.length);
    numOrdered += inOrder > 0 ? 1 : -1;
  }
  assert(Math.abs(numOrdered) < 60, `${numOrdered}`); // 3 standard deviations of at most 400 draws
});

Deno.test("sampleContext() with unknownSourceShare changes the ends of the sources in that share of the contexts", () => {
  const from = row(2000);
  const config = { ...only("full"), unknownSourceShare: 0.5 };
  const known = from.sources.map(String);
  const keptBytes = new Map<number, Set<number>>();
  let numUnknown = 0;
  for (let draw = 0; draw < 400; draw++) {
    const { measurements } = sample(from, draw, config);
    const numChanged = measurements.filter(({ source }) => !known.includes(String(source))).length;
    if (numChanged === 0) continue;
    numUnknown++;
    assertEquals(numChanged, measurements.length);
    for (const length of new Set(measurements.map(({ source }) => source.length))) {
      // One address per family within the context.
      const sources = measurements.map(({ source }) => source).filter((source) => source.length === length);
      assertEquals(new Set(sources.map(String)).size, 1);
      const original = from.sources.find((source) => source.length === length);
      const numKept = original?.findIndex((byte, i) => sources[0][i] !== byte) ?? -1;
      keptBytes.set(length, (keptBytes.get(length) ?? new Set()).add(numKept));
    }
  }
  assert(Math.abs(numUnknown - 200) < 50, `${numUnknown}`); // 5 standard deviations
  for (const [length, counts] of keptBytes) {
    assertEquals(counts.size, length, `kept of ${length} bytes: ${[...counts]}`);
  }
  assertEquals([...keptBytes.keys()].sort(), [...new Set(from.sources.map(({ length }) => length))].sort());
});

/** The pair's history before one of a row's measurements, without the newest `numUnknown`. */
function recallFrom(from: PreparedRow, index: number, { numUnknown = 0, isTimed = true } = {}) {
  const earlier: number[] = [];
  for (let i = index - 1; i >= 0; i--) {
    const isOfPair = from.srcIndex[i] === from.srcIndex[index] && from.dstIndex[i] === from.dstIndex[index];
    if (isOfPair && from.rttMs[i] >= 0) earlier.push(i);
  }
  const known = earlier.slice(numUnknown);
  const ageS = isTimed && known.length > 0 ? from.timeS[index] - from.timeS[known[0]] : null;
  return rttHistoryOf(known.map((i) => encodeRttCode(from.rttMs[i])), known.length, ageS);
}

Deno.test("sampleContext() recalls a pair's earlier RTTs in the row, never the measurement's own", () => {
  const from = row(300);
  let numRecalled = 0;
  for (let draw = 0; draw < 20; draw++) {
    for (const { timeS, rttHistory } of sample(from, draw, only("full")).measurements) {
      assertEquals(rttHistory, recallFrom(from, from.timeS.indexOf(timeS ?? NaN)));
      if (rttHistory) numRecalled++;
    }
  }
  assert(numRecalled > 100, `${numRecalled} histories`);
});

Deno.test("sampleContext() with staleHistoryShare omits equally many of the newest RTTs of all pairs of a context", () => {
  const from = row(2000);
  const config = samplingSchema.parse({ ...only("full"), staleHistoryShare: 0.5 });
  const numUnknown = Array.from({ length: 200 }, (_, draw) => {
    const { measurements } = sample(from, draw, config);
    const explains = (count: number) =>
      measurements.every(({ timeS, rttHistory }) => {
        const wanted = recallFrom(from, from.timeS.indexOf(timeS ?? NaN), { numUnknown: count });
        return JSON.stringify(rttHistory) === JSON.stringify(wanted);
      });
    return Array.from({ length: 128 }, (_, count) => count).find(explains) ?? NaN;
  });
  assert(numUnknown.every((count) => count >= 0), numUnknown.join());
  const stale = numUnknown.filter((count) => count > 0).sort((a, b) => a - b);
  // Five standard deviations of a share of 0.5 of 200.
  assert(Math.abs(stale.length - 100) < 36, `${stale.length} stale contexts`);
  assert(stale[0] === 1 && stale[stale.length - 1] > 32, stale.join());
});
