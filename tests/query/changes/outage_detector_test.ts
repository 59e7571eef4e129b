import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { OutageDetector } from "../../../lib/query/changes/outage_detector.ts";

/** Rows at which outages are found and end. @param rows A character each: `x` for a loss, `.` for a reply. */
function turnsOf(rows: string, detector = new OutageDetector(11)): [number, string][] {
  return [...rows].flatMap((row, i): [number, string][] => {
    const turn = detector.add(row === "x");
    return turn ? [[i, turn]] : [];
  });
}

Deno.test("an outage is found sooner where losses are rarer, and ends with two replies in a row", () => {
  const calm = ".".repeat(100);
  assertEquals(turnsOf(`${calm}xxx.x..`), [[102, "found"], [106, "over"]]);
  assertEquals(turnsOf(`${calm}xx..${"x".repeat(9)}`), [[109, "found"]]);
  assertEquals(turnsOf(".".repeat(20) + "xxxx"), [[23, "found"]]);
  // Older rows are forgotten, so the first loss in years is not an outage.
  assertEquals(turnsOf(".".repeat(100_000) + "xxx"), [[100_002, "found"]]);
  const [[row]] = turnsOf("...x".repeat(50) + "x".repeat(20));
  assert(row >= 207 && row < 215);
  assertEquals(turnsOf("x".repeat(1000)), []);
});

Deno.test("an outage does not delay the detection of the next one", () => {
  const usual = ".".repeat(100);
  assertEquals(turnsOf(`${usual}${"x".repeat(500)}..xxx`), [[102, "found"], [601, "over"], [604, "found"]]);
});

Deno.test("outages begin and end in turn, with growing evidence", () => {
  fc.assert(fc.property(fc.array(fc.boolean(), { maxLength: 300 }), fc.nat(20), (rows, penalty) => {
    const detector = new OutageDetector(penalty);
    let isOut = false;
    for (const isLost of rows) {
      const before = detector.evidence;
      const turn = detector.add(isLost);
      if (turn) isOut = turn === "found";
      assertEquals(detector.isOut, isOut);
      if (isOut) assert(detector.evidence > 0 && detector.evidence >= before);
    }
  }));
});
