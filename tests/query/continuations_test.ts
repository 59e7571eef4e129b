import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { decoderSizeBytes } from "../../lib/model/decoder_buffers.ts";
import { type ContinuedPrompt, groupsOfContinuations } from "../../lib/query/model_decoders.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { nextLogProbabilities, TINY_CONFIG, withTinyModel } from "./tiny_model.ts";

const random = new RandomStream(0, "continuations");

/** Tokens 11..13, so that many begin alike. */
function tokens(length: number): Uint16Array {
  return Uint16Array.from({ length }, () => 11 + random.below(3));
}

const PROMPTS: ContinuedPrompt[] = [[1, 40], [30, 7], [90, 3]].map(([length, count]) => ({
  prompt: tokens(length),
  continuations: Array.from({ length: count }, (_, i) => tokens(1 + i % 9)),
}));

Deno.test("continuationLogProbabilities() equals one next-token question per token, of any lengths together", () =>
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

Deno.test("continuationLogProbabilities() gives the same where memory holds a few rows at once", () =>
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

Deno.test("groupsOfContinuations() fills groups up to their tokens and rows, in order", () => {
  for (const [maxPromptTokens, maxRows] of [[121, 100], [90, 100], [121, 8], [95, 1]]) {
    const groups = [...groupsOfContinuations(PROMPTS, { maxPromptTokens, maxRows, maxSteps: 9 })];
    assertEquals(
      groups.flat().flatMap(({ continuations }) => [...continuations]),
      PROMPTS.flatMap(({ continuations }) => [...continuations]),
    );
    for (const group of groups) {
      assert(group.reduce((sum, { prompt }) => sum + prompt.length, 0) <= maxPromptTokens);
      assert(group.reduce((sum, { continuations }) => sum + continuations.length, 0) <= maxRows);
    }
    const numParts = groups.map((group) => group.map(({ continuations }) => continuations.length));
    if (maxRows === 100) assertEquals(numParts, maxPromptTokens === 121 ? [[40, 7, 3]] : [[40, 7], [3]]);
    if (maxRows === 8) assertEquals(numParts, [[8], [8], [8], [8], [8], [7, 1], [2]]);
  }
});
