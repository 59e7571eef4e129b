/**
 * Imports a file of RIPE Atlas results and prints how much more resident memory that took at its peak; run by
 * atlas_import_test.ts.
 *
 * @module
 */
import { importAtlas } from "../../lib/measurement/atlas_import.ts";

if (import.meta.main) {
  const [input, output] = Deno.args;
  const beforeBytes = Deno.memoryUsage().rss;
  let peakBytes = 0;
  const { rows, duplicates } = await importAtlas([input], output, {
    source: "auto",
    rtt: "mean",
    maxRejectRatio: 0,
    memoryLimitBytes: 1e9,
    rejectsPath: `${output}.rejects.jsonl`,
    onProgress: () => peakBytes = Math.max(peakBytes, Deno.memoryUsage().rss),
  });
  console.log(JSON.stringify({ rows, duplicates, moreBytes: peakBytes - beforeBytes }));
}
