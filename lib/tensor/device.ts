/**
 * The GPU: adapter, device, and the transfer of data to and from it.
 *
 * Works on any WebGPU adapter, including software adapters. Large limits and optional features are requested
 * by name, because a device otherwise has WebGPU's defaults (W3C WebGPU, section 3.6.2).
 *
 * @module
 */
import { ensure, UserError } from "../base/errors.ts";
import {
  type EngineName,
  type EngineOptions,
  isSoftware,
  MATRIX_FEATURES,
  type MatrixUnits,
  matrixUnits,
  requestAdapter,
  subgroupSize,
} from "./engine.ts";
import { allocationSizeBytes, type DType, type Tensor, tensorSizeBytes } from "./tensor.ts";

/** Properties of an adapter that the choice of kernels depends on. */
export interface GpuInfo {
  /** Human-readable name, such as `llvmpipe (LLVM 15.0.6, 256 bits)`. */
  readonly name: string;
  /** The driver's name for the vendor, such as `nvidia`, or a PCI id; may be empty. */
  readonly vendor: string;
  /** Lanes that run in lockstep; undefined without subgroups or if their size varies. */
  readonly subgroupSize: number | undefined;
  /** Whether WGSL needs `enable subgroups;`, as in the standard; Deno's compiler (naga) rejects that line. */
  readonly enablesSubgroups: boolean;
  /** Whether the adapter runs on the CPU. */
  readonly isSoftware: boolean;
  /** The WebGPU implementation. Kernel results differ between engines in the last bits. */
  readonly engine: EngineName;
  /** Undefined if the adapter has no matrix units that the kernels can use. */
  readonly matrix?: MatrixUnits | undefined;
}

export interface GpuOptions extends EngineOptions {
  /** If false, use neither subgroup operations nor matrix units nor timestamps (default: true). */
  subgroups?: boolean;
}

/** Buffers between these sizes in bytes are kept for later reads. */
const [LEAST_KEPT_BYTES, MOST_KEPT_BYTES] = [2 ** 16, 2 ** 24];
const KEPT_BYTES = 2 ** 26;

/**
 * Buffers with power-of-two sizes, kept for reuse. Allocating several megabytes for each read of the device
 * and freeing them at garbage collection fragments glibc's heap: a server held twice the memory that it used.
 */
class KeptBuffers<T> {
  readonly #free = new Map<number, T[]>();
  #freeBytes = 0;

  constructor(readonly make: (sizeBytes: number) => T, readonly drop: (buffer: T) => void) {}

  /** Takes a buffer of at least this size. */
  take(sizeBytes: number): T {
    const madeBytes = sizeBytes < LEAST_KEPT_BYTES || sizeBytes > MOST_KEPT_BYTES
      ? sizeBytes
      : 2 ** Math.ceil(Math.log2(sizeBytes));
    const found = this.#free.get(madeBytes)?.pop();
    if (found !== undefined) this.#freeBytes -= madeBytes;
    return found ?? this.make(madeBytes);
  }

  give(buffer: T, sizeBytes: number): void {
    if (sizeBytes < LEAST_KEPT_BYTES || this.#freeBytes + sizeBytes > KEPT_BYTES) return this.drop(buffer);
    this.#freeBytes += sizeBytes;
    this.#free.set(sizeBytes, [...this.#free.get(sizeBytes) ?? [], buffer]);
  }
}

const WANTED_LIMITS = [
  "maxStorageBufferBindingSize",
  "maxBufferSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxStorageBuffersPerShaderStage",
] as const;

const opened = new Set<WeakRef<Gpu>>();
// Node has no such event.
globalThis.addEventListener?.("unload", () => Gpu.blockUntilIdle());

/** An open device, through which all GPU objects of the program are made. */
export class Gpu {
  #lost: string | undefined;
  #error: string | undefined;
  #allocatedBytes = 0;
  readonly #reference: WeakRef<Gpu> = new WeakRef(this);
  readonly #staging = new KeptBuffers<GPUBuffer>(
    (size) =>
      this.device.createBuffer({
        label: "readback",
        size,
        usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
      }),
    (buffer) => buffer.destroy(),
  );
  readonly #arrays = new KeptBuffers<ArrayBuffer>((sizeBytes) => new ArrayBuffer(sizeBytes), () => {});

  private constructor(readonly device: GPUDevice, readonly info: GpuInfo) {
    opened.add(this.#reference);
    device.lost.then((reason) => this.#lost = reason.message || "device lost");
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#error ??= (event as GPUUncapturedErrorEvent).error.message;
    });
  }

  /**
   * Opens the default adapter.
   *
   * @throws {UserError} If there is no WebGPU adapter, there is only Mesa's software OpenGL, or Dawn is
   *   requested but not installed.
   */
  static async open(options: GpuOptions = {}): Promise<Gpu> {
    const { adapter, engine } = await requestAdapter(options);
    if (!adapter) {
      throw new UserError(
        "Cannot use WebGPU: no adapter was found, expected a GPU or software driver; run sh setup.sh to install one",
      );
    }
    if (isSoftwareOpenGl(adapter)) {
      throw new UserError(
        `Cannot use WebGPU: no adapter was found other than OpenGL in software (${adapter.info.description}), expected a Vulkan ` +
          "driver; run sh setup.sh to install one",
      );
    }
    const requiredLimits: Record<string, number> = {};
    for (const limit of WANTED_LIMITS) requiredLimits[limit] = adapter.limits[limit];
    const { subgroups = true } = options;
    const matrix = subgroups ? matrixUnits(adapter) : undefined;
    const listed = ["timestamp-query"].filter((name) => adapter.features.has(name as GPUFeatureName));
    if (matrix) listed.push(...MATRIX_FEATURES);
    // Deno 2.9 does not list "subgroups" among an adapter's features even if a device can have them.
    const device = subgroups
      ? await requestDevice(adapter, requiredLimits, ["subgroups", ...listed]) ??
        await requestDevice(adapter, requiredLimits, listed)
      : await requestDevice(adapter, requiredLimits, []);
    if (!device) {
      throw new UserError(
        "Cannot use WebGPU: the adapter provides no device; close other GPU programs and retry" +
          (engine === "dawn" ? ", or use --engine deno" : ""),
      );
    }
    const hasSubgroups = device.features.has("subgroups" as GPUFeatureName);
    const { description, device: model, vendor, architecture } = adapter.info;
    return new Gpu(device, {
      // Browsers give pages only the vendor and architecture, such as `nvidia ampere`.
      name: description || model || `${vendor} ${architecture}`.trim() || "unnamed adapter",
      vendor,
      subgroupSize: hasSubgroups ? subgroupSize(adapter) : undefined,
      // Adapters that list the feature follow the standard.
      enablesSubgroups: hasSubgroups && adapter.features.has("subgroups" as GPUFeatureName),
      isSoftware: isSoftware(adapter),
      engine,
      matrix,
    });
  }

  /**
   * Makes a zero-filled tensor.
   *
   * @param label Name in errors and profiles.
   * @param shape Extents, outermost first; at least one element is allocated.
   * @param dtype Storage format of the elements.
   */
  tensor(label: string, shape: readonly number[], dtype: DType = "f32"): Tensor {
    const size = allocationSizeBytes(shape, dtype);
    const buffer = this.device.createBuffer({
      label,
      size,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    this.#allocatedBytes += size;
    return { label, shape: [...shape], dtype, offsetBytes: 0, buffer };
  }

  /** Total size of all tensors made so far, including destroyed ones. */
  get allocatedBytes(): number {
    return this.#allocatedBytes;
  }

  /** Makes a tensor from 4-byte elements. */
  tensorFrom(label: string, shape: readonly number[], data: Float32Array | Uint32Array | Int32Array): Tensor {
    const tensor = this.tensor(label, shape);
    this.write(tensor, data);
    return tensor;
  }

  /** Copies 4-byte elements into a tensor from its start; an element may contain two f16. */
  write(tensor: Tensor, data: Float32Array | Uint32Array | Int32Array): void {
    ensure(data.byteLength <= tensorSizeBytes(tensor), `${data.byteLength} bytes do not fit ${tensor.label}`);
    this.device.queue.writeBuffer(tensor.buffer, tensor.offsetBytes, data as Float32Array<ArrayBuffer>);
  }

  /**
   * Reads tensors back as float32, including f16 tensors, after all work submitted earlier. It waits once for
   * all of them.
   *
   * @throws {Error} If a command since the last read failed on the device.
   */
  async read(...tensors: Tensor[]): Promise<Float32Array[]> {
    return await this.readAfter(() => {}, ...tensors);
  }

  /** Like {@link read}, after further commands. @param encode Encodes them; all are submitted at once. */
  async readAfter(
    encode: (encoder: GPUCommandEncoder) => void,
    ...tensors: Tensor[]
  ): Promise<Float32Array[]> {
    const parts = await this.#readBytes(tensors, encode);
    return parts.map(({ buffer, length }, i) =>
      tensors[i].dtype === "f16"
        ? Float32Array.from(new Float16Array(buffer, 0, length / 2))
        : new Float32Array(buffer, 0, length / 4)
    );
  }

  /** A host array with arbitrary content, from recycled memory if possible. */
  array(length: number): Float32Array {
    return new Float32Array(this.#arrays.take(4 * length), 0, length);
  }

  /** Takes back arrays from {@link read} and {@link array} for reuse. They are empty afterwards. */
  recycle(...arrays: readonly Float32Array[]): void {
    for (const { buffer } of arrays) {
      const own = (buffer as ArrayBuffer).transfer();
      this.#arrays.give(own, own.byteLength);
    }
  }

  /** Waits until all submitted work is done; throws errors since the last check. */
  async finish(): Promise<void> {
    await this.device.queue.onSubmittedWorkDone();
    this.check();
  }

  /** The failure of the device since it was opened; undefined if there was none. */
  get fault(): string | undefined {
    if (this.#lost) return `the GPU device was lost (${this.#lost})`;
    return this.#error && `WebGPU: ${this.#error}`;
  }

  /** Throws the first error that the device has reported since it was opened. */
  check(): void {
    if (this.#lost) throw new UserError(`Cannot continue: ${this.fault}; run again`);
    if (this.#error) throw new Error(`Internal error: ${this.fault}`);
  }

  /**
   * Times the commands that `submit` submits. On Deno's WebGPU the waiting call blocks until they are done,
   * and its promise settles at least 11 ms later. Elsewhere (Dawn, browsers) the call returns at once.
   *
   * @returns Seconds until the device is idle.
   */
  async timeS(submit: () => void): Promise<number> {
    const { queue } = this.device;
    const startMs = performance.now();
    submit();
    const done = queue.onSubmittedWorkDone();
    const calledMs = performance.now();
    await done;
    const isOfDeno = Symbol.for("Deno.privateCustomInspect") in queue;
    return ((isOfDeno ? calledMs : performance.now()) - startMs) / 1000;
  }

  /** Frees the device and all its memory. */
  close(): void {
    this.#blockUntilIdle();
    opened.delete(this.#reference);
    this.device.destroy();
  }

  /** Waits until all open devices of this thread are idle, before the thread ends. */
  static blockUntilIdle(): void {
    for (const reference of opened) {
      const gpu = reference.deref();
      if (gpu) gpu.#blockUntilIdle();
      else opened.delete(reference);
    }
  }

  /**
   * Deno's WebGPU blocks in the call until the queue is idle. A process must not end earlier: Mesa's lavapipe
   * compiles shaders in its queue's thread, and `exit()` frees LLVM's tables in use there, so the process
   * aborts or its memory is corrupted (Mesa 25.0, Deno 2.9). The queue of a lost device keeps working too. In
   * Dawn only `destroy()` blocks, and a promise pending at the end of the thread aborts the process (webgpu
   * 0.6.2).
   */
  #blockUntilIdle(): void {
    if (this.info.engine === "dawn") this.device.destroy();
    else this.device.queue.onSubmittedWorkDone().catch(() => {});
  }

  /** Same as {@link close}. */
  [Symbol.dispose](): void {
    this.close();
  }

  async #readBytes(
    tensors: Tensor[],
    encode: (encoder: GPUCommandEncoder) => void,
  ): Promise<Uint8Array<ArrayBuffer>[]> {
    const starts: number[] = [];
    let size = 0;
    for (const tensor of tensors) {
      starts.push(size);
      size += allocationSizeBytes(tensor.shape, tensor.dtype);
    }
    const staging = this.#staging.take(size);
    try {
      const encoder = this.device.createCommandEncoder({ label: "readback" });
      encode(encoder);
      tensors.forEach((tensor, i) =>
        encoder.copyBufferToBuffer(
          tensor.buffer,
          tensor.offsetBytes,
          staging,
          starts[i],
          Math.ceil(tensorSizeBytes(tensor) / 4) * 4,
        )
      );
      this.device.queue.submit([encoder.finish()]);
      // Deno's mapAsync blocks until the device is idle, so let the caller work first.
      await null;
      // For a lost device the error contains no reason.
      await staging.mapAsync(GPUMapMode.READ, 0, size).catch(async (error) => {
        await this.finish();
        throw error;
      });
      const mapped = staging.getMappedRange(0, size);
      const parts = tensors.map((tensor, i) => {
        const sizeBytes = tensorSizeBytes(tensor);
        const bytes = new Uint8Array(this.#arrays.take(sizeBytes), 0, sizeBytes);
        bytes.set(new Uint8Array(mapped, starts[i], sizeBytes));
        return bytes;
      });
      this.check();
      staging.unmap();
      this.#staging.give(staging, staging.size);
      return parts;
    } catch (error) {
      staging.destroy();
      throw error;
    }
  }
}

/**
 * Whether the adapter is Mesa's OpenGL on the CPU, Deno's fallback without a Vulkan driver. The tiled matrix
 * product takes minutes to compile there (Mesa 25.0, two cores).
 */
function isSoftwareOpenGl(adapter: GPUAdapter): boolean {
  // wgpu does not name the backend, but only its OpenGL backend reports no limit here (wgpu 29).
  const isOpenGl = adapter.limits.maxBindingsPerBindGroup === 2 ** 32 - 1;
  return isOpenGl && isSoftware(adapter);
}

async function requestDevice(
  adapter: GPUAdapter,
  requiredLimits: Record<string, number>,
  features: string[],
): Promise<GPUDevice | undefined> {
  try {
    return await adapter.requestDevice({ requiredLimits, requiredFeatures: features as GPUFeatureName[] });
  } catch {
    return undefined;
  }
}
