import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { tensorOf } from "../../lib/base/safetensors_header.ts";
import { ConfigError } from "../../lib/base/errors.ts";
import { modelShapes, parseModelConfig } from "../../lib/model/model_config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { tinyConfig } from "./tiny_model.ts";

function assertConfigError(changes: Record<string, unknown>, keyPath: string, message: string) {
  const error = assertThrows(() => parseModelConfig({ ...tinyConfig(), ...changes }), ConfigError, message);
  assertEquals(error.keyPath, keyPath);
}

Deno.test("parseModelConfig() rejects unknown keys and wrong values, and reports what it expected", () => {
  assertThrows(() => parseModelConfig(3), ConfigError, "found 3, expected a JSON object");
  assertConfigError({ numLayer: 3 }, "model.numLayer", "the key is unknown; did you mean numLayers?");
  assertConfigError({ numLayers: 0 }, "model.numLayers", "found 0, expected at least 1");
  assertConfigError({ numLayers: 1.5 }, "model.numLayers", "found 1.5, expected an integer");
  assertConfigError({ width: "64" }, "model.width", 'found "64", expected a number');
  assertConfigError({ width: 30 }, "model.width", "found 30, expected a multiple of 4");
  assertConfigError({ headDim: 48 }, "model.headDim", "found 48, expected 32 or 64 or 128");
  assertConfigError({ activation: "relu" }, "model.activation", 'expected "relu2" or "gelu" or "silu"');
  assertConfigError({ mlpWidth: undefined }, "model.mlpWidth", "found nothing, expected a number");
  assertConfigError({ sequenceLength: 65536 }, "model.sequenceLength", "expected at most 65535");
});

Deno.test("initialParameters() has deviation 0.02, divided by sqrt(2 L) for projections into the residual", () => {
  const config = tinyConfig({ width: 64, mlpWidth: 128 });
  const weights = initialParameters(config, 7);
  assertEquals([...weights.keys()], [...modelShapes(config).parameters.keys()]);
  for (const [name, values] of weights) {
    const deviation = Math.sqrt([...values].reduce((sum, w) => sum + w * w, 0) / values.length);
    const wanted = /[on]_proj/.test(name) && !/[qkv]_proj|up_proj/.test(name) ? 0.02 / Math.sqrt(4) : 0.02;
    // The deviation of a sample's standard deviation is wanted / sqrt(2 n); allow 5 of those, n >= 1024.
    const bound = 5 * wanted / Math.sqrt(2 * values.length);
    assertEquals(Math.abs(deviation - wanted) < bound, true, `${name}: ${deviation} is not ${wanted}`);
  }
});

Deno.test("initialParameters() draws each parameter from its own seeded stream", () => {
  const [a, b, c] = [1, 1, 2].map((seed) => initialParameters(tinyConfig(), seed));
  assertEquals(a, b);
  const q = "blocks.0.attn.q_proj.weight";
  assertEquals(a.get(q)?.[0] === c.get(q)?.[0], false);
  assertEquals(a.get(q)?.[0] === a.get("blocks.0.attn.k_proj.weight")?.[0], false);
  const deeper = initialParameters(tinyConfig({ numLayers: 3 }), 1);
  assertEquals(deeper.get(q), a.get(q));
});

Deno.test("initialParameters() with ordinal byte vectors makes nearby bytes similar, modulo 256", () => {
  for (const [width, vocabulary, firstByte] of [[64, "v2", 11], [128, "v1", 10]] as const) {
    const config = tinyConfig({ width, vocabulary, byteVectors: "ordinal" });
    const weights = initialParameters(config, 3);
    for (const [name, deviation] of [["wte.weight", 1], ["lm_head.weight", 0.02]] as const) {
      const values = tensorOf(weights, name, "F32");
      const vector = (byte: number) =>
        values.subarray((firstByte + byte) * width, (firstByte + byte + 1) * width);
      /** The mean cosine similarity of the vectors of bytes at this distance. */
      const likeness = (distance: number) => {
        let sum = 0;
        for (let byte = 0; byte < 256; byte++) {
          const [a, b] = [vector(byte), vector((byte + distance) % 256)];
          const dot = (x: Float32Array, y: Float32Array) =>
            x.reduce((total, value, i) => total + value * y[i], 0);
          sum += dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
        }
        return sum / 256;
      };
      assertAlmostEquals(likeness(0), 1, 1e-5);
      assert(likeness(1) > 0.6 && likeness(1) < 0.75, `${likeness(1)}`);
      assert(
        likeness(1) > likeness(4) + 0.05 && likeness(4) > likeness(16) + 0.2,
        `${likeness(4)}, ${likeness(16)}`,
      );
      assertAlmostEquals(likeness(255), likeness(1), 1e-5);
      assert(Math.abs(likeness(100)) < 0.15, `${likeness(100)}`);
      const rms = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
      assertAlmostEquals(rms / deviation, 1, 0.05);
    }
    const plain = initialParameters({ ...config, byteVectors: "random" }, 3);
    for (const [name, values] of weights) {
      if (name.startsWith("blocks")) assertEquals(values, plain.get(name));
    }
  }
});
