import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { formatMs } from "../../../lib/base/text.ts";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { plotRttDistribution } from "../../../lib/query/rtt/rtt_plot.ts";
import { CANONICAL_RTT_CODES, decodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { faultOfXml } from "../../base/report/xml.ts";

/** Log-normal around `medianMs`. */
function around(medianMs: number, spread: number): RttDistribution {
  const weights = Float64Array.from(CANONICAL_RTT_CODES, (code) => {
    return Math.exp(-((Math.log(decodeRttCode(code) / medianMs) / spread) ** 2) / 2);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return new RttDistribution(0.0345, weights.map((weight) => weight / total), 1);
}

/** The texts of a picture and their places. */
function textsOf(svg: string): { text: string; x: number; y: number }[] {
  return [...svg.matchAll(/<text[^>]*transform="translate\(([-\d.]+),([-\d.]+)\)[^>]*>([^<]*)<\/text>/g)].map(
    ([, x, y, text]) => ({ text, x: Number(x), y: Number(y) }),
  );
}

Deno.test("faultOfXml() tells well-formed from malformed", () => {
  for (
    const good of ["<a/>", '<?xml version="1.0"?>\n<a b="1" c=\'x > y\'><d>&lt;&#945;</d><!-- <e> --></a>\n']
  ) {
    assertEquals(faultOfXml(good), undefined, good);
  }
  for (
    const bad of [
      "",
      "<a>",
      "<a></b>",
      "<a/><b/>",
      "<a b=1/>",
      "<a>&</a>",
      '<a b="<"/>',
      "x<a/>",
      "<a><b></a></b>",
    ]
  ) {
    assert(faultOfXml(bad) !== undefined, bad);
  }
});

Deno.test("plotRttDistribution() draws well-formed SVG with pFailed in its title and every quantile marked", async () => {
  const quantiles = [0.05, 0.25, 0.5, 0.75, 0.95];
  const options = { title: "192.0.2.1 -> <&> 198.51.100.7", subtitle: "exact", quantiles };
  const distribution = around(100, 0.5);
  const svg = await plotRttDistribution(distribution, options);
  assertEquals(faultOfXml(svg), undefined);
  assertStringIncludes(svg, "RTT 192.0.2.1 -&gt; &lt;&amp;&gt; 198.51.100.7 · no reply 3.45 %");
  const labels = textsOf(svg).filter(({ text }) => /^\d+ %: /.test(text));
  assertEquals(
    labels.map(({ text }) => text),
    quantiles.map((q) => `${q * 100} %: ${formatMs(distribution.quantileMs(q))}`),
  );
  for (let i = 1; i < labels.length; i++) assert(labels[i].x > labels[i - 1].x);
  assertEquals(await plotRttDistribution(around(100, 0.5), options), svg);
});

Deno.test("plotRttDistribution() puts labels that would cover each other above each other", async () => {
  const quantiles = [0.48, 0.49, 0.5, 0.51, 0.52];
  const svg = await plotRttDistribution(around(20, 0.3), { title: "a", quantiles });
  const heights = textsOf(svg).filter(({ text }) => /^\d+ %: /.test(text)).map(({ y }) => y);
  assertEquals(new Set(heights).size, 5);
  for (let i = 1; i < heights.length; i++) assert(heights[i] - heights[i - 1] >= 10, heights.join());
});

Deno.test("plotRttDistribution() draws a distribution that has all its mass in one bucket", async () => {
  const probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  probabilities[20_000] = 1;
  const svg = await plotRttDistribution(new RttDistribution(0, probabilities, 1), {
    title: "a",
    quantiles: [0.5],
  });
  assertEquals(faultOfXml(svg), undefined);
  assert(!svg.includes("NaN"));
});
