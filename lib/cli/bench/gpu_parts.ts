/**
 * `bench gpu --quick`: one part of it, which `bench child` measures in a process of its own.
 *
 * @module
 */
import {
  attentionCases,
  type BenchRow,
  crossEntropyCase,
  gemmCase,
  headCases,
  measureCase,
  rowCases,
} from "./kernel_bench.ts";
import { checkKernels, type CheckRow } from "./gpu_checks.ts";
import {
  type DecodedQuery,
  type DecodingRow,
  layersOf,
  timeDecoding,
  timeTraining,
  type TrainingRow,
} from "./gpu_survey.ts";
import { compareWith, type PeerName, type TrainingComparison } from "./peers.ts";
import { KernelError } from "../../base/errors.ts";
import { Gpu, type GpuInfo, type GpuOptions } from "../../tensor/device.ts";
import { type GemmVariant, gemmVariants } from "../../tensor/ops/gemm.ts";
import type { ProfileRow } from "../../tensor/program.ts";
import { KernelRegistry } from "../../tensor/registry.ts";
import type { DType } from "../../tensor/tensor.ts";
import { timingWeights } from "../../train/step_timing.ts";
import { loadConfig, type RunConfig } from "../../train/run_config.ts";

export interface PartOptions {
  gpu: GpuOptions;
  registry?: ConstructorParameters<typeof KernelRegistry>[1];
}

/** A configuration as given on the command line. */
export interface NamedConfig {
  config: string;
  set: readonly string[];
}

/** What to measure. `seconds` is the time of each measurement, `maxS` the time of all. */
export type GpuPart =
  | PartOptions & { kind: "adapter" }
  | PartOptions & { kind: "checks" }
  | NamedConfig & { kind: "peer"; peer: PeerName; dtype: DType; isSoftware: boolean; seconds: number }
  | PartOptions & NamedConfig & { kind: "training"; seconds: number }
  | PartOptions & NamedConfig & {
    kind: "kernels";
    of: "attention" | "rows";
    maxRows: number;
    seconds: number;
  }
  | PartOptions & NamedConfig & { kind: "products"; maxRows: number; seconds: number; maxS: number }
  | PartOptions & NamedConfig & { kind: "decoding"; queries: { query: DecodedQuery; rows: number[] }[] };

export interface WayRow {
  shape: string;
  /** Kernel, tile and splits, or {@link CHOSEN}. */
  way: string;
  gigaflopsPerS: number;
}

export const CHOSEN = "as chosen";

export interface PartResults {
  adapter: GpuInfo;
  checks: CheckRow[];
  peer: TrainingComparison;
  training: { row: TrainingRow; profile: ProfileRow[] };
  kernels: BenchRow[];
  products: WayRow[];
  decoding: DecodingRow[];
}

/** @throws {UserError} If the engine, the peer or enough memory is not available. */
export async function runGpuPart(
  part: GpuPart,
  { signal }: { signal: AbortSignal },
): Promise<PartResults[GpuPart["kind"]]> {
  switch (part.kind) {
    case "peer": {
      const { peer, dtype, ...options } = part;
      return await compareWith([peer, dtype], { ...options, config: configOf(part), signal });
    }
    case "training":
      return await timeTraining(withDtype(configOf(part), part.gpu.dtype), part.seconds, part.gpu);
    case "decoding":
      return await measureDecoding(part);
  }
  using gpu = await Gpu.open(part.gpu);
  const registry = new KernelRegistry(gpu, part.registry);
  switch (part.kind) {
    case "adapter":
      return gpu.info;
    case "checks":
      return [...await checkKernels(registry, "f32"), ...await checkKernels(registry, "f16")];
    case "kernels":
      return await measureKernels(registry, part);
    case "products":
      return await measureProducts(registry, part);
  }
}

function configOf({ config, set }: NamedConfig): RunConfig {
  return loadConfig(config, set);
}

function withDtype(config: RunConfig, dtype: DType = "f32"): RunConfig {
  return { ...config, train: { ...config.train, dtype } };
}

/** Attention and its gradient, or the row-wise kernels, for one micro-batch. */
async function measureKernels(
  registry: KernelRegistry,
  part: GpuPart & { kind: "kernels" },
): Promise<BenchRow[]> {
  const { model, train } = configOf(part);
  const { width, sequenceLength } = model;
  const batchSize = Math.max(1, Math.min(train.microBatchSize, part.maxRows / sequenceLength));
  const numRows = batchSize * sequenceLength;
  const cases = part.of === "attention"
    ? attentionCases({ ...model, batchSize }, part.gpu.dtype)
    : [...rowCases(width, numRows), ...headCases(model, numRows), crossEntropyCase(numRows)];
  const rows: BenchRow[] = [];
  for (const benchCase of cases) rows.push(await measureCase(registry, benchCase, part));
  return rows;
}

/** Numbers of splits that are tried for gradients. */
const SPLITS = [1, 2, 4, 8, 16];

/** Each product of the layers, computed as chosen and in all other ways. */
async function measureProducts(
  registry: KernelRegistry,
  part: GpuPart & { kind: "products" },
): Promise<WayRow[]> {
  const startMs = performance.now();
  const { dtype = "f32" } = part.gpu;
  const rows: WayRow[] = [];
  for (const shape of layersOf(configOf(part), part)) {
    const { kind, m, n, k } = shape;
    // Matrix units round f32 to f16.
    const variants = gemmVariants(registry.gpu.info, shape)
      .filter(({ kernel }) => dtype === "f16" || kernel !== "gemm_matrix");
    const ways: [string, { variant: GemmVariant; splits: number } | undefined][] = [[CHOSEN, undefined]];
    for (const variant of variants) {
      for (const splits of kind === "TN" ? SPLITS : [1]) {
        ways.push([`${variant.kernel} ${variant.tile}, ${splits} splits`, { variant, splits }]);
      }
    }
    for (const [way, how] of ways) {
      // The table has what was measured until then.
      if (performance.now() - startMs > 1000 * part.maxS) return rows;
      const special = { name: way, dtype, ...(how && { how }) };
      try {
        const { median } = await measureCase(registry, gemmCase(kind, m, n, k, special), part);
        rows.push({ shape: `${kind} ${m} x ${n} x ${k}`, way, gigaflopsPerS: median });
      } catch (error) {
        // Not every kernel can divide k.
        if (!(error instanceof KernelError && how && how.splits > 1)) throw error;
      }
    }
  }
  return rows;
}

async function measureDecoding(part: GpuPart & { kind: "decoding" }): Promise<DecodingRow[]> {
  const { model: config } = configOf(part);
  const model = { config, weights: timingWeights(config) };
  const rows: DecodingRow[] = [];
  for (const { query, rows: counts } of part.queries) {
    for (const count of counts) rows.push(await timeDecoding(model, query, count, part.gpu));
  }
  return rows;
}
