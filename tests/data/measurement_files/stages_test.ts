import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { refused, runStageProcess, succeeded } from "../../cli/process.ts";
import { ping } from "../formats/ping_result.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

Deno.test("import reads files and standard input, and is idempotent", () =>
  withFolder(async (folder) => {
    const [input, output] = [`${folder}/in.json`, `${folder}/out.parquet`];
    const results = [ping(), ping({ prb_id: 3, rcvd: 0, result: [{ x: "*" }] })];
    Deno.writeTextFileSync(input, JSON.stringify(results));
    const args = ["import", "--input", input, "--output", output, "--json"];
    const first = await succeeded(runStageProcess(args));
    const { seconds, reading, ...json } = JSON.parse(first.stdout);
    assert(seconds > 0);
    assertEquals(reading.map(({ format }: { format: string }) => format), ["atlas"]);
    assertEquals(json, {
      stage: "import",
      rows: 2,
      failed: 1,
      duplicates: 0,
      skipped: 0,
      skipped_by_type: {},
      rejected: {},
      sources: 1,
      destinations: 1,
      first_time: "2020-09-13T12:26:40.000Z",
      last_time: "2020-09-13T12:26:40.000Z",
      done_already: false,
      outputs: [`${folder}/out.names.csv`, output],
    });
    const { mtime } = Deno.statSync(output);
    const second = await runStageProcess(args);
    assertEquals(JSON.parse(second.stdout).done_already, true);
    assertEquals(JSON.parse(second.stdout).rows, 2);
    assertEquals(Deno.statSync(output).mtime, mtime);

    const other = await runStageProcess([...args, "--rtt", "min"]);
    assertEquals(other.code, 1);
    assertStringIncludes(other.stderr, "import with other inputs or options wrote it");
    const stdin = new TextEncoder().encode(JSON.stringify(ping()));
    const fromStdin = ["import", "--input", "-", "--output", output, "--overwrite", "--json"];
    const piped = await succeeded(runStageProcess(fromStdin, { stdin }));
    assertEquals(JSON.parse(piped.stdout).rows, 1);
  }));

Deno.test("import fails with a one-line error for every bad input", () =>
  withFolder(async (folder) => {
    Deno.mkdirSync(`${folder}/empty`);
    Deno.writeTextFileSync(`${folder}/cut.json`, `[{"type": "ping"`);
    Deno.writeTextFileSync(`${folder}/page.json`, "<html>");
    Deno.writeTextFileSync(`${folder}/none.jsonl`, "\n");
    const pipe = `${folder}/pipe.json`;
    assert(new Deno.Command("mkfifo", { args: [pipe] }).outputSync().success);
    const cases: [string[], number, string][] = [
      [["--input", `${folder}/none.jsonl`], 1, "found no measurements (neither objects nor rows)"],
      [["--input", pipe], 1, "it is a named pipe, expected a file"],
      [["--input", `${folder}/none.json`], 1, "no such file"],
      [["--input", `${folder}/empty`], 1, "expected a measurement file"],
      [["--input", `${folder}/cut.json`], 1, `Cannot read ${folder}/cut.json at byte 16`],
      [["--input", `${folder}/page.json`], 1, "it looks like HTML"],
      [["--input", `${folder}/cut.json`, "--rtt", "fastest"], 2, "expected mean | min | median | each"],
      [["--input", `${folder}/cut.json`, "--columns", "srce=a"], 2, "unknown key srce"],
      [
        ["--input", `${folder}/cut.json`, "--zone", "Mars/X", "--start", "2026-01-01"],
        2,
        "such as Europe/Berlin",
      ],
      [["--input", `${folder}/cut.json`, "--dst", "192.0.2.1,192.0.2.2"], 2, "one of IPv4 and one of IPv6"],
    ];
    for (const [args, code, message] of cases) {
      const output = ["--output", `${folder}/out.parquet`];
      await refused(runStageProcess(["import", ...output, ...args]), code, message);
    }
  }));

Deno.test("synth writes the same bytes for the same options, and others for another seed", () =>
  withFolder(async (folder) => {
    const make = async (name: string, ...more: string[]) => {
      const output = `${folder}/${name}.parquet`;
      const size = "--rows 3000 --probes 20 --destinations 9 --json".split(" ");
      const { stdout } = await succeeded(runStageProcess(["synth", "--output", output, ...size, ...more]));
      assertEquals(JSON.parse(stdout).rows, 3000);
      assertEquals(JSON.parse(stdout).outputs, [output, `${folder}/${name}.truth.json`]);
      return [Deno.readFileSync(output), Deno.readTextFileSync(`${folder}/${name}.truth.json`)];
    };
    const a = await make("a");
    assertEquals(await make("b"), a);
    const c = await make("c", "--seed", "1");
    assert(c[1] !== a[1]);
    const other = ["--output", `${folder}/a.parquet`, "--rows", "10"];
    await refused(runStageProcess(["synth", ...other]), 1, "--overwrite");
    const tooFew = await runStageProcess(["synth", "--output", `${folder}/d.parquet`, "--destinations", "1"]);
    assertStringIncludes(tooFew.stderr, "at least 2 of each");
  }));
