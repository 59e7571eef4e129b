import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import { killWhenThere, runStageProcess } from "../../cli/process.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";

Deno.test("query matrix goes on after a kill with the same bytes, and starts over for other nodes", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const at = (name: string) => join(folder, name);
    const [nodes, fewer] = [at("nodes.txt"), at("fewer.txt")];
    const list = Array.from({ length: 110 }, (_, i) => `10.${i % 7}.${i % 3}.${i}`);
    Deno.writeTextFileSync(nodes, list.join("\n"));
    Deno.writeTextFileSync(fewer, list.slice(1).join("\n"));
    const argsOf = (name: string, list: string) => [
      ...["query", "matrix", "--checkpoint", checkpoint, "--nodes", list, "--samples", "3"],
      ...["--output", at(name), "--json"],
    ];
    const run = async (name: string, list: string) => {
      const { code, stdout, stderr } = await runStageProcess(argsOf(name, list));
      assertEquals(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const kill = async (name: string) =>
      await killWhenThere(argsOf(name, nodes), at(`.${name}.work/matrix.bin.json`));
    assertEquals((await run("whole.csv", nodes)).numPairs, 110 * 109);
    for (const ending of ["csv", "parquet"]) {
      await kill(`killed.${ending}`);
      assert(!exists(at(`killed.${ending}`)));
      assert((await run(`killed.${ending}`, nodes)).cellsResumed > 0);
      assert(!exists(at(`.killed.${ending}.work`)));
    }
    assertEquals(Deno.readFileSync(at("killed.csv")), Deno.readFileSync(at("whole.csv")));
    await run("whole.parquet", nodes);
    assertEquals(Deno.readFileSync(at("killed.parquet")), Deno.readFileSync(at("whole.parquet")));
    assertEquals((await run("whole.csv", nodes)).doneAlready, true);
    await kill("other.csv");
    const { cellsResumed, numPairs } = await run("other.csv", fewer);
    assertEquals([cellsResumed, numPairs], [0, 109 * 108]);
  }));
