/**
 * Imports a file and prints by how much resident memory rose at its peak; run by import_measurements_test.ts.
 *
 * @module
 */
import { importMeasurements } from "../../../lib/data/import/import_measurements.ts";

if (import.meta.main) {
  const [input, output] = Deno.args;
  const beforeBytes = Deno.memoryUsage().rss;
  let peakBytes = 0;
  const options = {
    maxRejectRatio: 0,
    rejectsPath: `${output}.rejects.jsonl`,
    onProgress: () => peakBytes = Math.max(peakBytes, Deno.memoryUsage().rss),
  };
  const { rows, duplicates } = await importMeasurements([input], output, {
    ...{ source: "auto", rtt: "mean", memoryLimitBytes: 1e9 },
    ...options,
  });
  console.log(JSON.stringify({ rows, duplicates, moreBytes: peakBytes - beforeBytes }));
}
