/** README.md, deno.json and `--help` describe the commands as their declarations do. @module */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Command, type Group, helpOf, leavesOf } from "../../lib/cli/command.ts";
import { kebab } from "../../lib/cli/options.ts";
import { denoFlagsOf } from "../../lib/cli/stage_permissions.ts";
import { MAX_STEP_MEASUREMENTS } from "../../lib/query/adapt/fit.ts";
import { STAGES } from "../../tasks/stages.ts";

const read = (path: string) => Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));

Deno.test("deno.json has a task for each stage, with its summary and the permissions that it needs", () => {
  const { tasks } = JSON.parse(read("deno.json")) as { tasks: Record<string, { command: string }> };
  const found = Object.entries(tasks).filter(([, { command }]) => command.includes(" tasks/main.ts "));
  const expected = Object.values(STAGES).map((stage) => {
    const command = ["deno run", ...denoFlagsOf(stage), "tasks/main.ts", stage.name].join(" ");
    return [stage.name, { description: stage.summary, command }];
  });
  assertEquals(Object.fromEntries(found), Object.fromEntries(expected));
});

Deno.test("README.md's table of stages says what each reads and writes", () => {
  const rows = [...read("README.md").matchAll(/^\| (`[a-z- ]+`) +\| (.*?) +\| (.*?) +\|$/gm)].map((cells) =>
    cells.slice(1).join(" | ")
  );
  const listed = Object.values(STAGES).flatMap((stage: Command | Group) =>
    stage.reads === undefined ? leavesOf({ stage }) : [stage]
  );
  const expected = listed.map(({ name, reads, writes }) => `\`${name}\` | ${reads} | ${writes}`);
  assertEquals(rows, expected);
});

Deno.test("--help of every command has its summary, all its options and an example", () => {
  for (const command of leavesOf(STAGES)) {
    const help = helpOf(command);
    assert(help.startsWith(`${command.name}: ${command.summary}\n`), help);
    assertStringIncludes(help, `Example: deno task ${command.name} ${command.example}`);
    const listed = [...help.matchAll(/^ {2}--([a-z0-9-]+)/gm)].map(([, name]) => name);
    assertEquals(help.split("\n").filter((line) => line.startsWith("  ") && line.length > 110), []);
    assertEquals(listed, command.isRaw ? [] : Object.keys(command.options).map(kebab), command.name);
  }
  assertStringIncludes(helpOf(STAGES.adapt), `some ${MAX_STEP_MEASUREMENTS} of the measurements`);
});
