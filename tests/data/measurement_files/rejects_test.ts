import { assert, assertEquals } from "@std/assert";
import { RejectLog } from "../../../lib/data/measurement_files/rejects.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

Deno.test("RejectLog.write() lists the first thousand of each reason, if there are any", () =>
  withFolder((folder) => {
    const log = new RejectLog();
    for (let row = 0; row < 1500; row++) log.add("nullValue", "a", row, { found: "rtt" });
    log.add("invalidRtt", "b", 7, { found: "x".repeat(1e6) });
    const path = `${folder}/rejects.jsonl`;
    assert(log.write(path));
    const lines = Deno.readTextFileSync(path).trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(lines.length, 1001);
    const [{ detail, ...first }] = lines;
    assertEquals(first, { reason: "invalidRtt", path: "b", row: 7 });
    assert(detail.length <= 300);
    const last = { reason: "nullValue", path: "a", row: 999, detail: "rtt" };
    assertEquals(lines.at(-1), last);
    assertEquals(Object.entries(log.counts), [["invalidRtt", 1], ["nullValue", 1500]]);
    assertEquals(new RejectLog().write(`${folder}/none.jsonl`), false);
    assertEquals([...Deno.readDirSync(folder)].length, 1);
  }));

Deno.test("RejectLog.merge() adds the entries of another log, within the limit", () => {
  const [one, two] = [new RejectLog(), new RejectLog()];
  for (let row = 0; row < 1000; row++) one.add("nullValue", "a", row);
  two.add("nullValue", "b", 0);
  two.add("invalidRtt", "b", 1);
  one.merge(structuredClone(two.snapshot()));
  assertEquals(one.counts, { invalidRtt: 1, nullValue: 1001 });
  assertEquals(one.snapshot().rows.length, 1001);
});
