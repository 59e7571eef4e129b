import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { drawCases } from "../../../lib/eval/cases.ts";
import { ClusterBootstrap } from "../../../lib/eval/metrics/bootstrap.ts";
import {
  evaluateDestinations,
  KnownDestinations,
  learnDestinations,
  newestOf,
  scoreMethods,
} from "../../../lib/eval/sections/destination_section.ts";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { MemoryRowSource, syntheticRows } from "../../data/loader/synthetic_rows.ts";
import { withTinyModel } from "../../query/tiny_model.ts";

const SOURCE = addressBytes("10.0.0.1");

function measured(destination: string, rttMs: number | null): TokenMeasurement {
  const rttCode = rttMs === null ? null : encodeRttCode(rttMs);
  return { source: SOURCE, destination: addressBytes(destination), rttCode, timeS: 1_700_000_000 };
}

function learned(): KnownDestinations {
  const known = new KnownDestinations(["10.0.0.1"]);
  for (const rttMs of [50, 52, null]) known.add("10.0.0.1", "192.0.2.1", rttMs);
  for (const rttMs of [10, 11]) known.add("10.0.0.1", "192.0.2.2", rttMs);
  known.add("10.0.0.1", "192.0.2.3", null);
  known.add("10.0.0.1", "2001:db8::1", 50);
  for (let i = 0; i < 9; i++) known.add("10.0.0.2", "192.0.2.9", 40);
  known.add("10.0.0.2", "192.0.2.2", 12);
  return known;
}

function guess(query: { source?: string; rttMs: number | null; context?: TokenMeasurement[] }, count = 5) {
  const { source = "10.0.0.1", rttMs, context = [] } = query;
  const range = rttMs === null ? null : [rttMs, rttMs] as const;
  const guesses = learned().guess({ source: addressBytes(source), rttMs: range, context }, count);
  return Object.fromEntries([...guesses].map(([name, list]) => [name, list.map((bytes) => bytes[3]).join()]));
}

Deno.test("KnownDestinations ranks by median RTT and by count, of the source and of all", () => {
  assertEquals(guess({ rttMs: 12 }), {
    "nearest median RTT of the source": "2,1,3,9",
    "nearest median RTT of all": "2,9,1,3",
    "most frequent of the source": "1,2,3,9",
    "most frequent of all": "9,1,2,3",
  });
  assertEquals(guess({ rttMs: 45 }, 1)["nearest median RTT of the source"], "1");
  assertEquals(guess({ rttMs: 44 }, 1)["nearest median RTT of all"], "9");
  assertEquals(guess({ rttMs: null })["nearest median RTT of the source"], "1,2,3,9");
  assertEquals(guess({ rttMs: null })["nearest median RTT of all"], "9,1,2,3");
  assertEquals(guess({ source: "10.0.0.9", rttMs: 12 })["nearest median RTT of the source"], "9,1,2,3");
});

Deno.test("KnownDestinations learns from a measurement's context, for the source's own rankings", () => {
  const context = [measured("192.0.2.4", 12), measured("192.0.2.2", 30), measured("192.0.2.2", null)];
  assertEquals(guess({ rttMs: 12, context }), {
    "nearest median RTT of the source": "4,2,1,3,9",
    "nearest median RTT of all": "2,9,1,3",
    "most frequent of the source": "2,1,3,4,9",
    "most frequent of all": "9,1,2,3",
  });
  const ofNew = guess({ source: "10.0.0.9", rttMs: 12, context }, 2);
  assertEquals(ofNew["nearest median RTT of the source"], "4,2");
});

/** A bootstrap of addresses, each in its own cluster. */
function bootstrapOf(addresses: readonly Uint8Array[]): ClusterBootstrap {
  return new ClusterBootstrap(Uint32Array.from(addresses.keys()), { seed: 1 });
}

Deno.test("scoreMethods() counts exact and prefix matches of the first and of any guess", () => {
  const guesses = [["192.0.2.1", "10.0.0.1"], ["9.9.9.9", "192.1.0.0"], []].map((list) =>
    list.map(addressBytes)
  );
  const addresses = ["192.0.2.1", "192.0.2.1", "192.0.2.1"].map(addressBytes);
  const scores = scoreMethods(addresses, bootstrapOf(addresses), [["model", guesses]]);
  assertEquals(scores, [{
    method: "model",
    top1Exact: 1 / 3,
    top5Exact: 1 / 3,
    top1Prefix: { 8: 1 / 3, 16: 1 / 3, 24: 1 / 3 },
    intervals: { top1Exact: null, top5Exact: null },
  }]);
  const far = [addressBytes("2001:db8:1:2::")];
  const [near] = scoreMethods(far, bootstrapOf(far), [["model", [[addressBytes("2001:db8:1:1::")]]]]);
  assertEquals([near.top1Exact, near.top1Prefix], [0, { 16: 1, 32: 1, 48: 1, 64: 0 }]);
});

Deno.test("scoreMethods() computes intervals of the shares of right guesses and of differences to the model", () => {
  const addresses = Array.from({ length: 40 }, (_, i) => addressBytes(`192.0.2.${i}`));
  const wrong = addressBytes("198.51.100.1");
  const rightIn = (isRight: (i: number) => boolean) =>
    addresses.map((address, i) => isRight(i) ? [address] : [wrong, address]);
  const methods = scoreMethods(addresses, bootstrapOf(addresses), [
    ["model", rightIn((i) => i % 2 === 0)],
    ["worse", rightIn((i) => i % 8 === 0)],
    ["alike", rightIn((i) => i % 2 === 1)],
  ]);
  const [model, worse, alike] = methods;
  const [low, high] = model.intervals.top1Exact ?? [NaN, NaN];
  assertAlmostEquals(low, 0.5 - 1.96 * Math.sqrt(0.25 / 40), 0.03);
  assertAlmostEquals(high, 0.5 + 1.96 * Math.sqrt(0.25 / 40), 0.03);
  assertEquals([model.intervals.top5Exact, model.modelMinusThis], [[1, 1], undefined]);
  const [least] = worse.modelMinusThis?.top1Exact ?? [NaN];
  assert(least > 0.2 && least < 0.375, `${least}`);
  const [below, above] = alike.modelMinusThis?.top1Exact ?? [NaN, NaN];
  assert(below < 0 && above > 0, `${below}, ${above}`);
});

Deno.test("evaluateDestinations() scores cases by IP version and number of context, and reports progress", () =>
  withTinyModel(async (model) => {
    const [training, heldOut] = [syntheticRows(3, 4, 90), syntheticRows(3, 4, 60)].map((rows) =>
      new MemoryRowSource(rows)
    );
    const rows = { heldOut, training, others: [], history: "all" as const };
    const cases = await drawCases(rows, { count: 40, maxContext: 6, seed: 1 });
    for (const each of cases) {
      const all = (await drawCases(rows, { count: 40, maxContext: 1000, seed: 1 }))
        .find(({ measurement }) => measurement.timeS === each.measurement.timeS)?.history ?? [];
      assertEquals(newestOf(each, 6).map(({ timeS }) => timeS), all.slice(-6).map(({ timeS }) => timeS));
      break;
    }
    const progress: number[] = [];
    const options = {
      training,
      maxContext: 6,
      maxCases: 10,
      onProgress: (done: number) => progress.push(done),
    };
    const section = await evaluateDestinations(model, cases, options);
    assertEquals([section.numCases, section.numMeasurements], [10, 40]);
    assertEquals(progress.at(-1), training.numRows + 10);
    assert(progress.every((done, i) => i === 0 || done > progress[i - 1]));
    assertEquals(JSON.parse(JSON.stringify(section)), section);
    const ofVersion = Object.groupBy(section.scores, ({ version }) => version);
    let numCases = 0;
    for (const scores of Object.values(ofVersion)) {
      assertEquals(scores.map(({ numContext }) => numContext), [0, 6]);
      assertEquals(scores[0].meanContext, 0);
      assert(scores[1].meanContext > 0 && scores[1].meanContext <= 6);
      assertEquals(scores[0].methods[0].method, "model");
      assertEquals(scores[0].methods.length, 5);
      numCases += scores[0].numCases + scores[1].numCases;
    }
    assertEquals(numCases, 10);
  }));

Deno.test("learnDestinations() counts the measurements of an address in any spelling, not of others in its row", async () => {
  const [row] = syntheticRows(3, 1, 30, { ipv6: 1 });
  assertEquals(row.srcAddrs[1], "2001:db8::0");
  row.srcAddrs.push("2001:db8:9::9");
  row.srcIndex.forEach((_, i) => row.srcIndex[i] = i % 3 === 0 ? 2 : 1);
  for (const [source, place] of [["2001:db8::", 1], ["2001:db8:9::9", 2]] as const) {
    const known = await learnDestinations(new MemoryRowSource([row]), { sources: [source] });
    const counts = new Map<string, number>();
    row.dstIndex.forEach((destination, i) => {
      if (row.srcIndex[i] !== place) return;
      const name = formatAddress(addressBytes(row.dstAddrs[destination]));
      counts.set(name, (counts.get(name) ?? 0) + 1);
    });
    const query = { source: addressBytes(source), rttMs: null, context: [] };
    const [best] = known.guess(query, 5).get("most frequent of the source") ?? [];
    assertEquals(counts.get(formatAddress(best)), Math.max(...counts.values()));
    assert(counts.size > 1 && counts.values().reduce((a, b) => a + b, 0) < row.dstIndex.length);
  }
});
