import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { decodeTfRecords, openEvents } from "../../lib/train/event_log.ts";
import type { MetricsRecord } from "../../lib/train/metrics.ts";
import { inFolder } from "../io/files/temporary_folder.ts";

const GOLDEN = new URL("../golden/tensorboard/events.out.tfevents.python", import.meta.url);
/** The scalars in the golden file; null represents NaN. */
const GOLDEN_RECORDS: MetricsRecord[] = [
  { step: 1, "train/loss": 5.5, "train/lr": 0.001 },
  { step: 2, "train/loss": null, "train/lr": 0.002 },
  { step: 300, "train/loss": 1 / 3, "train/lr": 1e-12, "eval/loss": 2.25 },
  { step: 3_000_000_000, "train/loss": 0, "train/lr": -0 },
];

/** Appends steps; the clock starts at `startS` seconds. */
function appendSteps(path: string, first: number, last: number, startS = 0): void {
  let nowS = startS;
  using log = openEvents(path, first - 1, () => nowS++);
  for (let step = first; step <= last; step++) log.append({ step, "train/loss": startS + 1 / step });
  log.flush();
}

function endsOf(path: string): number[] {
  return [...decodeTfRecords(Deno.readFileSync(path))].map(({ endBytes }) => endBytes);
}

Deno.test("openEvents() writes the same bytes as TensorBoard's own writer", () => {
  inFolder((folder) => {
    const path = join(folder, "deep", "events");
    const times = [1_600_000_000, ...GOLDEN_RECORDS.map((_, i) => 1_600_000_000.5 + i)];
    using log = openEvents(path, 0, () => times.shift() ?? 0);
    for (const record of GOLDEN_RECORDS) log.append(record);
    assertEquals(Deno.readFileSync(path), Deno.readFileSync(GOLDEN));
  });
});

Deno.test("openEvents() rewrites a step at its old offset, so that a reader of the file can continue", () => {
  inFolder((folder) => {
    const path = join(folder, "events");
    appendSteps(path, 1, 200, 0);
    const ends = endsOf(path);
    appendSteps(path, 50, 200, 1000);
    assertEquals(endsOf(path), ends);
  });
});

Deno.test("openEvents() drops a last record torn at any byte", () => {
  inFolder((folder) => {
    const path = join(folder, "events");
    appendSteps(path, 1, 3);
    const whole = Deno.readFileSync(path);
    const ends = endsOf(path);
    for (let length = 0; length < whole.length; length++) {
      Deno.writeFileSync(path, whole.subarray(0, length));
      openEvents(path, 3, () => 0)[Symbol.dispose]();
      const wanted = ends.filter((end) => end <= length);
      assertEquals(endsOf(path), wanted.length > 0 ? wanted : ends.slice(0, 1), `cut at ${length}`);
      assertEquals(Deno.statSync(path).size, endsOf(path).at(-1));
    }
  });
});

Deno.test("openEvents() drops damaged records, and restarts the file at step 0", () => {
  inFolder((folder) => {
    const path = join(folder, "events");
    appendSteps(path, 1, 3);
    const whole = Deno.readFileSync(path);
    const [, afterFirst] = endsOf(path);
    for (let at = afterFirst; at < whole.length; at++) {
      const damaged = whole.slice();
      damaged[at] ^= 4;
      Deno.writeFileSync(path, damaged);
      openEvents(path, 3)[Symbol.dispose]();
      const kept = Deno.readFileSync(path);
      assertEquals(kept, whole.subarray(0, kept.length), `byte ${at}`);
      assertEquals(kept.length <= at, true, `byte ${at}`);
    }
    openEvents(path, 0)[Symbol.dispose]();
    assertEquals(endsOf(path).length, 1);
  });
});

Deno.test("openEvents() throws a one-line error if it cannot write", () => {
  inFolder((folder) => {
    Deno.writeTextFileSync(join(folder, "file"), "");
    const error = assertThrows(
      () => openEvents(join(folder, "file", "events"), 0),
      UserError,
    );
    assertMatch(error.message, /^Cannot write [^\n]*$/);
  });
});
