/**
 * The GPU: adapter, device, and the transfer of data to and from it.
 *
 * Works on any WebGPU adapter, including software ones. Large limits and optional features are requested by
 * name, since a device otherwise has WebGPU's defaults (W3C WebGPU, section 3.6.2).
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

/** The properties of an adapter by which kernels are chosen. */
export interface GpuInfo {
  /** Human-readable name, such as `llvmpipe (LLVM 15.0.6, 256 bits)`. */
  readonly name: string;
  /** The driver's name of the vendor, such as `nvidia`, or a PCI id; may be empty. */
  readonly vendor: string;
  /** Lanes that run in lockstep, if the adapter has subgroups of one fixed size; else undefined. */
  readonly subgroupSize: number | undefined;
  /** Whether WGSL needs `enable subgroups;`, as in the standard; Deno's compiler (naga) refuses that line. */
  readonly enablesSubgroups: boolean;
  /** Whether the adapter is a software one. */
  readonly isSoftware: boolean;
  /** The WebGPU implementation; kernels' results differ between engines in the last bits. */
  readonly engine: EngineName;
  /** The matrix units; undefined if the adapter has none that the kernels can use. */
  readonly matrix?: MatrixUnits | undefined;
}

export interface GpuOptions extends EngineOptions {
  /** false: without subgroup operations, matrix units and timestamps, as on an adapter without them (true). */
  subgroups?: boolean;
}

/** Memory between these sizes is kept for later reads, bytes. */
const [LEAST_KEPT_BYTES, MOST_KEPT_BYTES] = [2 ** 16, 2 ** 24];
/** The most that is kept of each kind, bytes. */
const KEPT_BYTES = 2 ** 26;

/**
 * Memory in sizes of powers of two, kept for reuse. A buffer of several megabytes for each read of the
 * device, freed when garbage is collected, leaves glibc's heap in pieces: a server held twice the memory that it used.
 */
class KeptBuffers<T> {
  readonly #free = new Map<number, T[]>();
  #freeBytes = 0;

  constructor(readonly make: (sizeBytes: number) => T, readonly drop: (buffer: T) => void) {}

  /** Takes one of at least this size. */
  take(sizeBytes: number): T {
    const madeBytes = sizeBytes < LEAST_KEPT_BYTES || sizeBytes > MOST_KEPT_BYTES
      ? sizeBytes
      : 2 ** Math.ceil(Math.log2(sizeBytes));
    const found = this.#free.get(madeBytes)?.pop();
    if (found !== undefined) this.#freeBytes -= madeBytes;
    return found ?? this.make(madeBytes);
  }

  /** Keeps one for later. @param sizeBytes Its own. */
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

/** An open device. Every GPU object of the program is made through one of these. */
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
   * @throws {UserError} If there is no WebGPU adapter, only Mesa's software OpenGL, or Dawn is chosen and not installed.
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
        "Cannot use WebGPU: the adapter gives no device; close other GPU programs and retry" +
          (engine === "dawn" ? ", or use --engine deno" : ""),
      );
    }
    const hasSubgroups = device.features.has("subgroups" as GPUFeatureName);
    const { description, device: model, vendor, architecture } = adapter.info;
    return new Gpu(device, {
      // Browsers give pages only vendor and architecture, such as `nvidia ampere`.
      name: description || model || `${vendor} ${architecture}`.trim() || "unnamed adapter",
      vendor,
      subgroupSize: hasSubgroups ? subgroupSize(adapter) : undefined,
      // An adapter that lists the feature follows the standard.
      enablesSubgroups: hasSubgroups && adapter.features.has("subgroups" as GPUFeatureName),
      isSoftware: isSoftware(adapter),
      engine,
      matrix,
    });
  }

  /**
   * Makes a zero-filled tensor.
   *
   * @param label Its name in errors and profiles.
   * @param shape Its extents, outermost first; at least one element is allocated.
   * @param dtype The storage format of its elements.
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

  /** The bytes of all tensors made so far, destroyed ones included. */
  get allocatedBytes(): number {
    return this.#allocatedBytes;
  }

  /** Makes a tensor from the given 4-byte elements. */
  tensorFrom(label: string, shape: readonly number[], data: Float32Array | Uint32Array | Int32Array): Tensor {
    const tensor = this.tensor(label, shape);
    this.write(tensor, data);
    return tensor;
  }

  /** Copies 4-byte elements into a tensor from its start; two f16 make one element. */
  write(tensor: Tensor, data: Float32Array | Uint32Array | Int32Array): void {
    ensure(data.byteLength <= tensorSizeBytes(tensor), `${data.byteLength} bytes do not fit ${tensor.label}`);
    this.device.queue.writeBuffer(tensor.buffer, tensor.offsetBytes, data as Float32Array<ArrayBuffer>);
  }

  /**
   * Reads tensors back as float32, including f16 ones, after everything submitted before; waits once for all of them.
   *
   * @throws {Error} If a command since the last read failed on the device.
   */
  async read(...tensors: Tensor[]): Promise<Float32Array[]> {
    return await this.readAfter(() => {}, ...tensors);
  }

  /** {@link read}, after further commands. @param encode Writes them; all is submitted at once. */
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

  /** An array on the host, of any content, in recycled memory if there is some. */
  array(length: number): Float32Array {
    return new Float32Array(this.#arrays.take(4 * length), 0, length);
  }

  /** Takes back results of {@link read} and {@link array} for later ones. The arrays are empty from now on. */
  recycle(...arrays: readonly Float32Array[]): void {
    for (const { buffer } of arrays) {
      const own = (buffer as ArrayBuffer).transfer();
      this.#arrays.give(own, own.byteLength);
    }
  }

  /** Waits until everything submitted is done; throws the errors since the last check. */
  async finish(): Promise<void> {
    await this.device.queue.onSubmittedWorkDone();
    this.check();
  }

  /** The device's fault since it was opened; undefined without a fault. */
  get fault(): string | undefined {
    if (this.#lost) return `the GPU device was lost (${this.#lost})`;
    return this.#error && `WebGPU: ${this.#error}`;
  }

  /** Throws the first error that the device reported since it was opened. */
  check(): void {
    if (this.#lost) throw new UserError(`Cannot continue: ${this.fault}; run again`);
    if (this.#error) throw new Error(`Internal error: ${this.fault}`);
  }

  /**
   * Times the commands that `submit` submits. On Deno's WebGPU the call that waits blocks until they are done, and its
   * promise settles 11 ms later or more. Elsewhere (Dawn, browsers) the call returns at once.
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

  /** Waits for all devices of this thread that were not closed, before it ends. */
  static blockUntilIdle(): void {
    for (const reference of opened) {
      const gpu = reference.deref();
      if (gpu) gpu.#blockUntilIdle();
      else opened.delete(reference);
    }
  }

  /**
   * On Deno's WebGPU the call blocks until the queue is idle. A process must not end before: Mesa's lavapipe compiles
   * shaders in its queue's thread, and `exit()` frees LLVM's tables under it, so that the process aborts or its
   * memory is corrupted (Mesa 25.0, Deno 2.9). The queue of a lost device works on as well. On Dawn only `destroy()`
   * blocks, and a promise that is pending when the thread ends aborts the process (webgpu 0.6.2).
   */
  #blockUntilIdle(): void {
    if (this.info.engine === "dawn") this.device.destroy();
    else this.device.queue.onSubmittedWorkDone().catch(() => {});
  }

  /** As {@link close}, for `using`. */
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
      // Deno's mapAsync blocks until the device is idle: the caller's own work comes before.
      await null;
      // For a lost device the error only says that it failed.
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
 * Whether the adapter is Mesa's OpenGL on the processor, which Deno falls back to if no Vulkan driver is
 * installed: the tiled matrix product does not compile there within minutes (Mesa 25.0, two cores).
 */
function isSoftwareOpenGl(adapter: GPUAdapter): boolean {
  // wgpu does not name the backend; only its OpenGL backend reports no bound here (wgpu 29, adapter limits).
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
