import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { UsageError } from "../../lib/base/errors.ts";
import { describeFlags, flag, kebab, parseFlags } from "../../lib/cli/flags.ts";

const FLAGS = {
  input: flag.texts("what to read", { placeholder: "PATH", required: true }),
  maxRowSizeMb: flag.number("bound of a row, MB", { default: 8, min: 1 }),
  rows: flag.integer("how many", { default: 10, min: 1, max: 1e9 }),
  splitBy: flag.choice(["probe", "time"], "how to split\n  time: by time", { default: "probe" }),
  steps: flag.optionalInteger("how long"),
  quiet: flag.boolean("no progress"),
};

Deno.test("parseFlags() takes lists, numbers, choices, switches and positionals", () => {
  const { values, positionals } = parseFlags(
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
    FLAGS,
  );
  assertEquals(values, {
    input: ["a", "b", "c"],
    rows: 1000,
    quiet: true,
    splitBy: "time",
    maxRowSizeMb: 2.5,
    steps: undefined,
  });
  assertEquals(positionals, []);
  assertEquals(parseFlags(["x", "--no-quiet", "--input=a", "--", "--y"], FLAGS).positionals, ["x", "--y"]);
});

Deno.test("parseFlags() names the nearest known option for an unknown one", () => {
  const error = assertThrows(() => parseFlags(["--inptu", "a"], FLAGS), UsageError, "--inptu");
  assertStringIncludes(error.message, "did you mean input?");
});

Deno.test("parseFlags() refuses missing, doubled and wrong values", () => {
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
  ) assertThrows(() => parseFlags(args, FLAGS), UsageError, part);
});

Deno.test("describeFlags() lists every option with its default", () => {
  const text = describeFlags(FLAGS).join("\n");
  for (const name of Object.keys(FLAGS)) assertStringIncludes(text, `--${kebab(name)}`);
  assertStringIncludes(text, "(default 8)");
  assertMatch(text, / {2}how to split \(default probe\)\n {27}time: by time\n/);
  assertStringIncludes(text, "(required)");
});
