import { assert, assertEquals } from "@std/assert";
import { leavesOf } from "../../lib/cli/command.ts";
import { kebab } from "../../lib/cli/options.ts";
import { STAGES } from "../../tasks/stages.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { completeInBash, scriptOf } from "./completion_in_bash.ts";
import { refused, runStageProcess, succeeded } from "./process.ts";

const COMMANDS = leavesOf(STAGES);

Deno.test("completion prints a shell's script, and rejects unknown shells", async () => {
  const { stdout } = await succeeded(runStageProcess(["completion", "bash"]));
  assertEquals(stdout, `${scriptOf("bash")}\n`);
  for (const words of [["csh"], ["bash", "zsh"]]) {
    await refused(runStageProcess(["completion", ...words]), 2, "expected bash | zsh | fish");
  }
});

Deno.test("bash completes stages, kinds, and the options of every command", async () => {
  using folder = new TemporaryFolder();
  const lines = [[""], ["query", ""], ["qu"], ["query", "ne"], ["query", "rtt", "ne"], ["trane", ""]];
  const [stages, kinds, ...others] = await completeInBash(lines, folder.path);
  assertEquals(stages, Object.keys(STAGES));
  assertEquals(kinds, Object.keys(STAGES.query.kinds));
  assertEquals(others, [["query"], ["nearest"], [], []]);
  const offered = await completeInBash(COMMANDS.map(({ name }) => [...name.split(" "), "--"]), folder.path);
  for (const [i, { name, options }] of COMMANDS.entries()) {
    assertEquals(offered[i], Object.keys(options).map((key) => `--${kebab(key)}`), name);
  }
});

Deno.test("bash completes the choices and paths of every option", async () => {
  using folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at("folder"));
  Deno.writeTextFileSync(folder.at("a file.csv"), "");
  const asked = COMMANDS.flatMap(({ name, options }) =>
    Object.entries(options).filter(([, { arity }]) => arity !== "switch").map(([key, option]) => ({
      words: [...name.split(" "), `--${kebab(key)}`, ""],
      option,
    }))
  );
  const offered = await completeInBash(asked.map(({ words }) => words), folder.path);
  for (const [i, { words, option: { choices = [], use } }] of asked.entries()) {
    const paths = !use ? [] : use.value === "DIR" ? ["folder"] : ["a file.csv", "folder"];
    const others = offered[i].filter((word) => words.at(-2) !== "--config" || paths.includes(word));
    assertEquals(others.sort(), [...choices, ...paths].sort(), words.join(" "));
  }
  assert(asked.filter(({ option: { choices } }) => choices).length > 15);
});

Deno.test("bash completes each option's values as often as it accepts them", async () => {
  using folder = new TemporaryFolder();
  for (const name of ["a.csv", "b.csv"]) Deno.writeTextFileSync(folder.at(name), "");
  const cases: [string, string[]][] = [
    ["shard --split-by pa", ["pair"]],
    ["shard --split-by = pa", ["pair"]],
    ["shard --split-by =", ["probe", "time", "row", "pair", "destination", "node"]],
    ["shard --input a.csv ", ["a.csv", "b.csv"]],
    ["shard --input a.csv b", ["b.csv"]],
    ["shard --input a.csv --rat", ["--ratios"]],
    ["train --config de", ["demo"]],
    ["train --seed ", []],
    ["inspect --samples 2 b", ["b.csv"]],
    ["inspect a.csv --json b", ["b.csv"]],
    ["completion ", ["bash", "zsh", "fish"]],
    ["query rtt --seed 5 --seed", ["--seed"]],
  ];
  const offered = await completeInBash(cases.map(([line]) => line.split(" ")), folder.path);
  for (const [i, [line, expected]] of cases.entries()) assertEquals(offered[i], expected, line);
  const [all, afterValue] = await completeInBash(
    [["shard", "--"], ["shard", "--seed", "5", ""]],
    folder.path,
  );
  assertEquals(afterValue, all);
});
