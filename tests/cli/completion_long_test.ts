/** Completion in zsh and fish, installed by `setup.sh --tools`. */
import { assertEquals } from "@std/assert";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { completeInBash, scriptOf } from "./completion_in_bash.ts";
import { programsAreMissing } from "./missing_programs.ts";

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** A folder with the scripts, and with files to complete. */
function makeFolder(): TemporaryFolder {
  const folder = new TemporaryFolder();
  for (const shell of ["zsh", "fish"] as const) Deno.writeTextFileSync(folder.at(shell), scriptOf(shell));
  Deno.mkdirSync(folder.at("rows of/train"), { recursive: true });
  for (const name of ["top.parquet", "rest.csv"]) Deno.writeTextFileSync(folder.at(name), "");
  return folder;
}

Deno.test({
  name: "fish offers the same completions as bash",
  ignore: programsAreMissing(["fish"]),
  async fn() {
    using folder = makeFolder();
    const lines = ["", "query ", "query ne", "shard --split-by ", "shard --split-by pa", "shard --", "trane "]
      .concat(["shard --input t", "shard --input top.parquet r", "shard --output r", "synth --rows "])
      .concat([
        "synth --rows 5 --",
        "inspect --samples 2 t",
        "train --config ",
        "completion ",
        "shard --verify --",
      ]);
    const expected = await completeInBash(lines.map((line) => line.split(" ")), folder.path);
    for (const [i, line] of lines.entries()) {
      const args = ["-c", "source fish; complete -C $argv", `ping-llm ${line}`];
      const env = { HOME: folder.path };
      const { stdout, stderr } = await new Deno.Command("fish", { args, cwd: folder.path, env }).output();
      assertEquals(decode(stderr), "", line);
      // fish marks folders, sorts, and describes words after a tab.
      const words = decode(stdout).split("\n").slice(0, -1).map((text) => text.split("\t")[0]);
      const found = words.map((word) => word.replace(/\/$/, "").replaceAll("\\ ", " "));
      assertEquals(found.sort(), expected[i].toSorted(), line);
    }
    const { stdout } = await new Deno.Command("fish", {
      args: ["-c", "source fish; complete -C 'ping-llm shard --split-by=pa'"],
      cwd: folder.path,
      env: { HOME: folder.path },
    }).output();
    assertEquals(decode(stdout), "--split-by=pair\n");
  },
});

/** Types a command line and a tab into an interactive zsh, and prints the resulting line. */
const TYPE = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source ./zsh; \
show() { print -r -- \\"<<\\$BUFFER>>\\"; exit }; zle -N show; bindkey '^X' show; print READY"
zpty -r -m shell output '*READY*READY*'
zpty -n -w shell "ping-llm $1"$'\\t\\x18'
zpty -r -m shell output '*<<*>>*'
print -r -- \${\${output##*<<}%%>>*}`;

Deno.test({
  name: "zsh completes stages, options and their values",
  ignore: programsAreMissing(["zsh"]),
  async fn() {
    using folder = makeFolder();
    const cases = [
      ["sy", "synth "],
      ["query ne", "query nearest "],
      ["shard --split-by pa", "shard --split-by pair "],
      ["shard --split-by=pa", "shard --split-by=pair "],
      ["shard --inp", "shard --input "],
      ["shard --input to", "shard --input top.parquet "],
      ["shard --input top.parquet ro", "shard --input top.parquet rows\\ of/"],
      ["shard --output r", "shard --output rows\\ of/"],
      ["inspect --samples 2 t", "inspect --samples 2 top.parquet "],
      ["train --config camp", "train --config campaign "],
      ["completion z", "completion zsh "],
      ["trane --out", "trane --out"],
    ];
    for (const [typed, expected] of cases) {
      const args = ["-f", "-c", TYPE, "zsh", typed];
      const { stdout, stderr } = await new Deno.Command("zsh", { args, cwd: folder.path }).output();
      assertEquals([decode(stdout), decode(stderr)], [`ping-llm ${expected}\n`, ""], typed);
    }
  },
});
