/** Named pipes in place of files, and stages blocked by one when a signal comes. */
import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { ByteFile } from "../../lib/io/files/byte_file.ts";
import { readLines } from "../../lib/query/files/read_lines.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { outputOf, spawnStage } from "./process.ts";
import { commandOf, loadStage } from "./stage_in_process.ts";

/** Puts a named pipe that nobody writes to in place of a file. @returns Its path. */
async function pipeAt(path: string): Promise<string> {
  Deno.removeSync(path, { recursive: true });
  return await newPipe(path);
}

async function newPipe(path: string): Promise<string> {
  const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
  assertEquals(success, true);
  return path;
}

/** Asserts that a stage that should read the pipe reports it in one line and does not block. */
async function assertRefused(words: readonly string[], name: string): Promise<void> {
  const { command, rest } = commandOf(words);
  const stage = await loadStage(command);
  const { message } = await assertRejects(() => stage.run(rest, { log: () => {} }), UserError);
  assertMatch(message, new RegExp(`^Cannot .*${name}: it is a named pipe, expected a file; [^\\n]*$`));
}

const ASK = ["query", "rtt", "--src", "192.0.2.1", "--dst", "198.51.100.7"];

for (const name of ["latest", "step-00000003/state.json", "step-00000003/model.safetensors"]) {
  Deno.test(`a named pipe as ${name} of a run is a one-line error`, () =>
    withCheckpoint(async (_, checkpoint) => {
      await pipeAt(join(checkpoint, "checkpoints", name));
      await assertRefused([...ASK, "--checkpoint", checkpoint], name);
    }));
}

Deno.test("a named pipe as metrics.jsonl of a run is a one-line error", () =>
  withCheckpoint(async (_, checkpoint) => {
    await newPipe(join(checkpoint, "metrics.jsonl"));
    await assertRefused(["inspect", checkpoint], "metrics.jsonl");
  }));

Deno.test("a named pipe as a manifest, a lock or a configuration is a one-line error", async () => {
  using folder = new TemporaryFolder();
  const input = folder.at("in.csv");
  Deno.writeTextFileSync(input, "src,dst,time,rtt\n192.0.2.1,198.51.100.7,2024-01-01T00:00:00Z,20\n");
  const output = folder.at("out.parquet");
  const imported = ["import", "--input", input, "--output", output];
  const manifest = await newPipe(`${output}.manifest.json`);
  await assertRefused(imported, "manifest.json");
  Deno.removeSync(manifest);
  Deno.mkdirSync(folder.at(".out.parquet.work"));
  const lock = await newPipe(folder.at(".out.parquet.work/lock"));
  await assertRefused(imported, "lock");
  Deno.removeSync(lock);
  const pipe = await newPipe(folder.at("pipe"));
  Deno.mkdirSync(folder.at("data"));
  const train = ["train", "--data", folder.at("data"), "--run", folder.at("run"), "--config", pipe];
  await assertRefused(train, "pipe");
});

Deno.test("a named pipe is rejected before it is opened for writing", async () => {
  using folder = new TemporaryFolder();
  const pipe = await newPipe(folder.at("pipe"));
  // A pipe that is also opened for reading would not block.
  assertThrows(
    () => ByteFile.write(pipe, "update"),
    UserError,
    "it is a named pipe, expected a file",
  );
});

Deno.test("queries are read from a named pipe, and a signal ends the wait for them", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const pipe = await newPipe(join(folder, "queries"));
    const args = ["query", "rtt", "--checkpoint", checkpoint, "--queries", pipe];
    const asked = spawnStage(args);
    await Deno.writeTextFile(pipe, '{"src": "192.0.2.1", "dst": "198.51.100.7"}\n');
    const { code, stdout, stderr } = await outputOf(asked);
    assertEquals(code, 0, stderr);
    assertEquals(JSON.parse(stdout).line, 1);
    const waiting = spawnStage(args);
    // Waits until the stage opens the pipe.
    using _writer = await Deno.open(pipe, { write: true });
    waiting.kill("SIGTERM");
    const ended = await outputOf(waiting);
    assertEquals(ended.code, 75, ended.stderr);
    assertMatch(ended.stderr, /error: stopped by SIGTERM; run the same command again to continue\n$/);
  }));

Deno.test("readLines() stops at its signal while a named pipe has no writer", async () => {
  using folder = new TemporaryFolder();
  const pipe = await newPipe(folder.at("pipe"));
  const stopped = new AbortController();
  const line = readLines(pipe, stopped.signal).next();
  stopped.abort(new UserError("stopped"));
  await assertRejects(() => line, UserError, "stopped");
  // Ends the opening, which nobody waits for.
  (await Deno.open(pipe, { write: true })).close();
});
