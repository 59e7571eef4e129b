import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import { killWhenThere, refused, runStageProcess, succeed } from "../../cli/process.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";
import { sampleRows, writeParquet } from "./sample_rows.ts";

Deno.test("score resumes after a kill and writes the same bytes", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const [input, whole, killed] = ["in", "whole", "killed"].map((name) => join(folder, `${name}.parquet`));
    writeParquet(input, sampleRows(5000));
    const args = ["score", "--checkpoint", checkpoint, "--input", input, "--context", "6", "--json"];
    const undisturbed = await succeed(...args, "--output", whole);
    const { stage, rows, mean_bits, seconds } = JSON.parse(undisturbed.stdout);
    assertEquals([stage, rows], ["score", 5000]);
    assert(mean_bits > 0 && seconds > 0);
    await killWhenThere(
      [...args, "--output", killed],
      join(folder, ".killed.parquet.work", "score", "scores.bin.json"),
    );
    const rerun = await succeed(...args, "--output", killed);
    assert(JSON.parse(rerun.stdout).rows_resumed > 0);
    assertEquals(Deno.readFileSync(killed), Deno.readFileSync(whole));
    assert(!exists(join(folder, ".killed.parquet.work")));
    const report = join(folder, "scores.html");
    const again = await succeed(...args, "--output", killed, "--report", report);
    const { done_already, rows: rowsAgain, findings } = JSON.parse(again.stdout);
    assertEquals([findings.rows, findings.most_surprising.length], [5000, 20]);
    assertStringIncludes(Deno.readTextFileSync(report), "20 most surprising rows");
    assertEquals([done_already, rowsAgain], [true, 5000]);
  }));

Deno.test("score refuses bad input with a one-line error and leaves nothing behind", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const at = (name: string) => join(folder, name);
    writeParquet(at("good.parquet"), sampleRows(20));
    const bytes = Deno.readFileSync(at("good.parquet"));
    Deno.writeFileSync(at("cut.parquet"), bytes.subarray(0, bytes.length >> 1));
    const before = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    const refuse = async (changes: Record<string, string>, code: number, message: string) => {
      const options = { checkpoint, input: at("good.parquet"), output: at("out.parquet"), ...changes };
      const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
      await refused(runStageProcess(["score", ...args]), code, message);
    };
    await Promise.all([
      refuse({ input: at("cut.parquet") }, 1, "does not end with PAR1"),
      refuse({ "group-by": "prb_id" }, 1, "column prb_id is missing"),
    ]);
    await refuse({ output: at("good.parquet") }, 2, "it is also an input");
    await refuse({ report: at("r.pdf") }, 2, "--report");
    await refuse({ context: "-1" }, 2, "--context -1");
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), before);
  }));
