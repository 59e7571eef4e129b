/** A model that learns the bytes of RTTs from another model. */
import { assert, assertLess } from "@std/assert";
import { named } from "../../lib/base/errors.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import type { DType } from "../../lib/tensor/tensor.ts";
import { markRttBytes, type ModelBatch } from "../../lib/model/batch_rows.ts";
import { modelShapes } from "../../lib/model/model_config.ts";
import { readParameterLike } from "../../lib/model/parameters.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { optimConfigSchema } from "../../lib/train/optim/optim_config.ts";
import { Optimizer } from "../../lib/train/optim/optimizer.ts";
import { RTT_START } from "../../lib/data/tokens/vocab_v2.ts";
import { assertClose, assertSameBits, testOnDevice, testOnEachDevice } from "../tensor/support.ts";
import { modelTolerance } from "../tolerances.ts";
import { batchOf, knownRows, tinyBatch, tinyConfig, tinyWeights, toFloat32 } from "./tiny_model.ts";

const BATCH_SIZE = 2;
const STUDENT = tinyConfig();
const SEQUENCE_LENGTH = STUDENT.sequenceLength;
/** Wider, with longer sequences and another cap. */
const TEACHER = tinyConfig({ width: 24, numHeads: 1, sequenceLength: 32, softcap: null });

function rttBatch(seed: number): ModelBatch {
  const batch = tinyBatch(STUDENT, BATCH_SIZE, seed);
  for (const start of [2, 6, 14, 18]) batch.tokens[start] = RTT_START;
  return batch;
}

async function teacherOf(registry: KernelRegistry): Promise<Transformer> {
  const options = { batchSize: BATCH_SIZE, training: false, sequenceLength: SEQUENCE_LENGTH };
  const teacher = await Transformer.create(registry, TEACHER, options);
  // Small weights make an uncertain teacher.
  const weights = [...toFloat32(tinyWeights(TEACHER, 7))].map(([name, values]): [string, Float32Array] => [
    name,
    values.map((value) => 0.5 * value),
  ]);
  teacher.load(new Map(weights));
  return teacher;
}

async function studentOf(
  registry: KernelRegistry,
  { teacher, share = 0, dtype = "f32" }: { teacher?: Transformer; share?: number; dtype?: DType },
): Promise<Transformer> {
  const options = { batchSize: BATCH_SIZE, training: true, rttByteWeight: 2, dtype };
  const student = await Transformer.create(registry, STUDENT, options, teacher?.asTeacher(share));
  student.load(toFloat32(tinyWeights(STUDENT)));
  return student;
}

testOnEachDevice(
  "a teacher's share is mixed into the gradients of all weights, but not the loss",
  async ({ registry, gpu }) => {
    const teacher = await teacherOf(registry);
    const before = await teacher.weights();
    const gradientsOf = async (of: { teacher?: Transformer; share?: number }) => {
      const student = await studentOf(registry, of);
      student.accumulate(rttBatch(1), 0.25);
      const gradients = await readParameterLike(gpu, student.shapes, student.gradients);
      return { gradients, loss: (await gpu.read(student.lossSum))[0] };
    };
    const plain = await gradientsOf({});
    const [none, mixed, all] = [
      await gradientsOf({ teacher, share: 0 }),
      await gradientsOf({ teacher, share: 0.25 }),
      await gradientsOf({ teacher, share: 1 }),
    ];
    assertSameBits(mixed.loss, plain.loss, "loss");
    for (const [name, values] of plain.gradients) {
      assertSameBits(named(none.gradients, name), values, name);
      const [ofTeacher, actual] = [all, mixed].map(({ gradients }) => named(gradients, name));
      const expected = Float64Array.from(values, (value, i) => 0.75 * value + 0.25 * ofTeacher[i]);
      const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      assertClose(actual, expected, modelTolerance(STUDENT, largest), name);
      assert(values.some((value, i) => value !== ofTeacher[i]), `the teacher does not change ${name}`);
    }
    for (const [name, values] of await teacher.weights()) {
      assertSameBits(values, named(before, name), `the teacher's ${name}`);
    }
  },
);

testOnEachDevice("a student identical to its teacher gets no gradient from it", async ({ registry, gpu }) => {
  const twin = await Transformer.create(registry, STUDENT, { batchSize: BATCH_SIZE, training: false });
  twin.load(toFloat32(tinyWeights(STUDENT)));
  const taught = await studentOf(registry, { teacher: twin, share: 1 });
  const alone = await studentOf(registry, {});
  for (const seed of [1, 2]) {
    const batch = rttBatch(seed);
    // Positions where RTT bytes come next learn from the teacher alone.
    const others = markRttBytes(batch, SEQUENCE_LENGTH).map((kind) => Number(kind === 1));
    const gradients: Map<string, Float32Array>[] = [];
    for (const [model, lossMask] of [[taught, batch.lossMask], [alone, others]] as const) {
      model.zeroGradients();
      model.accumulate({ ...batch, lossMask }, 0.25);
      gradients.push(await readParameterLike(gpu, model.shapes, model.gradients));
    }
    const [actual, expected] = gradients;
    for (const [name, values] of expected) {
      const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      assertClose(named(actual, name), values, modelTolerance(STUDENT, largest), `${name}, batch ${seed}`);
    }
  }
});

/** The mean Kullback-Leibler divergence from the teacher to the student at RTT bytes, nats. */
async function divergence(teacher: Transformer, student: Transformer, batch: ModelBatch): Promise<number> {
  const marks = markRttBytes(batch, SEQUENCE_LENGTH);
  const positions = Uint32Array.from([...marks.keys()].filter((row) => marks[row] >= 2));
  const [p, q] = [
    await teacher.logProbabilities(batch, positions),
    await student.logProbabilities(batch, positions),
  ];
  const sum = p.reduce((sum, logP, i) => sum + Math.exp(logP) * (logP - q[i]), 0);
  return sum / (p.length / modelShapes(STUDENT).vocabSize);
}

testOnDevice(
  "training with a teacher at least halves the student's divergence from it, in f32 and f16",
  async ({ registry }) => {
    const adamW = { kind: "adamw", learningRate: 0.01 };
    const optim = optimConfigSchema.parse({
      groups: { embedding: adamW, head: adamW, matrices: { kind: "muon", learningRate: 0.01 } },
    });
    const teacher = await teacherOf(registry);
    const batches = [1, 2, 3].map(rttBatch);
    const trained = async (share: number, dtype: DType): Promise<number> => {
      const student = await studentOf(registry, { teacher, share, dtype });
      const optimizer = Optimizer.create(registry, student, optim, { totalSteps: 30 });
      for (let step = 0; step < 30; step++) {
        student.zeroGradients();
        student.accumulate(batches[step % 3], 0.1);
        optimizer.step(step);
      }
      return await divergence(teacher, student, batches[0]);
    };
    const untaught = await trained(0, "f32");
    for (const dtype of ["f32", "f16"] as const) assertLess(await trained(0.9, dtype), 0.5 * untaught, dtype);
  },
);

testOnDevice(
  "a teacher hides the same address embeddings in each batch as its training",
  async ({ registry, gpu }) => {
    const T = 48;
    const rows = { rows: 32, seed: 3, dropShare: 0.5 };
    const config = tinyConfig({
      sequenceLength: T,
      prefixVectors: rows,
      pairVectors: { ...rows, history: true },
      coordinates: { nodes: 16, rank: 2, folds: 4, dropShare: 0.5 },
    });
    const weights = toFloat32(tinyWeights(config));
    knownRows(config).save(weights);
    const [training, frozen] = [true, false].map((training) =>
      Transformer.create(registry, config, {
        batchSize: BATCH_SIZE,
        sequencesPerStep: 4 * BATCH_SIZE,
        training,
      })
    );
    const [trained, taught] = [await training, await frozen];
    for (const model of [trained, taught]) model.load(weights);
    const teacher = taught.asTeacher(0.5);
    let numHidden = 0;
    for (let seed = 1; seed < 6; seed++) {
      const batch = batchOf(seed, BATCH_SIZE);
      trained.zeroGradients();
      trained.accumulate(batch, 1);
      teacher.forward(batch);
      const [wanted, found] = await gpu.read(trained.asTeacher(1).logits, teacher.logits);
      assertSameBits(found, wanted, `logits of batch ${seed}`);
      await taught.evaluateLosses(batch);
      const [whole] = await gpu.read(teacher.logits);
      if (whole.some((value, i) => value !== found[i])) numHidden++;
    }
    assert(numHidden > 0, "nothing was hidden");
  },
);
