import { assertEquals, assertThrows } from "@std/assert";
import { parseDurationS } from "../../lib/cli/options.ts";
import { UsageError } from "../../lib/base/errors.ts";

Deno.test("parseDurationS() reads seconds and units", () => {
  const cases: [string, number][] = [
    ["90", 90],
    ["0.5", 0.5],
    ["90s", 90],
    ["30m", 1800],
    ["1.5h", 5400],
    ["1h30m", 5400],
    ["2d1h1m1s", 2 * 86400 + 3661],
  ];
  for (const [text, seconds] of cases) assertEquals(parseDurationS(text, "max-time"), seconds);
});

Deno.test("parseDurationS() refuses what is no duration", () => {
  for (const text of ["", "0", "0s", "-5", "x", "5x", "1h x", "1:30", "h"]) {
    assertThrows(() => parseDurationS(text, "max-time"), UsageError, "--max-time");
  }
});
