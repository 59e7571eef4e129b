/**
 * The published package as projects and people get it. Deno asks npm for the versions of the packages that it
 * needs, unless they are cached.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { VERSION } from "../../lib/base/version.ts";
import { readPage } from "../../lib/serve/page_files.ts";
import { refused, succeed, succeeded } from "../cli/process.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { LocalRegistry } from "./local_registry.ts";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));
const PACKAGE = "jsr:@ping-llm/ping-llm";
/** First line of `--version`: a package has no commit. */
const FIRST_LINE = new RegExp(`^ping-llm ${VERSION}\n`);
const PAIR = ["--src", "192.0.2.1", "--dst", "198.51.100.7"];

Deno.test("the published package works outside the checkout", (test) =>
  withCheckpoint(async (folder, checkpoint) => {
    await using registry = await LocalRegistry.of(ROOT);
    const run = (...args: string[]) => registry.run(["run", "--quiet", "-A", PACKAGE, ...args], folder);

    await test.step("a project imports it", async () => {
      const program = `import { loadModel } from "${PACKAGE}@^${VERSION}";
        using model = await loadModel("${checkpoint}");
        console.log((await model.rttDistribution({ src: "${PAIR[1]}", dst: "${
        PAIR[3]
      }" })).quantileMs(0.5));`;
      Deno.writeTextFileSync(join(folder, "program.ts"), program);
      const read = `--allow-read=${checkpoint}`;
      const { stdout } = await succeeded(registry.run(["run", "--quiet", read, "program.ts"], folder));
      assertEquals(Number(stdout) > 0, true, stdout);
    });

    await test.step("it runs as a command", async () => {
      assertMatch((await succeeded(run("--version"))).stdout, FIRST_LINE);
      assertEquals(await succeeded(run("completion", "bash")), await succeed("completion", "bash"));
      await refused(run("query", "rtt", "--checkpiont", checkpoint), 2, "did you mean checkpoint?");
      const question = ["query", "rtt", "--checkpoint", checkpoint, ...PAIR];
      assertEquals(await succeeded(run(...question)), await succeed(...question));
      // Its threads are loaded from the registry too.
      await succeeded(run("synth", "--rows", "2000", "--output", join(folder, "synth.parquet")));
      await succeeded(run("export", "--checkpoint", checkpoint, "--output", join(folder, "site")));
      // Publishing must not change what browsers load.
      const bundled = (await readPage("test")).get("worker.js");
      assertEquals(Deno.readFileSync(join(folder, "site/worker.js")), bundled);
    });

    await test.step("it reports missing permissions and what only a checkout can do", async () => {
      await refused(
        registry.run(["run", "--quiet", "--no-prompt", PACKAGE, "synth"], folder),
        1,
        "put -A after deno run",
      );
      await refused(run("demo", "--output", join(folder, "demo"), "--quiet"), 2, "use --synthetic");
      await refused(
        run("compile", "--output", join(folder, "one")),
        1,
        "run deno task compile in a checkout",
      );
    });

    await test.step("deno install installs it as the command ping-llm", async () => {
      await succeeded(registry.run(["install", "--quiet", "-gA", "--root", folder, PACKAGE], folder));
      const { code, stdout } = await registry.start(join(folder, "bin/ping-llm"), ["--version"], folder)
        .output();
      assertEquals(code, 0);
      assertMatch(new TextDecoder().decode(stdout), FIRST_LINE);
    });

    await test.step("it serves, and a signal reaches the stage", async () => {
      const args = ["run", "-A", PACKAGE, "serve", "--checkpoint", checkpoint, "--port", "0", "--json"];
      const child = registry.start(Deno.execPath(), args, folder).spawn();
      const stderr = new Response(child.stderr).text();
      const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const { url } = JSON.parse((await stdout.read()).value ?? await stderr);
      const question = new URLSearchParams({ src: PAIR[1], dst: PAIR[3] });
      const answer = await fetch(`${url}v1/rtt?${question}`);
      assertEquals(answer.status, 200, await answer.text());
      child.kill("SIGTERM");
      assertEquals((await child.status).code, 75, await stderr);
      assertStringIncludes(await stderr, "SIGTERM: finishing");
    });
  }, { run: "run" }));
