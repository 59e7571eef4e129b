/**
 * Opens a run's model and optimizer on the GPU with the initial weights, and its teacher: a trained model
 * whose RTT distributions a smaller one learns in addition to the data.
 *
 * The gradient at the two bytes of an RTT code is (1 - a) times the gradient of the data plus a times that of
 * the cross-entropy with the teacher's distribution, a = `train.teacherWeight`. All other tokens are learned
 * from the data alone: they are drawn by the sampler or given in the question, so no answer depends on them.
 * The teacher hides address embeddings and histories as in its own training, so that it does not pass on what
 * it memorised. Source: Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015, at
 * temperature 1.
 *
 * @module
 */
import { formatSeconds } from "../base/text.ts";
import { Gpu } from "../tensor/device.ts";
import { KernelRegistry } from "../tensor/registry.ts";
import type { DType } from "../tensor/tensor.ts";
import { bufferLimitBytes } from "../model/allocation.ts";
import { type ModelConfig, modelShapes } from "../model/model_config.ts";
import { initialParameters } from "../model/parameters.ts";
import { Transformer } from "../model/transformer.ts";
import { Optimizer } from "./optim/optimizer.ts";
import type { TrainingData } from "../data/addresses/known_addresses.ts";
import { claimRows, type DataSurvey } from "./autosize.ts";
import type { RunPlan } from "./run_config.ts";
import { innerState } from "./step_work.ts";
import type { LoadedCheckpoint } from "./checkpoint_files.ts";
import { checkMemory, describeMemoryPlan, planMemory } from "./memory_plan.ts";
import type { RunPlaces } from "./run_places.ts";
import type { Communicator } from "./mpi/communicator.ts";
import type { RunStart } from "./run_start.ts";
import { ConfigError, UserError } from "../base/errors.ts";
import { loadCheckpoint } from "./checkpoint.ts";
import { originOf } from "./training_data.ts";

interface ModelRun extends RunPlan {
  readonly dataDir: string | readonly string[];
  readonly seed: number;
  /** Undefined for a model without places. */
  readonly places: RunPlaces | undefined;
  readonly loadedTeacher: LoadedCheckpoint | undefined;
  readonly onLog: (line: string) => void;
}

/**
 * Opens a rank's GPU and logs its name. All ranks use the first rank's engine, because their weights must be
 * identical to the last bit.
 *
 * @param dtype The storage format of training.
 */
export async function openGpu(
  dtype: DType,
  ranks: Communicator | undefined,
  onLog: (line: string) => void,
): Promise<Gpu> {
  const own = !ranks || ranks.rank === 0 ? await Gpu.open({ dtype, onLog }) : undefined;
  const engine = await ranks?.fromFirst(() => own?.info.engine);
  const gpu = own ?? await Gpu.open({ dtype, engine, onLog });
  const { name, isSoftware, matrix } = gpu.info;
  const units = matrix ? `, matrix units of ${matrix.side} x ${matrix.side}` : "";
  onLog(`GPU: ${name}${units}${isSoftware ? " (a software adapter: every step runs on the processor)" : ""}`);
  return gpu;
}

/**
 * @param start The start of the run; `totalSteps`: the steps that the schedule spans; `survey` reads the
 *   training rows, whose addresses get address embeddings, unless they were read before.
 * @throws {UserError} If the run needs more memory than there is.
 */
export async function openModel(
  gpu: Gpu,
  run: ModelRun,
  { resumed, initial, totalSteps, survey }: RunStart & { totalSteps: number; survey: () => DataSurvey },
): Promise<{ model: Transformer; optimizer: Optimizer; trainingData: TrainingData }> {
  const { config, shapes, seed, places, loadedTeacher: loaded, onLog } = run;
  if (loaded) onLog(`also learning RTTs from ${loaded.directory}`);
  const adapter = { isSoftware: gpu.info.isSoftware, bufferLimitBytes: bufferLimitBytes(gpu.device) };
  const teacherShapes = loaded && modelShapes(loaded.config.model);
  onLog(describeMemoryPlan(planMemory(run, teacherShapes)));
  checkMemory(run, adapter, { teacher: teacherShapes });
  onLog("compiling the kernels (takes some seconds the first time)");
  const startMs = performance.now();
  const registry = new KernelRegistry(gpu);
  const teacher = loaded && await Transformer.create(registry, loaded.config.model, run.teacherExtent);
  if (loaded) teacher?.load(loaded.weights);
  const model = await Transformer.create(
    registry,
    config.model,
    run.extent,
    teacher?.asTeacher(config.train.teacherWeight),
  );
  const optimizer = Optimizer.create(registry, model, config.optim, { totalSteps });
  await registry.ready();
  onLog(`compiled ${registry.numPipelines} in ${formatSeconds((performance.now() - startMs) / 1000)}`);
  const weights = (resumed ?? initial)?.weights ?? initialParameters(config.model, seed);
  let trainingData = resumed?.trainingData;
  if (!trainingData) {
    onLog(
      shapes.numAddressEmbeddings > 0
        ? "assigning embeddings and coordinates to the addresses and pairs of the training data (may take a minute)"
        : "counting the addresses and pairs of the training data",
    );
    const startMs = performance.now();
    const data = survey();
    trainingData = { summary: data.counts.summary(originOf(run.dataDir)), known: data.counts.table() };
    claimRows(config.model, weights, data, places);
    onLog(`done in ${formatSeconds((performance.now() - startMs) / 1000)}`);
  }
  model.load(weights);
  if (resumed) optimizer.loadState(innerState(resumed.optimizer));
  return { model, optimizer, trainingData };
}

/**
 * @param path A checkpoint, or a run with one; undefined for no teacher.
 * @param student The model that learns from it.
 * @param onNote As for `loadCheckpoint`.
 * @throws {ConfigError} If the student cannot learn from any teacher.
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
