/**
 * A fixed sequence of dispatches, built once and run many times. Bind groups and uniforms are made once; a
 * run is one encoder, one pass, one submit.
 *
 * @module
 */
import { ensure, KernelError } from "../base/errors.ts";
import type { Gpu } from "./device.ts";
import type { KernelName } from "./kernels.ts";
import type { Kernel, KernelRegistry } from "./registry.ts";
import { allocationSizeBytes, type Tensor, tensorSizeBytes } from "./tensor.ts";
import { formatTable } from "../base/text_table.ts";

interface Dispatch {
  readonly kernel: KernelName;
  /** Name in profiles (default: the kernel's name). */
  readonly label?: string;
  readonly overrides?: Record<string, number>;
  /** A tensor for every binding but `params`: `logSumExp` for `log_sum_exp`; f16 only for arrays of vec4f. */
  readonly bindings: Record<string, Tensor>;
  /** A value for each field of `Params`, named as for `bindings`. */
  readonly params?: Record<string, number>;
  readonly grid: readonly [number, number?, number?];
  /** Useful floating-point operations, for profiles. */
  readonly flops?: number;
}

/** @internal Time of one or more dispatches with the same label. */
export interface ProfileRow {
  /** The dispatches' label, or their kernel's name. */
  label: string;
  /** Number of dispatches. */
  calls: number;
  /** Time on the device (without timestamps: from submit until it is idle), summed over the calls. */
  seconds: number;
  /** Useful floating-point operations of all dispatches; 0 if not declared. */
  flops: number;
  /** Sizes of the bound tensors, each counted once per dispatch: the minimum memory traffic. */
  bytes: number;
}

interface Step {
  dispatch: Dispatch;
  kernel: Kernel;
  paramsOffsetBytes: number;
}

const UNIFORM_ALIGNMENT_BYTES = 256;
const MAX_GROUPS = 65535;
/** Dispatches that are timed at once: a query set has at most 4096 timestamps (W3C WebGPU, section 20.1). */
const MAX_TIMED = 2048;

/** Spreads `count` workgroups over x and y; kernels check the bound of `y * num_workgroups.x + x`. */
export function gridOf(count: number): [number, number] {
  const y = Math.ceil(count / MAX_GROUPS);
  return [Math.ceil(count / y), y];
}

export class Program {
  readonly #steps: Step[] = [];
  readonly #marks: { label: string; end: number }[] = [];
  readonly #gpu: Gpu;
  #paramsSizeBytes = 0;
  #scratchLength = 0;
  #scratchBuffer: GPUBuffer | undefined;
  #built: { bindGroups: GPUBindGroup[]; uniforms: GPUBuffer } | undefined;

  constructor(readonly registry: KernelRegistry, readonly label: string) {
    this.#gpu = registry.gpu;
  }

  /**
   * Appends a dispatch.
   *
   * @throws {KernelError} If a binding or parameter is missing or unknown, a tensor's dtype does not fit its
   *   binding, or the grid is empty or too large.
   */
  add({ bindings, params = {}, ...others }: Dispatch): void {
    ensure(!this.#built, `program ${this.label} is already built`);
    const dispatch = { ...others, bindings: byWgslName(bindings), params: byWgslName(params) };
    const kernel = this.registry.get(dispatch.kernel, dispatch.overrides, halfBindings(dispatch));
    checkDispatch(kernel, dispatch);
    this.#steps.push({ dispatch, kernel, paramsOffsetBytes: this.#paramsSizeBytes });
    if (kernel.interface.params.length > 0) {
      const sizeBytes = kernel.interface.params.length * 4;
      this.#paramsSizeBytes += Math.ceil(sizeBytes / UNIFORM_ALIGNMENT_BYTES) * UNIFORM_ALIGNMENT_BYTES;
    }
  }

  /** Ends a part of the program for {@link runInParts}; optional after the last part. */
  mark(label: string): void {
    this.#marks.push({ label, end: this.#steps.length });
  }

  /**
   * Memory for data between two consecutive dispatches, shared by all callers. It is allocated when the
   * program is built, with the largest requested length.
   *
   * @param length f32 elements.
   */
  scratch(length: number): Tensor {
    ensure(!this.#scratchBuffer, `scratch memory of program ${this.label} is already allocated`);
    this.#scratchLength = Math.max(this.#scratchLength, length);
    const allocate = () => this.#gpu.tensor(`${this.label} scratch`, [this.#scratchLength]).buffer;
    const bufferOf = () => this.#scratchBuffer ??= allocate();
    return {
      label: "scratch",
      shape: [length],
      offsetBytes: 0,
      get buffer() {
        return bufferOf();
      },
    };
  }

  /** Number of dispatches. */
  get length(): number {
    return this.#steps.length;
  }

  /** Sizes of the bound tensors, each counted once per dispatch. */
  get bytes(): number {
    return this.#steps.reduce((sum, { dispatch }) => sum + boundBytes(dispatch), 0);
  }

  /** Submits all dispatches in order, in one pass. Returns at once; reads of results wait. */
  run(): void {
    const encoder = this.#gpu.device.createCommandEncoder({ label: this.label });
    this.encode(encoder);
    this.#gpu.device.queue.submit([encoder.finish()]);
  }

  /** Frees the program's buffers after all submitted work. It cannot be run any more. */
  destroy(): void {
    this.#built?.uniforms.destroy();
    this.#scratchBuffer?.destroy();
  }

  /**
   * Like {@link run}, with one submit per part.
   *
   * @param afterPart Adds commands to a part, such as copies of its results.
   */
  runInParts(afterPart: (label: string, encoder: GPUCommandEncoder) => void): void {
    let start = 0;
    for (const { label, end } of [...this.#marks, { label: "", end: this.#steps.length }]) {
      const encoder = this.#gpu.device.createCommandEncoder({ label: `${this.label}: ${label}` });
      this.encode(encoder, { start, end });
      afterPart(label, encoder);
      this.#gpu.device.queue.submit([encoder.finish()]);
      start = end;
    }
  }

  encode(encoder: GPUCommandEncoder, { start = 0, end = this.#steps.length } = {}): void {
    const { bindGroups } = this.#build();
    const pass = encoder.beginComputePass({ label: this.label });
    for (let i = start; i < end; i++) dispatchStep(pass, this.#steps[i], bindGroups[i]);
    pass.end();
  }

  /**
   * Runs the program with a pass for each dispatch and times them, which is slower than {@link run}.
   *
   * @returns A row for each dispatch, in order.
   */
  async profile(): Promise<ProfileRow[]> {
    await this.#gpu.finish();
    const hasTimestamps = this.#gpu.device.features.has("timestamp-query");
    const times: number[] = [];
    for (let start = 0; start < this.#steps.length; start += MAX_TIMED) {
      const end = Math.min(start + MAX_TIMED, this.#steps.length);
      times.push(...await (hasTimestamps ? this.#timesOfDevice(start, end) : this.#timesOfHost(start, end)));
    }
    this.#gpu.check();
    return this.#steps.map(({ dispatch, kernel }, i) => ({
      label: dispatch.label ?? kernel.name,
      calls: 1,
      seconds: times[i],
      flops: dispatch.flops ?? 0,
      bytes: boundBytes(dispatch),
    }));
  }

  /** Times the dispatches of a range, submitted one by one, in seconds. */
  async #timesOfHost(start: number, end: number): Promise<number[]> {
    const { device } = this.#gpu;
    const times: number[] = [];
    for (let i = start; i < end; i++) {
      const encoder = device.createCommandEncoder();
      this.encode(encoder, { start: i, end: i + 1 });
      const commands = encoder.finish();
      times.push(await this.#gpu.timeS(() => device.queue.submit([commands])));
    }
    return times;
  }

  /** Times the dispatches of a range, submitted together, in seconds by the device's timestamps. */
  async #timesOfDevice(start: number, end: number): Promise<number[]> {
    const { device } = this.#gpu;
    const count = 2 * (end - start);
    const querySet = device.createQuerySet({ type: "timestamp", count });
    const usage = GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC;
    const buffer = device.createBuffer({ label: "timestamps", size: 8 * count, usage });
    const { bindGroups } = this.#build();
    const encoder = device.createCommandEncoder({ label: this.label });
    for (let i = start; i < end; i++) {
      const beginningOfPassWriteIndex = 2 * (i - start);
      const endOfPassWriteIndex = beginningOfPassWriteIndex + 1;
      const pass = encoder.beginComputePass({
        timestampWrites: { querySet, beginningOfPassWriteIndex, endOfPassWriteIndex },
      });
      dispatchStep(pass, this.#steps[i], bindGroups[i]);
      pass.end();
    }
    encoder.resolveQuerySet(querySet, 0, count, buffer, 0);
    const commands = encoder.finish();
    const totalS = await this.#gpu.timeS(() => device.queue.submit([commands]));
    const [words] = await this.#gpu.read({ label: "timestamps", shape: [2 * count], offsetBytes: 0, buffer });
    const ticks = new BigUint64Array(words.buffer, 0, count);
    querySet.destroy();
    buffer.destroy();
    // Nanoseconds in the standard; Deno's WebGPU returns the device's ticks (wgpu 29).
    const { engine } = this.#gpu.info;
    const ticksPerS = engine === "dawn" ? 1e9 : Math.max(1, Number(ticks[count - 1] - ticks[0])) / totalS;
    return Array.from({ length: end - start }, (_, i) => Number(ticks[2 * i + 1] - ticks[2 * i]) / ticksPerS);
  }

  #build(): { bindGroups: GPUBindGroup[]; uniforms: GPUBuffer } {
    if (this.#built) return this.#built;
    const { device } = this.#gpu;
    const bytes = new ArrayBuffer(Math.max(UNIFORM_ALIGNMENT_BYTES, this.#paramsSizeBytes));
    for (const step of this.#steps) writeParams(new DataView(bytes, step.paramsOffsetBytes), step);
    const uniforms = device.createBuffer({
      label: `${this.label} params`,
      size: bytes.byteLength,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    device.queue.writeBuffer(uniforms, 0, bytes);
    this.#built = { uniforms, bindGroups: this.#steps.map((step) => bindGroup(device, step, uniforms)) };
    return this.#built;
  }
}

/** Renames keys as in WGSL: `logSumExp` becomes `log_sum_exp`. */
function byWgslName<T>(values: Record<string, T>): Record<string, T> {
  const entries = Object.entries(values).map(([name, value]): [string, T] => [
    name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
    value,
  ]);
  return Object.fromEntries(entries);
}

function dispatchStep(pass: GPUComputePassEncoder, { kernel, dispatch }: Step, bindings: GPUBindGroup): void {
  const [x, y = 1, z = 1] = dispatch.grid;
  pass.setPipeline(kernel.pipeline);
  pass.setBindGroup(0, bindings);
  pass.dispatchWorkgroups(x, y, z);
}

function bindGroup(device: GPUDevice, step: Step, uniforms: GPUBuffer): GPUBindGroup {
  const { kernel, dispatch } = step;
  return device.createBindGroup({
    label: dispatch.label ?? kernel.name,
    layout: kernel.layout,
    entries: kernel.interface.bindings.map(({ name, index, access }) => {
      if (access === "uniform") {
        const size = Math.ceil(kernel.interface.params.length * 4 / 16) * 16;
        return { binding: index, resource: { buffer: uniforms, offset: step.paramsOffsetBytes, size } };
      }
      const tensor = dispatch.bindings[name];
      const size = allocationSizeBytes(tensor.shape, tensor.dtype);
      return { binding: index, resource: { buffer: tensor.buffer, offset: tensor.offsetBytes, size } };
    }),
  });
}

/** Sizes of all bound tensors; a tensor that is bound twice, such as a stand-in, counts once. */
function boundBytes({ bindings }: Dispatch): number {
  const tensors = Object.values(bindings);
  const isFirst = ({ buffer, offsetBytes }: Tensor, i: number) =>
    tensors.findIndex((other) => other.buffer === buffer && other.offsetBytes === offsetBytes) === i;
  return tensors.filter(isFirst).reduce((sum, tensor) => sum + tensorSizeBytes(tensor), 0);
}

function writeParams(view: DataView, { kernel, dispatch }: Step): void {
  kernel.interface.params.forEach(({ name, type }, i) => {
    const value = dispatch.params?.[name] ?? 0;
    if (type === "f32") view.setFloat32(i * 4, value, true);
    else if (type === "u32") view.setUint32(i * 4, value, true);
    else view.setInt32(i * 4, value, true);
  });
}

function halfBindings({ bindings }: Dispatch): string[] {
  return Object.entries(bindings).flatMap(([name, { dtype }]) => dtype === "f16" ? [name] : []);
}

function checkDispatch(kernel: Kernel, dispatch: Dispatch): void {
  const wanted = kernel.interface.bindings.filter(({ access }) => access !== "uniform").map(({ name }) =>
    name
  );
  requireSame(kernel, "binding", wanted, Object.keys(dispatch.bindings));
  requireSame(
    kernel,
    "parameter",
    kernel.interface.params.map(({ name }) => name),
    Object.keys(dispatch.params ?? {}),
  );
  for (const extent of dispatch.grid) {
    if (extent !== undefined && !(extent >= 1 && extent <= MAX_GROUPS && Number.isInteger(extent))) {
      throw new KernelError(
        kernel.name,
        `the grid is [${dispatch.grid}], expected 1 to ${MAX_GROUPS} workgroups`,
      );
    }
  }
}

function requireSame(kernel: Kernel, what: string, wanted: string[], given: string[]): void {
  const missing = wanted.find((name) => !given.includes(name));
  if (missing) throw new KernelError(kernel.name, `${what} ${missing} is missing`);
  const unknown = given.find((name) => !wanted.includes(name));
  if (unknown) {
    throw new KernelError(kernel.name, `${what} ${unknown} is unknown; known are ${wanted.join(", ")}`);
  }
}

/** Explains the numbers of {@link describeProfile} to the user. */
export const PROFILE_NOTES = "each dispatch is its own pass; GB/s counts each bound tensor once";

/** Adds up the rows with the same label of several profiles; the slowest label comes first. */
export function mergeProfiles(profiles: readonly (readonly ProfileRow[])[]): ProfileRow[] {
  const byLabel = Map.groupBy(profiles.flat(), ({ label }) => label);
  const sum = (rows: ProfileRow[], field: "calls" | "seconds" | "flops" | "bytes") =>
    rows.reduce((total, row) => total + row[field], 0);
  const merged = [...byLabel].map(([label, rows]): ProfileRow => ({
    label,
    calls: sum(rows, "calls"),
    seconds: sum(rows, "seconds"),
    flops: sum(rows, "flops"),
    bytes: sum(rows, "bytes"),
  }));
  return merged.sort((a, b) => b.seconds - a.seconds);
}

/** Formats a profile as a table of label, calls, time, share and speeds. @param rows In that order. */
export function describeProfile(rows: readonly ProfileRow[]): string {
  const totalS = rows.reduce((sum, { seconds }) => sum + seconds, 0);
  const lines = rows.map(({ label, calls, seconds, flops, bytes }) => [
    label,
    String(calls),
    (seconds * 1000).toFixed(2),
    `${(100 * seconds / totalS).toFixed(1)} %`,
    flops > 0 ? (flops / seconds / 1e9).toFixed(1) : "",
    (bytes / seconds / 1e9).toFixed(2),
  ]);
  const total = ["all", "", (totalS * 1000).toFixed(2)];
  return formatTable([["kernel", "calls", "ms", "share", "GFLOP/s", "GB/s"], ...lines, total], { left: [0] });
}
