import { assert, assertAlmostEquals, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { FormatError, UserError } from "../../lib/base/errors.ts";
import { loadModel } from "../../lib/query/files/load_model.ts";
import { refused, runStageProcess, succeed } from "../cli/process.ts";
import { faultOfXml } from "../base/report/xml.ts";
import { withCheckpoint } from "./tiny_checkpoint.ts";

Deno.test("query rtt between prefixes reports a mixture with errors, plots it and notes corrected prefixes", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const plot = join(folder, "plots", "rtt.svg");
    const args = [
      ...["query", "rtt", "--checkpoint", checkpoint, "--src", "10.2.3.4/16"],
      ...["--dst", "198.51.100.0/25"],
    ];
    const options = [
      "--draws",
      "12",
      "--at",
      "5,100",
      "--quantiles",
      "0.5",
      "--seed",
      "3",
      "--histogram",
      "64",
    ];
    const { stdout, stderr } = await succeed(...args, ...options, "--json", "--plot", plot);
    const { src, drawn, at, quantiles_ms, notes, p_failed, mean_ms, histogram } = JSON.parse(stdout);
    const mass = histogram.reduce((sum: number, bar: { probability: number }) => sum + bar.probability, 0);
    assertAlmostEquals(mass, 0.99, 0.02);
    assertEquals([src, drawn.num_draws, at.length], ["10.2.3.4/16", 12, 2]);
    assert(drawn.source_probability > 0 && drawn.destination_probability > 0);
    assert(drawn.standard_errors.p_failed > 0 && drawn.standard_errors.quantiles_ms["0.5"] > 0);
    assert(at[0].cdf < at[1].cdf && quantiles_ms["0.5"] > 0 && p_failed > 0);
    assertEquals(notes[0], "10.2.3.4/16 has bits set after the prefix: read as 10.2.0.0/16");
    // An untrained model gives every exponent its share, up to 51 days, which no ping reports.
    assertEquals(notes.length, 1);
    assert(mean_ms > 0 && mean_ms <= 60_000, `${mean_ms} ms`);
    assertStringIncludes(stderr, notes[0]);
    const svg = Deno.readTextFileSync(plot);
    assertEquals(faultOfXml(svg), undefined);
    assertStringIncludes(svg, "10.2.3.4/16 -&gt; 198.51.100.0/25");
    const text = await runStageProcess([...args, ...options]);
    assertStringIncludes(text.stdout, "of 12 draws from the model");
    assertStringIncludes(text.stdout, "P(RTT <= 100 ms)");
  }));

Deno.test("query rtt --table writes the whole distribution, whose sums match --at and the text", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const table = join(folder, "new", "answer.parquet");
    const args = ["query", "rtt", "--checkpoint", checkpoint, "--src", "10.2.3.4", "--dst"];
    const asked = ["198.51.100.7", "--at", "5,100", "--table", table];
    const { at, p_failed } = JSON.parse((await succeed(...args, ...asked, "--json")).stdout);
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(table), compressors });
    assertEquals(rows.length, 33_792);
    const sum = (isCounted: (row: Record<string, number>) => boolean) =>
      rows.reduce((sum, row) => sum + (isCounted(row) ? row.probability : 0), 0);
    assertAlmostEquals(sum(() => true), 1, 1e-9);
    assertAlmostEquals(sum(({ rtt_ms }) => Number.isNaN(rtt_ms)), p_failed, 1e-12);
    for (const { rtt_ms: rttMs, cdf } of at) {
      assertAlmostEquals(sum(({ low_ms }) => low_ms <= rttMs) / (1 - p_failed), cdf, 1e-9);
    }
    assert(rows.slice(0, -1).every(({ rtt_ms, low_ms, high_ms }) => low_ms <= rtt_ms && rtt_ms < high_ms));
    await succeed(...args, ...asked);
    await refused(runStageProcess([...args, "203.0.113.5", "--table", table]), 1, "--overwrite");
    await refused(runStageProcess([...args, "203.0.113.5", "--table", "t.csv"]), 2, "ends with .parquet");
  }));

Deno.test("loadModel() rejects a folder without checkpoints and a model with another vocabulary", () =>
  withCheckpoint(async (folder, checkpoint) => {
    await assertRejects(() => loadModel(join(folder, "nowhere")), UserError, "nowhere");
    await assertRejects(() => loadModel(checkpoint), FormatError, "vocabulary v1, expected v2");
  }, { vocabulary: "v1" }));
