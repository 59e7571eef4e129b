/** The npm package with a model in it, as projects elsewhere import it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import { tinyLocatedModel } from "../../query/adapt/tiny_rows.ts";
import { withRowCheckpoint } from "../../query/adapt/row_checkpoint.ts";
import { runStageProcess } from "../../cli/process.ts";

const PAIR = { src_addr: "192.0.2.1", dst_addr: "198.51.100.7" };
/** The lines of a project's program after those of the package's README, before it closes the model. */
const MORE =
  `const { nearest } = await model.nearest({ src_addr: "192.0.2.1", candidates: ["198.51.100.7"] });
const fault = await model.rtt({ src_addr: "nobody", dst_addr: "::1" }).catch(({ message }) => message);
const { examples, step } = await model.model();
console.log(JSON.stringify([quantiles_ms, p_failed, nearest[0].median_ms, fault, examples.length > 0 && step]));
`;
/** A program with type errors that the compiler must find. */
const TYPED = `import type { PingModel, RttAnswer, RttQuestion } from "ping-llm-model";
export const typed: PingModel = model;
export const medianMs = ({ quantiles_ms }: RttAnswer): number => quantiles_ms["0.5"];
export const question: RttQuestion = { src_addr: "::1", dst_addr: "::2", quantiles: [0.5], timestamp: null };
// @ts-expect-error No destination.
export const wrong: RttQuestion = { src_addr: "::1" };
`;

async function run(program: string, args: string[], cwd: string) {
  const { code, stdout, stderr } = await new Deno.Command(program, { args, cwd, env: { NO_COLOR: "1" } })
    .output()
    .catch(() => ({ code: -1, stdout: new Uint8Array(), stderr: new Uint8Array() }));
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** A project with the package in its `node_modules`, as `npm install --install-links` copies it. */
function makeProject(folder: string, package_: string): void {
  const copy = `${folder}/node_modules/ping-llm-model`;
  Deno.mkdirSync(copy, { recursive: true });
  for (const { name } of Deno.readDirSync(package_)) {
    Deno.copyFileSync(`${package_}/${name}`, `${copy}/${name}`);
  }
  Deno.writeTextFileSync(`${folder}/package.json`, '{"type": "module"}');
}

const DAWN = fromFileUrl(new URL("../../tensor/dawn/node_modules/webgpu", import.meta.url));
const { stdout: nodeVersion } = await run("node", ["--version"], ".");
const missing = !(Number(/^v(\d+)/.exec(nodeVersion)?.[1]) >= 22)
  ? `found ${nodeVersion.trim() || "none"}, expected Node 22 or later`
  : !exists(DAWN)
  ? "found no package webgpu, which deno task test:dawn installs"
  : undefined;
if (missing !== undefined) console.log(`left out: the package in Node: ${missing}`);

Deno.test("export --form npm writes a package that another project asks, with the answers of query rtt", (test) =>
  withRowCheckpoint(async (at) => {
    const args = ["export", "--checkpoint", at("run"), "--output", at("package"), "--form", "npm"];
    const { code, stdout, stderr } = await runStageProcess(args);
    assertEquals(code, 0, stderr);
    assertStringIncludes(stdout, `run npm install --install-links ${at("package")}`);
    const names = "README.md index.d.ts index.js manifest.json model.safetensors package.json".split(" ");
    assertEquals([...Deno.readDirSync(at("package"))].map(({ name }) => name).sort(), [
      ...names,
      "site.json",
    ]);
    const asked = ["--src", PAIR.src_addr, "--dst", PAIR.dst_addr, "--json"];
    const query = JSON.parse(
      (await runStageProcess(["query", "rtt", "--checkpoint", at("run"), ...asked])).stdout,
    );
    const [, example] = /```js\n([^]*?)```/.exec(Deno.readTextFileSync(at("package/README.md"))) ?? [];
    assertStringIncludes(Deno.readTextFileSync("lib/serve/site/README.md"), example);
    const program = example.replace("model.close();", (close) => MORE + close);
    const check = (output: { code: number; stdout: string; stderr: string }, isExact: boolean) => {
      assertEquals(output.code, 0, output.stderr);
      const [quantilesMs, pFailed, medianMs, fault, step] = JSON.parse(output.stdout.split("\n")[1]);
      assertEquals(output.stdout.split("\n")[0], `${quantilesMs["0.5"]} ${pFailed}`);
      const found = [...Object.values<number>(quantilesMs), pFailed, medianMs];
      const expected = [...Object.values<number>(query.quantilesMs), query.pFailed, query.quantilesMs["0.5"]];
      // Another driver rounds otherwise: one RTT code at most.
      found.forEach((value, i) =>
        assert(Math.abs(value / expected[i] - 1) <= (isExact ? 0 : 0.0016), output.stdout)
      );
      assertEquals(Object.keys(quantilesMs), Object.keys(query.quantilesMs));
      assertStringIncludes(fault, 'Cannot read "nobody": expected an IPv4 or IPv6 address or prefix');
      assertEquals(step, 3);
    };

    await test.step("in Deno, with its types", async () => {
      makeProject(at("project"), at("package"));
      Deno.writeTextFileSync(at("project/program.ts"), program + TYPED);
      const flags = ["--no-prompt", "--check", `--allow-read=${at("project")}`];
      check(await run(Deno.execPath(), ["run", ...flags, "program.ts"], at("project")), true);
    });

    await test.step({
      name: "in Node, on the package webgpu",
      ignore: missing !== undefined,
      fn: async () => {
        makeProject(at("node"), at("package"));
        Deno.symlinkSync(DAWN, at("node/node_modules/webgpu"));
        Deno.writeTextFileSync(at("node/program.js"), program);
        check(await run("node", ["program.js"], at("node")), false);
      },
    });
  }, tinyLocatedModel()));
