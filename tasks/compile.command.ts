import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { gitFolders } from "../lib/cli/version.ts";
import { DEMO_FILES } from "./demo.command.ts";

export const compileCommand = command({
  name: "compile",
  summary: "make the program a single executable file",
  details: "It contains the program, its packages and Deno, and runs without any of them installed.",
  reads: "this checkout",
  writes: "the program as one executable file",
  example: "--output dist/ping-llm",
  options: {
    output: option.path(uses.outputFile(), "the file to write", { default: "dist/ping-llm" }),
    form: option.choice(
      ["auto", "compiled", "launcher"],
      "compiled: by deno compile, which fetches Deno's runtime stub;\nlauncher: a file that unpacks " +
        "itself once into a cache folder;\nauto: compiled, or a launcher if the stub is not available",
      { default: "auto" },
    ),
    dawn: option.switch(
      "add Dawn (7 MB) for --engine dawn, which setup.sh --dawn installs; the file is a launcher",
    ),
    overwrite: option.switch(
      "replace an output file that this stage made from other code or in another form",
    ),
  },
  needs: { files: programFiles, deno: true },
});

function programFiles(): (string | URL)[] {
  const names = ["configs", "deno.json", "deno.lock", "kernels", "lib", "LICENSE", "tasks", ...DEMO_FILES];
  const deno = Deno.execPath();
  const checkout = names.map((name) => new URL(`../${name}`, import.meta.url));
  return [...checkout, ...gitFolders(), deno, Deno.realPathSync(deno)];
}
