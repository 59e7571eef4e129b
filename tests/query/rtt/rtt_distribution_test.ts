import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { MAX_PING_RTT_MS, RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { exactAnswer, MixtureSums } from "../../../lib/query/rtt/prefix_query.ts";
import { summaryOf } from "../../../lib/query/questions/rtt.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { threeDigits } from "../../../lib/base/text.ts";
import { plotRttDistribution } from "../../../lib/query/rtt/rtt_plot.ts";
import { faultOfXml } from "../../base/report/xml.ts";

/** A distribution with the given probabilities at the codes of the given RTTs. */
function distributionOf(masses: Record<number, number>, pFailed = 0.1): RttDistribution {
  const probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  for (const [rttMs, mass] of Object.entries(masses)) {
    probabilities[CANONICAL_RTT_CODES.indexOf(encodeRttCode(Number(rttMs)))] += mass;
  }
  return new RttDistribution(pFailed, probabilities, 1);
}

Deno.test("RttDistribution computes quantiles, CDF and mean of a known distribution", () => {
  const distribution = distributionOf({ 10: 0.25, 20: 0.5, 80: 0.25 });
  const near = (actual: number, expected: number) => assertAlmostEquals(actual, expected, expected * 5e-4);
  near(distribution.quantileMs(0.1), 10);
  near(distribution.quantileMs(0.25), 10);
  near(distribution.quantileMs(0.26), 20);
  near(distribution.quantileMs(0.75), 20);
  near(distribution.quantileMs(1), 80);
  near(distribution.meanMs, 32.5);
  assertEquals([5, 10, 15, 20, 79, 80, 500].map((rttMs) => distribution.cdf(rttMs)), [
    0,
    0.25,
    0.25,
    0.75,
    0.75,
    1,
    1,
  ]);
  assertThrows(() => distribution.quantileMs(1.5), RangeError);
});

Deno.test("RttDistribution rejects invalid probabilities with a one-line error", () => {
  for (
    const [masses, pFailed, found] of [
      [{ 10: 0.5, 20: NaN }, 0.1, "the sum of P(RTT) is NaN, expected 1"],
      [{ 10: 0.5, 20: 2.1 }, 0.1, "the sum of P(RTT) is 2.6, expected 1"],
      [{ 10: 0.5 }, 0.1, "the sum of P(RTT) is 0.5, expected 1"],
      [{ 10: 1.5, 20: -0.5 }, 0.1, "the least P(RTT) is -0.5, expected 0 to 1"],
      [{ 10: 1 }, -2.2, "P(no reply) is -2.2, expected 0 to 1"],
      [{ 10: 1 }, NaN, "P(no reply) is NaN, expected 0 to 1"],
    ] as const
  ) {
    const { message } = assertThrows(() => distributionOf(masses, pFailed), UserError);
    assertEquals(message, `Cannot answer: ${found}; use an earlier checkpoint or another run`);
  }
});

Deno.test("RttDistribution.likeliest() finds as much mass as an exhaustive search", () => {
  const random = new RandomStream(3, "likeliest");
  for (let draw = 0; draw < 20; draw++) {
    const rttsMs = Array.from({ length: 60 }, () => 5 + 0.5 * random.float64());
    const weights = rttsMs.map(() => random.float64());
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const masses = Object.fromEntries(rttsMs.map((rttMs, i) => [rttMs, weights[i] / total]));
    const distribution = distributionOf(masses);
    const values = Array.from(distribution.probabilities.keys()).filter((i) =>
      distribution.probabilities[i] > 0
    )
      .map((i) => ({ rttMs: decodeRttCode(CANONICAL_RTT_CODES[i]), mass: distribution.probabilities[i] }));
    const massFrom = (lowMs: number) =>
      values.filter(({ rttMs }) => rttMs >= lowMs && rttMs <= lowMs * 1.01).reduce(
        (sum, { mass }) => sum + mass,
        0,
      );
    const most = Math.max(...values.map(({ rttMs }) => massFrom(rttMs)));
    const { rttMs, probability } = distribution.likeliest();
    assertAlmostEquals(probability, most, 1e-9);
    assert(values.some((value) => value.rttMs === rttMs), `${rttMs} ms has no mass`);
  }
});

Deno.test("RttDistribution.histogram() preserves the mass and its position", () => {
  const distribution = distributionOf({ 10: 0.25, 20: 0.5, 80: 0.25 });
  const bars = distribution.histogram(30);
  assertAlmostEquals(bars.reduce((sum, { probability }) => sum + probability, 0), 1, 1e-9);
  for (let i = 1; i < bars.length; i++) assertAlmostEquals(bars[i].lowMs, bars[i - 1].highMs, 1e-9);
  const peak = bars.reduce((a, b) => a.probability > b.probability ? a : b);
  assert(peak.lowMs <= 20.02 && peak.highMs >= 19.98, JSON.stringify(peak));
});

Deno.test("RttDistribution.quantileMs() inverts cdf() across the codes of a wide distribution", () => {
  const probabilities = Float64Array.from(CANONICAL_RTT_CODES, (_, i) => 1 + (i * 7919) % 13);
  const total = probabilities.reduce((sum, p) => sum + p, 0);
  const distribution = new RttDistribution(0, probabilities.map((p) => p / total), 1);
  for (let i = 0; i < CANONICAL_RTT_CODES.length; i += 997) {
    const rttMs = decodeRttCode(CANONICAL_RTT_CODES[i]);
    assertEquals(distribution.quantileMs(distribution.cdf(rttMs)), rttMs);
  }
});

Deno.test("RttDistribution.meanMs covers only RTTs up to the longest wait of ping tools", () => {
  const near = (actual: number, expected: number) => assertAlmostEquals(actual, expected, expected * 5e-4);
  near(distributionOf({ 10: 0.499, 59_900: 0.001, 3_600_000: 0.5 }).meanMs, (4.99 + 59.9) / 0.5);
  near(distributionOf({ 10: 0.499, 20: 0.5, 61_000: 0.001 }).meanMs, 14.99 / 0.999);
  assertEquals(distributionOf({ 3_600_000: 1 }).meanMs, MAX_PING_RTT_MS);
});

Deno.test("summaryOf() computes quantiles, the mean of reportable RTTs and the likelihood of given RTTs", () => {
  const distribution = distributionOf({ 10: 0.25, 20: 0.7495, 1e9: 0.0005 }, 0.2);
  const summary = summaryOf(exactAnswer(distribution), {
    quantiles: [0.1, 0.5],
    at: [10, 15, 1e12],
  });
  assertEquals(Object.keys(summary.quantiles_ms), ["0.1", "0.5"]);
  // 10^9 ms are eleven days, which no ping tool reports.
  assertAlmostEquals(summary.mean_ms, (2.5 + 0.7495 * 20) / 0.9995, 0.02);
  assertEquals(summary.mean_ms, Number(summary.mean_ms.toPrecision(4)));
  assertAlmostEquals(summary.likeliest.rtt_ms, 20, 0.02);
  assertEquals(summary.likeliest.probability, 0.7495);
  assert(summary.at);
  const [ten, fifteen, endless] = summary.at;
  assertEquals([ten.cdf, ten.probability, fifteen.cdf, fifteen.probability], [0.25, 0.25, 0.25, 0]);
  assertAlmostEquals(ten.bits ?? NaN, -Math.log2(0.8 * 0.25), 1e-12);
  assert(ten.low_ms <= 10 && ten.high_ms !== null && ten.high_ms > 10);
  assertEquals([fifteen.bits, endless.high_ms, endless.cdf], [null, null, 1]);
  assertEquals(summary.drawn, undefined);
  assertEquals(JSON.parse(JSON.stringify(summary)), { ...summary });
});

Deno.test("summaryOf() computes standard errors of drawn mixtures", () => {
  const sums = new MixtureSums();
  for (const rttMs of [10, 20, 30, 40]) sums.add(distributionOf({ [rttMs]: 1 }, 0.2), 4);
  const mixture = sums.mixture();
  const masses = { sourceProbability: null, destinationProbability: 0.5, destinationProbabilityError: 0.1 };
  const { drawn } = summaryOf({ mixture, ...masses }, { quantiles: [0.5], at: [25] });
  assert(drawn);
  assertEquals([drawn.num_draws, drawn.num_distinct, drawn.destination_probability], [16, 4, 0.5]);
  const { p_failed, mean_ms, quantiles_ms, cdf, destination_probability } = drawn.standard_errors;
  assertAlmostEquals(p_failed, 0, 1e-7);
  // Sixteen draws: half of the CDFs are 0 and half are 1, and means are 10 to 40.
  assertAlmostEquals(cdf?.[0] ?? NaN, 0.5 / Math.sqrt(15), 1e-9);
  assertAlmostEquals(mean_ms, Math.sqrt(125 / 15), 0.01);
  assertEquals([quantiles_ms[0.5] > 4, destination_probability], [true, 0.1]);
});

/** Log-normal around `medianMs`. */
function around(medianMs: number, spread: number): RttDistribution {
  const weights = Float64Array.from(CANONICAL_RTT_CODES, (code) => {
    return Math.exp(-((Math.log(decodeRttCode(code) / medianMs) / spread) ** 2) / 2);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return new RttDistribution(0.0345, weights.map((weight) => weight / total), 1);
}

/** The texts of a picture and their positions. */
function textsOf(svg: string): { text: string; x: number; y: number }[] {
  return [...svg.matchAll(/<text[^>]*transform="translate\(([-\d.]+),([-\d.]+)\)[^>]*>([^<]*)<\/text>/g)].map(
    ([, x, y, text]) => ({ text, x: Number(x), y: Number(y) }),
  );
}

Deno.test("plotRttDistribution() draws well-formed SVG with pFailed in its title and every quantile marked", async () => {
  const quantiles = [0.05, 0.25, 0.5, 0.75, 0.95];
  const options = { title: "192.0.2.1 -> <&> 198.51.100.7", subtitle: "exact", quantiles };
  const distribution = around(100, 0.5);
  const { svg } = await plotRttDistribution(distribution, options);
  assertEquals(faultOfXml(svg), undefined);
  assertStringIncludes(svg, "RTT 192.0.2.1 -&gt; &lt;&amp;&gt; 198.51.100.7 · no reply 3.45 %");
  const labels = textsOf(svg).filter(({ text }) => /^\d+ %: /.test(text));
  assertEquals(
    labels.map(({ text }) => text),
    quantiles.map((q) => `${q * 100} %: ${threeDigits(distribution.quantileMs(q))}`),
  );
  for (let i = 1; i < labels.length; i++) assert(labels[i].x > labels[i - 1].x);
  assertEquals((await plotRttDistribution(around(100, 0.5), options)).svg, svg);
});

Deno.test("plotRttDistribution() stacks labels that would overlap", async () => {
  const quantiles = [0.48, 0.49, 0.5, 0.51, 0.52];
  const { svg } = await plotRttDistribution(around(20, 0.3), { title: "a", quantiles });
  const heights = textsOf(svg).filter(({ text }) => /^\d+ %: /.test(text)).map(({ y }) => y);
  assertEquals(new Set(heights).size, 5);
  for (let i = 1; i < heights.length; i++) assert(heights[i] - heights[i - 1] >= 10, heights.join());
});

Deno.test("plotRttDistribution() draws a distribution with all its mass in one bucket", async () => {
  const probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  probabilities[20_000] = 1;
  const { svg } = await plotRttDistribution(new RttDistribution(0, probabilities, 1), {
    title: "a",
    quantiles: [0.5],
  });
  assertEquals(faultOfXml(svg), undefined);
  assert(!svg.includes("NaN"));
});

Deno.test("notebooks show a distribution as text and as a picture, and a plot as a picture", async () => {
  const display = (value: object) => Reflect.get(value, Symbol.for("Jupyter.display")).call(value);
  const distribution = around(100, 0.25);
  const shown = await display(distribution);
  assertEquals(shown["text/plain"], "RTT 102 ms (5 % to 95 %: 64.7 ms to 148 ms), no reply 3.45 %");
  const plot = await plotRttDistribution(distribution);
  assertEquals(shown["image/svg+xml"], plot.svg);
  assertEquals(display(plot), { "image/svg+xml": plot.svg });
  assert(plot.svg.includes(">RTT · no reply 3.45 %<"));
});
