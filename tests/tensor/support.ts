/**
 * Helpers for kernel tests: both kinds of device, tensors between guard words, random data, comparison.
 *
 * @module
 */
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { assert, assertEquals } from "@std/assert";
import { Gpu } from "../../lib/tensor/device.ts";
import type { MatrixUnits } from "../../lib/tensor/engine.ts";
import { Program } from "../../lib/tensor/program.ts";
import { KernelRegistry, ROW_LAYOUTS, type RowLayout } from "../../lib/tensor/registry.ts";
import { type DType, type Tensor, tensorLength, tensorSizeBytes } from "../../lib/tensor/tensor.ts";
import { previousRows } from "../../lib/tensor/ops/qk_norm_rope.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { type BoundsWatch, watchBounds } from "./bounds.ts";
import { addTolerances, HALF_STORAGE, type Tolerance } from "../tolerances.ts";

/** Words before and after each tensor; 64 words keep its offset a multiple of 256 bytes. */
const GUARD_WORDS = 64;
/** Around an input: a NaN, so that reading it poisons a result. */
const INPUT_GUARD = 0x7fc0_9a4d;
/** Around an output: a finite number (-2.56e37), because arithmetic on a NaN may not change its bits. */
const OUTPUT_GUARD = 0xfd9a_4d01;

/**
 * GPU devices shared by the tests of a file: NVIDIA's driver gives a process some 64, and Deno frees a closed
 * device only at garbage collection.
 */
const shared = new Map<boolean, Gpu>();

/** {@link testOnEachDevice} for a row kernel, with each adapter kind's row layout. */
export function testOnEachLayout(name: string, body: (bench: KernelBench) => Promise<void>): void {
  for (const [kind, rows] of Object.entries(ROW_LAYOUTS)) {
    testOnEachDevice(`${name}, rows as for ${kind}`, (bench) => body(new KernelBench(bench.gpu, rows)));
  }
}

export function testOnEachDevice(name: string, body: (bench: KernelBench) => Promise<void>): void {
  testOnDevice(`${name} (with subgroups)`, body);
  testOnDevice(`${name} (without subgroups)`, body, { subgroups: false });
}

/** Runs a test on one device, because it does not depend on which kernels run. */
export function testOnDevice(
  name: string,
  body: (bench: KernelBench) => Promise<void>,
  { subgroups = true } = {},
): void {
  Deno.test(name, async () => {
    const gpu = shared.get(subgroups) ?? await Gpu.open({ subgroups });
    shared.delete(subgroups);
    try {
      await checked(new KernelBench(gpu), body);
    } finally {
      if (gpu.info.isSoftware || gpu.fault) gpu.close();
      else shared.set(subgroups, gpu);
    }
  });
}

/** Runs a test, and {@link KernelBench.check} if the test did not. */
async function checked(bench: KernelBench, body: (bench: KernelBench) => Promise<void>): Promise<void> {
  await body(bench);
  await bench.check();
}

/** Runs a test on a device with matrix units; without one, prints a note. */
export function testWithMatrices(
  name: string,
  body: (bench: KernelBench, units: MatrixUnits) => Promise<void>,
): void {
  Deno.test(name, async () => {
    using gpu = await Gpu.open();
    const { matrix, name: adapter, engine } = gpu.info;
    if (matrix) await checked(new KernelBench(gpu), (bench) => body(bench, matrix));
    else console.log(`not run: ${adapter} has no matrix units on the engine ${engine}`);
  });
}

/** A device with tensors between guard words. */
export class KernelBench {
  readonly registry: KernelRegistry;
  readonly #tensors: { tensor: Tensor; whole: Tensor; input: Uint32Array | undefined }[] = [];

  readonly #bounds: BoundsWatch;

  /** @param rows Replaces the adapter's row layout. */
  constructor(readonly gpu: Gpu, rows?: Partial<RowLayout>) {
    this.#bounds = watchBounds(gpu);
    this.registry = new KernelRegistry(gpu, rows && { rows });
  }

  /** A tensor that the kernel only reads; {@link check} finds changes. f16 data are rounded. */
  input(label: string, shape: readonly number[], data: ArrayLike<number>, dtype?: DType): Tensor {
    return this.#place(label, { shape, dtype }, stored(data, dtype), true);
  }

  /** Like {@link input}, for unsigned integers (tokens, targets, masks). */
  inputUint32(label: string, shape: readonly number[], data: ArrayLike<number>): Tensor {
    return this.#place(label, { shape, dtype: "f32" }, Uint32Array.from(data), true);
  }

  /** A tensor that the kernel writes; without `data` it starts as NaN, which shows omitted elements. */
  output(label: string, shape: readonly number[], data?: ArrayLike<number>, dtype?: DType): Tensor {
    const start = data ?? new Float32Array(tensorLength({ shape })).fill(NaN);
    return this.#place(label, { shape, dtype }, stored(start, dtype), false);
  }

  async run(add: (program: Program) => void): Promise<void> {
    const program = new Program(this.registry, "test");
    add(program);
    program.run();
    await this.registry.ready();
  }

  /** Reads tensors back, after {@link check}. */
  async read(...tensors: Tensor[]): Promise<Float32Array[]> {
    await this.check();
    return await this.gpu.read(...tensors);
  }

  /** Asserts that kernels stayed within their arrays and that guard words and inputs are unchanged. */
  async check(): Promise<void> {
    const [faults, ...contents] = await this.gpu.read(
      this.#bounds.faults,
      ...this.#tensors.map(({ whole }) => whole),
    );
    this.#bounds.check(faults);
    this.#tensors.forEach(({ tensor, input }, i) => {
      // The bytes may be part of a longer buffer.
      const words = new Uint32Array(contents[i].buffer, contents[i].byteOffset, contents[i].length);
      const end = GUARD_WORDS + tensorSizeBytes(tensor) / 4;
      const guard = input ? INPUT_GUARD : OUTPUT_GUARD;
      const isGuard = (index: number) => index < GUARD_WORDS || index >= end;
      const at = words.findIndex((word, index) => isGuard(index) && word !== guard);
      assert(at < 0, `guard word ${at - (at < end ? GUARD_WORDS : end)} of ${tensor.label} was overwritten`);
      if (input) assertEquals(words.subarray(GUARD_WORDS, end), input, `${tensor.label} was changed`);
    });
  }

  clear(): void {
    for (const { tensor } of this.#tensors.splice(0)) tensor.buffer.destroy();
  }

  #place(
    label: string,
    { shape, dtype = "f32" }: { shape: readonly number[]; dtype: DType | undefined },
    data: Float32Array | Uint32Array | Float16Array,
    isInput: boolean,
  ): Tensor {
    assertEquals(data.length, tensorLength({ shape }), `data of ${label}`);
    const length = data.byteLength / 4;
    // A multiple of 4 words, so that a binding of vec4 elements ends where the guard ends.
    const words = new Uint32Array(GUARD_WORDS * 2 + Math.ceil(length / 4) * 4)
      .fill(isInput ? INPUT_GUARD : OUTPUT_GUARD);
    words.set(new Uint32Array(data.buffer, data.byteOffset, length), GUARD_WORDS);
    const whole = this.gpu.tensorFrom(label, [words.length], words);
    const tensor: Tensor = { label, shape, dtype, buffer: whole.buffer, offsetBytes: GUARD_WORDS * 4 };
    const input = isInput ? words.slice(GUARD_WORDS, GUARD_WORDS + length) : undefined;
    this.#tensors.push({ tensor, whole, input });
    return tensor;
  }
}

function stored(data: ArrayLike<number>, dtype: DType | undefined): Float32Array | Float16Array {
  return dtype === "f16" ? Float16Array.from(data) : Float32Array.from(data);
}

/** Rounds numbers to f16. */
export function toHalf(data: ArrayLike<number>): Float64Array {
  return Float64Array.from(Float16Array.from(data));
}

/**
 * Normal random numbers that are exact in float32, so that kernel and reference get the same values.
 *
 * @param label Names the stream; each label gives different numbers.
 */
export function randomNormal(label: string, length: number, scale = 1): Float64Array {
  const random = new RandomStream(0, label);
  return Float64Array.from({ length }, () => Math.fround(random.normal() * scale));
}

export const DTYPES: readonly DType[] = ["f32", "f16"];

/** Like {@link randomNormal}, exact in a dtype, so that inputs add no rounding error. */
export function randomIn(dtype: DType, label: string, length: number): Float64Array {
  const values = randomNormal(label, length);
  return dtype === "f16" ? toHalf(values) : values;
}

export function storedIn(dtype: DType, tolerance: Tolerance): Tolerance {
  return dtype === "f16" ? addTolerances(tolerance, HALF_STORAGE) : tolerance;
}

export function largestOf(x: Float64Array): number {
  return x.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
}

/** The largest Euclidean norm of the rows of a matrix with `width` columns. */
export function largestNorm(x: Float64Array, width: number): number {
  let largest = 0;
  for (let at = 0; at < x.length; at += width) {
    largest = Math.max(largest, Math.hypot(...x.subarray(at, at + width)));
  }
  return largest;
}

export function randomIntegers(label: string, length: number, below: number): Uint32Array {
  const random = new RandomStream(0, label);
  return Uint32Array.from({ length }, () => random.below(below));
}

/** `previousRows` of segments of random lengths within sequences of 16. */
export function randomPrevious(rows: number): Uint32Array {
  let start = 0;
  const isNew = randomIntegers("segments", rows, 4);
  const starts = Array.from(isNew, (draw, row) => {
    if (row % 16 === 0) start = 0;
    return start = draw === 0 ? row % 16 : start;
  });
  return previousRows(starts, 16);
}

/**
 * Asserts that a kernel's result is within the tolerance of the reference.
 *
 * @throws {AssertionError} With the index and size of the worst difference.
 */
export function assertClose(
  actual: TensorArray,
  expected: ArrayLike<number>,
  { relative, absolute }: Tolerance,
  what: string,
): void {
  assertEquals(actual.length, expected.length, `length of ${what}`);
  let worst = -1;
  let worstRatio = 1;
  actual.forEach((value, i) => {
    const ratio = Math.abs(value - expected[i]) / (absolute + relative * Math.abs(expected[i]));
    const isWorse = Object.is(value, expected[i]) || value === expected[i] ? false : !(ratio <= worstRatio);
    if (isWorse && !Number.isNaN(worstRatio)) [worst, worstRatio] = [i, ratio];
  });
  assert(
    worst < 0,
    `${what}[${worst}] is ${actual[worst]}, expected ${expected[worst]}: ${
      worstRatio.toPrecision(3)
    } times the tolerance`,
  );
}

export function assertSameBits(a: TensorArray, b: TensorArray, what: string): void {
  const [bitsA, bitsB] = [a, b].map((array) =>
    array instanceof Float32Array ? new Uint32Array(array.buffer, array.byteOffset, array.length) : array
  );
  const at = bitsA.findIndex((bits, i) => bits !== bitsB[i]);
  assert(a.length === b.length && at < 0, `${what}[${at}] differs: ${a[at]} and ${b[at]}`);
}
