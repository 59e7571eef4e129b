/**
 * The kernel registry: name -> WGSL. A kernel is compiled at its first use, for each set of overrides and f16 bindings.
 *
 * @module
 */
import { KernelError } from "../errors.ts";
import type { Gpu } from "./device.ts";
import { withHalfStorage } from "./half_storage.ts";
import { errorAt, type KernelInterface, markedSource, parseKernel } from "./kernel_source.ts";
import type { Tensor } from "./tensor.ts";
import { KERNEL_SOURCES, type KernelName, LANES_SUBGROUP, LANES_WORKGROUP } from "./kernels.ts";

/** Lanes of a row kernel's workgroup on an adapter without subgroups. */
const FALLBACK_LANES = 64;

/** A compiled kernel. */
export interface Kernel {
  /** Its registered name. */
  readonly name: string;
  /** Its bindings, parameters and overrides. */
  readonly interface: KernelInterface;
  /** Its entry point `main` with the override values. */
  readonly pipeline: GPUComputePipeline;
  /** The layout of its one bind group. */
  readonly layout: GPUBindGroupLayout;
}

/** Compiles kernels for one device and caches them. */
export class KernelRegistry {
  readonly #kernels = new Map<string, Kernel>();
  readonly #pending: Promise<void>[] = [];
  #unusedOutput: Tensor | undefined;
  readonly #sources: ReadonlyMap<string, string>;

  /**
   * Makes a registry; nothing is compiled yet.
   *
   * @param gpu The device of all its kernels.
   * @param options `sources`: WGSL that replaces registered texts, by kernel name, for experiments.
   */
  constructor(readonly gpu: Gpu, options: { sources?: Partial<Record<KernelName, string>> } = {}) {
    this.#sources = new Map(Object.entries({ ...KERNEL_SOURCES, ...options.sources }));
  }

  /** The number of lanes of a row kernel's workgroup on this device. */
  get lanes(): number {
    return this.gpu.info.subgroupSize ?? FALLBACK_LANES;
  }

  /** A vec4 for bindings of outputs that a kernel does not write in some use. */
  get unusedOutput(): Tensor {
    return this.#unusedOutput ??= this.gpu.tensor("unused output", [4]);
  }

  /** The number of pipelines compiled so far. */
  get numPipelines(): number {
    return this.#kernels.size;
  }

  /**
   * The kernel with the given override values, compiled at the first call.
   *
   * @param name A registered name: that of a file of kernels/, without its ending.
   * @param overrides A value for each override constant that has no default.
   * @param halfBindings Names of the bindings whose tensors are f16.
   * @throws {KernelError} If the kernel or an override is unknown, it needs subgroups and the device has none, or
   *   a binding cannot be f16.
   */
  get(name: string, overrides: Record<string, number> = {}, halfBindings: readonly string[] = []): Kernel {
    const key = `${name} ${JSON.stringify([Object.entries(overrides).sort(), [...halfBindings].sort()])}`;
    let kernel = this.#kernels.get(key);
    if (!kernel) {
      kernel = this.#compile(name, overrides, halfBindings);
      this.#kernels.set(key, kernel);
    }
    return kernel;
  }

  /** The WGSL of a kernel. @throws {KernelError} If it is unknown. */
  source(name: string): string {
    const source = this.#sources.get(name);
    if (source === undefined) throw new KernelError(name, "it is unknown; register it in lib/gpu/kernels.ts");
    return source;
  }

  /** Waits until all kernels so far are compiled. @throws {KernelError} With name and line, if one is wrong. */
  async ready(): Promise<void> {
    await Promise.all(this.#pending.splice(0));
    this.gpu.check();
  }

  #compile(name: string, overrides: Record<string, number>, halfBindings: readonly string[]): Kernel {
    const source = this.source(name);
    const parsed = parseKernel(name, source);
    for (const override of Object.keys(overrides)) {
      if (!parsed.overrides.includes(override)) {
        throw new KernelError(name, `override ${override} is unknown`);
      }
    }
    if (parsed.usesSubgroups && this.gpu.info.subgroupSize === undefined) {
      throw new KernelError(
        name,
        "it needs subgroups, which the adapter does not have; use its fallback kernel",
      );
    }
    const { device } = this.gpu;
    const code = this.#prelude(parsed) + markedSource(name, withHalfStorage(name, source, halfBindings));
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ label: name, code });
    const layout = device.createBindGroupLayout({
      label: name,
      entries: parsed.bindings.map(({ index, access }) => ({
        binding: index,
        visibility: GPUShaderStage.COMPUTE,
        buffer: {
          type: access === "uniform" ? "uniform" : access === "read" ? "read-only-storage" : "storage",
        },
      })),
    });
    const pipeline = device.createComputePipeline({
      label: name,
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint: "main", constants: overrides },
    });
    const scope = device.popErrorScope();
    this.#pending.push(reportErrors(name, module, scope, code));
    return { name, interface: parsed, pipeline, layout };
  }

  #prelude({ usesLanes, usesSubgroups }: KernelInterface): string {
    const { subgroupSize, enablesSubgroups } = this.gpu.info;
    const directive = enablesSubgroups && (usesLanes || usesSubgroups) ? "enable subgroups;\n" : "";
    if (!usesLanes) return directive;
    return `${directive}const LANES = ${this.lanes}u;\n${subgroupSize ? LANES_SUBGROUP : LANES_WORKGROUP}`;
  }
}

async function reportErrors(
  name: string,
  module: GPUShaderModule,
  scope: Promise<GPUError | null>,
  code: string,
): Promise<void> {
  const info = await module.getCompilationInfo();
  const error = info.messages.find((message) => message.type === "error");
  if (error) throw errorAt(name, code, error.lineNum, error.message);
  const failure = await scope;
  if (failure) throw new KernelError(name, failure.message);
}
