/**
 * The kernel registry: name -> WGSL. A kernel is compiled at first use, for each set of overrides and f16
 * bindings.
 *
 * @module
 */
import { getOrMake } from "../base/collections.ts";
import { KernelError } from "../base/errors.ts";
import {
  endOf,
  errorAt,
  KERNEL_SOURCES,
  type KernelInterface,
  LANES_SUBGROUP,
  LANES_WORKGROUP,
  markedSource,
  MATRIX_TYPES,
  parseKernel,
  withConstants,
  withoutComments,
  withUnrolledLoops,
} from "./kernels.ts";
import type { Gpu } from "./device.ts";
import type { Tensor } from "./tensor.ts";

/** Lanes per row on an adapter without subgroups, where each row has a workgroup. */
const FALLBACK_LANES = 64;

/** How memory-bound kernels divide their work; results depend on `lanesPerHead` only. */
export interface RowLayout {
  /** Rows per workgroup, one per subgroup, a power of 2; 1 on a device without subgroups. */
  readonly rowsPerGroup: number;
  /** Maximum number of vec4 of a row that a lane keeps in registers per tensor; the others are read twice. */
  readonly maxKept: number;
  /** Maximum number of lanes that share a head, a power of 2. */
  readonly lanesPerHead: number;
  /** Number of loads that a thread has in flight in sums and copies. */
  readonly loads: number;
}

/**
 * The layout for each kind of adapter. A GPU's multiprocessor runs a limited number of workgroups (NVIDIA:
 * 32). With one subgroup each they do not have enough loads in flight, and neighbouring lanes should read
 * neighbouring memory. 12 vec4 in 32 lanes cover a width of 1,536. On lavapipe reading a row twice is faster
 * than keeping it.
 */
export const ROW_LAYOUTS: Readonly<Record<"gpu" | "software", RowLayout>> = {
  gpu: { rowsPerGroup: 4, maxKept: 12, lanesPerHead: 8, loads: 16 },
  software: { rowsPerGroup: 8, maxKept: 0, lanesPerHead: 1, loads: 1 },
};
/** Every adapter allows workgroups with this many threads. */
const MAX_GROUP_SIZE = 256;

/** A compiled kernel. */
export interface Kernel {
  /** Registered name. */
  readonly name: string;
  /** Bindings, parameters and overrides. */
  readonly interface: KernelInterface;
  /** Entry point `main` with the override values. */
  readonly pipeline: GPUComputePipeline;
  /** Layout of the single bind group. */
  readonly layout: GPUBindGroupLayout;
}

/** Compiles kernels for one device and caches them. */
export class KernelRegistry {
  readonly #kernels = new Map<string, Kernel>();
  readonly #pending: Promise<void>[] = [];
  #unusedOutput: Tensor | undefined;
  readonly #sources: ReadonlyMap<string, string>;
  /** Number of lanes per row in row kernels on this device. */
  readonly lanes: number;
  /** How row kernels divide rows on this device. */
  readonly rows: RowLayout;

  /**
   * Compiles nothing yet.
   *
   * @param gpu The device of all kernels.
   * @param options For experiments: `sources`: WGSL that replaces registered sources, by kernel name; `rows`:
   *   replaces the adapter's {@link ROW_LAYOUTS}.
   */
  constructor(
    readonly gpu: Gpu,
    options: { sources?: Readonly<Record<string, string>>; rows?: Partial<RowLayout> } = {},
  ) {
    this.#sources = new Map(Object.entries({ ...KERNEL_SOURCES, ...options.sources }));
    const { subgroupSize, isSoftware } = gpu.info;
    this.lanes = subgroupSize ?? FALLBACK_LANES;
    const rows = { ...ROW_LAYOUTS[isSoftware ? "software" : "gpu"], ...options.rows };
    const mostRows = subgroupSize ? Math.max(1, MAX_GROUP_SIZE / subgroupSize) : 1;
    this.rows = { ...rows, rowsPerGroup: Math.min(rows.rowsPerGroup, mostRows) };
  }

  /** Number of threads per workgroup of row kernels. */
  get groupSize(): number {
    return this.lanes * this.rows.rowsPerGroup;
  }

  /** A vec4 to bind to outputs that a kernel does not always write. */
  get unusedOutput(): Tensor {
    return this.#unusedOutput ??= this.gpu.tensor("unused output", [4]);
  }

  /** Number of pipelines compiled so far. */
  get numPipelines(): number {
    return this.#kernels.size;
  }

  /**
   * Returns the kernel with the given override values, compiling it at the first call.
   *
   * @param name The name of a file in kernels/ without `.wgsl`.
   * @param overrides Values of override constants instead of their defaults; 0 or 1 for a `bool`.
   * @param halfBindings Names of the bindings whose tensors are f16.
   * @throws {KernelError} If the kernel or an override is unknown, it needs subgroups and the device has
   *   none, or a binding cannot be f16.
   */
  get(name: string, overrides: Record<string, number> = {}, halfBindings: readonly string[] = []): Kernel {
    const key = `${name} ${JSON.stringify([Object.entries(overrides).sort(), [...halfBindings].sort()])}`;
    return getOrMake(this.#kernels, key, () => this.#compile(name, overrides, halfBindings));
  }

  /** The WGSL of a kernel. @throws {KernelError} If it is unknown. */
  source(name: string): string {
    const source = this.#sources.get(name);
    if (source === undefined) {
      throw new KernelError(name, "it is unknown; register it in lib/tensor/kernels.ts");
    }
    return source;
  }

  /** Waits until all kernels so far are compiled. @throws {KernelError} With name and line if one fails. */
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
    if (parsed.usesMatrices && !this.gpu.info.matrix) {
      throw new KernelError(
        name,
        "it needs matrix units, which the adapter does not have; use another kernel",
      );
    }
    const { device } = this.gpu;
    const fixed = withHalfStorage(name, withUnrolledLoops(withConstants(source, overrides)), halfBindings);
    const code = this.#prelude(parsed) + markedSource(name, fixed);
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
      compute: { module, entryPoint: "main" },
    });
    const scope = device.popErrorScope();
    this.#pending.push(reportErrors(name, module, scope, code));
    return { name, interface: parsed, pipeline, layout };
  }

  #prelude({ usesLanes, usesSubgroups, usesMatrices }: KernelInterface): string {
    const { subgroupSize, enablesSubgroups, matrix } = this.gpu.info;
    const lines = [
      // Subgroups of a workgroup have different rows, which Tint would reject.
      enablesSubgroups && (usesLanes || usesSubgroups) &&
      "enable subgroups;\ndiagnostic(off, subgroup_uniformity);",
      usesMatrices &&
      `enable f16;\nenable chromium_experimental_subgroup_matrix;\nconst MATRIX = ${matrix?.side}u;`,
      (usesLanes || usesMatrices) && `const LANES = ${this.lanes}u;`,
      usesLanes && `const GROUP_SIZE = ${this.groupSize}u;`,
    ].filter(Boolean).map((line) => `${line}\n`).join("");
    return lines + (usesLanes ? subgroupSize ? LANES_SUBGROUP : LANES_WORKGROUP : "") +
      (usesMatrices ? MATRIX_TYPES : "");
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

// 16-bit storage: changes a kernel's source so that some of its arrays contain f16, two per 32-bit word.
//
// Kernels are written once, for f32. They use their large arrays, whose elements are vec4, only as `x[i]`,
// `x[i] = value` and `x[i] += value`. Here these become calls of two functions around the built-ins
// `unpack2x16float` and `pack2x16float` (WGSL, sections 17.9.6 and 17.10.6), which need no adapter feature.
// All arithmetic stays f32.
//
// Measured on 2 cores of lavapipe (Mesa 25.0), processor time relative to f32, alternating in one process
// (2026-11-21): matrix products of 1024 x 2560 x 640 0.73 (NT), 0.64 (NN) and 0.75 (TN), because a load
// checks the bounds of half as many words; a training step of the demo preset 0.87; forward and backward at
// the width of 95m 0.72.
//
// A number beyond the range of f16 becomes NaN, because WGSL does not define its conversion. So every check
// for finite results detects an overflow.
//
// Kernels for matrix units declare f16 operands themselves, as words of 8 elements: array<vec4u>.

/** Appended to a changed kernel, so that its line numbers do not change. */
const FUNCTIONS = `
fn unpack_half(x: vec2u) -> vec4f {
  return vec4f(unpack2x16float(x.x), unpack2x16float(x.y));
}

fn pack_half(x: vec4f) -> vec2u {
  let kept = clamp(x, vec4f(-65504f), vec4f(65504f));
  // Compares bits, because WGSL may assume that there is no NaN. With all exponent bits set, 65504 is a NaN.
  let is_beyond = (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(bitcast<u32>(65504f));
  let exponent = select(vec4u(0u), vec4u(0x7c00u, 0x7c000000u, 0x7c00u, 0x7c000000u), is_beyond);
  return vec2u(pack2x16float(kept.xy) | exponent.x | exponent.y, pack2x16float(kept.zw) | exponent.z | exponent.w);
}
`;

/**
 * Changes a kernel so that some of its bindings are stored as f16.
 *
 * @param kernel The kernel's name, for errors.
 * @param source WGSL.
 * @param names The bindings' WGSL variables; without any the source is returned unchanged.
 * @throws {KernelError} If a binding is not an array of vec4f or is used in other ways than above.
 */
export function withHalfStorage(kernel: string, source: string, names: readonly string[]): string {
  const changed = names.filter((name) =>
    !new RegExp(`var<storage[^>]*>\\s*${name}\\s*:\\s*array<vec4u>`).test(source)
  );
  if (changed.length === 0) return source;
  const code = changed.reduce(
    (code, name) => changeAccesses(kernel, changeDeclaration(kernel, code, name), name),
    withoutComments(source),
  );
  return code + FUNCTIONS;
}

function changeDeclaration(kernel: string, code: string, name: string): string {
  const declaration = new RegExp(`(var<storage[^>]*>\\s*${name}\\s*:\\s*)array<vec4f>`);
  if (!declaration.test(code)) {
    throw new KernelError(kernel, `${name} is not an array of vec4f and cannot be bound to an f16 tensor`);
  }
  return code.replace(declaration, "$1array<vec2u>");
}

/**
 * Changes each `name[…]` in code, and the statement around it if it is assigned to. @param before The source
 * before `code`, for errors.
 */
function changeAccesses(kernel: string, code: string, name: string, before = ""): string {
  let changed = "";
  let end = 0;
  for (const match of code.matchAll(new RegExp(`(?<![\\w.])${name}\\b(?!\\s*:\\s*array<vec2u>)`, "g"))) {
    if (match.index < end) continue;
    const open = match.index + name.length;
    if (code[open] !== "[") {
      const read = before + code.slice(0, open);
      const fault = `${name} is used in another way than ${name}[i] and cannot be f16`;
      throw errorAt(kernel, read, read.split("\n").length, fault);
    }
    const close = endOf(code, open + 1, "]");
    const element = code.slice(match.index, close + 1);
    const assignment = /^\s*([-+*/]?)=(?!=)\s*/.exec(code.slice(close + 1));
    changed += code.slice(end, match.index);
    if (assignment) {
      const [text, operator] = assignment;
      const start = close + 1 + text.length;
      end = endOf(code, start, ";");
      const value = changeAccesses(kernel, code.slice(start, end), name, before + code.slice(0, start));
      const whole = operator ? `unpack_half(${element}) ${operator} (${value})` : value;
      changed += `${element} = pack_half(${whole})`;
    } else {
      end = close + 1;
      changed += `unpack_half(${element})`;
    }
  }
  return changed + code.slice(end);
}
