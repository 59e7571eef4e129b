import { assert, assertAlmostEquals, assertEquals, assertGreater } from "@std/assert";
import {
  continuationExtent,
  type ContinuedPrompt,
  FEW_ROWS,
  promptExtent,
} from "../../lib/query/model_decoders.ts";
import { rankDestinations } from "../../lib/query/destinations/destination_ranking.ts";
import { parseAddressQuestion } from "../../lib/query/rtt/rtt_question.ts";
import { nextLogProbabilities, TINY_CONFIG, withTinyModel } from "./tiny_model.ts";
import { largestTensorBytes } from "../../lib/model/allocation.ts";
import { buildDecoder, type DecoderMemory, decoderSizeBytes } from "../../lib/model/decoder_buffers.ts";
import { modelShapes } from "../../lib/model/model_config.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { byteTokens, drawToken } from "../../lib/query/draws.ts";
import { BYTE_BASE, VOCAB_SIZE } from "../../lib/data/tokens/vocab_v2.ts";

const QUERY = parseAddressQuestion({ src: "192.0.2.1", dst: "198.51.100.7", time: 1_700_000_000 });

Deno.test("an RTT query is answered during a destination search, and neither affects the other", () =>
  withTinyModel(async (model) => {
    const search = { ...QUERY, rttMs: [10, 11] as const };
    const alone = {
      rtt: await model.rttDistribution(QUERY),
      destinations: await rankDestinations(model, [search], { maxExpansions: 256 }),
    };
    const events: string[] = [];
    let asked: ReturnType<typeof model.rttDistribution> | undefined;
    const destinations = await rankDestinations(model, [search], {
      maxExpansions: 256,
      onSearch: () => asked ??= model.rttDistribution(QUERY).finally(() => events.push("rtt")),
    });
    events.push("destinations");
    const rtt = await asked;
    assertEquals(events, ["rtt", "destinations"]);
    assertEquals(rtt?.probabilities, alone.rtt.probabilities);
    assertEquals(destinations, alone.destinations);
  }));

Deno.test("work requested after a weight reload uses the new weights, on both decoders", () =>
  withTinyModel(async (model) => {
    const { decoders, weights } = model;
    const prompt = Uint16Array.of(1, 2, 3);
    const ends = async () => {
      const rows: Float32Array[] = [];
      const asPrompt = decoders.withPrompts([prompt], 1, function* (decoder, group) {
        [rows[0]] = yield Promise.all([decoder.prefill(group)]);
      });
      const asContinued = decoders.continuePrompts(
        [prompt],
        (_, end) => Promise.resolve(rows[1] = end.slice()),
      );
      await Promise.all([asPrompt, asContinued]);
      return rows;
    };
    const before = await ends();
    const work = ends();
    for (const values of weights.values()) values.forEach((value, i) => values[i] = value / 2);
    const reloaded = decoders.reload();
    const after = ends();
    assertEquals(await work, before);
    await reloaded;
    const [first, second] = await after;
    assertEquals([first[0] === before[0][0], second[0] === before[1][0]], [false, false]);
    assertEquals(await ends(), [first, second]);
  }));

Deno.test("one question uses a small decoder and many a large one, with the same results", () =>
  withTinyModel(async ({ decoders, gpu }) => {
    const prompts = Array.from({ length: 2 * FEW_ROWS }, (_, i) => Uint16Array.of(1, 2 + i % 200));
    const endsOf = async (asked: Uint16Array[]) => {
      const ends: number[] = [];
      await decoders.withPrompts(asked, 1, function* (decoder, group) {
        const [read] = yield Promise.all([decoder.prefill(group)]);
        for (const logP of read) ends.push(logP);
      });
      return ends;
    };
    const first = await endsOf(prompts.slice(0, 1));
    const smallBytes = gpu.allocatedBytes;
    const all = await endsOf(prompts);
    assertGreater(gpu.allocatedBytes, 3 * smallBytes);
    assertEquals(all.slice(0, first.length), first);
    const allBytes = gpu.allocatedBytes;
    assertEquals(await endsOf(prompts.slice(0, 1)), first);
    assertEquals(gpu.allocatedBytes, allBytes, "the large one stays");
  }));

Deno.test("prompt and row extents are about as large as the buffer size allows", () => {
  const free: DecoderMemory = { limitBytes: Infinity, bufferBytes: Infinity };
  for (const extentOf of [promptExtent, continuationExtent]) {
    const largest = (memory: DecoderMemory) =>
      largestTensorBytes((make) =>
        buildDecoder(modelShapes(TINY_CONFIG), extentOf(TINY_CONFIG, memory), make)
      );
    const unboundBytes = largest(free);
    for (const part of [1, 2, 5]) {
      const bufferBytes = Math.floor(unboundBytes / part);
      const foundBytes = largest({ ...free, bufferBytes });
      assert(foundBytes <= bufferBytes, `${foundBytes} bytes of ${bufferBytes}`);
      assert(foundBytes > bufferBytes / 3, "no smaller than needed");
    }
    // An extent that cannot fit fails at allocation, where the error names the tensor.
    const { maxRows } = extentOf(TINY_CONFIG, { ...free, bufferBytes: 1 });
    assertEquals(extentOf(TINY_CONFIG, { ...free, limitBytes: 1 }).maxRows, maxRows);
  }
});

const random = new RandomStream(0, "continuations");

/** Only tokens 11..13, so that many sequences have a common beginning. */
function tokens(length: number): Uint16Array {
  return Uint16Array.from({ length }, () => 11 + random.below(3));
}

const PROMPTS: ContinuedPrompt[] = [[1, 40], [30, 7], [90, 3]].map(([length, count]) => ({
  prompt: tokens(length),
  continuations: Array.from({ length: count }, (_, i) => tokens(1 + i % 9)),
}));

Deno.test("continuationLogProbabilities() equals one next-token query per token, for mixed lengths", () =>
  withTinyModel(async (model) => {
    const actual = await model.decoders.continuationLogProbabilities(PROMPTS);
    const all = PROMPTS.flatMap(({ prompt, continuations }) =>
      continuations.map((continuation) => ({ prompt, continuation }))
    );
    assertEquals(actual.map(({ length }) => length), all.map(({ continuation }) => continuation.length));
    const next = await nextLogProbabilities(
      model,
      all.flatMap(({ prompt, continuation }) =>
        Array.from(continuation, (_, j) => Uint16Array.from([...prompt, ...continuation.subarray(0, j)]))
      ),
    );
    const expected = all.flatMap(({ continuation }) => [...continuation]).map((token, i) => next[i][token]);
    actual.flatMap((logP) => [...logP]).forEach((each, i) => assertAlmostEquals(each, expected[i], 5e-5));
  }));

Deno.test("continuationLogProbabilities() returns the same if memory holds only a few rows", () =>
  withTinyModel(async (model) => {
    const expected = await model.decoders.continuationLogProbabilities(PROMPTS);
    using gpu = await Gpu.open();
    const extent = { maxPromptTokens: 256, maxRows: 32, maxSteps: 46 };
    const memoryLimitBytes = decoderSizeBytes(TINY_CONFIG, extent);
    const options = { weights: model.weights, memoryLimitBytes };
    const small = PingModel.of(TINY_CONFIG, new KernelRegistry(gpu), options);
    const actual = await small.decoders.continuationLogProbabilities(PROMPTS);
    actual.forEach((logP, i) => logP.forEach((each, j) => assertAlmostEquals(each, expected[i][j], 1e-5)));
  }));

const LOG_P = Float32Array.from({ length: VOCAB_SIZE }, () => -20);
[0.1, 0.2, 0.3, 0.05].forEach((p, i) => LOG_P[BYTE_BASE + 64 + i] = Math.log(p));

Deno.test("drawToken() also draws from ranges of negligible mass", () => {
  const tiny = LOG_P.map((logP) => logP - 1000);
  const random = new RandomStream(2, "test/draw");
  const drawn = Array.from(
    { length: 50 },
    () => drawToken(tiny, { tokens: byteTokens({ first: 64, last: 127 }), random }) - BYTE_BASE,
  );
  assert(drawn.every((byte) => byte >= 64 && byte <= 67));
  assertEquals(new Set(drawn).size, 4);
});
