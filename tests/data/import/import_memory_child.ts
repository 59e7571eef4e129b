/**
 * Imports a file of RIPE Atlas results, or a CSV file, and prints how much more resident memory that took at its peak;
 * run by atlas_import_test.ts and csv_import_test.ts.
 *
 * @module
 */
import { importAtlas } from "../../../lib/data/import/atlas_import.ts";
import { importCsv } from "../../../lib/data/import/csv_import.ts";

if (import.meta.main) {
  const [input, output] = Deno.args;
  const beforeBytes = Deno.memoryUsage().rss;
  let peakBytes = 0;
  const options = {
    maxRejectRatio: 0,
    rejectsPath: `${output}.rejects.jsonl`,
    onProgress: () => peakBytes = Math.max(peakBytes, Deno.memoryUsage().rss),
  };
  const { rows, duplicates } = input.endsWith(".csv")
    ? await importCsv([input], output, options)
    : await importAtlas([input], output, { ...options, source: "auto", rtt: "mean", memoryLimitBytes: 1e9 });
  console.log(JSON.stringify({ rows, duplicates, moreBytes: peakBytes - beforeBytes }));
}
