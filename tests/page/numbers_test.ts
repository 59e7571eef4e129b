import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { logTicks } from "../../lib/page/axis_ticks.ts";
import { shadesOf } from "../../lib/page/median_matrix.tsx";
import { formatMs, formatPercent, formatPValue, formatRange } from "../../lib/page/number_text.ts";
import { prefixTree } from "../../lib/page/prefix_tree.ts";
import { judge, sumUp } from "../../lib/page/surprise.ts";

Deno.test("RTTs and probabilities have three figures, and small probabilities one", () => {
  const rtts: [number, string][] = [
    [0, "0 ms"],
    [0.0004, "0.0004 ms"],
    [0.4236, "0.42 ms"],
    [9.996, "10.0 ms"],
    [15.26, "15.3 ms"],
    [99.96, "100 ms"],
    [999.7, "1000 ms"],
    [2310, "2.31 s"],
    [3_600_000, "1.00 h"],
    [172_800_000, "2.00 d"],
  ];
  for (const [rttMs, text] of rtts) assertEquals(formatMs(rttMs), text);
  assertEquals(formatRange(149.2, 161), "149–161 ms");
  assertEquals(formatRange(900, 1200), "900 ms – 1.20 s");
  assertEquals(formatRange(20, 20), "20.0 ms");
  const shares: [number, string][] = [
    [0, "0 %"],
    [1e-9, "< 0.001 %"],
    [0.00023, "0.02 %"],
    [0.0138, "1.38 %"],
    [0.317, "31.7 %"],
    [0.9996, "> 99.9 %"],
    [1, "100 %"],
  ];
  for (const [probability, text] of shares) assertEquals(formatPercent(probability), text);
  assertEquals([0.3456, 0.0021, 3.2e-7, 0].map(formatPValue), ["0.35", "0.0021", "3e-7", "0"]);
});

Deno.test("logTicks() are in the range, in order, no more than there is room for, and some", () => {
  assertEquals(logTicks(1, 1000, 5), [1, 10, 100, 1000]);
  assertEquals(logTicks(149, 161, 6), [150, 152, 154, 156, 158, 160]);
  const range = fc.tuple(
    fc.double({ min: -3, max: 9, noNaN: true }),
    fc.double({ min: 0.02, max: 8, noNaN: true }),
  );
  fc.assert(fc.property(range, fc.integer({ min: 3, max: 12 }), ([log, span], most) => {
    const [low, high] = [10 ** log, 10 ** (log + span)];
    const ticks = logTicks(low, high, most);
    assert(ticks.length >= 1 && ticks.length <= most + 1, `${ticks.length} of ${most}`);
    assert(
      ticks.every((tick, i) =>
        tick >= low * 0.999 && tick <= high * 1.001 && (i === 0 || tick > ticks[i - 1])
      ),
    );
  }));
});

Deno.test("judge() calls surprising only what is so among all, and sumUp() says what chance gives", () => {
  assertEquals(judge([0.5, 0.009, 0.0001]), ["usual", "unusual", "surprising"]);
  assertEquals(judge([0.009]), ["surprising"]);
  const many = [...Array(99).fill(0.5), 0.002];
  assertEquals(judge(many).at(-1), "unusual");
  assertEquals(
    sumUp(judge(many)),
    "None is surprising among so many: 1 of 100 have a p-value below 0.01; chance alone gives about 1.",
  );
  assert(sumUp(judge([0.5, 1e-9])).startsWith("1 is surprising even among 2 (p < 0.01/2)"));
});

Deno.test("prefixTree() puts prefixes below the longest listed one that holds them", () => {
  const listed = (prefix: string, probability: number) => ({ prefix, probability, standard_error: 0 });
  const tree = prefixTree([
    [listed("10.0.0.0/8", 0.3), listed("20.0.0.0/8", 0.6)],
    [listed("10.1.0.0/16", 0.2), listed("30.1.0.0/16", 0.05)],
    [listed("20.2.3.0/24", 0.5), listed("10.1.9.0/24", 0.25)],
    [listed("20.2.3.4", 0.4)],
  ]);
  const shape = (nodes: typeof tree): unknown[] =>
    nodes.map(({ prefix, restProbability, children }) => [
      prefix,
      Number(restProbability.toFixed(3)),
      ...shape(children),
    ]);
  assertEquals(shape(tree), [
    ["20.0.0.0/8", 0.1, ["20.2.3.0/24", 0.1, ["20.2.3.4", 0.4]]],
    ["10.0.0.0/8", 0.1, ["10.1.0.0/16", 0, ["10.1.9.0/24", 0.25]]],
    ["30.1.0.0/16", 0.05],
  ]);
});

Deno.test("shadesOf() go from the shortest to the longest RTT, and hardly differ where RTTs do", () => {
  assertEquals(shadesOf([1, 10, 100, undefined]), [0, 3, 6, undefined]);
  assertEquals(shadesOf([100, 100]), [0, 0]);
  assertEquals(shadesOf([undefined]), [undefined]);
});
