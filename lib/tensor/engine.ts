/**
 * The WebGPU implementation that runs the kernels: the runtime's, or Dawn, which Chromium uses, from the npm
 * package `webgpu`. Only Dawn gives access to the matrix units of a GPU.
 *
 * @module
 */
import { UserError } from "../base/errors.ts";
import type { DType } from "./tensor.ts";

/** `deno`: the WebGPU of the runtime, which may also be a browser. */
export type EngineName = "deno" | "dawn";
/** `auto`: Dawn if installed, for f16 on a GPU with usable matrix units; else the runtime's. */
export type EngineChoice = "auto" | EngineName;

/** Matrix units that multiply f16 matrices of `side` rows and columns with f32 sums. */
export interface MatrixUnits {
  /** Rows and columns of a matrix. */
  readonly side: number;
  /** Lanes that share a matrix: side^2 / 8. */
  readonly lanes: number;
}

/**
 * Checks that Dawn omits from kernels on a GPU: clamping all indexes (it halves the speed of products on an
 * H100) and zeroing workgroup memory. tests/tensor/bounds.ts shows for every kernel that it needs neither.
 * Without them Mesa's software driver unrolls loops for minutes.
 */
const UNCHECKED = ["disable_robustness", "disable_workgroup_init"] as const;

type DawnToggle = typeof UNCHECKED[number];

export interface EngineOptions {
  /** `auto` by default. */
  engine?: EngineChoice | undefined;
  /** Storage format of a model to train; undefined for answers, which always use f32. */
  dtype?: DType | undefined;
  /** Checks that Dawn omits from kernels (default: all possible on a GPU, none in software). */
  toggles?: readonly DawnToggle[] | undefined;
  /** Called with a line on which engine runs and why, if there was a choice and the line is new. */
  onLog?: ((line: string) => void) | undefined;
}

interface ChosenAdapter {
  /** Null if the engine has none. */
  adapter: GPUAdapter | null;
  engine: EngineName;
}

/** Adapter properties that the WebGPU types lack. */
interface AdapterInfo extends Omit<GPUAdapterInfo, "subgroupMinSize" | "subgroupMaxSize"> {
  readonly subgroupMinSize?: number;
  readonly subgroupMaxSize?: number;
  readonly subgroupMatrixConfigs?: Iterable<
    { componentType: string; resultComponentType: string; M: number; N: number; K: number }
  >;
}

interface Dawn {
  create(flags: string[]): GPU;
}

/** The parts of Deno and Node needed to load Dawn; browsers have neither. */
interface Runtime {
  process?: {
    getBuiltinModule?(
      name: "node:module",
    ): { createRequire(from: URL): { (name: string): unknown; resolve(name: string): string } };
  };
  // deno-lint-ignore ping-llm/browser
  Deno?: { permissions: { querySync(wanted: { name: "ffi"; path: URL }): { state: string } } };
}

/** Features of adapters with matrix units: the matrices, and f16, which they need. */
export const MATRIX_FEATURES: readonly string[] = ["chromium-experimental-subgroup-matrix", "shader-f16"];

/** The folder of the package; its `deno.json` names the version. */
const DAWN = new URL("./dawn/", import.meta.url);
/** Adapters list matrices only with the first toggle, and f16 on NVIDIA's driver only with the second. */
const TOGGLES = ["allow_unsafe_apis", "vulkan_enable_f16_on_nvidia"];
/** Rounds timestamps to 65 us, longer than most kernels take on a GPU. */
const TOGGLES_OFF = ["timestamp_quantization"];
const SOFTWARE = /llvmpipe|lavapipe|swiftshader|warp|basic render/i;

/** Results of `create()` by toggles: if one is garbage-collected, the process crashes. */
const created = new Map<string, GPU>();
let usual: Pick<EngineOptions, "engine" | "onLog"> = {};
let lastLine: string | undefined;

/** Sets this thread's default engine. @param onLog As in {@link EngineOptions}. */
export function useByDefault(engine: EngineChoice, onLog?: (line: string) => void): void {
  usual = { engine, onLog };
}

class DawnError extends UserError {
  constructor(readonly found: string, remedy: string, options?: ErrorOptions) {
    super(`Cannot use the engine dawn: ${found}; ${remedy}`, options);
  }
}

/**
 * Opens the default adapter of an engine. `auto` never decides by a measurement, so a machine always gets the
 * same engine.
 *
 * @throws {UserError} If the engine is `dawn`, which is not installed or may not be loaded.
 */
export async function requestAdapter(options: EngineOptions): Promise<ChosenAdapter> {
  const { engine = usual.engine ?? "auto", dtype, toggles, onLog = usual.onLog } = options;
  const log = (line: string) => {
    if (line !== lastLine) onLog?.(line);
    lastLine = line;
  };
  if (engine === "dawn") {
    const adapter = await dawnAdapter(toggles);
    log("engine: Dawn, as chosen");
    return useDawn(adapter);
  }
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" }) ?? null;
  if (engine === "deno") {
    log("engine: Deno's WebGPU, as chosen");
  } else {
    const found = await matrixAdapter(adapter, dtype ?? "f32", toggles);
    if (typeof found !== "string") {
      log("engine: Dawn, for f16 on matrix units");
      return useDawn(found);
    }
    if (dtype) log(`engine: Deno's WebGPU, since ${found}`);
  }
  return { adapter, engine: "deno" };
}

/**
 * Returns Dawn's adapter if `auto` should use it, else the reason why not. @param other The runtime's
 * adapter, which shows whether there is a GPU.
 */
async function matrixAdapter(
  other: GPUAdapter | null,
  dtype: DType,
  toggles: readonly DawnToggle[] | undefined,
): Promise<GPUAdapter | string> {
  const noGpu = "the adapter is a software adapter";
  if (dtype !== "f16") return `the model is stored in ${dtype}`;
  if (other && isSoftware(other)) return noGpu;
  try {
    const adapter = await dawnAdapter(toggles);
    if (!adapter) return "Dawn finds no adapter";
    if (isSoftware(adapter)) return noGpu;
    return matrixUnits(adapter) ? adapter : "the adapter lists no matrix units of f16 with f32 sums";
  } catch (error) {
    if (error instanceof DawnError) return error.found;
    throw error;
  }
}

/** A Dawn adapter, for one device. @throws {DawnError} If Dawn is not installed or cannot be loaded. */
async function dawnAdapter(toggles?: readonly DawnToggle[]): Promise<GPUAdapter | null> {
  const on = [...TOGGLES, ...toggles ?? []].join();
  let adapter;
  try {
    const gpu = created.get(on) ??
      loadDawn().create([`enable-dawn-features=${on}`, `disable-dawn-features=${TOGGLES_OFF}`]);
    created.set(on, gpu);
    adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  } catch (error) {
    if (error instanceof DawnError) throw error;
    const [line] = String(error instanceof Error ? error.message : error).split("\n");
    throw new DawnError(`Dawn's library cannot be loaded (${line})`, "use --engine deno", { cause: error });
  }
  return adapter && !toggles && !isSoftware(adapter) ? await dawnAdapter(UNCHECKED) : adapter;
}

function loadDawn(): Dawn {
  // deno-lint-ignore ping-llm/browser -- undefined in a browser, whose bundle also must not import node:module
  const { process, Deno: deno } = globalThis as Runtime;
  const name = "webgpu";
  let require;
  let path;
  try {
    require = process?.getBuiltinModule?.("node:module").createRequire(DAWN);
    path = require?.resolve(name);
  } catch { /* it is not there */ }
  if (!require || !path) {
    throw new DawnError(
      `the package ${name} of Dawn is not installed`,
      "run sh setup.sh --dawn, or build the single-file program with compile --dawn",
    );
  }
  // Loading asks for the permission in a terminal.
  if (deno && deno.permissions.querySync({ name: "ffi", path: DAWN }).state !== "granted") {
    throw new DawnError("the permission to load Dawn's library is missing", "start Deno with --allow-ffi");
  }
  return require(path) as Dawn;
}

/**
 * Dawn polls the device with `setImmediate` while a promise is awaited. After some 200,000 calls in `deno
 * test`, Deno 2.9 stops calling back and waits forever. Also, polling without a pause takes a core from a
 * software driver.
 */
function useDawn(adapter: GPUAdapter | null): ChosenAdapter {
  Object.assign(globalThis, { setImmediate: (callback: () => void) => setTimeout(callback, 0) });
  return { adapter, engine: "dawn" };
}

export function isSoftware({ info: { description, device, vendor } }: GPUAdapter): boolean {
  return SOFTWARE.test(`${description} ${device} ${vendor}`);
}

/** Lanes of a subgroup, if the size is fixed. */
export function subgroupSize(adapter: GPUAdapter): number | undefined {
  const { subgroupMinSize, subgroupMaxSize }: AdapterInfo = adapter.info;
  return subgroupMinSize === subgroupMaxSize ? subgroupMinSize : undefined;
}

/** Undefined if the kernels cannot use the adapter's matrix units. */
export function matrixUnits(adapter: GPUAdapter): MatrixUnits | undefined {
  const info: AdapterInfo = adapter.info;
  const lanes = subgroupSize(adapter);
  const hasFeatures = MATRIX_FEATURES.every((name) => adapter.features.has(name as GPUFeatureName));
  if (!hasFeatures || lanes === undefined) return undefined;
  const found = [...info.subgroupMatrixConfigs ?? []].find(
    ({ componentType, resultComponentType, M, N, K }) =>
      componentType === "f16" && resultComponentType === "f32" && M === N && N === K && M * M === 8 * lanes,
  );
  return found && { side: found.M, lanes };
}
