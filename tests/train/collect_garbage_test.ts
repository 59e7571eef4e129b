import { assertEquals } from "@std/assert";

Deno.test("collectGarbage() frees what nothing holds, if V8 was started with --expose-gc", async () => {
  const module = new URL("../../lib/train/training_loop.ts", import.meta.url);
  const code = `import { collectGarbage } from ${JSON.stringify(module.href)};
    const held = new WeakRef({});
    await new Promise((resolve) => setTimeout(resolve));
    collectGarbage();
    console.log(held.deref() === undefined);`;
  const run = async (args: string[]) => {
    const command = new Deno.Command(Deno.execPath(), { args: ["eval", ...args, code] });
    return new TextDecoder().decode((await command.output()).stdout).trim();
  };
  assertEquals(await run(["--v8-flags=--expose-gc"]), "true");
});
