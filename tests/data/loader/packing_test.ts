import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import type { Context, ContextMeasurement } from "../../../lib/data/tokens/contexts.ts";
import { packContexts, type Sequence } from "../../../lib/data/loader/packing.ts";
import { FIELD_ORDERS, prefixLengths } from "../../../lib/data/tokens/vocab_v2.ts";
import { BatchLoader } from "../../../lib/data/loader/batches.ts";
import { openProbeRows, type ProbeRowSource } from "../../../lib/data/loader/row_source.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { runStageProcess, succeeded } from "../../cli/process.ts";
import { realData } from "../measurement_files/batches.ts";
import { MemoryRowSource, syntheticRow } from "./synthetic_rows.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

const NOW_S = 1_750_000_000;
let nextCode = 0;

/** A measurement with a unique code. */
function measurement(options: { ipv6: boolean; failed: boolean; timeS: number | null }): ContextMeasurement {
  nextCode = nextCode % 1000 + 1;
  const address = new Uint8Array(options.ipv6 ? 16 : 4);
  return {
    source: address,
    destination: address,
    rttCode: options.failed ? null : nextCode,
    rttMs: options.failed ? null : nextCode / 1000,
    timeS: options.timeS,
    order: FIELD_ORDERS[0],
    rttHistory: undefined,
  };
}

function context(measurements: ContextMeasurement[]): Context {
  return { mode: "partial", measurements, numTokens: prefixLengths(measurements)[measurements.length] };
}

const anyContext = (maxTokens: number) =>
  fc.array(
    fc.record({ ipv6: fc.boolean(), failed: fc.boolean(), timeS: fc.option(fc.nat(2000)) }),
    { minLength: 1, maxLength: 80 },
  ).map((options) => {
    let timeS = NOW_S;
    const all = options.map((o) => measurement({ ...o, timeS: o.timeS === null ? null : timeS += o.timeS }));
    const lengths = prefixLengths(all);
    return context(all.slice(0, Math.max(1, lengths.findLastIndex((length) => length <= maxTokens))));
  });

function checkSequences(sequences: Sequence[], maxTokens: number): void {
  for (const { contexts, numTokens } of sequences) {
    assert(numTokens <= maxTokens && contexts.length > 0);
    for (const { measurements, numTokens } of contexts) {
      assert(measurements.length > 0);
      assertEquals(numTokens, prefixLengths(measurements)[measurements.length]);
    }
    assertEquals(numTokens, contexts.reduce((sum, c) => sum + c.numTokens, 0));
  }
}

const allOf = (sequences: Sequence[]) => sequences.flatMap((s) => s.contexts.flatMap((c) => c.measurements));

Deno.test("packContexts() places every measurement once and overfills no sequence", () => {
  for (const maxTokens of [47, 100, 257, 1025]) {
    fc.assert(
      fc.property(fc.array(anyContext(maxTokens), { maxLength: 30 }), (contexts) => {
        const sequences = packContexts(contexts, maxTokens, () => undefined);
        checkSequences(sequences, maxTokens);
        const wanted = contexts.flatMap((c) => c.measurements);
        const found = allOf(sequences);
        assertEquals(found.length, wanted.length);
        assertEquals(new Set(found), new Set(wanted));
      }),
      { numRuns: 60 },
    );
  }
});

Deno.test("packContexts() fills the last sequence with extra contexts and keeps all others", () => {
  const contexts = Array.from(
    { length: 10 },
    () => context([measurement({ ipv6: false, failed: false, timeS: null })]),
  );
  let numExtra = 0;
  const sequences = packContexts(contexts, 1025, () => {
    numExtra++;
    return context([measurement({ ipv6: false, failed: numExtra % 2 === 0, timeS: null })]);
  });
  checkSequences(sequences, 1025);
  assertEquals(sequences.length, 1);
  assert(sequences[0].numTokens >= 1025 - 12, `${sequences[0].numTokens}`);
  assertEquals(
    new Set(allOf(sequences)).intersection(new Set(contexts.flatMap((c) => c.measurements))).size,
    10,
  );
});

Deno.test("packContexts() stops when extra contexts cannot fit", () => {
  const ipv6 = () => context([measurement({ ipv6: true, failed: false, timeS: null })]);
  const sequences = packContexts([ipv6()], 60, ipv6);
  checkSequences(sequences, 60);
  assertEquals(allOf(sequences).length, 1);
});

Deno.test("packContexts() cuts contexts that would leave part of their sequence empty", () => {
  // Contexts of 588 tokens: two do not fit in 1025, so without cuts 43 % would stay empty.
  const contexts = Array.from(
    { length: 40 },
    () => context(Array.from({ length: 42 }, () => measurement({ ipv6: false, failed: false, timeS: null }))),
  );
  const sequences = packContexts(contexts, 1025, () => undefined);
  checkSequences(sequences, 1025);
  assertEquals(sequences.length, Math.ceil(40 * 588 / 1022));
});

/** The share of padding in the tokens of the first epoch, at T = 1024. */
async function paddingOf(source: ProbeRowSource): Promise<number> {
  const loader = BatchLoader.open(source, { seed: 1, sequenceLength: 1024, batchSize: 1 });
  let numTokens = 0;
  let numPaddingTokens = 0;
  while (loader.position.epoch === 0) {
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

Deno.test("padding is at most 1 % on mixes of row sizes", async (t) => {
  const random = new RandomStream(11, "test/padding");
  const many = (length: number, size: () => number) => Array.from({ length }, size);
  const small = () => 1 + random.below(5);
  const medium = () => Math.ceil(25 * random.exponential());
  const large = () => Math.ceil(2000 * random.exponential());
  const mixes: [string, number[], { ipv6?: number; failed?: number; meanGapS?: number }][] = [
    ["as published", many(1500, medium), {}],
    ["IPv6 only, no failures, large rows", many(40, large), { ipv6: 1, failed: 0, meanGapS: 20 }],
    ["IPv4 only, no failures, large rows", many(40, large), { ipv6: 0, failed: 0, meanGapS: 20 }],
    ["tiny rows", many(3000, () => 1), {}],
    ["less than one sequence", many(5, small), {}],
    ["half small, a few huge", [...many(1000, small), ...many(996, medium), ...Array(4).fill(200_000)], {}],
    ["half small, half huge", [...many(4, small), ...Array(4).fill(200_000)], { ipv6: 1 }],
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
