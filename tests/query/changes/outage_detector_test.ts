import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { OutageDetector } from "../../../lib/query/changes/outage_detector.ts";

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
