import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { UsageError } from "../../lib/base/errors.ts";
import { convertArguments, describeOptions, kebab, option, splitArguments } from "../../lib/cli/options.ts";

const OPTIONS = {
  input: option.texts("what to read", { value: "PATH", required: true }),
  maxRowSizeMb: option.number("bound of a row, MB", { default: 8, min: 1 }),
  rows: option.integer("how many", { default: 10, min: 1, max: 1e9 }),
  splitBy: option.choice(["probe", "time"], "how to split\n  time: by time", { default: "probe" }),
  steps: option.integer("how long"),
  quiet: option.switch("no progress"),
  noDraw: option.switch("no pictures"),
};

function parse(args: readonly string[]) {
  const split = splitArguments(args, OPTIONS);
  return { values: convertArguments(split, OPTIONS), positionals: split.positionals };
}

Deno.test("a command line has lists, numbers, choices, switches and positionals", () => {
  const { values, positionals } = parse(
    [
      "--input",
      "a",
      "b",
      "--rows=1_000",
      "--quiet",
      "--split-by",
      "time",
      "--input",
      "c",
      "--max-row-size-mb",
      "2.5",
    ],
  );
  assertEquals(values, {
    input: ["a", "b", "c"],
    rows: 1000,
    quiet: true,
    splitBy: "time",
    maxRowSizeMb: 2.5,
    steps: undefined,
    noDraw: false,
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

Deno.test("an unknown option is refused with the nearest known one", () => {
  const error = assertThrows(() => parse(["--inptu", "a"]), UsageError, "--inptu");
  assertStringIncludes(error.message, "did you mean input?");
  for (const word of ["-q", "--no-rows", "--=5"]) {
    assertThrows(() => parse([word, "--input=a"]), UsageError, `Cannot use option ${word}: it is unknown`);
  }
});

Deno.test("missing, doubled and wrong values are refused", () => {
  for (
    const [args, part] of [
      [[], "--input PATH is missing"],
      [["--input"], "no value was given"],
      [["--input", "a", "--rows", "many"], "expected an integer"],
      [["--input", "a", "--rows", "0"], "expected 1 to 1000000000"],
      [["--input", "a", "--max-row-size-mb", "0.5"], "expected at least 1"],
      [["--input", "a", "--rows", "1", "--rows", "2"], "given twice"],
      [["--input", "a", "--split-by", "row"], "expected probe | time"],
      [["--input", "a", "--quiet=yes"], "takes no value"],
    ] as [string[], string][]
  ) assertThrows(() => parse(args), UsageError, part);
});

Deno.test("describeOptions() lists every option with its default", () => {
  const text = describeOptions(OPTIONS).join("\n");
  for (const name of Object.keys(OPTIONS)) assertStringIncludes(text, `--${kebab(name)}`);
  assertStringIncludes(text, "(default 8)");
  assertMatch(text, / {2}how to split \(default probe\)\n {27}time: by time\n/);
  assertStringIncludes(text, "(required)");
});
