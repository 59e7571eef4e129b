import { assert, assertEquals } from "@std/assert";
import { NO_ROW } from "../../lib/model/embedding_table.ts";
import { TypicalRtts } from "../../lib/train/autosize.ts";

Deno.test("TypicalRtts has the lower median of few RTTs, whichever way they were measured", () => {
  const typical = new TypicalRtts();
  for (const [i, rttMs] of [5, 1, 9, 3].entries()) typical.add(i % 2 ? 7 : 2, i % 2 ? 2 : 7, rttMs);
  typical.add(4, 2, 8);
  for (const [a, b] of [[3, 3], [NO_ROW, 2], [2, NO_ROW]]) typical.add(a, b, 1);
  const { a, b, rttMs } = typical.pairs();
  assertEquals([[...a], [...b], [...rttMs]], [[2, 2], [7, 4], [3, 8]]);
});

Deno.test("TypicalRtts keeps RTTs of all times of a pair, however many there are", () => {
  for (const count of [15, 16, 100, 5000]) {
    const typical = new TypicalRtts();
    for (let i = 0; i < count; i++) typical.add(0, 1, i);
    const [found] = typical.pairs().rttMs;
    assert(Math.abs(found / count - 0.5) < 0.1, `${found} of ${count}`);
  }
});
