/** Padding over whole epochs, on row sizes made to be hard to pack and on real ones. @module */
import { assert } from "@std/assert";
import { BatchLoader } from "../../../lib/data/loader/batches.ts";
import { openProbeRows, type ProbeRowSource } from "../../../lib/data/loader/row_source.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { runStageProcess, succeeded } from "../../cli/process.ts";
import { realData } from "../measurement_files/batches.ts";
import { syntheticRow } from "./synthetic_rows.ts";
import { MemoryRowSource } from "./memory_rows.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

/** Share of the tokens of an epoch that are padding, at T = 1024. */
async function paddingOf(source: ProbeRowSource, epoch = 0): Promise<number> {
  const position = { epoch, block: 0, sequence: 0 };
  const loader = BatchLoader.open(source, { seed: 1, sequenceLength: 1024, batchSize: 1, position });
  let numTokens = 0;
  let numPaddingTokens = 0;
  while (loader.position.epoch === epoch) {
    const batch = await loader.next();
    numTokens += batch.tokens.length;
    numPaddingTokens += batch.numPaddingTokens;
  }
  return numPaddingTokens / numTokens;
}

function check(name: string, padding: number): void {
  console.log(`padding, ${name}: ${(100 * padding).toFixed(3)} %`);
  assert(padding <= 0.01, `${name}: ${padding}`);
}

Deno.test("padding is at most 1 % where half the rows have 1 to 5 measurements and some 200,000", async (t) => {
  const random = new RandomStream(11, "test/padding");
  const small = () => 1 + random.below(5);
  const medium = () => Math.ceil(30 * random.exponential());
  const mixes: [string, number[], { ipv6?: number }][] = [
    ["half small, a few huge", [
      ...Array.from({ length: 1000 }, small),
      ...Array.from({ length: 996 }, medium),
      ...Array<number>(4).fill(200_000),
    ], {}],
    ["half small, half huge", [...Array.from({ length: 4 }, small), ...Array<number>(4).fill(200_000)], {}],
    ["the same, IPv6 only", [...Array.from({ length: 4 }, small), ...Array<number>(4).fill(200_000)], {
      ipv6: 1,
    }],
    ["one huge row among small ones", [...Array.from({ length: 2000 }, small), 200_000], {}],
  ];
  for (const [name, sizes, options] of mixes) {
    await t.step(name, async () => {
      const rows = sizes.map((size, row) => syntheticRow(12, row, size, options));
      check(name, await paddingOf(new MemoryRowSource(rows)));
    });
  }
});

Deno.test("padding is at most 1 % on real measurements, for each way of grouping them", () =>
  withFolder(async (folder) => {
    const input = realData("atlas/menog-2019-05");
    const parquet = `${folder}/menog.parquet`;
    const run = async (...args: string[]) => {
      await succeeded(runStageProcess([...args, "--quiet", "--json"]));
    };
    await run("import", "--input", input, "--output", parquet);
    for (const groupBy of ["src_addr", "prb_id"]) {
      const output = `${folder}/${groupBy}`;
      await run("probe-rows", "--input", parquet, "--output", output, "--group-by", groupBy);
      using source = await openProbeRows(output, "train");
      check(`menog-2019-05 by ${groupBy}, ${source.numRows} rows`, await paddingOf(source));
    }
  }));
