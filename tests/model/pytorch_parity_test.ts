/**
 * The model and its training against PyTorch 2.15 in float32; see tests/golden/pytorch/PROVENANCE.md.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { floatsOf, type TensorArray, tensorOf } from "../../lib/base/safetensors_header.ts";
import { fromFileUrl } from "@std/path";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { AddressEmbeddings } from "../../lib/model/address_embeddings.ts";
import { type ModelBatch, rowsOfBatch } from "../../lib/model/batch_rows.ts";
import { type ModelConfig, modelShapes, parseModelConfig } from "../../lib/model/model_config.ts";
import { NO_ROW } from "../../lib/model/embedding_table.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { optimConfigSchema } from "../../lib/train/optim/optim_config.ts";
import { Optimizer } from "../../lib/train/optim/optimizer.ts";
import { readSafetensors, type SafetensorsContent } from "../../lib/io/safetensors.ts";
import { assertClose, testOnEachDevice } from "../tensor/support.ts";
import { logProbabilities } from "../reference/cross_entropy.ts";
import { PARITY_LOSS, parityTolerance } from "../tolerances.ts";
import { tensorsOfLists } from "./golden_rows.ts";
import { readGradients } from "./tiny_model.ts";

/** The cases of make.py, which together cover every option of the architecture. */
const CASES = {
  relu2: "with softcap, qkNorm and Muon",
  gelu: "without softcap, with Muon",
  silu: "with v1 and AdamW only, without qkNorm",
  rows: "with address embeddings, keyShift, Muon and per-row AdamW",
};

interface GoldenBatch extends ModelBatch {
  /** (B, T, ROWS_PER_TOKEN): the address embeddings of each token, if the model has any. */
  readonly embeddingRows?: Uint32Array<ArrayBuffer>;
}

interface Golden extends SafetensorsContent {
  config: ModelConfig;
  batches: GoldenBatch[];
  batchSize: number;
  /** Tensors of address embeddings, in addition to the parameters. */
  ofRows: Map<string, TensorArray>;
}

const GOLDEN_FOLDER = new URL("../golden/pytorch/", import.meta.url);

function readGolden(name: string): Golden {
  const content = readSafetensors(fromFileUrl(new URL(`${name}.safetensors`, GOLDEN_FOLDER)));
  const config = parseModelConfig(JSON.parse(content.metadata.model));
  const file = JSON.parse(Deno.readTextFileSync(new URL("batches.json", GOLDEN_FOLDER)));
  const hasRows = modelShapes(config).numAddressEmbeddings > 0;
  const lists = file[hasRows ? "rows" : config.vocabulary] as Record<
    keyof GoldenBatch | "addressRows",
    number[]
  >[];
  const batches = lists.map((lists) => ({
    tokens: Uint16Array.from(lists.tokens),
    targets: Uint16Array.from(lists.targets),
    lossMask: Uint8Array.from(lists.lossMask),
    segmentStart: Uint16Array.from(lists.segmentStart),
    ...(hasRows ? { embeddingRows: Uint32Array.from(lists.addressRows) } : {}),
  }));
  const ofRows = tensorsOfLists(hasRows ? file.learnedRows.weights : {});
  return { ...content, config, batches, batchSize: file.batchSize, ofRows };
}

/** The tensors named `PREFIX.NAME`, by NAME. */
function withPrefix({ tensors }: Golden, prefix: string): Map<string, Float32Array> {
  const chosen = [...tensors].filter(([name]) => name.startsWith(`${prefix}.`));
  return floatsOf(new Map(chosen.map(([name, values]) => [name.slice(prefix.length + 1), values])), prefix);
}

async function modelOf(registry: KernelRegistry, golden: Golden): Promise<Transformer> {
  const { config, batchSize } = golden;
  const model = await Transformer.create(registry, config, { batchSize, training: true });
  model.load(new Map([...withPrefix(golden, "weights"), ...golden.ofRows]));
  return model;
}

/** One over the number of targets, for a mean loss. */
function weightOf({ lossMask }: ModelBatch): number {
  return 1 / lossMask.reduce((sum, bit) => sum + bit, 0);
}

/** Checks that the golden rows are those that the model finds during evaluation. */
function checkRows({ config, batches, ofRows }: Golden): void {
  const known = new AddressEmbeddings(config);
  known.load(ofRows);
  for (const batch of batches) {
    const found = rowsOfBatch(batch, known, { sequenceLength: config.sequenceLength, isTraining: false });
    assertEquals(found, batch.embeddingRows);
  }
}

/** Expands the address embeddings' gradient: the golden file has only the batch's rows, ascending. */
function wholeGradients(golden: Golden): Map<string, Float32Array> {
  const { config, batches: [{ embeddingRows }] } = golden;
  const gradients = withPrefix(golden, "gradients");
  const ofNamed = gradients.get("address_embed.weight");
  if (!ofNamed || !embeddingRows) return gradients;
  const { width } = config;
  const whole = new Float32Array(modelShapes(config).numAddressEmbeddings * width);
  const named = [...new Set(embeddingRows)].filter((row) => row !== NO_ROW).sort((a, b) => a - b);
  assertEquals(ofNamed.length, named.length * width);
  named.forEach((row, i) => whole.set(ofNamed.subarray(i * width, (i + 1) * width), row * width));
  return gradients.set("address_embed.weight", whole);
}

async function compareLogits(model: Transformer, golden: Golden): Promise<void> {
  const stride = Number(golden.metadata.logitStride);
  const logits = Float64Array.from(tensorOf(golden.tensors, "logits", "F32"));
  const V = modelShapes(golden.config).vocabSize;
  // The golden logits are already capped.
  const expected = logProbabilities({ vocabSize: V, stride: V, softcap: null }, logits);
  const positions = Uint32Array.from({ length: logits.length / V }, (_, i) => i * stride);
  const actual = await model.logProbabilities(golden.batches[0], positions);
  assertClose(actual, expected, parityTolerance(expected), "log-probabilities");
}

async function compareLossesAndGradients(model: Transformer, golden: Golden): Promise<void> {
  const [batch] = golden.batches;
  const losses = tensorOf(golden.tensors, "losses", "F32");
  assertClose(await model.evaluateLosses(batch), losses, parityTolerance(losses), "losses");
  model.zeroGradients();
  model.accumulate(batch, weightOf(batch), batch.embeddingRows);
  const gradients = await readGradients(model);
  const expected = wholeGradients(golden);
  assertEquals([...expected.keys()].sort(), [...modelShapes(golden.config).parameters.keys()].sort());
  for (const [name, values] of expected) {
    assertClose(gradients.get(name) ?? new Float32Array(), values, parityTolerance(values), name);
  }
}

/** The loss before every step and after the last. */
async function trainLosses(model: Transformer, golden: Golden): Promise<Float32Array> {
  const totalSteps = Number(golden.metadata.numSteps);
  const config = optimConfigSchema.parse(JSON.parse(golden.metadata.optim));
  const optimizer = Optimizer.create(model.registry, model, config, { totalSteps });
  const losses = new Float32Array(totalSteps + 1);
  for (let step = 0; step <= totalSteps; step++) {
    const batch = golden.batches[step % golden.batches.length];
    const weight = weightOf(batch);
    model.zeroGradients();
    model.accumulate(batch, weight, batch.embeddingRows);
    const [[lossSum]] = await model.registry.gpu.read(model.lossSum);
    losses[step] = lossSum * weight;
    if (step < totalSteps) optimizer.step(step);
  }
  return losses;
}

for (const [name, what] of Object.entries(CASES)) {
  testOnEachDevice(
    `Transformer and Optimizer agree with PyTorch: ${name} ${what}`,
    async ({ registry }) => {
      const golden = readGolden(name);
      if (golden.ofRows.size > 0) checkRows(golden);
      const model = await modelOf(registry, golden);
      await compareLogits(model, golden);
      await compareLossesAndGradients(model, golden);
      const expected = tensorOf(golden.tensors, "stepLosses", "F32");
      assertClose(await trainLosses(model, golden), expected, PARITY_LOSS, "loss before a step");
    },
  );
}
