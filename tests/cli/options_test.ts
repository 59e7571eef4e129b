import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { UsageError } from "../../lib/base/errors.ts";
import {
  commonOptions,
  convertArguments,
  kebab,
  option,
  parseDurationS,
  splitArguments,
  wrapped,
} from "../../lib/cli/options.ts";
import { type Command, command, type Group, helpOf, leavesOf } from "../../lib/cli/command.ts";
import { denoFlagsOf } from "../../lib/cli/stage_permissions.ts";
import { MAX_STEP_MEASUREMENTS } from "../../lib/query/adapt/fit.ts";
import { STAGES } from "../../tasks/stages.ts";

const OPTIONS = {
  input: option.texts("what to read", { value: "PATH", required: true }),
  maxRowSizeMb: option.number("bound of a row, MB", { default: 8, min: 1 }),
  rows: option.integer("how many", { default: 10, min: 1, max: 1e9 }),
  splitBy: option.choice(["probe", "time"], "how to split\n  time: by time", { default: "probe" }),
  steps: option.integer("how long"),
  quiet: option.switch("no progress"),
  noDraw: option.switch("no pictures"),
  noReply: option.text("what means no reply"),
};

function parse(args: readonly string[]) {
  const split = splitArguments(args, OPTIONS);
  return { values: convertArguments(split, OPTIONS), positionals: split.positionals };
}

Deno.test("a command line is parsed into lists, numbers, choices, switches and positionals", () => {
  const { values, positionals } = parse(
    "--input a b --rows=1_000 --quiet --split-by time --input c --max-row-size-mb 2.5".split(" "),
  );
  assertEquals(values, {
    input: ["a", "b", "c"],
    rows: 1000,
    quiet: true,
    splitBy: "time",
    maxRowSizeMb: 2.5,
    steps: undefined,
    noDraw: false,
    noReply: undefined,
  });
  assertEquals(positionals, []);
  const switched = parse(["--no-draw", "false", "--quiet", "true", "--input=a", "-"]);
  assertEquals([switched.values.noDraw, switched.values.quiet], [true, true]);
  assertEquals(switched.positionals, ["false", "true", "-"]);
  assertEquals(parse(["--input", "-", "-b", "--steps", "-5"]).values, {
    ...parse(["--input", "-", "-b"]).values,
    input: ["-", "-b"],
    steps: -5,
  });
  assertEquals(parse(["x", "--no-quiet", "--input=a", "--", "--y"]).positionals, ["x", "--y"]);
});

Deno.test("an option with a value may begin with no-", () => {
  for (const words of [["--no-reply", "0,lost"], ["--no-reply=0,lost"]]) {
    assertEquals(parse(["--input=a", ...words]).values.noReply, "0,lost");
  }
  assertThrows(() => parse(["--input=a", "--reply", "0"]), UsageError, "it is unknown");
  assertThrows(() => parse(["--input=a", "--no-reply"]), UsageError, "no value given");
});

Deno.test("the error for an unknown option suggests the nearest known one", () => {
  const error = assertThrows(() => parse(["--inptu", "a"]), UsageError, "--inptu");
  assertStringIncludes(error.message, "did you mean input?");
  for (const word of ["-q", "--no-rows", "--=5"]) {
    assertThrows(() => parse([word, "--input=a"]), UsageError, `Cannot use option ${word}: it is unknown`);
  }
  const options = { set: option.texts("change a key of the configuration", { value: "KEY=VALUE" }) };
  const unknown = () => splitArguments(["--exchange-dtype", "f16"], options);
  assertThrows(unknown, UsageError, "such as --set train.exchangeDtype=VALUE");
});

Deno.test("missing, repeated and invalid values are rejected", () => {
  for (
    const [args, part] of [
      [[], "--input PATH is missing"],
      [["--input"], "no value given"],
      [["--input", "a", "--rows", "many"], "expected an integer"],
      [["--input", "a", "--rows", "0"], "expected 1 to 1000000000"],
      [["--input", "a", "--max-row-size-mb", "0.5"], "expected at least 1"],
      [["--input", "a", "--rows", "1", "--rows", "2"], "given more than once"],
      [["--input", "a", "--split-by", "row"], "expected probe | time"],
      [["--input", "a", "--quiet=yes"], "takes no value"],
    ] as [string[], string][]
  ) assertThrows(() => parse(args), UsageError, part);
});

Deno.test("parseDurationS() reads seconds and units", () => {
  const cases: [string, number][] = [
    ["90", 90],
    ["0.5", 0.5],
    ["90s", 90],
    ["30m", 1800],
    ["1.5h", 5400],
    ["1h30m", 5400],
    ["2d1h1m1s", 2 * 86400 + 3661],
  ];
  for (const [text, seconds] of cases) assertEquals(parseDurationS(text, "max-time"), seconds);
});

Deno.test("parseDurationS() rejects a text that is not a duration", () => {
  for (const text of ["", "0", "0s", "-5", "x", "5x", "1h x", "1:30", "h"]) {
    assertThrows(() => parseDurationS(text, "max-time"), UsageError, "--max-time");
  }
});

Deno.test("a command's own option replaces the common one", () => {
  const workers = option.integer("its own");
  const { options } = command({ name: "", summary: "", example: "", options: { workers } });
  assertEquals([options.workers, options.seed], [workers, commonOptions.seed]);
});

// README.md, deno.json and `--help` describe commands in accordance with their declarations.

const read = (path: string) => Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));

Deno.test("deno.json contains a task for each stage, with its summary and permissions", () => {
  const { tasks } = JSON.parse(read("deno.json")) as { tasks: Record<string, { command: string }> };
  const found = Object.entries(tasks).filter(([, { command }]) => command.includes(" tasks/main.ts "));
  const expected = Object.values(STAGES).map((stage) => {
    const command = [
      "DENO_NO_UPDATE_CHECK=1 deno run",
      ...denoFlagsOf(stage, "--allow-ffi=lib/tensor/dawn"),
      "tasks/main.ts",
      stage.name,
    ].join(" ");
    return [stage.name, { description: stage.summary, command }];
  });
  assertEquals(Object.fromEntries(found), Object.fromEntries(expected));
});

Deno.test("the README of lib/cli lists what each stage reads and writes", () => {
  const rows = [...read("lib/cli/README.md").matchAll(/^\| (`[a-z- ]+`) +\| ([^|]*?) +\| ([^|]*?) +\|$/gm)]
    .map((
      cells,
    ) => cells.slice(1).join(" | "));
  const listed = Object.values(STAGES).flatMap((stage: Command | Group) =>
    stage.reads === undefined ? leavesOf({ stage }) : [stage]
  );
  const expected = listed.map(({ name, reads, writes }) => `\`${name}\` | ${reads} | ${writes}`);
  assertEquals(rows, expected);
});

const listedIn = (help: string) => [...help.matchAll(/^ {2}--([a-z0-9-]+)/gm)].map(([, name]) => name);

Deno.test("--help shows each command's summary, an example and at most five options, including all required ones", () => {
  for (const command of leavesOf(STAGES)) {
    const help = helpOf(command);
    assert(help.replaceAll("\n", " ").startsWith(`${command.name}: ${command.summary} `), help);
    assertStringIncludes(help, `Example: deno task ${command.name} ${command.example}`);
    const listed = listedIn(help);
    assert(listed.length <= 5 && help.split("\n").length <= 40, help);
    const required = Object.keys(command.options).filter((name) => command.options[name].isRequired);
    assertEquals(required.map(kebab).filter((name) => !listed.includes(name)), [], command.name);
    assertStringIncludes(help, `deno task ${command.name} --help --all lists all `);
  }
});

Deno.test("--help --all lists all options and wraps at the terminal's width", () => {
  for (const command of leavesOf(STAGES)) {
    for (const width of [60, 110]) {
      const help = helpOf(command, { isWhole: true, width });
      assertEquals(listedIn(help), Object.keys(command.options).map(kebab), command.name);
      const long = help.split("\n").filter((line) =>
        line.length > width && !/^(Usage|Example): |^ {2}--/.test(line)
      );
      assertEquals(long.filter((line) => line.trim().includes(" ")), [], command.name);
    }
  }
  assertEquals(wrapped("one two-three  four\nfive", 8), ["one", "two-three", "four", "five"]);
  const whole = { isWhole: true };
  assertStringIncludes(helpOf(STAGES.adapt, whole), `about ${MAX_STEP_MEASUREMENTS} of the measurements`);
});
