/** Runs the examples of the library's front page and of README.md exactly as written. */
import { assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import * as library from "../../mod.ts";
import { CALIBRATION_LEVELS } from "../../lib/query/rtt/quantile_calibration.ts";
import { PlaceTable } from "../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../lib/data/addresses/places/open_places.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { writeTrainingRows } from "../train/training_runs.ts";
import { withCheckpoint } from "./tiny_checkpoint.ts";

const ROOT = new URL("../../", import.meta.url);
const PLACES = PlaceTable.of(await openPlaces([fromFileUrl(new URL("tests/data/places/city.csv", ROOT))]));

/** The TypeScript examples of a page or module comment that import the library. */
function examplesOf(path: string): string[] {
  const text = Deno.readTextFileSync(new URL(path, ROOT)).replace(/^ \* ?/gm, "");
  return [...text.matchAll(/```ts ignore\n([^]*?)```/g)].map(([, code]) => code);
}

/** Two lines of numbers, or of one number and an address or prefix. */
const PRINTED = /^[\d.e+-]+( [\d.e+-]+)+$|^([\d.e+-]+ )?[\da-f.:]+(\/\d+)?( [\d.e+-]+| no reply)?$/;

/** Writes the files that examples read in addition to the model. */
async function writeInputs(folder: string): Promise<void> {
  const { sha256 } = loadCheckpoint(join(folder, "runs/demo/train")).state.files.model;
  const run = { checkpoint: "run", step: 3, modelSha256: sha256, isPooled: false };
  Deno.mkdirSync(join(folder, "runs/demo/eval/time"), { recursive: true });
  Deno.writeTextFileSync(
    join(folder, "runs/demo/eval/time/report.json"),
    JSON.stringify({ run, calibration: { shares: CALIBRATION_LEVELS } }),
  );
  const ping = { type: "ping", af: 4, timestamp: 1750766400, msm_id: 1, prb_id: 2, size: 48 };
  const result = { ...ping, from: "192.0.2.1", dst_addr: "198.51.100.7", result: [{ rtt: 12.5 }] };
  Deno.writeTextFileSync(join(folder, "atlas.jsonl"), `${JSON.stringify(result)}\n`);
  await writeTrainingRows(join(folder, "data/rows"));
}

Deno.test("every value of the library appears in an example", () => {
  const code = examplesOf("mod.ts").join("\n").replace(/^import .*$|"[^"\n]*"/gm, "");
  assertEquals(Object.keys(library).filter((name) => !new RegExp(`\\b${name}\\b`).test(code)), []);
});

for (const [path, numExamples] of [["mod.ts", 7], ["README.md", 1]] as const) {
  Deno.test(`the examples of ${path} run on a tiny model`, () =>
    withCheckpoint(async (folder) => {
      const examples = examplesOf(path);
      assertEquals(examples.length, numExamples);
      await writeInputs(folder);
      // As README.md says. Deno asks npm for the versions of packages unless its cache has them.
      const imports = { "@ping-llm/ping-llm": `jsr:@ping-llm/ping-llm@^${library.VERSION}` };
      Deno.writeTextFileSync(
        join(folder, "deno.json"),
        JSON.stringify({ links: [fromFileUrl(ROOT)], imports }),
      );
      for (const code of examples) {
        const example = join(folder, "example.ts");
        Deno.writeTextFileSync(example, code);
        const { code: exitCode, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["run", "--quiet", "--check", "--allow-read", "--allow-write=.", example],
          env: { NO_COLOR: "1" },
          cwd: folder,
        }).output();
        assertEquals(exitCode, 0, new TextDecoder().decode(stderr));
        const lines = new TextDecoder().decode(stdout).trim().split("\n");
        assertEquals(lines.length, 2);
        for (const line of lines) assertMatch(line, PRINTED);
      }
    }, { run: "runs/demo/train", places: PLACES }));
}
