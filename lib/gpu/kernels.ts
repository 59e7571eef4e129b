/**
 * The WGSL texts of kernels/, by name. Only the registry uses this.
 *
 * @module
 */
import LANES_SUBGROUP from "../../kernels/lanes_subgroup.wgsl" with { type: "text" };
import LANES_WORKGROUP from "../../kernels/lanes_workgroup.wgsl" with { type: "text" };
import rms_norm_forward from "../../kernels/rms_norm_forward.wgsl" with { type: "text" };
import activation_backward from "../../kernels/activation_backward.wgsl" with { type: "text" };
import activation_forward from "../../kernels/activation_forward.wgsl" with { type: "text" };
import adamw from "../../kernels/adamw.wgsl" with { type: "text" };
import clip_factor from "../../kernels/clip_factor.wgsl" with { type: "text" };
import embedding_backward from "../../kernels/embedding_backward.wgsl" with { type: "text" };
import embedding_forward from "../../kernels/embedding_forward.wgsl" with { type: "text" };
import gemm_subgroup8 from "../../kernels/gemm_subgroup8.wgsl" with { type: "text" };
import gemm_tiled from "../../kernels/gemm_tiled.wgsl" with { type: "text" };
import reduce_partials from "../../kernels/reduce_partials.wgsl" with { type: "text" };
import rms_norm_backward from "../../kernels/rms_norm_backward.wgsl" with { type: "text" };

export { LANES_SUBGROUP, LANES_WORKGROUP };

/** Every registered kernel: the file's name without `.wgsl` -> its text. */
export const KERNEL_SOURCES = {
  rms_norm_forward,
  activation_backward,
  activation_forward,
  adamw,
  clip_factor,
  embedding_backward,
  embedding_forward,
  gemm_subgroup8,
  gemm_tiled,
  reduce_partials,
  rms_norm_backward,
} as const;

/** The name of a registered kernel. */
export type KernelName = keyof typeof KERNEL_SOURCES;
