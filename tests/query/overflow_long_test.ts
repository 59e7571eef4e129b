/** Models whose numbers overflow float32 cause errors, never answers. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { runStageProcess, succeed } from "../cli/process.ts";
import { withCheckpoint } from "./tiny_checkpoint.ts";
import { withTinyModel } from "./tiny_model.ts";

const PAIR = { src: "192.0.2.1", dst: "198.51.100.7" };

Deno.test("a model refuses to answer if a log-probability is not finite, and answers if all are", () =>
  withTinyModel(async (model) => {
    for (const [name, factor] of [["lm_head.weight", NaN], ["blocks.1.attn.v_proj.weight", 1e38]] as const) {
      const values = model.weights.get(name);
      assert(values);
      const whole = values.slice();
      values.forEach((value, i) => values[i] = value * factor);
      const broken = PingModel.of(model.config, model.registry, model);
      const found = "found a log-probability of NaN";
      await assertRejects(() => broken.rttDistribution(PAIR), UserError, found);
      const take = () => {};
      const likely = () => broken.likelyRttDistributions([QUERY], take, { maxSpreadMass: 0, codes: [null] });
      await assertRejects(likely, UserError, found);
      values.set(whole);
    }
    const mended = PingModel.of(model.config, model.registry, model);
    const alone = await model.rttDistribution(PAIR);
    assertEquals((await mended.rttDistribution(PAIR)).quantileMs(0.5), alone.quantileMs(0.5));
  }));

const QUERY = {
  source: Uint8Array.of(192, 0, 2, 1),
  destination: Uint8Array.of(198, 51, 100, 7),
  timeS: null,
  context: [],
};

Deno.test("queries and score fail with a one-line error if hidden states overflow", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const at = (name: string) => join(folder, name);
    await succeed(...["synth", "--rows", "20", "--probes", "3", "--output", at("rows.parquet")]);
    Deno.writeTextFileSync(at("queries.csv"), "src,dst\n192.0.2.1,192.0.2.2\n");
    const pair = ["--src", PAIR.src, "--dst", PAIR.dst];
    const destinations = ["query", "destinations", "--src", PAIR.src, "--rtt", "20"];
    const commands = [
      ["query", "rtt", ...pair],
      ["query", "rtt", "--src", "192.0.2.0/24", "--dst", PAIR.dst],
      ["query", "rtt", "--queries", at("queries.csv")],
      destinations,
      [...destinations, "--candidates", "5"],
      ["query", "likelihood", "--input", at("rows.parquet")],
      ["query", "sample", "--count", "3"],
      ["score", "--input", at("rows.parquet"), "--output", at("scored.parquet")],
    ];
    for (const command of commands) {
      const { code, stdout, stderr } = await runStageProcess([
        ...command,
        "--checkpoint",
        checkpoint,
        "--quiet",
      ]);
      assertEquals([code, stdout, stderr.trim().split("\n").length], [1, "", 1], `${command}: ${stderr}`);
      assertStringIncludes(stderr, "error: Cannot use the model: found ");
    }
    assertEquals(exists(at("scored.parquet")), false);
  }, { scale: 1e10 }));
