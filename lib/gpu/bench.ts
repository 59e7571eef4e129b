/**
 * Times programs of dispatches: how fast a kernel is on this adapter, and how sure that is.
 *
 * A measure is repeated in batches of one submit each; the median over the batches is reported with the
 * slowest and fastest batch. On a software adapter the speed per processor core tells more where other
 * programs run beside it; these also show as fewer busy cores than the machine has.
 *
 * @module
 */
import process from "node:process";
import { secondsUntilIdle } from "../runtime/queue_idle.ts";
import type { Gpu } from "./device.ts";
import { Program } from "./program.ts";
import type { KernelRegistry } from "./registry.ts";
import { type DType, type Tensor, tensorLength } from "./tensor.ts";

/** Something to time. */
export interface BenchCase {
  readonly name: string;
  /** `GFLOP/s`: work counts floating-point operations, more is better; `ns/element`: it counts elements. */
  readonly unit: "GFLOP/s" | "ns/element";
  /** The operations or elements of one repetition. */
  readonly work: number;
  /** Makes its tensors and returns what appends one repetition to a program. */
  prepare(memory: BenchMemory): (program: Program) => void;
}

/** The speed of a case. */
export interface BenchRow {
  readonly name: string;
  readonly unit: BenchCase["unit"];
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  /** Repetitions timed. */
  readonly repetitions: number;
  /** By the median time, the tensors of each dispatch counted once. */
  readonly gigabytesPerSecond: number;
  /** Processor seconds used per second while timing. */
  readonly coresBusy: number;
  /** The speed by processor time instead of time; on a software adapter it does not depend on other programs. */
  readonly perCore: number;
}

/** After so many elements their values repeat: to compute each of a large tensor takes longer than to time kernels. */
const PATTERN_LENGTH = 2 ** 16;

/** Tensors of one case, freed after it. */
export class BenchMemory {
  readonly #tensors: Tensor[] = [];

  constructor(readonly gpu: Gpu) {}

  /** A tensor of numbers within [-0.5, 0.5), evenly spread, for speeds that do not profit from zeros. */
  float32(label: string, shape: readonly number[]): Tensor {
    return this.floats(label, shape, "f32");
  }

  /** As {@link float32}, stored as told. @param shape Of an even number of elements for f16. */
  floats(label: string, shape: readonly number[], dtype: DType): Tensor {
    const tensor = this.#keep(this.gpu.tensor(label, shape, dtype));
    const data = new (dtype === "f16" ? Float16Array : Float32Array)(tensorLength(tensor));
    const length = Math.min(PATTERN_LENGTH, data.length);
    for (let i = 0; i < length; i++) data[i] = (i * Math.SQRT2) % 1 - 0.5;
    for (let end = length; end < data.length; end *= 2) data.copyWithin(end, 0, end);
    this.gpu.write(tensor, new Uint32Array(data.buffer));
    return tensor;
  }

  /** A tensor of integers `(7 i) mod below`. */
  uint32(label: string, shape: readonly number[], below: number): Tensor {
    const data = new Uint32Array(shape.reduce((product, extent) => product * extent, 1));
    for (let i = 0; i < data.length; i++) data[i] = 7 * i % below;
    return this.uint32From(label, shape, data);
  }

  /** A tensor of these integers. */
  uint32From(label: string, shape: readonly number[], data: Uint32Array<ArrayBuffer>): Tensor {
    return this.#keep(this.gpu.tensorFrom(label, shape, data));
  }

  [Symbol.dispose](): void {
    for (const { buffer } of this.#tensors.splice(0)) buffer.destroy();
  }

  #keep(tensor: Tensor): Tensor {
    this.#tensors.push(tensor);
    return tensor;
  }
}

/** Batches per case; the median wants an odd number. */
const NUM_BATCHES = 7;
/** Bounds the dispatches of one submit. */
const MAX_REPETITIONS = 1000;

/**
 * Times a case.
 *
 * @param registry Compiles the kernels; the compilation is not timed.
 * @param options `seconds`: about how long to measure.
 */
export async function measureCase(
  registry: KernelRegistry,
  benchCase: BenchCase,
  options: { seconds: number },
): Promise<BenchRow> {
  using memory = new BenchMemory(registry.gpu);
  const add = benchCase.prepare(memory);
  const repeated = (count: number) => {
    const program = new Program(registry, benchCase.name);
    for (let i = 0; i < count; i++) add(program);
    return program;
  };
  const once = repeated(1);
  await timeRun(registry.gpu, once);
  await registry.ready();
  const estimateS = await timeRun(registry.gpu, once);
  const repetitions = Math.ceil(options.seconds / NUM_BATCHES / Math.max(estimateS, 1e-6));
  const program = repeated(Math.min(MAX_REPETITIONS, Math.max(1, repetitions)));
  const repetitionsPerBatch = program.length / once.length;
  await timeRun(registry.gpu, program);
  const times: number[] = [];
  const cpuBefore = process.cpuUsage();
  for (let i = 0; i < NUM_BATCHES; i++) {
    times.push(await timeRun(registry.gpu, program) / repetitionsPerBatch);
  }
  const cpu = process.cpuUsage(cpuBefore);
  const cpuS = (cpu.user + cpu.system) / 1e6;
  times.sort((a, b) => a - b);
  const [fastest, median, slowest] = [times[0], times[NUM_BATCHES >> 1], times[NUM_BATCHES - 1]];
  const totalS = times.reduce((sum, seconds) => sum + seconds, 0) * repetitionsPerBatch;
  return {
    name: benchCase.name,
    unit: benchCase.unit,
    median: speedOf(benchCase, median),
    slowest: speedOf(benchCase, slowest),
    fastest: speedOf(benchCase, fastest),
    repetitions: repetitionsPerBatch * NUM_BATCHES,
    gigabytesPerSecond: once.bytes / median / 1e9,
    coresBusy: cpuS / totalS,
    perCore: speedOf(benchCase, cpuS / NUM_BATCHES / repetitionsPerBatch),
  };
}

function speedOf({ unit, work }: BenchCase, seconds: number): number {
  return unit === "GFLOP/s" ? work / seconds / 1e9 : seconds / work * 1e9;
}

/** Runs a program. @returns The seconds until the device was idle. */
export async function timeRun(gpu: Gpu, program: Program): Promise<number> {
  const startMs = performance.now();
  program.run();
  return await secondsUntilIdle(gpu.device.queue, startMs);
}
