import { assertEquals } from "@std/assert";
import { decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { RttCodeCounts } from "../../../lib/data/loader/pretokenize/pretokenize.ts";

Deno.test("RttCodeCounts gives quantiles as the middle of their code, NaN of nothing", () => {
  const counts = new RttCodeCounts();
  assertEquals(counts.quantileMs(0.5), NaN);
  for (const rttMs of [300, 10, 20, 20, 40]) counts.add(rttMs);
  assertEquals(counts.total, 5);
  const middle = (rttMs: number) => decodeRttCode(encodeRttCode(rttMs));
  const found = [0, 0.19, 0.2, 0.5, 0.6, 0.8, 1].map((q) => counts.quantileMs(q));
  assertEquals(found, [10, 10, 20, 20, 40, 300, 300].map(middle));
});
