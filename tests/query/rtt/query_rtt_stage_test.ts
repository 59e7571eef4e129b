import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { FormatError, UserError } from "../../../lib/base/errors.ts";
import { loadModel } from "../../../lib/query/files/load_model.ts";
import { runStageProcess } from "../../cli/process.ts";
import { faultOfXml } from "../../base/report/xml.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";

Deno.test("query rtt between prefixes gives a mixture with its errors, a picture, and says what it took", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const plot = join(folder, "plots", "rtt.svg");
    const args = [
      "query",
      "rtt",
      "--checkpoint",
      checkpoint,
      "--src",
      "10.2.3.4/16",
      "--dst",
      "198.51.100.0/25",
    ];
    const options = ["--draws", "12", "--at", "5,100", "--quantiles", "0.5", "--seed", "3"];
    const { code, stdout, stderr } = await runStageProcess([...args, ...options, "--json", "--plot", plot]);
    assertEquals(code, 0, stderr);
    const { src, drawn, at, quantilesMs, notes, pFailed, meanMs } = JSON.parse(stdout);
    assertEquals([src, drawn.numDraws, at.length], ["10.2.3.4/16", 12, 2]);
    assert(drawn.sourceProbability > 0 && drawn.destinationProbability > 0);
    assert(drawn.standardErrors.pFailed > 0 && drawn.standardErrors.quantilesMs["0.5"] > 0);
    assert(at[0].cdf < at[1].cdf && quantilesMs["0.5"] > 0 && pFailed > 0);
    assertEquals(notes[0], "10.2.3.4/16 has bits after the prefix: taken as 10.2.0.0/16");
    // A model that knows nothing gives every exponent its share, up to 51 days; no ping reports those.
    assertEquals(notes.length, 1);
    assert(meanMs > 0 && meanMs <= 60_000, `${meanMs} ms`);
    assertStringIncludes(stderr, notes[0]);
    const svg = Deno.readTextFileSync(plot);
    assertEquals(faultOfXml(svg), undefined);
    assertStringIncludes(svg, "10.2.3.4/16 -&gt; 198.51.100.0/25");
    const text = await runStageProcess([...args, ...options]);
    assertStringIncludes(text.stdout, "of 12 draws from the model");
    assertStringIncludes(text.stdout, "P(RTT <= 100 ms)");
  }));

Deno.test("query rtt refuses what is no prefix, RTT or number of draws in one line, with exit code 2", () =>
  withCheckpoint(async (_, checkpoint) => {
    const args = ["query", "rtt", "--checkpoint", checkpoint, "--src", "10.2.3.4"];
    for (
      const [wrong, message] of [
        [["--dst", "10.0.0.0/33"], "found length 33, expected 0 to 32"],
        [["--dst", "example.org"], "expected an IPv4 or IPv6 address or prefix"],
        [["--dst", "10.0.0.1", "--at", "5,-1"], "numbers of at least 0"],
        [["--dst", "10.0.0.1", "--draws", "1"], "--draws 1"],
        [["--dst", "10.0.0.1", "--draws", "131073"], "--draws 131073"],
        [["--dst", "1".repeat(400)], "1…: expected an IPv4 or IPv6 address or prefix"],
      ] as const
    ) {
      const { code, stderr } = await runStageProcess([...args, ...wrong]);
      assertEquals([code, stderr.trim().split("\n").length], [2, 1], stderr);
      assertStringIncludes(stderr, message);
    }
  }));

Deno.test("loadModel() refuses a folder without checkpoints and a model of another vocabulary", () =>
  withCheckpoint(async (folder, checkpoint) => {
    await assertRejects(() => loadModel(join(folder, "nowhere")), UserError, "nowhere");
    await assertRejects(() => loadModel(checkpoint), FormatError, "vocabulary v1, expected v2");
  }, { vocabulary: "v1" }));
