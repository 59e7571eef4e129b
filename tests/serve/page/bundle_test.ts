/** The page's bundle, and the stages that refuse a missing or outdated one. */
import { assertEquals } from "@std/assert";
import { dirname, fromFileUrl, join } from "@std/path";
import { codeFiles } from "../../../lib/cli/compile/program.ts";
import { readPage } from "../../../lib/serve/page_files.ts";
import { PROGRAM } from "../../../tasks/compile.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { type ProcessResult, refused, requirePage, runDeno, succeeded } from "../../cli/process.ts";

const BUNDLE = "lib/serve/page_bundle.json";
const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

Deno.test("serve, export and compile refuse a missing or outdated page, and deno task bundle rebuilds it", async (test) => {
  using folder = new TemporaryFolder();
  for (const name of [...codeFiles(PROGRAM), "deno.lock"]) {
    if (name === BUNDLE) continue;
    Deno.mkdirSync(dirname(folder.at(name)), { recursive: true });
    Deno.copyFileSync(join(ROOT, name), folder.at(name));
  }
  const run = (name: string, ...flags: string[]) => (...args: string[]): Promise<ProcessResult> =>
    runDeno(["--allow-read", ...flags, folder.at(name), ...args]);
  const main = run("tasks/main.ts", "--allow-write", "--allow-run");
  const checkpoint = ["--checkpoint", folder.at("none")];
  const asking = {
    serve: ["serve", ...checkpoint],
    export: ["export", ...checkpoint, "--output", folder.at("site")],
    compile: ["compile", "--output", folder.at("one")],
  };
  const refuse = async (state: string) => {
    for (const [action, args] of Object.entries(asking)) {
      const message = `Cannot ${action}: the page's bundle is ${state}; run deno task bundle\n`;
      await refused(main(...args), 1, message);
    }
  };
  const make = () =>
    succeeded(run("lib/serve/site/bundle.ts", `--allow-write=${folder.at("lib/serve")}`, "--allow-run")());

  await test.step("missing", async () => {
    await refuse("missing");
    // With --mcp no page is served, so the bundle is not needed.
    await refused(main(...asking.serve, "--mcp"), 1, checkpoint[1]);
  });

  await test.step("truncated", async () => {
    Deno.writeTextFileSync(folder.at(BUNDLE), '{"sources":');
    await refuse("missing");
  });

  await test.step("built, and kept without write permission while its sources are unchanged", async () => {
    await make();
    await refused(main(...asking.serve), 1, checkpoint[1]);
    assertEquals((await succeeded(run("lib/serve/site/bundle.ts", "--allow-run")())).stdout, "");
  });

  await test.step("outdated: a kernel has changed", async () => {
    Deno.writeTextFileSync(folder.at("kernels/copy.wgsl"), "\n", { append: true });
    await refuse("outdated");
    await make();
    await refused(main(...asking.serve), 1, checkpoint[1]);
  });

  await test.step("outdated: a source is gone", async () => {
    Deno.removeSync(folder.at("lib/serve/page/icon.svg"));
    await refuse("outdated");
  });

  await test.step("a package without a lock file uses its bundle unchecked", async () => {
    Deno.removeSync(folder.at("deno.lock"));
    // Without a lock file Deno asks npm for versions and says so, unless they are cached.
    await refused(run("tasks/main.ts", "--no-lock", "--quiet")(...asking.serve), 1, checkpoint[1]);
  });
});

Deno.test("the page's script does not contain zod, which compiles code against the policy", async () => {
  requirePage();
  const page = await readPage("test");
  const hasZod = (name: string) => new TextDecoder().decode(page.get(name)).includes("ZodError");
  assertEquals(["page.js", "worker.js"].map(hasZod), [false, true]);
});
