/**
 * The section `model` of the run configuration; the names, shapes and counts of parameters that follow from
 * it; and the options of running a model. See lib/model/README.md.
 *
 * @module
 */
import * as z from "zod";
import { parseConfig } from "../base/config_file.ts";
import { ConfigError } from "../base/errors.ts";
import type { ArrayType } from "../base/safetensors_header.ts";
import type { DType } from "../tensor/tensor.ts";
import { RTT_ENCODING_NAMES, type RttEncodingChoice } from "../data/tokens/vocab_v1.ts";
import { HISTORY_LENGTH } from "./pair_history.ts";
import { COORDINATE_KEYS, coordinateEntries } from "./node_coordinates.ts";
import { NUM_PLACE_ROWS } from "./embedding_table.ts";
import { NUM_SELECTED_ROWS } from "./selected_rows.ts";

const VOCABULARY_SIZES = { v1: 266, v2: 267 } as const;

/** Maximum number of address embeddings added to a token in a model without places. */
export const ROWS_PER_TOKEN = 9;

/** The bound exceeds the extents of trained models, and keeps computed sizes exact. */
const extent = (most: number) => z.int().min(1).max(most);

/** 256 GiB of f32. */
const MAX_PARAMETERS = 2 ** 36;

/** How a model is run. */
export interface ModelExtent {
  /** B, the sequences of a batch. */
  readonly batchSize: number;
  /** T, the tokens of a sequence; at most the configuration's. */
  readonly sequenceLength: number;
  /** Whether gradients and the activations for the backward pass are kept. */
  readonly training: boolean;
  /** Sequences per optimizer step (default: batchSize); determines the slots of address embeddings. */
  readonly sequencesPerStep?: number;
  /** If given, only this many of the first address embeddings have gradients. */
  readonly freeRows?: number;
  /**
   * Whether training keeps only each block's input and recomputes the rest in the backward pass: about a
   * third more work, and the activations of one block instead of all (Chen et al., arXiv 1604.06174, section
   * 3.1).
   */
  readonly checkpointActivations?: boolean;
  /** Storage format of activations, their gradients and the weights of matrix products (default: f32). */
  readonly dtype?: DType;
  /**
   * Weights, at the first and the second byte of an RTT code, of the distance between predicted and true RTT
   * in the gradient (default: no such term).
   */
  readonly rttDistanceWeights?: readonly [number, number];
  /** Weight of the two bytes of an RTT code in the gradient (default: 1, like other tokens). */
  readonly rttByteWeight?: number;
}

/** A table of address embeddings. */
const rowsSchema = z.strictObject({
  /** Number of rows, 16 to 16,777,216; further keys get none. */
  rows: z.int().min(16).max(2 ** 24),
  /** Seed of the hashes of keys. */
  seed: z.int().min(0).max(2 ** 31 - 1).default(0),
  /** Share of the addresses or pairs, 0 to 0.95, that training hides; each context hides different ones. */
  dropShare: z.number().min(0).max(0.95).default(0.1),
});

/** The table of rows of pairs. */
const pairRowsSchema = z.strictObject({
  ...rowsSchema.shape,
  /** Whether the newest RTTs of a pair are input features; see lib/data/tokens/rtt_history.ts. */
  history: z.boolean().default(true),
});

const coordinatesSchema = z.strictObject({
  nodes: z.int().min(16).max(2 ** 24),
  rank: z.int().min(1).max(64).default(24),
  folds: z.int().min(4).max(30).multipleOf(2).default(4),
  dropShare: z.number().min(0).max(0.95).default(0.2),
});

export const placesSchema = z.strictObject({
  tableSize: z.int().min(0).max(2 ** 24).default(0),
  sources: z.array(z.string()).default([]),
  dropShare: z.number().min(0).max(0.95).default(0.3),
});

/** @internal The section `model` of the run configuration. */
export type ModelConfig = z.infer<typeof modelConfigSchema>;
export const modelConfigSchema = z.strictObject({
  /** L, the number of blocks: 1 to 1,024. */
  numLayers: extent(1024),
  /** C, the width of the residual stream: a multiple of 4, up to 65,536. */
  width: extent(65_536),
  /** H, the number of attention heads: 1 to 1,024. */
  numHeads: extent(1024),
  /** D, the width of a head; the attention kernels support only these. */
  headDim: z.literal([32, 64, 128]),
  /** M, the width of the MLP's hidden layer: a multiple of 4, up to 262,144. */
  mlpWidth: extent(262_144),
  /** T, the longest sequence in tokens: 1 to 65,535, because positions are u16 in a batch. */
  sequenceLength: extent(65_535),
  /** The vocabulary: `v2` (267 tokens) or `v1` (266). */
  vocabulary: z.enum(["v1", "v2"]).default("v2"),
  /** The RTT encoding in vocabulary v1 (see lib/data/tokens/vocab_v1.ts); null for float64 and in v2. */
  rttEncoding: z.enum(RTT_ENCODING_NAMES).nullable().default(null),
  /** The limit of the encoding `clipped`, in ms. */
  rttClipMs: z.number().min(0.001).max(1e9).default(1000),
  /** Nonlinearity of the MLP; relu2 is relu squared. */
  activation: z.enum(["relu2", "gelu", "silu"]).default("relu2"),
  /** s of the logits' soft cap s * tanh(z / s), 0.001 to 1,000,000; null for no cap. */
  softcap: z.number().min(1e-3).max(1e6).nullable().default(15),
  /** Whether each head of q and k is normalised before the rotation. */
  qkNorm: z.boolean().default(true),
  /** Whether half of each key is taken from the previous token; see lib/tensor/ops/qk_norm_rope.ts. */
  keyShift: z.boolean().default(false),
  /**
   * Initial vectors of the 256 bytes, in the embedding and in the head. `ordinal` vectors are similar for
   * close bytes, so that learning about one RTT or time extends to its neighbours.
   */
  byteVectors: z.enum(["random", "ordinal"]).default("random"),
  // Before the keys that depend on it, so that it is named first if a run is continued without it.
  /** Places of addresses as further keys of the prefix embeddings; null for none. */
  places: placesSchema.nullable().default(null),
  /** Address embeddings for prefixes (see lib/model/README.md); null for none. */
  prefixVectors: rowsSchema.nullable().default(null),
  /** Address embeddings for pairs of source and destination; null for none. */
  pairVectors: pairRowsSchema.nullable().default(null),
  /** Coordinates, which estimate the RTTs of unknown pairs; null for none. */
  coordinates: coordinatesSchema.nullable().default(null),
});

/**
 * Checks the section `model` against the schema and the kernels' requirements on its extents.
 *
 * @throws {ConfigError} With the name of the key.
 */
export function parseModelConfig(value: unknown): ModelConfig {
  const config = parseConfig(modelConfigSchema, value, "model");
  checkModelConfig(config);
  return config;
}

/**
 * Checks rules beyond the schema: widths are multiples of 4, options fit the vocabulary, and the size is
 * possible.
 *
 * @throws {ConfigError} With the name of the key.
 */
export function checkModelConfig(config: ModelConfig): void {
  for (const key of ["width", "mlpWidth"] as const) {
    if (config[key] % 4 !== 0) {
      throw new ConfigError(`model.${key}`, `found ${config[key]}, expected a multiple of 4`);
    }
  }
  for (const key of ["prefixVectors", "pairVectors", "coordinates"] as const) {
    if (config[key] && config.vocabulary !== "v2") {
      throw new ConfigError(
        `model.${key}`,
        `needs vocabulary v2, found ${config.vocabulary}; use v2, or set it to null`,
      );
    }
  }
  if (config.places && !config.prefixVectors) {
    throw new ConfigError(
      "model.places",
      "needs model.prefixVectors, found null",
    );
  }
  if (config.rttEncoding !== null && config.vocabulary !== "v1") {
    throw new ConfigError(
      "model.rttEncoding",
      "vocabulary v2 has its own encoding; set it to null, or use v1",
    );
  }
  const count = modelShapes(config).numParameters;
  if (count > MAX_PARAMETERS) {
    throw new ConfigError("model", `found ${count} parameters, expected at most ${MAX_PARAMETERS}`);
  }
}

/** The RTT encoding in vocabulary v1; undefined in v2. */
export function rttEncodingChoice(
  { vocabulary, rttEncoding, rttClipMs }: ModelConfig,
): RttEncodingChoice | undefined {
  return vocabulary === "v1" ? { name: rttEncoding ?? "float64", clipMs: rttClipMs } : undefined;
}

/** Sizes and shapes that follow from a model's configuration; see {@link modelShapes}. */
export interface ModelShapes {
  readonly config: ModelConfig;
  /** V, the tokens of the vocabulary. */
  readonly vocabSize: number;
  /** Rows of the head's weight on the GPU: V rounded up, because matrix units read 8 columns at a time. */
  readonly paddedVocabSize: number;
  /** Width of the queries, keys and values of all heads together, H * D. */
  readonly headsWidth: number;
  /** Number of address embeddings: for prefixes, then for pairs, then those selected by RTT codes. */
  readonly numAddressEmbeddings: number;
  /** Number of embeddings selected by RTT codes; see lib/model/selected_rows.ts. */
  readonly numSelectedRows: number;
  /** Maximum number of address embeddings added to a token. */
  readonly rowsPerToken: number;
  /**
   * All parameters, [out, in], row-major, in the order of the forward pass, named as in lib/model/EXACT.md.
   */
  readonly parameters: ReadonlyMap<string, number[]>;
  /**
   * The entries of a checkpoint: the parameters, and entries without gradient: keys of address embeddings,
   * RTTs of pairs, the table of places, coordinates.
   */
  readonly entries: ReadonlyMap<string, number[]>;
  readonly numParameters: number;
}

/** Callers that need the shapes often should keep them. */
export function modelShapes(config: ModelConfig): ModelShapes {
  const { prefixVectors, pairVectors, places, coordinates } = config;
  const vocabSize = VOCABULARY_SIZES[config.vocabulary];
  const headsWidth = config.numHeads * config.headDim;
  const numKeys = (prefixVectors?.rows ?? 0) + (pairVectors?.rows ?? 0);
  const numSelectedRows = pairVectors?.history || coordinates ? NUM_SELECTED_ROWS : 0;
  const numAddressEmbeddings = numKeys + numSelectedRows;
  const parameters = new Map(parameterShapes(config, { vocabSize, headsWidth, numAddressEmbeddings }));
  const entries = new Map(parameters);
  if (numKeys > 0) entries.set(EMBEDDING_KEYS, [numKeys, 1]);
  if (pairVectors?.history) entries.set(PAIR_HISTORY, [pairVectors.rows, HISTORY_LENGTH]);
  if (places) entries.set(PLACE_TABLE, [places.tableSize, 3]);
  for (const [name, shape] of coordinates ? coordinateEntries(coordinates) : []) entries.set(name, shape);
  let numParameters = 0;
  for (const [rows, columns] of parameters.values()) numParameters += rows * columns;
  return Object.freeze({
    config,
    vocabSize,
    paddedVocabSize: Math.ceil(vocabSize / 8) * 8,
    headsWidth,
    numAddressEmbeddings,
    numSelectedRows,
    rowsPerToken: ROWS_PER_TOKEN + (places ? NUM_PLACE_ROWS : 0),
    parameters,
    entries,
    numParameters,
  });
}

function* parameterShapes(
  { width: C, mlpWidth: M, numLayers }: ModelConfig,
  { vocabSize: V, headsWidth: HD, numAddressEmbeddings }: Pick<
    ModelShapes,
    "vocabSize" | "headsWidth" | "numAddressEmbeddings"
  >,
): Generator<[name: string, shape: number[]]> {
  yield ["wte.weight", [V, C]];
  if (numAddressEmbeddings > 0) yield ["address_embed.weight", [numAddressEmbeddings, C]];
  for (let layer = 0; layer < numLayers; layer++) {
    const block = `blocks.${layer}`;
    for (const part of ["q", "k", "v"]) yield [`${block}.attn.${part}_proj.weight`, [HD, C]];
    yield [`${block}.attn.o_proj.weight`, [C, HD]];
    yield [`${block}.mlp.up_proj.weight`, [M, C]];
    yield [`${block}.mlp.down_proj.weight`, [C, M]];
  }
  yield ["lm_head.weight", [V, C]];
}

/** Names of checkpoint entries; see `AddressEmbeddings.save` and `PairHistory.save`. */
export const EMBEDDING_KEYS = "address_embed.keys";
export const PAIR_HISTORY = "address_embed.history";
/** Name of the table of places in a checkpoint; see `PlaceTable.encode`. */
export const PLACE_TABLE = "places.table";

export function entryType(name: string): ArrayType {
  if (name === PLACE_TABLE) return "U8";
  return [EMBEDDING_KEYS, PAIR_HISTORY, COORDINATE_KEYS].includes(name) ? "U32" : "F32";
}
