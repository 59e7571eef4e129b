import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { ArrayRecordWriter } from "../../../lib/io/array_record/writer.ts";
import { ping } from "../../data/measurement/ping_result.ts";
import { runStageProcess, succeeded } from "../process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

Deno.test("inspect ends with 0, 1 or 2 and one line, as every stage does", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
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
});

Deno.test("import counts results, inspect counts rows: two probes behind one address make equal rows", async () => {
  using folder = new TemporaryFolder();
  const [input, output] = [folder.at("in.jsonl"), folder.at("out.parquet")];
  // The first result is there twice; probe 3 shares the address of probe 2.
  const results = [ping(), ping(), ping({ prb_id: 3 }), ping({ timestamp: 1_600_000_010 })];
  Deno.writeTextFileSync(input, results.map((result) => JSON.stringify(result)).join("\n"));
  const imported = await succeeded(runStageProcess(["import", "--input", input, "--output", output]));
  assertStringIncludes(
    imported.stdout,
    "  skipped: 1 duplicate results (same measurement, probe and time), 0 of other types; 0 rejected\n",
  );
  const inspected = await succeeded(runStageProcess(["inspect", output]));
  assertStringIncludes(
    inspected.stdout,
    "  equal rows          1 (same time, addresses, RTT and measurement; such as of probes behind one address)\n",
  );
});

Deno.test("inspect refuses a named pipe at once", { ignore: Deno.build.os === "windows" }, async () => {
  using folder = new TemporaryFolder();
  const pipe = folder.at("a.parquet");
  assert(new Deno.Command("mkfifo", { args: [pipe] }).outputSync().success);
  const { code, stderr } = await runStageProcess(["inspect", pipe]);
  assertEquals(code, 1);
  assertMatch(stderr, /^error: Cannot read [^\n]+a\.parquet: it is a named pipe, expected a file[^\n]+\n$/);
});

Deno.test("inspect says what to do when it may not open so many files", {
  ignore: Deno.build.os === "windows",
}, async () => {
  using folder = new TemporaryFolder();
  for (let i = 0; i < 80; i++) {
    const writer = await ArrayRecordWriter.create(folder.at(`${i}.arrayrecord`));
    writer.write(new Uint8Array(3));
    writer.close();
  }
  const main = fromFileUrl(new URL("../../../tasks/main.ts", import.meta.url));
  const { code, stderr } = await new Deno.Command("sh", {
    args: ["-c", `ulimit -n 64; exec "$0" run --no-prompt --allow-read --allow-write "$@"`, Deno.execPath()]
      .concat(main, "inspect", folder.path),
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(code, 1);
  assertMatch(
    new TextDecoder().decode(stderr),
    /^error: Cannot read \S+\.arrayrecord: this process may not open more files; raise the limit with ulimit -n, or give fewer files\n$/,
  );
});
