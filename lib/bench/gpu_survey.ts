/**
 * `bench gpu`: what a survey of an adapter consists of, step by step. A step that fails on this adapter is told of, and
 * the others go on; when the time is over, what is left is told of too.
 *
 * @module
 */
import type { BenchRow } from "../gpu/bench.ts";
import { Gpu, type GpuInfo } from "../gpu/device.ts";
import type { GemmKind } from "../gpu/ops/gemm.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import type { DType } from "../gpu/tensor.ts";
import type { CheckRow, SubmitRow } from "./gpu_checks.ts";
import type { DecodingRow } from "./gpu_decoding.ts";
import type { TrainingRow } from "./gpu_training.ts";

/** A matrix product as it was timed. */
export interface ProductRow {
  /** What it is timed for: how many tiles fill the adapter, how many splits are best, the layers of a model. */
  part: "fill" | "splits" | "layers";
  kind: GemmKind;
  m: number;
  n: number;
  k: number;
  dtype: DType;
  kernel: string;
  tile: number;
  splits: number;
  /** The median over the batches, and their ends. */
  gigaflopsPerS: number;
  slowestGigaflopsPerS: number;
  fastestGigaflopsPerS: number;
}

/** A kernel beside the products, on a device with or without subgroups. */
export interface KernelRow extends Pick<BenchRow, "name" | "gigabytesPerSecond"> {
  subgroups: boolean;
  /** The median, in one of both units. */
  gigaflopsPerS?: number;
  nsPerElement?: number;
}

/** The adapter. */
export interface AdapterRow extends GpuInfo {
  features: string[];
  limits: Record<string, number>;
}

/** Everything that was measured. */
export interface SurveyRows {
  checks: CheckRow[];
  submits: SubmitRow[];
  products: ProductRow[];
  kernels: KernelRow[];
  training: TrainingRow[];
  decoding: DecodingRow[];
}

/** One step of a survey. */
export interface SurveyStep {
  name: string;
  /** Measures and adds rows. */
  run(): Promise<void>;
}

/** What could not be measured, and why. */
export interface Unmeasured {
  name: string;
  reason: string;
}

/** A device that steps share; one is open at a time. */
export class SurveyDevice implements Disposable {
  #open: { registry: KernelRegistry; subgroups: boolean } | undefined;

  /** The device with or without subgroups. @throws {UserError} If there is no adapter. */
  async registry(subgroups = true): Promise<KernelRegistry> {
    if (this.#open?.subgroups !== subgroups) {
      this.close();
      this.#open = { registry: new KernelRegistry(await Gpu.open({ subgroups })), subgroups };
    }
    return this.#open.registry;
  }

  /** Frees the device with all its memory; the next step opens another. */
  close(): void {
    this.#open?.registry.gpu.close();
    this.#open = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Runs the steps of a survey.
 *
 * @param options `device`: closed after a step that failed, whose device may be lost; `isOver`: whether the time is;
 *   `onStep`: told of each before it begins.
 * @returns What was left out or failed.
 * @throws {InterruptedError} If the signal is aborted.
 */
export async function runSurvey(steps: readonly SurveyStep[], options: {
  device: SurveyDevice;
  signal: AbortSignal;
  isOver: () => boolean;
  onStep: (index: number, name: string) => void;
}): Promise<Unmeasured[]> {
  const { device, signal, isOver, onStep } = options;
  const unmeasured: Unmeasured[] = [];
  for (const [i, { name, run }] of steps.entries()) {
    signal.throwIfAborted();
    if (isOver()) {
      unmeasured.push({ name, reason: "the time was over" });
      continue;
    }
    onStep(i, name);
    try {
      await run();
    } catch (error) {
      signal.throwIfAborted();
      // Whatever an unknown adapter or its driver does is a result too.
      unmeasured.push({ name, reason: error instanceof Error ? error.message : String(error) });
      device.close();
    }
  }
  return unmeasured;
}

/** What the adapter is, can do and allows. */
export async function describeAdapter(gpu: Gpu): Promise<AdapterRow> {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  const limits: Record<string, number> = {};
  // The limits are getters of the prototype.
  for (const name in gpu.device.limits) {
    const limit = gpu.device.limits[name as keyof GPUSupportedLimits];
    if (typeof limit === "number") limits[name] = limit;
  }
  return { ...gpu.info, features: [...adapter?.features ?? []].sort(), limits };
}
