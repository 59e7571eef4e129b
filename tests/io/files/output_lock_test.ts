import { assert, assertEquals, assertThrows } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import { BusyError, OutputLock } from "../../../lib/io/files/output_lock.ts";
import { TemporaryFolder } from "./temporary_folder.ts";

const HOLDER = { output: "out", stage: "shard" };

Deno.test("OutputLock.acquire() keeps others out until it is disposed of, and says who holds it", () => {
  using folder = new TemporaryFolder();
  const work = folder.at("deep/.work");
  {
    using _lock = OutputLock.acquire(work, HOLDER);
    Deno.symlinkSync(folder.at("deep"), folder.at("link"));
    for (const path of [work, folder.at("link/.work")]) {
      const error = assertThrows(() => OutputLock.acquire(path, HOLDER), BusyError);
      assert(error.message.includes(`another process is writing to it (shard, process ${Deno.pid}, since 2`));
    }
  }
  assert(!exists(work), "the lock's folder is gone with it");
  OutputLock.acquire(work, HOLDER)[Symbol.dispose]();
});

Deno.test("OutputLock leaves a folder with work in it, and the lock of a killed process means nothing", () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("lock"), "shard, process 1, since 2026-01-01T00:00:00.000Z\n");
  Deno.writeTextFileSync(folder.at("half"), "");
  OutputLock.acquire(folder.path, HOLDER)[Symbol.dispose]();
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["half"]);
});

Deno.test("OutputLock.acquire() lets one of many processes in at a time", async () => {
  using folder = new TemporaryFolder();
  const program = `
    import { BusyError, OutputLock } from ${
    JSON.stringify(import.meta.resolve("../../../lib/io/files/output_lock.ts"))
  };
    const [work, mark] = Deno.args;
    for (let done = 0; done < 40;) {
      try {
        using _lock = OutputLock.acquire(work, { output: "out", stage: "test" });
        Deno.writeTextFileSync(mark, "held", { createNew: true });
        Deno.removeSync(mark);
        done++;
      } catch (error) {
        if (!(error instanceof BusyError)) throw error;
      }
    }`;
  Deno.writeTextFileSync(folder.at("holder.ts"), program);
  const paths = [folder.at(".work"), folder.at("mark")];
  const config = fromFileUrl(import.meta.resolve("../../../deno.json"));
  const args = [
    "run",
    "--config",
    config,
    "--no-prompt",
    "--allow-read",
    "--allow-write",
    folder.at("holder.ts"),
    ...paths,
  ];
  const runs = await Promise.all(
    [1, 2, 3].map(() => new Deno.Command(Deno.execPath(), { args, stderr: "piped" }).output()),
  );
  for (const { code, stderr } of runs) assertEquals(code, 0, new TextDecoder().decode(stderr));
  assert(!exists(join(folder.path, ".work")));
});
