/**
 * Times programs of dispatches: the speed of a kernel on this adapter, and its spread.
 *
 * A case is repeated in batches of one submit each. The median of the batches is reported with the slowest and the fastest
 * one. A software adapter shares the processor with other programs: there the speed by processor time is more reliable,
 * and fewer busy cores than the machine has show that other programs run.
 *
 * @module
 */
import process from "node:process";
import type { Gpu } from "../../tensor/device.ts";
import { Program } from "../../tensor/program.ts";
import type { KernelRegistry } from "../../tensor/registry.ts";
import { type DType, type Tensor, tensorLength } from "../../tensor/tensor.ts";

/** A case to time. */
export interface BenchCase {
  readonly name: string;
  /** `GFLOP/s`: work counts floating-point operations, more is better; `ns/element`: it counts elements. */
  readonly unit: "GFLOP/s" | "ns/element";
  /** The operations or elements of one repetition. */
  readonly work: number;
  /** Makes the tensors. @returns A function that appends one repetition to a program. */
  prepare(memory: BenchMemory): (program: Program) => void;
}

/** The speed of a case. */
export interface BenchRow {
  readonly name: string;
  readonly unit: BenchCase["unit"];
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  /** Number of timed repetitions. */
  readonly repetitions: number;
  /** Memory traffic at the median time, with the tensors of each dispatch counted once. */
  readonly gigabytesPerSecond: number;
  /** Processor seconds used per second while timing. */
  readonly coresBusy: number;
  /** `median` by processor time, which on a software adapter does not depend on other programs. */
  readonly perCore: number;
}

/** After this many elements the values repeat: computing each one would take longer than timing the kernels. */
const PATTERN_LENGTH = 2 ** 16;

/** Tensors of one case, freed after it. */
export class BenchMemory {
  readonly #tensors: Tensor[] = [];

  constructor(readonly gpu: Gpu) {}

  /** A tensor of numbers spread evenly over [-0.5, 0.5): zeros could be faster than real data. */
  float32(label: string, shape: readonly number[]): Tensor {
    return this.floats(label, shape, "f32");
  }

  /** {@link float32} for any dtype. @param shape For f16, an even number of elements. */
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

/** Batches per case; odd, because of the median. */
const NUM_BATCHES = 7;
/** Bounds the dispatches of one submit. */
const MAX_REPETITIONS = 1000;

/**
 * Times a case.
 *
 * @param registry Compiles the kernels; the compilation is not timed.
 * @param options `seconds`: the approximate time to measure.
 */
export async function measureCase(
  registry: KernelRegistry,
  benchCase: BenchCase,
  options: { seconds: number },
): Promise<BenchRow> {
  using memory = new BenchMemory(registry.gpu);
  const add = benchCase.prepare(memory);
  const { once, program } = await repeatedProgram(registry, add, {
    label: benchCase.name,
    seconds: options.seconds / NUM_BATCHES,
    maxRepetitions: MAX_REPETITIONS,
  });
  const repetitionsPerBatch = program.length / once.length;
  await registry.gpu.timeS(() => program.run());
  const times: number[] = [];
  const cpuBefore = process.cpuUsage();
  for (let i = 0; i < NUM_BATCHES; i++) {
    times.push(await registry.gpu.timeS(() => program.run()) / repetitionsPerBatch);
  }
  const cpu = process.cpuUsage(cpuBefore);
  const cpuS = (cpu.user + cpu.system) / 1e6;
  times.sort((a, b) => a - b);
  const median = times[NUM_BATCHES >> 1];
  const totalS = times.reduce((sum, seconds) => sum + seconds, 0) * repetitionsPerBatch;
  return {
    name: benchCase.name,
    unit: benchCase.unit,
    median: speedOf(benchCase, median),
    slowest: speedOf(benchCase, times[NUM_BATCHES - 1]),
    fastest: speedOf(benchCase, times[0]),
    repetitions: repetitionsPerBatch * NUM_BATCHES,
    gigabytesPerSecond: once.bytes / median / 1e9,
    coresBusy: cpuS / totalS,
    perCore: speedOf(benchCase, cpuS / NUM_BATCHES / repetitionsPerBatch),
  };
}

/**
 * Builds a program that runs for about a given time; its kernels are then compiled.
 *
 * @param add Appends one repetition.
 * @returns `once`: one repetition; `program`: as many as take `seconds`, at most `maxRepetitions`.
 */
async function repeatedProgram(
  registry: KernelRegistry,
  add: (program: Program) => void,
  { label, seconds, maxRepetitions }: { label: string; seconds: number; maxRepetitions: number },
): Promise<{ once: Program; program: Program }> {
  const repeated = (count: number) => {
    const program = new Program(registry, label);
    for (let i = 0; i < count; i++) add(program);
    return program;
  };
  const once = repeated(1);
  await registry.gpu.timeS(() => once.run());
  await registry.ready();
  const onceS = Math.max(await registry.gpu.timeS(() => once.run()), 1e-6);
  return { once, program: repeated(Math.min(maxRepetitions, Math.max(1, Math.ceil(seconds / onceS)))) };
}

function speedOf({ unit, work }: BenchCase, seconds: number): number {
  return unit === "GFLOP/s" ? work / seconds / 1e9 : seconds / work * 1e9;
}
