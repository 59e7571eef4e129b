/**
 * The scalars of training steps, kept on the GPU until there is a moment to read them.
 *
 * Reading a tensor waits until the GPU has done all submitted work, and at least 11 ms on Deno's WebGPU. So each step
 * copies its few numbers into a tensor on the device, and the host reads many steps at once.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import type { Gpu } from "../gpu/device.ts";
import type { Tensor } from "../gpu/tensor.ts";

/** Numbers of one step, in the order of the sources. */
export interface StepNumbers {
  /** Number of the step. */
  step: number;
  values: Float32Array;
}

/** Collects numbers of steps on the device. */
export class StepStats {
  readonly #gpu: Gpu;
  readonly #sources: readonly Tensor[];
  readonly #ring: Tensor;
  #steps: number[] = [];

  /**
   * @param gpu The device.
   * @param sources Tensors of one element, read at each {@link record}.
   * @param capacity Steps between two reads at most.
   */
  constructor(gpu: Gpu, sources: readonly Tensor[], readonly capacity: number) {
    this.#gpu = gpu;
    this.#sources = sources;
    this.#ring = gpu.tensor("step stats", [capacity, sources.length]);
  }

  /** Numbers of a step. */
  get width(): number {
    return this.#sources.length;
  }

  /** Steps recorded and not read yet. */
  get numPending(): number {
    return this.#steps.length;
  }

  /** Whether the next {@link record} needs a {@link drain} first. */
  get isFull(): boolean {
    return this.#steps.length === this.capacity;
  }

  /** Queues a copy of the sources as they are after what was submitted so far; does not wait. */
  record(step: number): void {
    ensure(!this.isFull, "step stats are full");
    const encoder = this.#gpu.device.createCommandEncoder({ label: "step stats" });
    const rowBytes = this.#steps.length * this.#sources.length * 4;
    this.#sources.forEach((source, i) =>
      encoder.copyBufferToBuffer(source.buffer, source.offsetBytes, this.#ring.buffer, rowBytes + i * 4, 4)
    );
    this.#gpu.device.queue.submit([encoder.finish()]);
    this.#steps.push(step);
  }

  /** Reads the steps recorded since the last call, in order; waits for the GPU. */
  async drain(): Promise<StepNumbers[]> {
    if (this.#steps.length === 0) return [];
    const [numbers] = await this.#gpu.read(this.#ring);
    const { width } = this;
    return this.#steps.splice(0).map((step, i) => ({
      step,
      values: numbers.slice(i * width, (i + 1) * width),
    }));
  }
}
