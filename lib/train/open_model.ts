/**
 * The model and the optimizer of a run on the GPU, with the weights that it starts from.
 *
 * @module
 */
import { formatSeconds } from "../base/text.ts";
import { Gpu } from "../tensor/device.ts";
import { KernelRegistry } from "../tensor/registry.ts";
import { bufferLimitBytes } from "../model/allocation.ts";
import { modelShapes } from "../model/model_config.ts";
import { initialParameters } from "../model/parameters.ts";
import { Transformer } from "../model/transformer.ts";
import { Optimizer } from "./optim/optimizer.ts";
import type { AddressCounts } from "../data/addresses/known_addresses.ts";
import { claimRows } from "./autosize.ts";
import type { DataSurvey } from "./data_survey.ts";
import { type RunConfig, trainingExtent } from "./run_config.ts";
import { innerState } from "./local_steps.ts";
import type { LoadedCheckpoint } from "./checkpoint_files.ts";
import { checkMemory, describeMemoryPlan, planMemory } from "./memory_plan.ts";
import type { RunPlaces } from "./run_places.ts";
import type { RunStart } from "./run_start.ts";
import { openTeacher } from "./teacher.ts";

/** Options of {@link openModel}. */
interface ModelOptions {
  config: RunConfig;
  seed: number;
  /** Where addresses are; undefined for a model without places. */
  places?: RunPlaces | undefined;
  /** A model to learn from besides the data. */
  loadedTeacher: LoadedCheckpoint | undefined;
  onLog?: (line: string) => void;
}

/** Opens the GPU and logs its name. */
export async function openGpu(onLog: (line: string) => void): Promise<Gpu> {
  const gpu = await Gpu.open();
  const { name, isSoftware } = gpu.info;
  onLog(`GPU: ${name}${isSoftware ? " (a software adapter: every step runs on the processor)" : ""}`);
  return gpu;
}

/**
 * Opens the model and its optimizer.
 *
 * @param start The start of the run; `survey`: reads the training rows, whose addresses get address
 *   embeddings, unless they were read before.
 * @returns `counts`: the addresses and pairs of the training rows; undefined if the run is resumed.
 * @throws {UserError} If the run takes more memory than there is.
 */
export async function openModel(
  gpu: Gpu,
  { config, seed, places, loadedTeacher: loaded, onLog = () => {} }: ModelOptions,
  { resumed, initial, survey }: RunStart & { survey: () => DataSurvey },
): Promise<{ model: Transformer; optimizer: Optimizer; counts: AddressCounts | undefined }> {
  if (loaded) onLog(`learning RTTs also from ${loaded.directory}`);
  const adapter = { isSoftware: gpu.info.isSoftware, bufferLimitBytes: bufferLimitBytes(gpu.device) };
  onLog(describeMemoryPlan(planMemory(config, loaded?.config.model)));
  checkMemory(config, adapter, { teacher: loaded?.config.model });
  onLog("compiling the kernels (some seconds when the driver has not seen them before)");
  const startMs = performance.now();
  const registry = new KernelRegistry(gpu);
  const teacher = loaded && await openTeacher(registry, loaded, config);
  const model = await Transformer.create(
    registry,
    config.model,
    trainingExtent(config),
    teacher?.asTeacher(config.train.teacherWeight),
  );
  const optimizer = Optimizer.create(registry, model, config.optim, { totalSteps: config.train.steps });
  await registry.ready();
  onLog(`compiled ${registry.numPipelines} in ${formatSeconds((performance.now() - startMs) / 1000)}`);
  const weights = (resumed ?? initial)?.weights ?? initialParameters(config.model, seed);
  let counts: AddressCounts | undefined;
  if (!resumed) {
    onLog(
      modelShapes(config.model).numAddressEmbeddings > 0
        ? "assigning embeddings and coordinates to the addresses and pairs of the training data (may take a minute)"
        : "counting the addresses and pairs of the training data",
    );
    const startMs = performance.now();
    const data = survey();
    counts = data.counts;
    claimRows(config.model, weights, data, places);
    onLog(`done in ${formatSeconds((performance.now() - startMs) / 1000)}`);
  }
  model.load(weights);
  if (resumed) optimizer.loadState(innerState(resumed.optimizer));
  return { model, optimizer, counts };
}
