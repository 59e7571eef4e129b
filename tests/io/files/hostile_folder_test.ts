/**
 * Output folders that are moved, deleted or replaced by a link during the work, and hostile folders.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError, UserError } from "../../../lib/base/errors.ts";
import { checkOutputs } from "../../../lib/io/files/checked_outputs.ts";
import { OutputFile } from "../../../lib/io/files/output_file.ts";
import { OutputLock } from "../../../lib/io/files/output_lock.ts";
import { Output } from "../../../lib/io/files/output.ts";
import { watchChanges } from "./file_changes.ts";
import { contentOf, copyFolder, TemporaryFolder } from "./temporary_folder.ts";

function open(folder: string, seed: number): Output {
  return Output.openFolder(folder, {
    stage: "probe-rows",
    inputs: [],
    options: { seed },
    overwrite: true,
  });
}

/** Equal sizes in both runs, as for padded blocks. */
const FILES: Record<number, string[]> = {
  1: ["test/a.arrayrecord", "train/a.arrayrecord"],
  2: ["train/a.arrayrecord", "val/a.arrayrecord"],
};

async function write(output: Output, seed: number): Promise<void> {
  Deno.mkdirSync(output.workPath("spill"));
  for (const name of FILES[seed]) {
    Deno.mkdirSync(join(output.folder, name, ".."), { recursive: true });
    Deno.writeTextFileSync(join(output.folder, name), `${seed} ${name}`);
    await output.record(name);
  }
  output.save();
}

const WORKS: Record<string, (folder: string) => Promise<void> | void> = {
  async "an output folder"(folder) {
    using output = open(folder, 2);
    await write(output, 2);
    output.publish();
  },
  "an output file"(folder) {
    using file = new OutputFile(join(folder, "a.jsonl"), { stage: "query", own: /^/, overwrite: true });
    file.finish("text");
  },
};

/** An error and the errors it contains. */
function faultsOf(error: unknown): unknown[] {
  return error instanceof SuppressedError ? [error.error, error.suppressed].flatMap(faultsOf) : [error];
}

for (const [name, work] of Object.entries(WORKS)) {
  for (const how of ["moved", "deleted", "replaced by a link"]) {
    Deno.test(`${name} that is ${how} at any step is reported, and no file of another folder is lost`, async () => {
      using temporary = new TemporaryFolder();
      const old = temporary.at("old");
      {
        using output = open(old, 1);
        await write(output, 1);
        output.publish();
      }
      let numTold = 0;
      // The first two changes make the lock.
      for (let n = 3, isDone = false; !isDone; n++) {
        const [folder, moved, foreign] = ["out", "moved", "foreign"].map((name) => temporary.at(name + n));
        copyFolder(old, folder);
        const inWork = ["lock", "manifest.json", "next/train/a.arrayrecord", "x"];
        const works = [".work", ".a.jsonl.work"].flatMap((work) => inWork.map((name) => join(work, name)));
        for (const path of [...works, "manifest.json", ...FILES[1], ...FILES[2], "a.jsonl"]) {
          Deno.mkdirSync(join(foreign, path, ".."), { recursive: true });
          Deno.writeTextFileSync(join(foreign, path), `foreign ${path}`);
        }
        const before = contentOf(foreign);
        const intervene = () => {
          if (how === "deleted") return Deno.removeSync(folder, { recursive: true });
          Deno.renameSync(folder, moved);
          if (how !== "moved") Deno.symlinkSync(foreign, folder);
        };
        isDone = true;
        const ended = watchChanges(() => work(folder), (change) => {
          if (change !== n) return;
          isDone = false;
          intervene();
        });
        await ended.catch((error) => {
          const told = faultsOf(error).filter((fault) => fault instanceof UserError).join();
          assertStringIncludes(told, "moved, deleted or replaced during the work", `after change ${n}`);
          numTold++;
        });
        const after = contentOf(foreign);
        assertEquals(Object.entries(before).filter(([path, text]) => after[path] !== text), []);
      }
      assert(numTold > 2, `${numTold} were told`);
    });
  }
}

Deno.test("names in a manifest that lead out of its folder are rejected, and links are not followed", async (t) => {
  const forge = (path: string, name: string, sizeBytes = 4) => {
    const manifest = { stage: "probe-rows", version: "1", inputs: [], options: {}, counts: {}, rejected: {} };
    const outputs = [{ path: name, sizeBytes, sha256: "", endsSha256: "" }];
    Deno.writeTextFileSync(path, JSON.stringify({ ...manifest, outputs, complete: true }));
  };
  const foreign = { "precious": "mine" };
  for (const name of ["../foreign/precious", "/etc/precious", "a/../../foreign/precious", "", ".work/lock"]) {
    await t.step(`a name ${JSON.stringify(name)}`, () => {
      using temporary = new TemporaryFolder();
      for (const folder of ["foreign", "out/.work/next"]) {
        Deno.mkdirSync(temporary.at(folder), { recursive: true });
      }
      Deno.writeTextFileSync(temporary.at("foreign/precious"), "mine");
      for (const manifest of ["out/manifest.json", "out/.work/manifest.json"]) {
        Deno.mkdirSync(temporary.at("out/.work/next"), { recursive: true });
        forge(temporary.at(manifest), name);
        assertThrows(() => open(temporary.at("out"), 1)[Symbol.dispose](), FormatError, "within its folder");
        Deno.removeSync(temporary.at(manifest));
      }
      assertEquals(contentOf(temporary.at("foreign")), foreign);
    });
  }
  for (const hasWork of [true, false]) {
    await t.step(`a link within the folder, ${hasWork ? "written" : "deleted"} through`, async () => {
      using temporary = new TemporaryFolder();
      for (const folder of ["foreign", "out/.work/next/extra"]) {
        Deno.mkdirSync(temporary.at(folder), { recursive: true });
      }
      Deno.writeTextFileSync(temporary.at("foreign/precious"), "mine");
      Deno.symlinkSync(temporary.at("foreign"), temporary.at("out/extra"));
      forge(temporary.at("out/manifest.json"), hasWork ? "train/a.arrayrecord" : "extra/precious");
      await assertRejects(
        async () => {
          using output = open(temporary.at("out"), 2);
          await write(output, 2);
          if (hasWork) {
            Deno.mkdirSync(join(output.folder, "extra"));
            Deno.writeTextFileSync(join(output.folder, "extra/precious"), "evil");
            await output.record("extra/precious");
          }
          output.publish();
        },
        UserError,
        "extra is a link",
      );
      assertEquals(contentOf(temporary.at("foreign")), foreign);
      assert(Deno.lstatSync(temporary.at("out/extra")).isSymlink);
    });
  }
  for (const link of ["out/.work", "out/.work/next", "out/.work/lock", "out/.work/next/train"]) {
    await t.step(`a link in place of ${link}`, () => {
      using temporary = new TemporaryFolder();
      Deno.mkdirSync(temporary.at("foreign"));
      Deno.writeTextFileSync(temporary.at("foreign/precious"), "mine");
      Deno.mkdirSync(temporary.at(join(link, "..")), { recursive: true });
      const target = link.endsWith("lock") ? "foreign/precious" : "foreign";
      Deno.symlinkSync(temporary.at(target), temporary.at(link));
      if (link.includes("next")) forge(temporary.at("out/.work/manifest.json"), "train/precious", 5);
      assertThrows(
        () => open(temporary.at("out"), 1)[Symbol.dispose](),
        UserError,
        `${link.slice(4)} is a link`,
      );
      assertEquals(contentOf(temporary.at("foreign")), foreign);
    });
  }
});

Deno.test("dangling links and names that are too long are rejected with a one-line error", () => {
  using temporary = new TemporaryFolder();
  Deno.symlinkSync("missing", temporary.at("dangling"));
  Deno.symlinkSync("loop", temporary.at("loop"));
  assertThrows(
    () => open(temporary.at("dangling"), 1),
    UserError,
    "dangling is a link to missing, which does not exist",
  );
  assertThrows(() => open(temporary.at("loop"), 1), UserError, "too many links");
  const start = { stage: "shard", inputs: [], options: {}, overwrite: false };
  for (const numBytes of [235, 243, 247, 251, 255, 300]) {
    const path = temporary.at("é".repeat(numBytes >> 1) + "x".repeat(numBytes & 1));
    const found = `${numBytes} bytes, expected at most 234`;
    assertThrows(() => Output.openFile(path, { ...start, besides: [] }), UserError, found);
    assertThrows(
      () => new OutputFile(path, { stage: "query", own: /^/, overwrite: false }),
      UserError,
      found,
    );
  }
  assertThrows(() => open(temporary.at("x".repeat(256)), 1), UserError, "a name in it is too long");
  const longest = temporary.at("x".repeat(234));
  const output = Output.openFile(longest, { ...start, besides: [] });
  output[Symbol.dispose]();
  {
    using file = new OutputFile(longest, { stage: "query", own: /^/, overwrite: false });
    file.commit();
  }
  assertEquals(
    [...Deno.readDirSync(temporary.path)].map(({ name }) => name.length).sort(),
    [234, 4, 8].sort(),
  );
  OutputLock.acquire(temporary.at("l/.work"), { output: "l", stage: "train" })[Symbol.dispose]();
});

Deno.test("a file whose name is too long for a manifest is read as one without", async () => {
  using temporary = new TemporaryFolder();
  const path = temporary.at("x".repeat(243) + ".parquet");
  Deno.writeTextFileSync(path, "");
  await checkOutputs([path]);
});
