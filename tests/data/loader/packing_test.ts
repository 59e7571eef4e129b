import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Context, type ContextMeasurement, prefixLengths } from "../../../lib/data/tokens/contexts.ts";
import { packContexts, type Sequence } from "../../../lib/data/loader/packing.ts";
import { FIELD_ORDERS } from "../../../lib/data/tokens/vocab_v2.ts";

const NOW_S = 1_750_000_000;
let nextCode = 0;

/** A measurement that differs from all others in its code. */
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

Deno.test("packContexts() fills the last sequence with extra contexts and loses no other", () => {
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

Deno.test("packContexts() ends when extra contexts cannot fit", () => {
  const ipv6 = () => context([measurement({ ipv6: true, failed: false, timeS: null })]);
  const sequences = packContexts([ipv6()], 60, ipv6);
  checkSequences(sequences, 60);
  assertEquals(allOf(sequences).length, 1);
});

Deno.test("packContexts() cuts contexts that would each leave a part of their sequence empty", () => {
  // Contexts of 588 tokens: two do not fit 1025, so without a cut 43 % would stay empty.
  const contexts = Array.from(
    { length: 40 },
    () => context(Array.from({ length: 42 }, () => measurement({ ipv6: false, failed: false, timeS: null }))),
  );
  const sequences = packContexts(contexts, 1025, () => undefined);
  checkSequences(sequences, 1025);
  assertEquals(sequences.length, Math.ceil(40 * 588 / 1022));
});

Deno.test("packContexts() gives nothing for nothing", () => {
  assertEquals(packContexts([], 1025, () => undefined), []);
});
