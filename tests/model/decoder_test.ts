import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UserError } from "../../lib/base/errors.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { type ModelConfig, modelShapes } from "../../lib/model/model_config.ts";
import { Decoder } from "../../lib/model/decoder.ts";
import type { DecoderExtent } from "../../lib/model/decoder_buffers.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { type TokenMeasurement, TokenWriter } from "../../lib/data/tokens/vocab_v2.ts";
import { assertClose, assertSameBits, testOnDevice, testOnEachDevice } from "../tensor/support.ts";
import { logProbabilities } from "../reference/cross_entropy.ts";
import { logitsProblem, referenceForward } from "../reference/model.ts";
import { modelTolerance, type Tolerance } from "../tolerances.ts";
import { tinyConfig, tinyWeights, toFloat32 } from "./tiny_model.ts";

/** The largest difference between the cache and the full pass, in nats, that users may rely on. */
const SAME: Tolerance = { relative: 0, absolute: 1e-5 };

const CONFIG = tinyConfig({ sequenceLength: 96, headDim: 32, numHeads: 2 });

/** Tests a model without and a model with shifted keys; the cache stores keys before the shift as well. */
function testWithAndWithoutShift(
  name: string,
  test: (registry: KernelRegistry, config: ModelConfig) => Promise<void>,
): void {
  testOnEachDevice(name, ({ registry }) => test(registry, CONFIG));
  const shifted = { ...CONFIG, keyShift: true };
  testOnEachDevice(`${name}, with shifted keys`, ({ registry }) => test(registry, shifted));
}
const EXTENT: DecoderExtent = { maxPromptTokens: 256, maxRows: 96, maxSteps: 95 };

async function decoderOf(
  registry: KernelRegistry,
  config: ModelConfig,
  changes: Partial<DecoderExtent & { memoryLimitBytes: number }> = {},
): Promise<Decoder> {
  const weights = toFloat32(tinyWeights(config));
  return await Decoder.create(registry, { config, weights }, {
    ...EXTENT,
    memoryLimitBytes: 2 ** 26,
    ...changes,
  });
}

/** Log-probabilities at every position of a sequence by the full forward pass, (T, V). */
async function fullPass(
  registry: KernelRegistry,
  config: ModelConfig,
): Promise<(tokens: ArrayLike<number>) => Promise<Float32Array>> {
  const model = await Transformer.create(registry, config, { batchSize: 1, training: false });
  model.load(toFloat32(tinyWeights(config)));
  const padding = new Uint16Array(config.sequenceLength);
  return async (sequence) => {
    const tokens = padding.slice();
    tokens.set(sequence);
    return await model.logProbabilities(
      { tokens, targets: padding, lossMask: Uint8Array.from(padding), segmentStart: padding },
      Uint32Array.from({ length: sequence.length }, (_, t) => t),
    );
  };
}

function randomTokens(label: string, length: number): Uint16Array {
  const random = new RandomStream(0, label);
  const { vocabSize } = modelShapes(CONFIG);
  return Uint16Array.from({ length }, () => random.below(vocabSize));
}

/** Measurements between documentation addresses, newest last, as tokens without the last one's end. */
function measurementTokens(version: 4 | 6, numMeasurements: number): Uint16Array {
  const tokens = new Uint16Array(256);
  const writer = new TokenWriter(tokens);
  for (let i = 0; i < numMeasurements; i++) {
    const measurement: TokenMeasurement = {
      source: addressBytes(version === 4 ? "192.0.2.1" : "2001:db8::1"),
      destination: addressBytes(version === 4 ? `198.51.100.${i}` : `2001:db8:1::${i + 1}`),
      rttCode: i % 3 === 1 ? null : encodeRttCode(10 * i + 1),
      timeS: 1_700_000_000 + 60 * i,
    };
    writer.write(measurement, ["source", "destination", "time", "result"]);
  }
  return tokens.slice(0, writer.at);
}

testWithAndWithoutShift(
  "a prefill and steps match the full pass's log-probabilities at every position, for IPv4 and IPv6, with and without context",
  async (registry, config) => {
    const decoder = await decoderOf(registry, config);
    const full = await fullPass(registry, config);
    const V = modelShapes(config).vocabSize;
    for (const [version, numMeasurements] of [[4, 1], [4, 5], [6, 1], [6, 2]] as const) {
      const tokens = measurementTokens(version, numMeasurements);
      const expected = await full(tokens);
      for (const numPrompt of [1, tokens.length - 9]) {
        const parts = [decoder.prefill([tokens.subarray(0, numPrompt)], { numLast: numPrompt })];
        decoder.fork([1]);
        for (let t = numPrompt; t < tokens.length; t++) parts.push(decoder.step([tokens[t]]));
        const actual = Float32Array.from((await Promise.all(parts)).flatMap((part) => [...part]));
        assertEquals(actual.length, tokens.length * V);
        assertClose(actual, expected, SAME, `IPv${version}, ${numPrompt} of ${tokens.length} in the prompt`);
      }
    }
  },
);

/** Several children each continue one of these prompts with their own tokens. */
const PROMPT_LENGTHS = [3, 40, 17, 95];
const NUM_CHILDREN = [33, 0, 60, 1];

testWithAndWithoutShift(
  "prefill() returns the last positions, and rows sharing a prompt see only it and their own tokens",
  async (registry, config) => {
    const decoder = await decoderOf(registry, config);
    const full = await fullPass(registry, config);
    const V = modelShapes(config).vocabSize;
    const prompts = PROMPT_LENGTHS.map((length) => randomTokens(`prompt of ${length}`, length));
    const ofPrompts = await Promise.all(prompts.map(full));
    for (const numLast of [1, 2, 3]) {
      const ends = await decoder.prefill(prompts, { numLast });
      const expected = ofPrompts.flatMap((rows) => [...rows.slice(-numLast * V)]);
      assertClose(ends, expected, SAME, `the last ${numLast} of each prompt`);
    }
    decoder.fork(NUM_CHILDREN);
    const numRows = NUM_CHILDREN.reduce((sum, count) => sum + count, 0);
    const appended = randomTokens("appended", numRows);
    const stepped = await decoder.step(appended);
    let row = 0;
    for (const [i, prompt] of prompts.entries()) {
      for (let child = 0; child < NUM_CHILDREN[i]; child++, row++) {
        if (child % 16 !== 0 && child !== NUM_CHILDREN[i] - 1) continue;
        const expected = await full([...prompt, appended[row]]);
        assertClose(
          stepped.slice(row * V, (row + 1) * V),
          expected.slice(-V),
          SAME,
          `child ${child} of ${i}`,
        );
      }
    }
  },
);

testWithAndWithoutShift(
  "branched rows see their parents' tokens, and rows without children end",
  async (registry, config) => {
    const decoder = await decoderOf(registry, config);
    const full = await fullPass(registry, config);
    const V = modelShapes(config).vocabSize;
    const prompts = [7, 1, 33].map((length) => randomTokens(`prompt of ${length}`, length));
    await decoder.prefill(prompts);
    decoder.fork([2, 1, 3]);
    let rows = [0, 0, 1, 2, 2, 2].map((prompt) => [...prompts[prompt]]);
    // More rows per step than fit a tile of attention, then fewer, then none of the second prompt.
    const steps = [
      undefined,
      [0, 0, 1, 2, 2, 2, 3, 5],
      Array.from({ length: 80 }, (_, i) => i < 70 ? 1 : 6),
      [
        0,
        69,
        69,
        79,
      ],
    ];
    for (const [step, parents] of steps.entries()) {
      const tokens = randomTokens(`step ${step}`, parents?.length ?? rows.length);
      rows = [...tokens].map((token, i) => [...rows[parents?.[i] ?? i], token]);
      const stepped = await decoder.step(tokens, parents && Uint32Array.from(parents));
      assertEquals(stepped.length, rows.length * V);
      for (const [i, row] of rows.entries()) {
        if (i % 23 !== 0 && i !== rows.length - 1) continue;
        const expected = await full(row);
        const actual = stepped.slice(i * V, (i + 1) * V);
        assertClose(actual, expected.slice(-V), SAME, `row ${i} of step ${step}`);
      }
    }
    await assertRejects(() => decoder.step([1, 2], Uint32Array.of(1, 0)), Error, "parents 1,0");
    await assertRejects(() => decoder.step([1], Uint32Array.of(4)), Error, "parents 4");
  },
);

testWithAndWithoutShift(
  "forking a prompt again or reusing a decoder returns the same bits",
  async (registry, config) => {
    const decoder = await decoderOf(registry, config);
    const prompts = [randomTokens("first", 20), randomTokens("second", 9)];
    const tokens = [randomTokens("a", 40), randomTokens("b", 40)];
    const continueBoth = async () => {
      decoder.fork([25, 15]);
      return [await decoder.step(tokens[0]), await decoder.step(tokens[1])];
    };
    const first = await decoder.prefill(prompts);
    const once = await continueBoth();
    const again = await continueBoth();
    await decoder.prefill([randomTokens("other", 95)]);
    decoder.fork([96]);
    await decoder.step(randomTokens("c", 96));
    assertSameBits(await decoder.prefill(prompts), first, "prefill");
    const later = await continueBoth();
    for (const step of [0, 1]) {
      assertSameBits(once[step], again[step], `step ${step} of a second fork`);
      assertSameBits(once[step], later[step], `step ${step} after other prompts`);
    }
  },
);

testOnEachDevice("prefill() and step() match the float64 model's log-probabilities", async ({ registry }) => {
  for (const changes of [{}, { numHeads: 1, headDim: 64 as const, softcap: null, qkNorm: false }]) {
    const config = tinyConfig({ sequenceLength: 12, ...changes });
    const decoder = await decoderOf(registry, config, { maxSteps: 4 });
    const tokens = randomTokens("tokens", 12);
    const { logits } = referenceForward(config, tinyWeights(config), {
      tokens,
      targets: tokens,
      lossMask: tokens,
      segmentStart: new Uint16Array(12),
    });
    const expected = logProbabilities(logitsProblem(config), logits);
    const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const actual = await decoder.prefill([tokens.subarray(0, 9)], { numLast: 9 });
    decoder.fork([1]);
    const steps = [await decoder.step([tokens[9]]), await decoder.step([tokens[10]])];
    const all = Float32Array.from([...actual, ...steps[0], ...steps[1]]);
    assertClose(all, expected.slice(0, all.length), modelTolerance(config, largest), "log-probabilities");
  }
});

testOnDevice(
  "a decoder rejects positions beyond the model's sequence, and requests beyond its extent",
  async ({ registry }) => {
    const decoder = await decoderOf(registry, CONFIG, { maxSteps: 3 });
    await assertRejects(
      () => decoder.prefill([randomTokens("long", 97)]),
      UserError,
      "Cannot decode: position 96 was requested, expected at most 95; shorten the prompt",
    );
    await decoder.prefill([randomTokens("full", 95)]);
    await assertRejects(() => decoder.step([1]), Error, "call fork() first");
    decoder.fork([1]);
    await decoder.step([1]);
    await assertRejects(() => decoder.step([1]), UserError, "position 96 was requested, expected at most 95");
    assertThrows(() => decoder.fork([97]), RangeError, "97 rows were requested, expected at most 96");
    const prompts = [90, 90, 90].map((length) => randomTokens("many", length));
    await assertRejects(
      () => decoder.prefill(prompts),
      RangeError,
      "270 prompt tokens were requested, expected at most 256",
    );
    await decoder.prefill([randomTokens("short", 5)]);
    decoder.fork([2]);
    for (let step = 0; step < 3; step++) await decoder.step([1, 2]);
    await assertRejects(() => decoder.step([1, 2]), RangeError, "4 steps were requested, expected at most 3");
    await assertRejects(() => decoder.step([1]), Error, "1 tokens for 2 rows");
  },
);

testOnDevice(
  "a decoder bounds the number of kept programs without changing results",
  async ({
    registry,
  }) => {
    const { device } = registry.gpu;
    const decoder = await decoderOf(registry, CONFIG);
    const createBuffer = device.createBuffer.bind(device);
    const live = new Set<GPUBuffer>();
    device.createBuffer = (descriptor) => {
      const buffer = createBuffer(descriptor);
      if (!descriptor.label?.endsWith(" params")) return buffer;
      live.add(buffer);
      const destroy = buffer.destroy.bind(buffer);
      return Object.assign(buffer, { destroy: () => void (live.delete(buffer), destroy()) });
    };
    const results: Float32Array[] = [];
    for (const round of [0, 1]) {
      let index = 0;
      for (const numRows of [1, 33]) {
        await decoder.prefill([randomTokens("prompt", 3)]);
        decoder.fork([numRows]);
        for (let step = 0; step < 70; step++) {
          const ends = await decoder.step(new Uint16Array(numRows).fill(step));
          if (round === 0) results.push(ends);
          else assertSameBits(ends, results[index++], `${numRows} rows, step ${step}`);
        }
      }
      assert(live.size <= 128, `${live.size} programs`);
    }
  },
);
