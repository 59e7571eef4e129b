import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

Deno.test("another project imports the library as README says", async () => {
  const root = fromFileUrl(new URL("../../", import.meta.url));
  const readme = Deno.readTextFileSync(`${root}/README.md`);
  const section = /^## As a library$([^]*?)^## /m.exec(readme)?.[1] ?? "";
  const config = /```json\n([^]*?)```/.exec(section)?.[1] ?? "";
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("deno.json"), config.replace("../ping-llm", root));
  const program = `import { loadModel, parsePrefix } from "@ping-llm/ping-llm";
    console.log(typeof loadModel, parsePrefix("192.0.2.0/24").length);`;
  Deno.writeTextFileSync(folder.at("program.ts"), program);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--check", "--no-prompt", "--allow-read", "program.ts"],
    cwd: folder.path,
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  assertEquals(new TextDecoder().decode(stdout), "function 24\n");
});
