/**
 * `bench gpu`: a survey of an adapter, step by step. A step that fails is reported and the others continue. When the time is
 * over, the steps that are left are reported, too.
 *
 * @module
 */
import type { BenchRow } from "../gpu/bench.ts";
import { Gpu, type GpuInfo } from "../gpu/device.ts";
import type { GemmKind } from "../gpu/ops/gemm.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import type { DType } from "../gpu/tensor.ts";
import type { CheckRow, SubmitRow } from "./gpu_checks.ts";
import type { DecodingRow, TrainingRow } from "./gpu_models.ts";

/** A timed matrix product. */
export interface ProductRow {
  /** What for: how many tiles fill the adapter, how many splits are best, the layers of the presets. */
  part: "fill" | "splits" | "layers";
  kind: GemmKind;
  m: number;
  n: number;
  k: number;
  dtype: DType;
  kernel: string;
  tile: number;
  splits: number;
  /** The median over the batches. */
  gigaflopsPerS: number;
}

/** Everything that was measured. */
export interface SurveyRows {
  checks: CheckRow[];
  submits: SubmitRow[];
  products: ProductRow[];
  /** On a device with or without subgroups. */
  kernels: (BenchRow & { subgroups: boolean })[];
  training: TrainingRow[];
  decoding: DecodingRow[];
}

/** One step. */
export interface SurveyStep {
  name: string;
  /** Measures and adds rows. */
  run(): Promise<void>;
}

/** The result of a step. */
export interface StepEnd {
  name: string;
  seconds: number;
  /** Why nothing was measured; absent on success. */
  reason?: string;
}

/** A device that steps share; one is open at a time. */
export class SurveyDevice implements Disposable {
  #registry: KernelRegistry | undefined;
  #subgroups = true;

  /** The device with or without subgroups. @throws {UserError} If there is no adapter. */
  async registry(subgroups = true): Promise<KernelRegistry> {
    if (this.#subgroups !== subgroups) this[Symbol.dispose]();
    this.#subgroups = subgroups;
    return this.#registry ??= new KernelRegistry(await Gpu.open({ subgroups }));
  }

  /** Frees the device with all its memory; the next request opens another one. */
  [Symbol.dispose](): void {
    this.#registry?.gpu.close();
    this.#registry = undefined;
  }
}

/**
 * Runs the steps of a survey.
 *
 * @param options `device`: closed after a step that failed, which may have lost it; `isOver`: whether the time is;
 *   `onStep`: told of each before it begins.
 * @throws {InterruptedError} If the signal is aborted.
 */
export async function runSurvey(steps: readonly SurveyStep[], options: {
  device: SurveyDevice;
  signal: AbortSignal;
  isOver: () => boolean;
  onStep: (index: number, name: string) => void;
}): Promise<StepEnd[]> {
  const { device, signal, isOver, onStep } = options;
  const ends: StepEnd[] = [];
  for (const [i, { name, run }] of steps.entries()) {
    signal.throwIfAborted();
    if (isOver()) {
      ends.push({ name, seconds: 0, reason: "the time was over" });
      continue;
    }
    onStep(i, name);
    const startMs = performance.now();
    const failure = await run().then(() => undefined, (error: unknown) => error);
    const seconds = (performance.now() - startMs) / 1000;
    // A failure of an unknown adapter or driver is a result, too.
    ends.push({ name, seconds, ...(failure === undefined ? {} : { reason: String(failure) }) });
    if (failure !== undefined) device[Symbol.dispose]();
  }
  signal.throwIfAborted();
  return ends;
}

/** What the adapter is, can do and allows. */
export interface AdapterRow extends GpuInfo {
  features: string[];
  limits: Record<string, number>;
}

/** The adapter of a device. */
export async function describeAdapter({ device, info }: Gpu): Promise<AdapterRow> {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  const limits: Record<string, number> = {};
  // Getters of the prototype, which Object.entries() does not see.
  for (const name in device.limits) limits[name] = Number(device.limits[name as keyof GPUSupportedLimits]);
  return { ...info, features: [...adapter?.features ?? []].sort(), limits };
}
