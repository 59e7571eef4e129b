import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { readContext } from "../../lib/query/files/measurement_files.ts";
import { killWhenThere, refused, runStageProcess, succeed } from "../cli/process.ts";
import { makeBatch, writeParquet } from "../data/measurement_files/batches.ts";
import { withCheckpoint } from "./tiny_checkpoint.ts";
import { exists } from "../../lib/io/files/inputs.ts";

Deno.test("query rtt --queries answers every line except a bad one and exits with code 1", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const queries = join(folder, "queries.csv");
    Deno.writeTextFileSync(queries, "src,dst\n192.0.2.1,192.0.2.2\n192.0.2.1,::1\n192.0.2.1,192.0.2.3\n");
    const args = ["query", "rtt", "--checkpoint", checkpoint, "--queries", queries, "--quantiles", "0.5"];
    const { code, stdout, stderr } = await runStageProcess(args);
    assertEquals(code, 1);
    assertStringIncludes(stderr, `error: Cannot answer 1 of 3 lines of ${queries}: line 3: `);
    const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(lines.map(({ line }) => line), [2, 3, 4]);
    assertStringIncludes(lines[1].error, "same version");
    const pair = ["--src", "192.0.2.1", "--dst", "192.0.2.3", "--quantiles", "0.5", "--json"];
    const alone = await runStageProcess(["query", "rtt", "--checkpoint", checkpoint, ...pair]);
    assertEquals(lines[2].quantiles_ms, JSON.parse(alone.stdout).quantiles_ms);
    const going = await runStageProcess([...args, "--keep-going"]);
    assertEquals([going.code, going.stdout], [0, stdout], going.stderr);
    assertStringIncludes(going.stderr, `1 of 3 lines of ${queries} could not be answered`);
    const output = join(folder, "answers.jsonl");
    const counted = await runStageProcess([...args, "--keep-going", "--json", "--output", output]);
    const { num_answered, num_bad } = JSON.parse(counted.stdout);
    assertEquals([num_answered, num_bad, Deno.readTextFileSync(output)], [2, 1, stdout]);
    for (const wrong of [["--json"], ["--src", "192.0.2.1"]]) {
      await refused(runStageProcess([...args, ...wrong]), 2);
    }
  }));

Deno.test("queries refuse invalid times, skip context after --time and report it", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const context = join(folder, "context.parquet");
    writeParquet(context, makeBatch(40));
    const { measurements } = await readContext(context);
    const timeS = measurements[29].timeS ?? 0;
    const commands = [
      ["query", "rtt", "--dst", "198.51.100.7"],
      ["query", "destinations", "--rtt", "20", "--candidates", "2"],
      ["query", "sample", "--count", "2"],
    ];
    for (const command of commands) {
      const args = [...command, "--checkpoint", checkpoint, "--src", "192.0.2.1"];
      const { stderr } = await succeed(...args, "--time", String(timeS), "--context", context);
      assertStringIncludes(stderr, `10 measurements of ${context} are after --time and were skipped`);
    }
    const wrong = ["query", "rtt", "--src", "192.0.2.1", "--dst", "192.0.2.2", "--checkpoint", checkpoint];
    const refusals: [string[], number, string][] = [
      [["--time", "2025-02-30"], 2, "Cannot use --time 2025-02-30: "],
      [["--quantiles", "2"], 2, "expected at most 1"],
      [["--context", join(folder, "none.parquet")], 1, "no such file"],
    ];
    for (const [more, code, message] of refusals) {
      await refused(runStageProcess([...wrong, ...more]), code, message);
    }
    const likelihood = [
      ...["query", "likelihood", "--checkpoint", checkpoint, "--input", context],
      ...["--context", context],
    ];
    const { stdout, stderr } = await succeed(...likelihood, "--order", "source,destination,time,result");
    assertStringIncludes(stderr, "39 rows are older than some of the context");
    assertEquals(stdout.trimEnd().split("\n").length, 40);
  }));

Deno.test("query likelihood writes a line of bits per row and reports their mean", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const [input, output] = [join(folder, "rows.parquet"), join(folder, "bits.jsonl")];
    await succeed("synth", "--rows", "20", "--probes", "3", "--output", input);
    const args = ["query", "likelihood", "--checkpoint", checkpoint, "--input", input];
    const { stdout } = await succeed(...args, "--output", output, "--tokens", "--json");
    const rows = Deno.readTextFileSync(output).trimEnd().split("\n").map((line) => JSON.parse(line));
    const { num_rows, mean_bits } = JSON.parse(stdout);
    assertEquals([num_rows, rows.length], [20, 20]);
    const mean = rows.reduce((sum, row) => sum + row.mean_bits, 0) / 20;
    assert(Math.abs(mean_bits - mean) < 1e-6 * mean);
    for (const { orders } of rows) {
      assertEquals(orders.length, 24);
      assertEquals(Object.keys(orders[0].token_bits), orders[0].order.split(","));
    }
    const untimed = await runStageProcess([
      ...args,
      "--without-time",
      "--order",
      "result,time,source,destination",
    ]);
    const [first] = untimed.stdout.split("\n").map((line) => line && JSON.parse(line));
    assertEquals(first.orders.map(({ order }: { order: string }) => order), ["result,source,destination"]);
    assertStringIncludes(untimed.stderr, "20 measurements");
    await refused(runStageProcess([...args, "--order", "source,destination"]), 2);
  }));

Deno.test("query destinations refuses invalid questions with a one-line error", () =>
  withCheckpoint(async (_, checkpoint) => {
    const good = { checkpoint, src: "192.0.2.1", rtt: "20" };
    const wrong: [Record<string, string>, number, string][] = [
      [{ src: "192.0.2.256" }, 2, "192.0.2.256: expected an IPv4 or IPv6 address or prefix"],
      [{ rtt: "-5" }, 2, "--rtt -5"],
      [{ rtt: "30..20" }, 2, "--rtt 30..20"],
      [{ rtt: "1..2..3" }, 2, "--rtt 1..2..3"],
      [{ "prefix-length": "33" }, 1, "expected 0 to 32"],
      [{ src: "2001:db8::1", "prefix-length": "129" }, 2, "prefix-length"],
      [{ time: "yesterday" }, 2, "--time"],
      [{ top: "0" }, 2, "--top"],
      [{ candidates: "1025" }, 2, "--candidates"],
      [{ "max-expansions": "65537" }, 2, "--max-expansions"],
      [{ time: "1".repeat(400) }, 2, "…: it is not a time"],
    ];
    for (const [options, code, message] of wrong) {
      const args = Object.entries({ ...good, ...options }).map(([name, value]) => `--${name}=${value}`);
      await refused(runStageProcess(["query", "destinations", ...args]), code, message);
    }
  }));

Deno.test("query matrix resumes after a kill with the same bytes, and starts over for other nodes", () =>
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
      const { stdout } = await succeed(...argsOf(name, list));
      return JSON.parse(stdout);
    };
    const kill = async (name: string) =>
      await killWhenThere(argsOf(name, nodes), at(`.${name}.work/matrix.bin.json`));
    assertEquals((await run("whole.csv", nodes)).num_pairs, 110 * 109);
    for (const ending of ["csv", "parquet"]) {
      await kill(`killed.${ending}`);
      assert(!exists(at(`killed.${ending}`)));
      assert((await run(`killed.${ending}`, nodes)).cells_resumed > 0);
      assert(!exists(at(`.killed.${ending}.work`)));
    }
    assertEquals(Deno.readFileSync(at("killed.csv")), Deno.readFileSync(at("whole.csv")));
    await run("whole.parquet", nodes);
    assertEquals(Deno.readFileSync(at("killed.parquet")), Deno.readFileSync(at("whole.parquet")));
    assertEquals((await run("whole.csv", nodes)).done_already, true);
    await kill("other.csv");
    const { cells_resumed, num_pairs } = await run("other.csv", fewer);
    assertEquals([cells_resumed, num_pairs], [0, 109 * 108]);
  }));
