import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  ANOMALY_KINDS,
  medianDeviation,
  rocAuc,
  studyAnomalies,
} from "../../../lib/query/files/anomalies.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { withTinyModel } from "../tiny_model.ts";
import { sampleRows, writeRows } from "./sample_rows.ts";

Deno.test("rocAuc() is the share of pairs in the right order, ties counted half", () => {
  assertEquals(rocAuc([3, 4], [1, 2]), 1);
  assertEquals(rocAuc([1, 2], [3, 4]), 0);
  assertEquals(rocAuc([1, 3], [2, 1]), (0.5 + 0 + 1 + 1) / 4);
});

Deno.test("medianDeviation() looks at the replies of the pair, else at all of the context", () => {
  const at = (lastByte: number, rttMs: number | null) => ({
    source: Uint8Array.of(192, 0, 2, 1),
    destination: Uint8Array.of(198, 51, 100, lastByte),
    rttCode: rttMs === null ? null : encodeRttCode(rttMs),
    timeS: 0,
  });
  const context = [at(1, 10), at(2, 90), at(1, 20), at(1, 30), at(1, null), at(2, 91)];
  assertAlmostEquals(medianDeviation({ measurement: at(1, 40), context }), Math.log(2), 2e-3);
  assertAlmostEquals(medianDeviation({ measurement: at(3, 60), context }), Math.log(2), 2e-3);
  assertEquals(medianDeviation({ measurement: at(3, 60), context: [] }), 0);
});

Deno.test("studyAnomalies() finds changes of constant RTTs by the running median", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    const rows = sampleRows(400);
    rows.rttMs = Float64Array.from(rows.dstAddr, (dst) => 20 + 10 * Number(dst.at(-1)));
    writeRows(folder.at("in.parquet"), rows);
    const options = { count: 25, heldOutShare: 0.5, maxContext: 3, seed: 0 };
    const kinds = await studyAnomalies(model, [folder.at("in.parquet")], options);
    assertEquals(kinds.map(({ kind }) => kind), [...ANOMALY_KINDS]);
    const [routeChange, rttHalved, spoofed] = kinds;
    assert(routeChange.medianDeviation > 0.95 && rttHalved.medianDeviation > 0.95);
    // RTTs depend on the destination alone here: naming another source changes nothing.
    assertAlmostEquals(spoofed.medianDeviation, 0.5, 0.15);
    assertEquals(kinds.map(({ numCopies }) => numCopies > 10), [true, true, true]);
    for (const { pValue, logLikelihood } of kinds) {
      for (const auc of [pValue, logLikelihood]) assert(auc >= 0 && auc <= 1, `AUC ${auc}`);
    }
  }));
