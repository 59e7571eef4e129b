/** The examples of the library's front door and of README.md run as they stand there. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { withCheckpoint } from "./tiny_checkpoint.ts";

const ROOT = new URL("../../", import.meta.url);

/** The TypeScript examples of a page or a module's doc that ask a model. */
function examplesOf(path: string): string[] {
  const text = Deno.readTextFileSync(new URL(path, ROOT)).replace(/^ \* ?/gm, "");
  return [...text.matchAll(/```ts ignore\n([^]*?)```/g)].map(([, code]) => code).filter((code) =>
    code.includes("loadModel")
  );
}

for (const path of ["mod.ts", "README.md"]) {
  Deno.test(`the example of ${path} runs on the model of a demo`, () =>
    withCheckpoint(async (folder) => {
      const [code, ...others] = examplesOf(path);
      assert(code && others.length === 0, `${others.length + 1} examples`);
      const example = join(folder, "example.ts");
      const library = new URL("mod.ts", ROOT).href;
      Deno.writeTextFileSync(example, code.replace(/"(?:\.\/mod\.ts|@ping-llm\/ping-llm)"/, `"${library}"`));
      const { code: exitCode, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "--check",
          "--config",
          fromFileUrl(new URL("deno.json", ROOT)),
          "--allow-read",
          example,
        ],
        env: { NO_COLOR: "1" },
        cwd: folder,
      }).output();
      assertEquals(exitCode, 0, new TextDecoder().decode(stderr));
      const lines = new TextDecoder().decode(stdout).trim().split("\n");
      assertEquals(lines.length, 2);
      for (const line of lines) assertMatch(line, /^[\d.e+-]+( [\d.e+-]+)+$/);
    }, { run: "runs/demo/train" }));
}
