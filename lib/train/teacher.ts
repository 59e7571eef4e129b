/**
 * The teacher of a run: a trained model whose distributions of RTTs a smaller one learns besides the data.
 *
 * The gradient at the two bytes of an RTT code is (1 - a) times that of the data plus a times that of the cross-entropy to
 * the teacher's distribution, with a = `train.teacherWeight`. All other tokens are learned from the data alone: what they
 * say is drawn by the sampler or is in the question, and no answer depends on it.
 *
 * Its weight `train.teacherWeight` is 0.5; 0.9 is better where data are few. A student of 227 k parameters (`demo` with
 * `model.numLayers=1`, `model.width=48`, `model.numHeads=1`, `model.mlpWidth=192`; its teacher has 639 k, two layers of
 * width 96, 419 steps, 1.00 ms), on the test split of the demo's synthetic Internet, one seed:
 *
 *     trained                       steps  validation, nats  median error  CRPS     excess bits over truth
 *     alone                         400    0.929             1.08 ms       4.56 ms  1.62
 *     with a teacher                400    0.905             1.04 ms       4.54 ms  1.55
 *     the same, its weight 0.9      400    0.901             1.00 ms       4.51 ms  1.57
 *     alone, as long as with it     640    0.905             0.99 ms       4.34 ms  1.54
 *     alone, on a tenth of the data 300    1.011             1.39 ms       5.68 ms  2.71
 *     with a teacher, on the same   300    0.952             1.21 ms       5.06 ms  2.20
 *     the same, its weight 0.9      300    0.922             1.13 ms       4.81 ms  1.92
 *
 * Over three seeds, the first two differ by 0.015 to 0.024 nats per token and by 0.10 to 0.13 bits per RTT code. A step
 * with this teacher takes 1.6 to 1.8 times as long, so where data are plenty the student had better train longer. The
 * teacher hides address embeddings and histories as in its own training, so that it does not teach what it learned by
 * heart.
 *
 * Source: Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015, at temperature 1.
 *
 * @module
 */
import { ConfigError, UserError } from "../base/errors.ts";
import type { KernelRegistry } from "../tensor/registry.ts";
import type { ModelConfig, ModelExtent } from "../model/model_config.ts";
import { Transformer } from "../model/transformer.ts";
import { loadCheckpoint } from "./checkpoint.ts";
import type { LoadedCheckpoint } from "./checkpoint_files.ts";
import type { RunConfig } from "./run_config.ts";

/**
 * Reads the teacher of a run.
 *
 * @param path A checkpoint, or a run with one; undefined for none.
 * @param student The model that learns from it.
 * @param onNote As for `loadCheckpoint`.
 * @throws {ConfigError} If the student cannot learn from any.
 * @throws {UserError} If there is no checkpoint, or it does not fit the student.
 */
export function loadTeacher(
  path: string | undefined,
  student: ModelConfig,
  onNote: (line: string) => void,
): LoadedCheckpoint | undefined {
  if (path === undefined) return undefined;
  if (student.vocabulary !== "v2") {
    throw new ConfigError(
      "model.vocabulary",
      `found ${student.vocabulary}, expected v2 to learn from a teacher; leave out --teacher`,
    );
  }
  const teacher = loadCheckpoint(path, { onNote });
  const { vocabulary, sequenceLength } = teacher.config.model;
  const refuse = (found: string, fix: string) =>
    new UserError(`Cannot learn from the teacher ${teacher.directory}: ${found}; ${fix}`);
  if (vocabulary !== student.vocabulary) {
    throw refuse(
      `its vocabulary is ${vocabulary}, expected ${student.vocabulary}`,
      "choose another --teacher",
    );
  }
  if (sequenceLength < student.sequenceLength) {
    throw refuse(
      `it reads sequences of ${sequenceLength} tokens, expected at least the student's ${student.sequenceLength}`,
      `set model.sequenceLength to ${sequenceLength} or less, or choose another --teacher`,
    );
  }
  return teacher;
}

/** How a run's teacher runs: forward only, on the run's micro-batches. It is stored in f32, as for queries. */
export function teacherExtent({ model, train }: RunConfig): ModelExtent {
  return { batchSize: train.microBatchSize, sequenceLength: model.sequenceLength, training: false };
}

/** Opens the teacher of a run on the GPU. */
export async function openTeacher(
  registry: KernelRegistry,
  { config, weights }: LoadedCheckpoint,
  run: RunConfig,
): Promise<Transformer> {
  const teacher = await Transformer.create(registry, config.model, teacherExtent(run));
  teacher.load(weights);
  return teacher;
}
