import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError, UserError } from "../../lib/base/errors.ts";
import { inFolder } from "../io/files/temporary_folder.ts";
import { openMetrics, readMetrics } from "../../lib/train/metrics.ts";

const inRun = (work: (path: string) => void) => inFolder((folder) => work(join(folder, "metrics.jsonl")));

function appendSteps(path: string, first: number, last: number): void {
  using log = openMetrics(path, first - 1);
  for (let step = first; step <= last; step++) log.append({ step, "train/loss": 1 / step });
  log.flush();
}

Deno.test("openMetrics() restarts the file at step 0, whatever it contains", () => {
  inRun((path) => {
    Deno.writeTextFileSync(path, "not json\n");
    appendSteps(path, 1, 2);
    assertEquals(readMetrics(path).length, 2);
  });
});

Deno.test("openMetrics() drops a torn last line", () => {
  inRun((path) => {
    appendSteps(path, 1, 3);
    const whole = Deno.readTextFileSync(path);
    for (const torn of ['{"st', '{"step":4}']) {
      Deno.writeTextFileSync(path, whole + torn);
      assertEquals(readMetrics(path).length, 3);
      openMetrics(path, 9)[Symbol.dispose]();
      assertEquals(Deno.readTextFileSync(path), whole);
    }
  });
});

Deno.test("openMetrics().append() round-trips numbers bit for bit, and writes null for NaN", () => {
  inRun((path) => {
    const losses = [0.1, Math.fround(0.1), 5e-324, 1.7976931348623157e308];
    using log = openMetrics(path, 0);
    losses.forEach((loss, i) => log.append({ step: i + 1, "train/loss": loss }));
    log.append({ step: 5, "train/loss": NaN });
    assertEquals(readMetrics(path).map((record) => record["train/loss"]), [...losses, null]);
  });
});

Deno.test("readMetrics() reports a damaged line or a missing file", () => {
  inRun((path) => {
    assertThrows(() => readMetrics(path), UserError, "no such file");
    Deno.writeTextFileSync(path, '{"step":1}\n{"stop":2}\n{"step":3}\n');
    assertThrows(() => readMetrics(path), FormatError, "at line 2");
    assertThrows(() => openMetrics(path, 3), FormatError, "at line 2");
  });
});
