import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { ArrayRecordWriter } from "../../lib/records/array_record_writer.ts";
import { runStageProcess } from "../cli/process.ts";

Deno.test("inspect ends with 0, 1 or 2 and one line, as every stage does", async () => {
  const folder = Deno.makeTempDirSync();
  try {
    const path = join(folder, "a.arrayrecord");
    const writer = await ArrayRecordWriter.create(path);
    writer.write(new Uint8Array(3));
    writer.close();
    const done = await runStageProcess(["inspect", path, "--json", "--samples", "0"]);
    assertEquals([done.code, done.stderr], [0, ""]);
    const { kind, records, samples } = JSON.parse(done.stdout);
    assertEquals({ kind, records, samples }, { kind: "records", records: 1, samples: [] });

    Deno.truncateSync(path, 100_000);
    const truncated = await runStageProcess(["inspect", path]);
    assertEquals([truncated.code, truncated.stdout, truncated.stderr.split("\n").length], [1, "", 2]);
    assertStringIncludes(truncated.stderr, `error: Cannot read ${path} at byte 100000: `);

    const unknown = await runStageProcess(["inspect", path, "--sample", "1"]);
    assertEquals(unknown.code, 2);
    assertStringIncludes(unknown.stderr, "did you mean samples?");
    assertEquals((await runStageProcess(["inspect"])).code, 2);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
