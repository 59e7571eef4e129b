import * as fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import type { AnswerOf } from "../../../lib/query/questions/questions.ts";
import { binsOf, CURVE_QUANTILES, logTicks } from "../../../lib/serve/page/rtt_result.tsx";
import { rangeOf } from "../../../lib/serve/page/strip.tsx";
import { medianOf, times } from "../../../lib/data/addresses/measured_text.ts";
import { lookOf, shadesOf } from "../../../lib/serve/page/compare_part.tsx";
import {
  formatPercent,
  formatPValue,
  periodOf,
  questionTimeS,
  startTime,
  timeWarning,
} from "../../../lib/serve/page/texts.ts";
import { csvText, curlCommand } from "../../../lib/serve/page/saved_files.tsx";
import { judge, type JudgedPing, sumUp } from "../../../lib/serve/page/pings_part.tsx";
import {
  formatHash,
  packText,
  type PageState,
  parseHash,
  unpackText,
} from "../../../lib/serve/page/url_state.ts";

Deno.test("probabilities are rounded for display", () => {
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

Deno.test("logTicks() returns at least one tick, in range, in order and within the requested number", () => {
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

Deno.test("judge() accounts for the number of pings", () => {
  assertEquals(judge([0.5, 0.009, 0.0001]), ["usual", "unusual", "surprising"]);
  assertEquals(judge([0.009]), ["surprising"]);
  assertEquals(judge([...Array(99).fill(0.5), 0.002]).at(-1), "unusual");
});

Deno.test("sumUp() lists the unusual pings with their lines and expected ranges", () => {
  const row = (line: number, rtt: number | null, pValue: number | undefined): JudgedPing => ({
    ping: { src: "192.0.2.1", dst: "198.51.100.7", time: line, rtt, line },
    pValue,
    judgement: pValue === undefined ? "usual" : judge([pValue])[0],
  });
  const usual = Array.from({ length: 11 }, (_, i) => row(i < 7 ? i + 1 : i + 2, 132, 0.5));
  const odd: JudgedPing = { ...row(8, 298, 1e-6), expected: { lowMs: 131, highMs: 135 } };
  assertEquals(
    sumUp([...usual, odd]),
    "1 of 12 is unusual: line 8, 298 ms, expected 131–135 ms. Chance alone would give about 0.12.",
  );
  assert(sumUp([odd, row(9, null, 1e-9)]).startsWith("2 of 2 are unusual: line 9, no reply; line 8, 298 ms"));
  assertEquals(sumUp(usual), "None of 11 is unusual.");
  assertEquals(sumUp([row(1, 3, undefined)]), "No ping could be scored.");
});

/** An answer whose quantiles are given by a function. */
function answerOf(rttMs: (quantile: number) => number, p_failed = 0): AnswerOf<"rtt"> {
  const quantiles_ms = Object.fromEntries(CURVE_QUANTILES.map((quantile) => [quantile, rttMs(quantile)]));
  return { quantiles_ms, p_failed, basis: { kind: "estimate" } } as unknown as AnswerOf<"rtt">;
}

Deno.test("binsOf() returns each bin's share of the replies, in milliseconds", () => {
  const { widthMs, edgesMs, shares: [shares] } = binsOf([answerOf((quantile) => 100 + 40 * quantile)]);
  assertEquals(widthMs, 1);
  const inside = shares.slice(1, -1);
  assert(inside.length > 30 && inside.every((share) => Math.abs(share - 1 / 40) < 1e-9), inside.join());
  assert(edgesMs[0] >= 100 && edgesMs[edgesMs.length - 1] <= 140);
  const tail = binsOf([answerOf((quantile) => quantile < 0.985 ? 20 + quantile : 1e6)]).edgesMs;
  assert(tail[tail.length - 1] < 30, "a tail leaves width to the rest");
  const [atom] = binsOf([answerOf(() => 12)]).shares;
  assertEquals(Number(atom.reduce((sum, share) => sum + share, 0).toFixed(6)), 1);
});

Deno.test("binsOf() extends its range to nearby measured RTTs, but not to distant ones", () => {
  const answer = answerOf((quantile) => 100 + 40 * quantile);
  const rangeWith = (...rttsMs: number[]) => {
    const quantiles_ms = Object.fromEntries(rttsMs.map((rttMs, i) => [i, rttMs]));
    const { edgesMs } = binsOf([{ ...answer, measured: { quantiles_ms } } as unknown as AnswerOf<"rtt">]);
    return [edgesMs[0], edgesMs[edgesMs.length - 1]];
  };
  assertEquals(rangeWith(120), rangeWith());
  assertEquals(rangeWith(90.5, 149.5), [90, 150]);
  assertEquals(rangeWith(20, 249), rangeWith());
});

Deno.test("a cell's colour shows its loss, or else its median, and its class the basis", () => {
  const lost = (p_failed: number) => Object.values(lookOf(answerOf(() => 20, p_failed), 3));
  const [usual, lossy] = ["estimate", "lossy estimate"];
  assertEquals([0, 0.09, 0.1, 0.5, 1].map(lost), [
    ...[22, 22].map((percent) => [usual, { "--mix": `${percent}%` }]),
    ...[18, 30, 44].map((percent) => [lossy, { "--mix": `${percent}%` }]),
  ]);
  assertEquals(lookOf({ line: 1, error: "no" }), { class: "none", style: { "--mix": "0%" } });
});

Deno.test("times() counts measurements in words, and medianOf() returns the median RTT", () => {
  const seen = (measurements: number) => ({ measurements, in_adaptation: 0, last_seen: null });
  assertEquals([0, 1, 2, 3].map((count) => times(seen(count))), [
    "never measured",
    "measured once",
    "measured twice",
    "measured 3 times",
  ]);
  assertEquals(medianOf([3, 1, 20, 4].map((rtt_ms) => ({ rtt_ms, time: null }))), 3.5);
});

Deno.test("rangeOf() flags differences above 5 % of a quantile or 2 percentage points of no reply", () => {
  const hour = (medianMs: number, failed = 0.01) => answerOf(() => medianMs, failed);
  assertEquals(rangeOf([hour(100), hour(104.9)]).isMuch, false);
  assertEquals(rangeOf([hour(100), hour(106)]).isMuch, true);
  assertEquals(rangeOf([hour(100), answerOf((q) => q > 0.9 ? 106 : 100, 0.01)]).isMuch, true);
  assertEquals(rangeOf([hour(100, 0.01), hour(100, 0.025)]).isMuch, false);
  const { isMuch, text } = rangeOf([hour(100, 0.01), hour(100, 0.035)]);
  assertEquals([isMuch, text], [true, "median 100 ms, no reply 1.00 % to 3.50 %"]);
});

Deno.test("CSV and curl commands escape any text", () => {
  assertEquals(csvText(["a", "b"], [['x,"y"', 1], ["=1+1", null]]), `a,b\r\n"x,""y""",1\r\n'=1+1,\r\n`);
  assertEquals(curlCommand("http://h/?a=$(x)'b"), `curl 'http://h/?a=$(x)'\\''b'`);
});

Deno.test("shadesOf() ranges from the shortest to the longest RTT, and is constant for equal RTTs", () => {
  assertEquals(shadesOf([1, 10, 100, undefined]), [0, 3, 6, undefined]);
  assertEquals(shadesOf([100, 100]), [0, 0]);
  assertEquals(shadesOf([undefined]), [undefined]);
});

Deno.test("formatHash() and parseHash() are inverses, and addresses stay readable", async () => {
  const states: PageState[] = [
    { part: "model", fields: {} },
    { part: "ask", fields: { src: "10.2.0.0/16", dst: "2001:db8::1", time: "2025-06-15T12:00" } },
    {
      part: "compare",
      fields: { sources: "192.0.2.1\n192.0.2.2", destinations: "a & b = c#%", cell: "1,0" },
    },
    { part: "pings", fields: { src: "192.0.2.1", pings: "PING ü (1.1.1.1)\n64 bytes +/=?" } },
    { part: "pings", fields: { src: "192.0.2.1", columns: "dst=Ziel ä,rtt=3", zone: "+01:00" } },
    { part: "fits", fields: { src: "192.0.2.1", time: "any", low: "20", high: "25.5" } },
  ];
  for (const state of states) {
    const { hash, isWhole } = await formatHash(state);
    assertEquals(isWhole, true);
    assertEquals(await parseHash(hash), state);
    assertEquals(new URL(hash, "http://localhost/").hash, hash, "an address keeps it as it is");
  }
  const { hash } = await formatHash(states[1]);
  assertEquals(hash, "#ask?src=10.2.0.0/16&dst=2001:db8::1&time=2025-06-15T12:00");
});

Deno.test("parseHash() accepts invalid fragments", async () => {
  assertEquals(await parseHash(""), { part: "ask", fields: {} });
  assertEquals(await parseHash("#nothing?what=1&src="), { part: "ask", fields: {} });
  assertEquals(await parseHash("#pings?pings=!!!&dst=a?b"), { part: "pings", fields: { dst: "a?b" } });
  const packed = await packText("some pings");
  assertEquals(await unpackText(packed), "some pings");
  assertEquals(await unpackText(packed.slice(3)), undefined);
  const zeros = new Blob([new Uint8Array(2 ** 21)]).stream().pipeThrough(
    new CompressionStream("deflate-raw"),
  );
  const bomb = new Uint8Array(await new Response(zeros).arrayBuffer()).toBase64({ alphabet: "base64url" });
  assertEquals(await unpackText(bomb), undefined);
  const long = await formatHash({ part: "pings", fields: { pings: "x".repeat(2 ** 20 + 1) } });
  assertEquals(long, { hash: "#pings", isWhole: false });
});

Deno.test("questionTimeS() reads now, any and times in UTC", () => {
  const nowMs = Date.UTC(2025, 5, 15, 12, 0, 59);
  assertEquals(questionTimeS("", nowMs), nowMs / 1000 - 59);
  assertEquals(questionTimeS("any", nowMs), null);
  assertEquals(questionTimeS("2025-06-15T12:30", nowMs), Date.UTC(2025, 5, 15, 12, 30) / 1000);
  assertEquals(questionTimeS("now", nowMs), nowMs / 1000 - 59);
  assert(typeof questionTimeS("soon", nowMs) === "object");
});

Deno.test("questions start with any time, and a warning, if the data are older than their period is long", () => {
  const counts = { measurements: 9, sources: 1, destinations: 1 };
  const [start, end] = ["2019-05-12T00:00:00Z", "2019-06-02T00:00:00Z"];
  const data = { origin: "", is_synthetic: false, start, end, ...counts, adaptation: null };
  const period = periodOf(data);
  const [soonMs, lateMs] = [Date.UTC(2019, 5, 20), Date.UTC(2020, 1, 1, 12)];
  assertEquals([startTime(period, soonMs), startTime(period, lateMs)], ["now", "any"]);
  assertEquals([startTime(undefined, lateMs), timeWarning(undefined, lateMs / 1000, lateMs)], [
    "now",
    undefined,
  ]);
  assertEquals(timeWarning(period, soonMs / 1000, lateMs), undefined);
  assertEquals(timeWarning(period, null, soonMs), undefined);
  assertEquals(
    [timeWarning(period, lateMs / 1000, lateMs), timeWarning(period, null, lateMs)],
    [
      "The data end on 2019-06-02, 244 days before this time: paths may have changed.",
      "The data end on 2019-06-02: answers are for a random moment in the data's period.",
    ],
  );
  const adapted = { ...data, adaptation: { start: end, end: "2020-01-31T00:00:00Z", ...counts } };
  assertEquals(startTime(periodOf(adapted), lateMs), "now");
  assertEquals(periodOf({ ...data, start: null, end: null }), undefined);
});
