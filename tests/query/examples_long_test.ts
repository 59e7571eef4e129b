/** The examples of the library's front door and of README.md run as they stand there. */
import { assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { withCheckpoint } from "./tiny_checkpoint.ts";

const ROOT = new URL("../../", import.meta.url);

/** The TypeScript examples of a page or a module's doc that import the library. */
function examplesOf(path: string): string[] {
  const text = Deno.readTextFileSync(new URL(path, ROOT)).replace(/^ \* ?/gm, "");
  return [...text.matchAll(/```ts ignore\n([^]*?)```/g)].map(([, code]) => code);
}

/** Two lines of numbers, or of one number and an address or a prefix. */
const PRINTED = /^[\d.e+-]+( [\d.e+-]+)+$|^([\d.e+-]+ )?[\da-f.:]+(\/\d+)?( [\d.e+-]+| no reply)?$/;

for (const [path, numExamples] of [["mod.ts", 3], ["README.md", 1]] as const) {
  Deno.test(`the examples of ${path} run on the model of a demo`, () =>
    withCheckpoint(async (folder) => {
      const examples = examplesOf(path);
      assertEquals(examples.length, numExamples);
      for (const code of examples) {
        const example = join(folder, "example.ts");
        const library = new URL("mod.ts", ROOT).href;
        Deno.writeTextFileSync(example, code.replaceAll("@ping-llm/ping-llm", library));
        const config = ["--check", "--config", fromFileUrl(new URL("deno.json", ROOT))];
        const { code: exitCode, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["run", ...config, "--allow-read", "--allow-write=.", example],
          env: { NO_COLOR: "1" },
          cwd: folder,
        }).output();
        assertEquals(exitCode, 0, new TextDecoder().decode(stderr));
        const lines = new TextDecoder().decode(stdout).trim().split("\n");
        assertEquals(lines.length, 2);
        for (const line of lines) assertMatch(line, PRINTED);
      }
    }, { run: "runs/demo/train" }));
}
