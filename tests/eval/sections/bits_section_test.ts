import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "@std/assert";
import { DEFAULT_SAMPLING, sampleContext } from "../../../lib/data/tokens/contexts.ts";
import { type ContextBits, evaluateBits } from "../../../lib/eval/sections/bits_section.ts";
import { prepareRow } from "../../../lib/data/loader/prepared_row.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { MEASUREMENT_START, TokenWriter } from "../../../lib/data/tokens/vocab_v2.ts";
import { MemoryRowSource, syntheticRow, syntheticRows } from "../../data/loader/synthetic_rows.ts";
import { nextLogProbabilities, TINY_CONFIG, withTinyModel } from "../../query/tiny_model.ts";

const ROWS = new MemoryRowSource(syntheticRows(5, 12, 60, { failed: 0.2 }));
const FIELDS = ["source", "destination", "result", "time"] as const;

function assertSumsAgree(bits: ContextBits): void {
  const { numMeasurements, numTokens, bitsPerMeasurement, bitsPerToken, byTokenType, byPosition } = bits;
  const sumOf = (types: ContextBits["byTokenType"]) =>
    types.reduce((sum, { numTokens, meanBits }) => sum + numTokens * meanBits, 0);
  assert(bitsPerMeasurement !== null && bitsPerToken !== null);
  assertEquals(byTokenType.reduce((sum, type) => sum + type.numTokens, 0), numTokens);
  assertAlmostEquals(sumOf(byTokenType), numTokens * bitsPerToken, 1e-6);
  const ofMeasurements = byTokenType.filter(({ tokenType }) => tokenType !== "MeasurementStart");
  assertAlmostEquals(sumOf(ofMeasurements), numMeasurements * bitsPerMeasurement, 1e-6);
  assertEquals(byPosition.map(({ position }) => position), [...byPosition.keys()]);
  assertEquals(byPosition[0].numMeasurements, bits.numContexts);
  assertEquals(byPosition.reduce((sum, at) => sum + at.numMeasurements, 0), numMeasurements);
  const sum = byPosition.reduce((sum, at) => sum + at.numMeasurements * at.meanBits, 0);
  assertAlmostEquals(sum, numMeasurements * bitsPerMeasurement, 1e-6);
  for (
    const { fieldBits, meanBits } of [...byPosition, {
      fieldBits: bits.fieldBits,
      meanBits: bitsPerMeasurement,
    }]
  ) {
    assertAlmostEquals(FIELDS.reduce((sum, field) => sum + (fieldBits[field] ?? 0), 0), meanBits, 1e-6);
  }
}

Deno.test("evaluateBits() sums the same bits by token type, position and field", () =>
  withTinyModel(async (model) => {
    const done: [number, number][] = [];
    const options = { seed: 3, numContexts: 9 };
    const bits = await evaluateBits(model, ROWS, { ...options, onProgress: (...at) => done.push(at) });
    for (const part of [bits.withTimes, bits.withoutTimes]) {
      assertEquals(part.numContexts, 9);
      assertSumsAgree(part);
    }
    assertEquals(done.at(-1), [18, 18]);
    const countOf = ({ byTokenType }: ContextBits, name: string) =>
      byTokenType.find(({ tokenType }) => tokenType === name)?.numTokens;
    assertEquals(countOf(bits.withTimes, "TimestampAbs"), 9);
    assertEquals(countOf(bits.withTimes, "TimestampAbs byte 8"), 9);
    assertEquals(countOf(bits.withTimes, "MeasurementStart"), bits.withTimes.numMeasurements - 9);
    const names = bits.withTimes.byTokenType.map(({ tokenType }) => tokenType);
    for (
      const name of ["SrcIpv4", "DstIpv6 byte 16", "RttStart byte 2", "Failed", "TimestampDelta1 byte 1"]
    ) {
      assert(names.includes(name), name);
    }
    assert(!bits.withoutTimes.byTokenType.some(({ tokenType }) => tokenType.startsWith("Timestamp")));
    assertEquals(bits.withoutTimes.fieldBits.time, null);
    assertEquals(await evaluateBits(model, ROWS, options), bits);
    assertNotEquals(await evaluateBits(model, ROWS, { ...options, seed: 4 }), bits);
  }));

Deno.test("evaluateBits() with vocabulary v1 sums the bits of single measurements", () =>
  withTinyModel(
    async (model) => {
      const bits = await evaluateBits(model, ROWS, { seed: 3, numContexts: 9 });
      const countOf = ({ byTokenType }: ContextBits, name: string) =>
        byTokenType.find(({ tokenType }) => tokenType === name)?.numTokens ?? 0;
      for (const part of [bits.withTimes, bits.withoutTimes]) {
        assertSumsAgree(part);
        assertEquals([part.byPosition.length, part.numContexts], [1, part.numMeasurements]);
        assert(part.numMeasurements > 9);
        assertEquals(countOf(part, "RttStart byte 8"), part.numMeasurements);
        const versions = [
          countOf(part, "DestIpStart Ipv4Start byte 4"),
          countOf(part, "DestIpStart Ipv6Start byte 16"),
        ];
        assertEquals(versions[0] + versions[1], countOf(part, "SrcIpStart"));
        assert(versions[0] > 0 && versions[1] > 0);
      }
      assertEquals(countOf(bits.withTimes, "TimestampStart byte 8"), bits.withTimes.numMeasurements);
      assertEquals(bits.withoutTimes.fieldBits.time, null);
    },
    12,
    { ...TINY_CONFIG, vocabulary: "v1" },
  ));

Deno.test("evaluateBits() uses the sources' own addresses, whatever share is random in training", () =>
  withTinyModel(async (model) => {
    const bitsOf = (unknownSourceShare: number) =>
      evaluateBits(model, ROWS, {
        seed: 3,
        numContexts: 9,
        sampling: { ...DEFAULT_SAMPLING, unknownSourceShare },
      });
    assertEquals(await bitsOf(1), await bitsOf(0));
  }));

Deno.test("evaluateBits() computes each token's bits as a next-token query, in the loader's contexts", () =>
  withTinyModel(async (model) => {
    const row = syntheticRow(1, 0, 20);
    const { withTimes } = await evaluateBits(model, new MemoryRowSource([row]), { seed: 7, numContexts: 1 });
    const sampling = { ...DEFAULT_SAMPLING, timestampModes: { full: 1, partial: 0, none: 0 } };
    const random = new RandomStream(7, "loader/context", 0, 0, 0);
    const room = TINY_CONFIG.sequenceLength + 1;
    const prepared = prepareRow(row, { path: "memory", index: 0 });
    const { measurements, numTokens } = sampleContext(prepared, room, random, sampling);
    const tokens = new Uint16Array(numTokens);
    const writer = new TokenWriter(tokens);
    for (const measurement of measurements) writer.write(measurement, measurement.order);
    const next = await nextLogProbabilities(
      model,
      Array.from({ length: numTokens - 1 }, (_, i) => tokens.slice(0, i + 1)),
    );
    const bits = next.map((logP, i) => -logP[tokens[i + 1]] / Math.LN2);
    const total = (from: number, to: number) => bits.slice(from, to).reduce((sum, each) => sum + each, 0);
    assert(withTimes.bitsPerToken !== null);
    assertAlmostEquals(withTimes.bitsPerToken, total(0, bits.length) / bits.length, 1e-4);
    const starts = [...tokens.keys()].filter((i) => tokens[i] === MEASUREMENT_START);
    assertEquals(withTimes.byPosition.length, starts.length);
    withTimes.byPosition.forEach(({ meanBits }, i) =>
      assertAlmostEquals(meanBits, total(starts[i], (starts[i + 1] ?? numTokens) - 1), 1e-3)
    );
  }));

Deno.test("evaluateBits() of a uniform model is log2 of the vocabulary per token, and null without rows", () =>
  withTinyModel(async (model) => {
    const { withTimes, withoutTimes } = await evaluateBits(model, ROWS, { seed: 0, numContexts: 5 });
    for (const { byTokenType, bitsPerToken } of [withTimes, withoutTimes]) {
      for (const { meanBits } of byTokenType) assertAlmostEquals(meanBits, Math.log2(267), 1e-4);
      assertAlmostEquals(bitsPerToken ?? NaN, Math.log2(267), 1e-4);
    }
    const none = await evaluateBits(model, new MemoryRowSource([]), { seed: 0, numContexts: 5 });
    assertEquals([none.withTimes.numContexts, none.withTimes.bitsPerMeasurement], [0, null]);
    assertEquals(none.withoutTimes.byPosition, []);
  }, 0));
