import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { logTicks, spreadApart } from "../../lib/plot/labels.ts";

Deno.test("spreadApart() leaves alone what is apart and centres what presses on each other", () => {
  const room = { gapPx: 10, minPx: 0, maxPx: 200 };
  assertEquals(spreadApart([100, 20, 60], room), [100, 20, 60]);
  assertEquals(spreadApart([50, 50, 100], room), [45, 55, 100]);
  assertEquals(spreadApart([0, 0], room), [0, 10]);
  assertEquals(spreadApart([200, 199], room), [200, 190]);
  assertEquals(spreadApart([], room), []);
});

Deno.test("spreadApart() keeps the order and the gaps, within the room where there is enough", () => {
  const positions = fc.array(fc.double({ min: 0, max: 300, noNaN: true }), { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(positions, (wantedPx) => {
    const placed = spreadApart(wantedPx, { gapPx: 15, minPx: 0, maxPx: 300 });
    const order = wantedPx.map((_, i) => i).sort((a, b) => wantedPx[a] - wantedPx[b] || a - b);
    order.slice(1).forEach((index, rank) => assert(placed[index] - placed[order[rank]] > 15 - 1e-9));
    for (const each of placed) assert(each > -1e-9 && each < 300 + 1e-9);
  }));
});

Deno.test("logTicks() gives 1, 2, 5 of few decades and powers of ten of many", () => {
  assertEquals(logTicks([0.15, 30]), [0.2, 0.5, 1, 2, 5, 10, 20]);
  assertEquals(logTicks([0.03, 300]), [0.1, 1, 10, 100]);
  fc.assert(fc.property(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), (low) => {
    for (const tick of logTicks([low, low * 50])) {
      const digits = tick / 10 ** Math.floor(Math.log10(tick * (1 + 1e-9)));
      assertAlmostEquals([1, 2, 5].find((digit) => Math.abs(digits - digit) < 0.01) ?? NaN, digits, 0.01);
    }
  }));
});
