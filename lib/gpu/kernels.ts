/**
 * The WGSL texts of kernels/, by name. Only the registry uses this.
 *
 * @module
 */
import LANES_SUBGROUP from "../../kernels/lanes_subgroup.wgsl" with { type: "text" };
import LANES_WORKGROUP from "../../kernels/lanes_workgroup.wgsl" with { type: "text" };
import rms_norm_forward from "../../kernels/rms_norm_forward.wgsl" with { type: "text" };

export { LANES_SUBGROUP, LANES_WORKGROUP };

/** Every registered kernel: the file's name without `.wgsl` -> its text. */
export const KERNEL_SOURCES = {
  rms_norm_forward,
} as const;

/** The name of a registered kernel. */
export type KernelName = keyof typeof KERNEL_SOURCES;
