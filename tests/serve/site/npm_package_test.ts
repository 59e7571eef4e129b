/** The npm package of a model, as other projects import it. */
import { assertEquals } from "@std/assert";
import { loadCheckpoint } from "../../../lib/train/checkpoint.ts";
import { writePool } from "../../../lib/train/checkpoint_files.ts";
import { poolOfMesh } from "../../model/pool/mesh_pool.ts";
import { tinyLocatedModel } from "../../query/adapt/tiny_rows.ts";
import { withRowCheckpoint } from "../../query/adapt/row_checkpoint.ts";
import { copyFolder } from "../../io/files/temporary_folder.ts";
import { exportPackage, runIn } from "./npm_project.ts";

/** A program with type errors, which the compiler must find. */
const TYPED = `import type { PingModel, RttAnswer, RttQuestion } from "ping-llm-model";
export const typed: PingModel = model;
export const medianMs = ({ quantiles_ms }: RttAnswer): number => quantiles_ms["0.5"];
export const question: RttQuestion = { src: "::1", dst: "::2", quantiles: [0.5], time: null };
// @ts-expect-error No destination.
export const wrong: RttQuestion = { src: "::1" };
`;

Deno.test("export --form npm writes a package that answers another project as query rtt does", () =>
  withRowCheckpoint(async (at) => {
    const { directory, state } = loadCheckpoint(at("run"));
    writePool(directory, poolOfMesh(), state.files.model.sha256);
    const { program, check } = await exportPackage(at("run"), at("package"));
    assertEquals([...Deno.readDirSync(at("package"))].map(({ name }) => name).sort(), [
      ..."LICENSE README.md index.d.ts index.js manifest.json model.js model.safetensors package.json".split(
        " ",
      ),
      "site.json",
      "training_data.safetensors",
    ]);
    // Copied as npm install --install-links does.
    copyFolder(at("package"), at("project/node_modules/ping-llm-model"));
    Deno.writeTextFileSync(at("project/package.json"), '{"type": "module"}');
    Deno.writeTextFileSync(at("project/program.ts"), program + TYPED);
    const flags = ["--no-prompt", "--check", `--allow-read=${at("project")}`];
    check(await runIn(at("project"), Deno.execPath(), "run", ...flags, "program.ts"), true);
  }, tinyLocatedModel()));
