/**
 * The teacher of a run: a trained model whose distributions of RTTs a smaller one learns besides the data.
 *
 * The gradient at the two bytes of an RTT code is (1 - a) times that of the data plus a times that of the cross-entropy to
 * the teacher's distribution, with a = `train.teacherWeight`. All other tokens are learned from the data alone: what they
 * say is drawn by the sampler or is in the question, and no answer depends on it.
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
