/**
 * `bench gpu`: the steps of a survey run one by one. A step that fails is reported, and the others continue. Steps
 * that remain when the time is over are also reported.
 *
 * @module
 */
import type { BenchRow } from "./kernel_times.ts";
import { Gpu, type GpuInfo } from "../../tensor/device.ts";
import type { GemmKind } from "../../tensor/ops/gemm.ts";
import { KernelRegistry } from "../../tensor/registry.ts";
import type { DType } from "../../tensor/tensor.ts";

/** The largest error of an adapter's results. */
export interface CheckRow {
  name: string;
  error: number;
  allowedError: number;
}

/** The time of a submit, and whether onSubmittedWorkDone() waits for the work in the call itself. */
export interface SubmitRow {
  /** Seconds of one small product, until the call returns; the median. */
  submitS: number;
  /** Seconds of much work, until the call returns, and until its promise settles. */
  callS: number;
  settledS: number;
}

/** A timed matrix product. */
export interface ProductRow {
  /** The purpose: how many tiles fill the adapter, how many splits are best, the layers of the presets. */
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

/** The speed of training. */
export interface TrainingRow {
  dtype: DType;
  /** Timed steps. */
  steps: number;
  /** Seconds from opening the device to the end of the first step, and the median of the steps after it. */
  startS: number;
  stepS: number;
  tokensPerS: number;
  /** Useful operations per second. */
  gigaflopsPerS: number;
  plannedMemoryBytes: number;
}

/** A kind of query, in terms of decoding. */
export interface DecodedQuery {
  /** `one step`: distributions of RTTs; `many steps`: whole measurements. */
  kind: "one step" | "many steps";
  promptTokens: number;
  /** Rows that continue each prompt. */
  rowsPerPrompt: number;
  steps: number;
}

/** The speed of rows decoded together. */
export interface DecodingRow extends DecodedQuery {
  rows: number;
  /** Median seconds of the prompts and all steps, results read back. */
  seconds: number;
  /** Tokens of steps. */
  tokensPerS: number;
}

/** All measurements. */
export interface SurveyRows {
  checks: CheckRow[];
  submits: SubmitRow[];
  products: ProductRow[];
  /** On a device with or without subgroups. */
  kernels: (BenchRow & { subgroups: boolean })[];
  training: TrainingRow[];
  decoding: DecodingRow[];
}

/** Rows before the first step. */
export function emptyRows(): SurveyRows {
  return { checks: [], submits: [], products: [], kernels: [], training: [], decoding: [] };
}

export interface SurveyStep {
  name: string;
  /** Measures and adds rows. */
  run(): Promise<void>;
}

/** The result of a step. */
export interface StepEnd {
  name: string;
  seconds: number;
  /** The reason if nothing was measured; absent on success. */
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
 * @param options `device`: closed after a failed step, which may have lost it; `isOver`: whether the time is over;
 *   `onStep`: called before each step.
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
    const end: StepEnd = { name, seconds: 0 };
    try {
      await run();
    } catch (error) {
      // A failure of an unknown adapter or driver is also a result.
      end.reason = String(error);
      device[Symbol.dispose]();
    }
    end.seconds = (performance.now() - startMs) / 1000;
    ends.push(end);
  }
  signal.throwIfAborted();
  return ends;
}

/** An adapter with its features and limits. */
export interface AdapterRow extends GpuInfo {
  features: string[];
  limits: Record<string, number>;
}

export async function describeAdapter({ device, info }: Gpu): Promise<AdapterRow> {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  const limits: Record<string, number> = {};
  // Getters of the prototype, which Object.entries() does not see.
  for (const name in device.limits) limits[name] = Number(device.limits[name as keyof GPUSupportedLimits]);
  return { ...info, features: [...adapter?.features ?? []].sort(), limits };
}
