import { assert, assertEquals } from "@std/assert";
import { writeAtlasLines } from "../../../lib/cli/bench/data_stages.ts";
import { synthesize } from "../../../lib/data/synth/synthesize.ts";
import { runStageProcess, succeeded } from "../process.ts";
import { joinBatches, readAll } from "../../data/measurement_files/batches.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

Deno.test("writeAtlasLines() writes results that import makes the same measurements of", () =>
  withFolder(async (folder) => {
    const [made, lines, imported] = [
      `${folder}/made.parquet`,
      `${folder}/lines.jsonl`,
      `${folder}/i.parquet`,
    ];
    await synthesize(made, { seed: 2, rows: 3000, probes: 20, destinations: 10, days: 2, ipv6Share: 0.4 });
    const { numRows, numBytes } = await writeAtlasLines(made, lines, 2500);
    assertEquals([numRows, numBytes], [2500, Deno.statSync(lines).size]);
    await succeeded(runStageProcess(["import", "--input", lines, "--output", imported]));
    const [wanted, found] = [
      joinBatches((await readAll([made])).batches),
      joinBatches((await readAll([imported])).batches),
    ];
    assertEquals(found.numRows, 2500);
    const firstRows = (values: Float64Array | undefined) => values?.subarray(0, 2500);
    assertEquals(found.srcAddr, wanted.srcAddr.slice(0, 2500));
    assertEquals(found.dstAddr, wanted.dstAddr.slice(0, 2500));
    for (const key of ["eventTimeUs", "msmId", "prbId", "sizeBytes", "packetErrorCount"] as const) {
      assertEquals(found[key], firstRows(wanted[key]), key);
    }
    for (const [row, rttMs] of found.rttMs.entries()) {
      assert(Math.abs(rttMs - wanted.rttMs[row]) <= 1e-6, `${rttMs} instead of ${wanted.rttMs[row]}`);
    }
  }));
