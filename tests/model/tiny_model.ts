/**
 * A model small enough for finite differences, and batches for it with several segments and padding.
 *
 * @module
 */
import { type ModelConfig, modelShapes, parseModelConfig } from "../../lib/model/model_config.ts";
import { readParameterLike } from "../../lib/model/parameters.ts";
import type { Transformer } from "../../lib/model/transformer.ts";
import { RandomStream } from "../../lib/base/random.ts";
import type { Weights } from "../reference/model.ts";
import { assert } from "@std/assert";
import { AddressEmbeddings } from "../../lib/model/address_embeddings.ts";
import type { ModelBatch } from "../../lib/model/batch_rows.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { PACKED_HISTORY, packHistory, rttHistoryOf } from "../../lib/data/tokens/rtt_history.ts";
import { FIELD_ORDERS, RTT_START, TokenWriter } from "../../lib/data/tokens/vocab_v2.ts";

/** A configuration with two layers. @param changes Replace values. */
export function tinyConfig(changes: Partial<ModelConfig> = {}): ModelConfig {
  return parseModelConfig({
    numLayers: 2,
    width: 16,
    numHeads: 2,
    headDim: 32,
    mlpWidth: 24,
    sequenceLength: 12,
    vocabulary: "v2",
    ...changes,
  });
}

/**
 * Weights large enough that every part of the model matters (with the usual 0.02, attention is uniform).
 *
 * @returns Values that are exact in float32.
 */
export function tinyWeights(config: ModelConfig, seed = 1): Weights {
  const weights: Weights = new Map();
  for (const [name, [rows, columns]] of modelShapes(config).parameters) {
    const random = new RandomStream(seed, name);
    const scale = name.startsWith("wte") ? 1 : 1.5 / Math.sqrt(columns);
    weights.set(
      name,
      Float64Array.from({ length: rows * columns }, () => Math.fround(random.normal() * scale)),
    );
  }
  return weights;
}

/** A batch like the loader's: segments start at random positions, and sequences end with padding. */
export function tinyBatch(config: ModelConfig, batchSize: number, seed = 2) {
  const T = config.sequenceLength;
  const length = batchSize * T;
  const random = new RandomStream(seed, "tiny batch");
  const { vocabSize } = modelShapes(config);
  const tokens = Uint16Array.from({ length }, () => random.below(vocabSize));
  const targets = Uint16Array.from({ length }, () => random.below(vocabSize));
  const lossMask = new Uint8Array(length);
  const segmentStart = new Uint16Array(length);
  for (let b = 0; b < batchSize; b++) {
    const numReal = T - random.below(Math.ceil(T / 4));
    for (let t = 1, start = 0; t < T; t++) {
      if (t === numReal || random.below(4) === 0) start = t;
      segmentStart[b * T + t] = start;
    }
    for (let t = 0; t < numReal; t++) {
      const opensNext = t + 1 < T && segmentStart[b * T + t + 1] === t + 1;
      lossMask[b * T + t] = opensNext ? 0 : 1;
    }
  }
  return { tokens, targets, lossMask, segmentStart };
}

export function toFloat32(weights: Weights): Map<string, Float32Array> {
  return new Map([...weights].map(([name, values]) => [name, Float32Array.from(values)]));
}

export function largest(values: ArrayLike<number>): number {
  return Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

// Rows of prefixes and pairs of a few addresses, batches of measurements between them, and the gradients of a
// model with such rows.

const NUM_ADDRESSES = 6;

function address(index: number): Uint8Array {
  return index % 3 === 2
    ? Uint8Array.of(0x20, 0x01, 0xd, 0xb8, index, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    : Uint8Array.of(192, 0, 2 + index % 2, index);
}

/** Pairs of the first addresses have rows, up to four RTTs and coordinates; other pairs have none. */
export function knownRows(config: ModelConfig): AddressEmbeddings {
  const rows = new AddressEmbeddings(config);
  const nodes = Array.from({ length: NUM_ADDRESSES - 1 }, (_, i) => rows.claimNode(address(i)));
  rows.coordinates?.fit({
    a: Uint32Array.from(nodes.slice(1)),
    b: Uint32Array.from(nodes.slice(0, -1)),
    rttMs: Float64Array.from(nodes.slice(1), (_, i) => 5 * (i + 1)),
  });
  for (let i = 0; i < NUM_ADDRESSES - 2; i++) {
    for (let j = 0; j < i; j++) {
      const pair = rows.claim(address(i), address(j));
      for (let k = 0; k < i + j; k++) {
        rows.remember(pair, { rttCode: encodeRttCode(10 * i + j + 0.1 * k), timeS: 100 * k });
      }
    }
  }
  return rows;
}

/** Sequences of two contexts each; the measurements have random addresses and field orders. */
export function batchOf(seed: number, batchSize = 2, sequenceLength = 48): ModelBatch {
  const T = sequenceLength;
  const random = new RandomStream(seed, "measurements");
  const tokens = new Uint16Array(batchSize * T);
  const segmentStart = new Uint16Array(batchSize * T);
  for (let b = 0; b < batchSize; b++) {
    for (const [start, end] of [[0, 20], [20, T]]) {
      const written = new Uint16Array(256);
      const writer = new TokenWriter(written);
      while (writer.at < end - start) {
        writer.write({
          source: address(random.below(NUM_ADDRESSES)),
          destination: address(random.below(NUM_ADDRESSES)),
          rttCode: random.below(4) === 0 ? null : encodeRttCode(1 + random.below(200)),
          timeS: null,
        }, FIELD_ORDERS[random.below(FIELD_ORDERS.length)]);
      }
      tokens.set(written.subarray(0, end - start), b * T + start);
      segmentStart.fill(start, b * T + start, b * T + end);
    }
  }
  const targets = tokens.map((_, i) => tokens[i + 1] ?? 0);
  const lossMask = Uint8Array.from(tokens, (_, i) => i % T === T - 1 || i % T === 19 ? 0 : 1);
  return { tokens, targets, lossMask, segmentStart, histories: recallsOf(tokens, random) };
}

/** Gives most RTTs a history. */
function recallsOf(tokens: Uint16Array, random: RandomStream): Uint32Array {
  const histories = new Uint32Array(tokens.length * PACKED_HISTORY);
  tokens.forEach((token, i) => {
    const codes = Array.from({ length: random.below(4) }, () => encodeRttCode(1 + random.below(200)));
    const rttHistory = rttHistoryOf(codes, codes.length, random.below(1000));
    if (token === RTT_START && rttHistory) packHistory(rttHistory, histories, i * PACKED_HISTORY);
  });
  return histories;
}

/** Gradients by name. That of the address embeddings, if any, is in the order of the embedding rows. */
export async function readGradients(model: Transformer): Promise<Map<string, Float32Array>> {
  const { gpu } = model.registry;
  const gradients = await readParameterLike(gpu, model.shapes, model.gradients);
  if (!model.slotRows) return gradients;
  const [{ buffer, length }] = await gpu.read(model.slotRows);
  const slots = new Uint32Array(buffer, 0, length);
  const compact = gradients.get("address_embed.weight");
  assert(compact);
  const { width } = model.config;
  const whole = new Float32Array(modelShapes(model.config).numAddressEmbeddings * width);
  for (let slot = 0; slot < slots[0]; slot++) {
    whole.set(compact.subarray(slot * width, (slot + 1) * width), slots[1 + slot] * width);
  }
  return gradients.set("address_embed.weight", whole);
}
