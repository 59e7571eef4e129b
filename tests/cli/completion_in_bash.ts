/** Completes command lines in bash with the script of `completion bash`. @module */
import { assertEquals } from "@std/assert";
import { completionScript } from "../../lib/cli/completion/completion.ts";
import { PRESETS } from "../../lib/train/run_config.ts";
import { STAGES } from "../../tasks/stages.ts";

export function scriptOf(shell: "bash" | "zsh" | "fish"): string {
  return completionScript(shell, STAGES, [...PRESETS.keys()]);
}

/** For each line of standard input, sets bash's completion variables and prints the completions. */
const ASK = `
while IFS=$'\\x1f' read -ra COMP_WORDS; do
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _ping_llm
  (IFS=$'\\t'; printf '%s\\n' "\${COMPREPLY[*]}")
done`;

/**
 * The words that bash offers for the last word of each command line.
 *
 * @param lines Words after the program's name, as bash splits them. @param cwd The folder whose files are
 *   offered.
 */
export async function completeInBash(
  lines: readonly (readonly string[])[],
  cwd: string,
): Promise<string[][]> {
  const child = new Deno.Command("bash", {
    args: ["--norc", "-c", `${scriptOf("bash")}\n${ASK}`],
    cwd,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  // A separator ends each word: without it, bash drops an empty last field.
  const asked = lines.map((words) => ["ping-llm", ...words, "\n"].join("\x1f")).join("");
  const [{ stdout, stderr }] = await Promise.all([
    child.output(),
    new Blob([asked]).stream().pipeTo(child.stdin),
  ]);
  assertEquals(new TextDecoder().decode(stderr), "");
  const answers = new TextDecoder().decode(stdout).split("\n").slice(0, -1);
  assertEquals(answers.length, lines.length);
  return answers.map((answer) => answer === "" ? [] : answer.split("\t"));
}
