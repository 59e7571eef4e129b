/** Faults of `import` as users see them: exit code, one line on standard error, remaining files. @module */
import { assertEquals, assertMatch } from "@std/assert";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { exists } from "../../../lib/io/files/inputs.ts";
import { outputOf, refused, runStageProcess, spawnStage, succeeded } from "../../cli/process.ts";
import { SmallDisk } from "../../io/files/small_disk.ts";
import { untilAtWork } from "../../until.ts";
import { ping } from "../formats/ping_result.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

/** JSON lines of distinct results. */
function lines(numResults: number): string {
  return Array.from(
    { length: numResults },
    (_, i) =>
      JSON.stringify(ping({ prb_id: i % 997, timestamp: 1_600_000_000 + i, result: [{ rtt: 1 + i / 7 }] })),
  ).join("\n");
}

/** Output files, including partial ones. */
function names(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.includes("out")).sort();
}

/** Runs `import` and asserts exit code 1, one line of error and no file that could pass for an output. */
async function assertFails(input: string, folder: string, message: string): Promise<void> {
  const line = await refused(runStageProcess(importArguments(input, folder)), 1, message);
  assertEquals(names(folder), [], line);
}

function importArguments(input: string, folder: string): string[] {
  return ["import", "--input", input, "--output", `${folder}/out.parquet`, "--quiet"];
}

Deno.test("import fails with a one-line error and no output when an input is unreadable or truncated", () =>
  withFolder(async (folder) => {
    const bytes = new TextEncoder().encode(lines(5000));
    const write = (name: string, content: Uint8Array, size = content.length) =>
      Deno.writeFileSync(`${folder}/${name}`, content.subarray(0, size));
    write("cut.jsonl", bytes, bytes.length - 30);
    const gzip = gzipSync(bytes);
    write("cut.jsonl.gz", gzip, gzip.length >> 1);
    const zstd = zstdCompressSync(bytes);
    write("cut.jsonl.zst", zstd, zstd.length >> 1);
    Deno.symlinkSync(`${folder}/gone.json`, `${folder}/link.json`);
    await assertFails(`${folder}/cut.jsonl`, folder, "the JSON ends inside the object");
    await assertFails(`${folder}/cut.jsonl.gz`, folder, "ends too early");
    await assertFails(`${folder}/cut.jsonl.zst`, folder, "cut.jsonl.zst at byte");
    await assertFails(`${folder}/link.json`, folder, "link.json: no such file");
  }));

const isWindows = Deno.build.os === "windows";

// Root ignores file permissions.
Deno.test("import fails with a one-line error when it lacks permission to read its input", {
  ignore: isWindows || Deno.uid() === 0,
}, () =>
  withFolder(async (folder) => {
    Deno.writeTextFileSync(`${folder}/closed.json`, lines(1));
    Deno.chmodSync(`${folder}/closed.json`, 0);
    await assertFails(`${folder}/closed.json`, folder, "closed.json: permission denied");
  }));

// On Windows a file that another process has open cannot be truncated.
Deno.test(
  "import reads input that grows meanwhile, and fails on input that is cut",
  { ignore: isWindows },
  () =>
    withFolder(async (folder) => {
      const text = lines(400_000);
      const input = `${folder}/in.jsonl`;
      for (const change of ["cut", "grow"]) {
        Deno.writeTextFileSync(input, text);
        const child = spawnStage([...importArguments(input, folder), "--overwrite", "--json"]);
        const output = outputOf(child);
        await untilAtWork(child, "its output", () => exists(`${folder}/.out.parquet.work/next`));
        if (change === "cut") Deno.truncateSync(input, 1000);
        else {Deno.writeTextFileSync(input, `\n${lines(1).replace("1600000000", "1700000000")}`, {
            append: true,
          });}
        const { code, stdout, stderr } = await output;
        if (change === "grow") {
          assertEquals([code, stderr], [0, ""]);
          assertEquals(JSON.parse(stdout).rows, 400_001);
        } else {
          assertMatch(stderr, /^error: Cannot read [^\n]*in.jsonl at byte [^\n]*truncated[^\n]*\n$/);
          assertEquals([code, names(folder)], [1, []]);
        }
      }
    }),
);

Deno.test("import reports a full disk, and succeeds once there is room", {
  ignore: !await SmallDisk.isPossible(),
}, () =>
  withFolder(async (folder) => {
    await using disk = await SmallDisk.mount(`${folder}/small`, "400k");
    Deno.writeTextFileSync(`${folder}/in.jsonl`, lines(150_000));
    await assertFails(`${folder}/in.jsonl`, disk.path, "no space left");
    await disk.resize("64m");
    for (const place of [disk.path, folder]) {
      await succeeded(runStageProcess(importArguments(`${folder}/in.jsonl`, place)));
      assertEquals(names(place), ["out.names.csv", "out.parquet", "out.parquet.manifest.json"]);
    }
    assertEquals(Deno.readFileSync(`${disk.path}/out.parquet`), Deno.readFileSync(`${folder}/out.parquet`));
  }));

Deno.test("import --overwrite removes the list of rejects of an earlier run", () =>
  withFolder(async (folder) => {
    Deno.writeTextFileSync(`${folder}/bad.json`, JSON.stringify([ping(), ping({ dst_addr: "" })]));
    Deno.writeTextFileSync(`${folder}/good.json`, JSON.stringify([ping()]));
    const bad = [...importArguments(`${folder}/bad.json`, folder), "--max-reject-ratio", "1"];
    await succeeded(runStageProcess(bad));
    const made = ["out.names.csv", "out.parquet", "out.parquet.manifest.json"];
    assertEquals(names(folder), [...made, "out.rejects.jsonl"]);
    const good = [...importArguments(`${folder}/good.json`, folder), "--overwrite"];
    await succeeded(runStageProcess(good));
    assertEquals(names(folder), made);
  }));
