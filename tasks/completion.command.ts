import { command } from "../lib/cli/command.ts";
import type { Shell } from "../lib/cli/completion/completion.ts";

export const SHELLS: readonly Shell[] = ["bash", "zsh", "fish"];

export const completionCommand = command({
  name: "completion",
  summary: "print a script that completes this command line in a shell",
  details:
    "It completes stages, options, their choices and paths after `ping-llm`. Install it with one of:\n" +
    "  ping-llm completion bash > ~/.local/share/bash-completion/completions/ping-llm\n" +
    '  ping-llm completion zsh > "${fpath[1]}/_ping-llm"\n' +
    "  ping-llm completion fish > ~/.config/fish/completions/ping-llm.fish",
  reads: "nothing",
  writes: "a script for bash, zsh or fish, on standard output",
  example: "bash",
  positionals: { value: SHELLS.join("|"), min: 1, choices: SHELLS },
  options: {},
});
