import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { finishChain, openChain } from "../../tasks/chain.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

const OPTIONS = { input: "a", minutes: 3 };
const OTHER = { ...OPTIONS, minutes: 4 };
const OTHER_INPUT = { ...OPTIONS, input: "b" };
const MESSAGE = "a test with other options (minutes) wrote to it";

function opened(test: (open: (options: typeof OPTIONS) => unknown, output: string) => void): void {
  using temporary = new TemporaryFolder();
  const output = temporary.at("chain");
  Deno.mkdirSync(output);
  const folder = { output, fileName: "test.json", what: "a test", trainOptions: ["minutes"] };
  test((options) => openChain(folder, options, false), output);
}

Deno.test("openChain() accepts other options if the earlier chain made nothing", () =>
  opened((open, output) => {
    open(OPTIONS);
    Deno.mkdirSync(join(output, ".work"));
    assertEquals(open(OTHER_INPUT), { options: OTHER_INPUT });
    assertEquals(open(OTHER_INPUT), { options: OTHER_INPUT });
  }));

Deno.test("openChain() accepts only other training options, and only until there is a checkpoint", () =>
  opened((open, output) => {
    open(OPTIONS);
    Deno.mkdirSync(join(output, "rows"));
    assertThrows(() => open(OTHER_INPUT), UserError, "a test with other options (input) wrote to it");
    assertThrows(() => open({ ...OTHER, input: "b" }), UserError, "(input, minutes)");
    assertEquals(open(OTHER), { options: OTHER, replaces: true });
    Deno.mkdirSync(join(output, "train", "checkpoints", "step-00000002"), { recursive: true });
    assertThrows(() => open(OPTIONS), UserError, MESSAGE);
  }));

Deno.test("openChain() resumes an unfinished chain, and --overwrite restarts a finished one", () => {
  using temporary = new TemporaryFolder();
  const folder = { output: temporary.path, fileName: "test.json", what: "a test" };
  const state = openChain(folder, OPTIONS, false);
  Deno.mkdirSync(join(folder.output, "eval"));
  assertEquals(openChain(folder, OPTIONS, true), { options: OPTIONS });
  finishChain(folder, state);
  assertEquals(openChain(folder, OPTIONS, false).isDone, true);
  assertEquals(openChain(folder, OPTIONS, true), { options: OPTIONS, replaces: true });
  // Continuing does not need --overwrite.
  assertEquals(openChain(folder, OPTIONS, false), { options: OPTIONS, replaces: true });
});

Deno.test("openChain() rejects other options if results of a given checkpoint exist", () =>
  opened((open, output) => {
    open(OPTIONS);
    Deno.mkdirSync(join(output, "eval"));
    assertThrows(() => open(OTHER), UserError, MESSAGE);
  }));
