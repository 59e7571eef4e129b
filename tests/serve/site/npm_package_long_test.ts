/** Packs, installs and runs the npm package of a model with npm and Node. Downloads other npm packages. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { programsAreMissing } from "../../cli/missing_programs.ts";
import { succeeded } from "../../cli/process.ts";
import { tinyLocatedModel } from "../../query/adapt/tiny_rows.ts";
import { withRowCheckpoint } from "../../query/adapt/row_checkpoint.ts";
import { exportPackage, runIn } from "./npm_project.ts";

/** The oldest supported Node, the newest unsupported one, and Dawn. */
const [NODE_22, NODE_20, WEBGPU] = ["node@22.0.0", "node@20.20.2", "webgpu@0.6.2"];

Deno.test({
  name: "npm, package linters and Node accept the package of export --form npm",
  ignore: programsAreMissing(["npm"]),
  fn: (test) =>
    withRowCheckpoint(async (at) => {
      const { program, check } = await exportPackage(at("run"), at("package"));
      const npm = (folder: string, ...args: string[]) => succeeded(runIn(folder, "npm", ...args));
      const project = async (name: string, ...packages: string[]) => {
        Deno.mkdirSync(at(name));
        Deno.writeTextFileSync(at(`${name}/package.json`), '{"type": "module"}');
        Deno.writeTextFileSync(at(`${name}/program.js`), program);
        await npm(at(name), "install", ...packages);
        return at(name);
      };
      /** The error of a program that does not catch it: one line among Node's, without a stack. */
      const refused = async (folder: string, node: string, found: string) => {
        const { code, stdout, stderr } = await runIn(folder, node, "program.js");
        assertEquals([code, stdout], [1, ""], stderr);
        assertMatch(stderr, /^\[error: Cannot run the model: .*\]$/m);
        assertStringIncludes(stderr, found);
        assertEquals(/^ +at /m.test(stderr), false, stderr);
      };
      await Deno.mkdir(at("nodes"));
      const nodes = await Promise.all([NODE_20, NODE_22].map(async (node) => {
        const { stdout } = await npm(at("nodes"), "exec", "--yes", "--package", node, "--", "which", "node");
        return stdout.trim();
      }));
      const [node20, node22] = nodes;

      await test.step("npm pack and package linters", async () => {
        await npm(at("package"), "pack", "--dry-run");
        await npm(at("package"), "exec", "--yes", "--", "publint@0.3.25", "--strict");
        const types = ["@arethetypeswrong/cli@0.18.5", "--profile", "esm-only", "--pack", "."];
        await npm(at("package"), "exec", "--yes", "--", ...types);
      });

      await test.step("installed from the packed file", async () => {
        const { stdout } = await npm(at("package"), "pack", "--silent", "--pack-destination", at("nodes"));
        const folder = await project("packed", at(`nodes/${stdout.trim()}`));
        await refused(folder, node22, "found no package webgpu");
        await npm(folder, "install", WEBGPU);
        check(await runIn(folder, node22, "program.js"), false);
        await refused(folder, node20, "found Node 20.20.2, expected Node 22 or later");
      });

      await test.step("installed as a link without packages beside it", async () => {
        check(
          await runIn("/", node22, `${await project("linked", at("package"), WEBGPU)}/program.js`),
          false,
        );
      });
    }, tinyLocatedModel()),
});
