import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";
import {
  countSignsIn,
  newSigns,
  SignObserver,
  signOfWork,
  whileFlushing,
} from "../../lib/io/threads/signs_of_work.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { sampleBatch, writeParquet } from "../data/probe_rows/sample_parquet.ts";
import { until } from "../until.ts";
import { outputOf, refused, runDeno, runStageProcess, spawnStage } from "./process.ts";

const SIGNALLED = fromFileUrl(new URL("./signalled.ts", import.meta.url));
const FLAGS = ["--allow-run", "--allow-read", "--allow-write"];

async function runSignalled(place: string, ...names: string[]) {
  return await runDeno([...FLAGS, SIGNALLED, place, ...names]);
}

for (const [name, exitCode] of [["SIGINT", 130], ["SIGTERM", 75], ["SIGUSR2", 75]] as const) {
  Deno.test(`${name} exits with ${exitCode} before a stage begins, and stops the stage afterwards`, async () => {
    for (const place of ["before the thread", "while the thread is loaded"]) {
      const { code, stderr } = await runSignalled(place, name);
      assertEquals(code, exitCode, `${place}: ${stderr}`);
      assertEquals(stderr, `error: stopped by ${name}; run the same command again to continue\n`);
    }
    const stopped = await runSignalled("in the stage", name);
    assertEquals(
      stopped.stderr,
      `\n${name}: finishing work in progress; ${name === "SIGINT" ? "a second signal" : "SIGINT"} stops ` +
        `at once\nerror: stage saw ${name}\n`,
    );
  });
}

Deno.test("a repeated SIGTERM, as schedulers send it, is ignored, while SIGINT ends the process at once", async () => {
  const { code, stderr } = await runSignalled("in the stage", "SIGUSR2", "SIGTERM", "SIGTERM");
  assertEquals(code, 75, stderr);
  assertMatch(stderr, /error: stage saw SIG/);
  for (const [names, code] of [["SIGTERM SIGTERM SIGINT", 130], ["SIGINT SIGTERM", 75]] as const) {
    const busy = await runSignalled("in a busy stage", ...names.split(" "));
    assertEquals(busy.code, code, busy.stderr);
    assertMatch(busy.stderr, /^\nSIG\w+: finishing work in progress; \w+( second signal)? stops at once\n$/);
  }
});

Deno.test("a stage that is stuck after a signal is cut off, and a slow save is not", async () => {
  for (const [signal, mostS] of [["SIGTERM", 20], ["SIGUSR2", 90]] as const) {
    const { code, stderr } = await runSignalled("in a stuck stage", signal);
    assertEquals(code, 75, stderr);
    const message = `after ${signal}: the stage made no progress for ${mostS} s [^\\n]+\\n$`;
    assertMatch(stderr, new RegExp(`\\nerror: Cannot end cleanly ${message}`));
  }
  const working = await runSignalled("in a stage that saves for long", "SIGTERM");
  assertEquals(working.code, 98, working.stderr);
});

Deno.test("a thread that waits for a disk counts as working", () => {
  const signs = newSigns();
  const observer = new SignObserver(signs);
  countSignsIn(signs);
  whileFlushing(() => assertEquals([observer.hasWorked(), observer.hasWorked()], [true, true]));
  assertEquals(observer.hasWorked(), false);
  signOfWork();
  assertEquals([observer.hasWorked(), observer.hasWorked()], [true, false]);
});

Deno.test("a bug in a stage exits with 1 and prints its stack trace", async () => {
  const { code, stderr } = await runSignalled("a bug");
  assertEquals(code, 1);
  assertStringIncludes(stderr, "TypeError: a bug of ours");
  assertStringIncludes(stderr, "    at ");
});

for (
  const [how, exitCode] of [
    ["done", 0],
    ["a mistake", 1],
    ["a bug", 1],
    ["a rejection that nothing awaits", 1],
    ["an error in a timer", 1],
    ["SIGINT twice", 130],
  ] as const
) {
  Deno.test(`a stage's thread finishes its device work before the process ends: ${how}`, async () => {
    const names = how === "SIGINT twice" ? ["SIGINT", "SIGINT"] : [];
    const { code, stderr } = await runSignalled("with work at its end", how, ...names);
    assertEquals(code, exitCode, stderr);
    assertMatch(stderr, /running[^]*finished/);
    if (exitCode === 1 && how !== "a mistake") {
      assertMatch(stderr, /^error: Uncaught.* TypeError: a bug\n[^]*^ {4}at /m);
    }
  });
}

Deno.test("a stage exchanges messages with its threads, and learns when one dies", async () => {
  const { code, stdout, stderr } = await runSignalled("with threads of its own");
  assertEquals([code, stdout], [0, "sent 0, got 7, Uncaught (in promise) Error: worn out\n"], stderr);
});

const MOMENTS = ["before it listened", "before the stage", "in the stage"];

Deno.test("SIGTERM at any moment ends a stage without a failure", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 20_000, numBad: 0 }));
  const seen = new Set<string>();
  // From the start of the process until it is seen at work or later; with shorter steps until every moment
  // has been seen.
  for (let [delayMs, stepMs] = [0, 40]; MOMENTS.some((moment) => !seen.has(moment)); delayMs += stepMs) {
    const output = folder.at(`${stepMs}-${delayMs}`);
    const args = ["--input", folder.at("in.parquet"), "--vocab", "v1", "--output", output];
    const child = spawnStage(["pretokenize", ...args, "--sequences-per-file", "500"]);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    try {
      child.kill("SIGTERM");
    } catch { /* already done */ }
    const { code, stderr } = await outputOf(child);
    const how = code === 0
      ? "done"
      : stderr === "" && code === 143
      ? "before it listened"
      : stderr.includes("finishing")
      ? "in the stage"
      : "before the stage";
    seen.add(how);
    assert(stepMs > 0.5, `met ${JSON.stringify([...seen])}`);
    if (how === "done") [delayMs, stepMs] = [0, stepMs / 2];
    if (how === "before it listened") assert(!exists(output), "it had begun to write");
    if (how === "done" || how === "before it listened") continue;
    assertEquals(code, 75, `after ${delayMs} ms: ${stderr}`);
    assertMatch(stderr, /^error: stopped by SIGTERM; run the same command again to continue$/m);
  }
});

Deno.test("a failed write to standard output is a one-line error with exit code 1", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 20 }));
  const launcher = ["sh", "-c", 'exec "$@" > /dev/full', "sh"];
  const inspected = ["inspect", folder.at("in.parquet"), "--quiet"];
  for (const words of [["--help"], ["inspect", "--help"], inspected, [...inspected, "--json"]]) {
    await refused(runStageProcess(words, { launcher }), 1, "Cannot write to standard output: no space left");
  }
});

for (const [stage, file] of [["import", "a.parquet"], ["watch", "a.jsonl"]]) {
  Deno.test(`${stage} reports a one-line error if its output folder is replaced by a link meanwhile`, async () => {
    using folder = new TemporaryFolder();
    const [out, foreign] = [folder.at("out"), folder.at("foreign")];
    const work = `.${file}.work`;
    const foreignFiles = ["lock", "manifest.json"].map((name) => `${foreign}/${work}/${name}`);
    Deno.mkdirSync(`${foreign}/${work}`, { recursive: true });
    for (const path of foreignFiles) Deno.writeTextFileSync(path, "mine");
    const args = [stage, "--input", "-", "--output", `${out}/${file}`, "--quiet"];
    const child = spawnStage(args, { stdin: new Uint8Array() });
    // The stage has opened its output and waits for its input.
    const lock = `${out}/${work}/lock`;
    await until("it has no lock", () => exists(lock) && Deno.readTextFileSync(lock) !== "");
    Deno.renameSync(out, folder.at("moved"));
    Deno.symlinkSync(foreign, out);
    const ping = { src: "192.0.2.1", dst: "198.51.100.7", time: 1_480_000_000, rtt: 20 };
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${JSON.stringify(ping)}\n`));
    await writer.close();
    const message = "its folder was moved, deleted or replaced during the work";
    assertStringIncludes(await refused(outputOf(child), 1, message), `${out}/${file}`);
    for (const path of foreignFiles) assertEquals(Deno.readTextFileSync(path), "mine");
  });
}
