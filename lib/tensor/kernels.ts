/**
 * The WGSL texts of kernels/, by name. Only the registry uses this.
 *
 * @module
 */
import { markedSource } from "./kernel_source.ts";
import lanes_subgroup from "../../kernels/lanes_subgroup.wgsl" with { type: "text" };
import lanes_workgroup from "../../kernels/lanes_workgroup.wgsl" with { type: "text" };
import rms_norm_forward from "../../kernels/rms_norm_forward.wgsl" with { type: "text" };
import gemm_epilogue from "../../kernels/gemm_epilogue.wgsl" with { type: "text" };
import adamw from "../../kernels/adamw.wgsl" with { type: "text" };
import adamw_rows from "../../kernels/adamw_rows.wgsl" with { type: "text" };
import add_rows from "../../kernels/add_rows.wgsl" with { type: "text" };
import clip_factor from "../../kernels/clip_factor.wgsl" with { type: "text" };
import copy from "../../kernels/copy.wgsl" with { type: "text" };
import embedding_backward from "../../kernels/embedding_backward.wgsl" with { type: "text" };
import embedding_forward from "../../kernels/embedding_forward.wgsl" with { type: "text" };
import gemm_subgroup8 from "../../kernels/gemm_subgroup8.wgsl" with { type: "text" };
import gemm_tiled from "../../kernels/gemm_tiled.wgsl" with { type: "text" };
import muon_momentum from "../../kernels/muon_momentum.wgsl" with { type: "text" };
import muon_factors from "../../kernels/muon_factors.wgsl" with { type: "text" };
import muon_scale from "../../kernels/muon_scale.wgsl" with { type: "text" };
import cross_entropy from "../../kernels/cross_entropy.wgsl" with { type: "text" };
import limit_rows from "../../kernels/limit_rows.wgsl" with { type: "text" };
import log_probabilities from "../../kernels/log_probabilities.wgsl" with { type: "text" };
import qk_norm_rope_backward from "../../kernels/qk_norm_rope_backward.wgsl" with { type: "text" };
import qk_norm_rope_forward from "../../kernels/qk_norm_rope_forward.wgsl" with { type: "text" };
import shift_keys from "../../kernels/shift_keys.wgsl" with { type: "text" };
import sum_splits from "../../kernels/sum_splits.wgsl" with { type: "text" };
import reduce_partials from "../../kernels/reduce_partials.wgsl" with { type: "text" };
import rms_norm_backward from "../../kernels/rms_norm_backward.wgsl" with { type: "text" };
import attention_backward_key_subgroup8 from "../../kernels/attention_backward_key_subgroup8.wgsl" with {
  type: "text",
};
import attention_backward_key_tiled from "../../kernels/attention_backward_key_tiled.wgsl" with {
  type: "text",
};
import attention_backward_query_subgroup8 from "../../kernels/attention_backward_query_subgroup8.wgsl" with {
  type: "text",
};
import attention_backward_query_tiled from "../../kernels/attention_backward_query_tiled.wgsl" with {
  type: "text",
};
import attention_decode_subgroup8 from "../../kernels/attention_decode_subgroup8.wgsl" with {
  type: "text",
};
import attention_decode_tiled from "../../kernels/attention_decode_tiled.wgsl" with { type: "text" };
import attention_forward_subgroup8 from "../../kernels/attention_forward_subgroup8.wgsl" with {
  type: "text",
};
import attention_forward_tiled from "../../kernels/attention_forward_tiled.wgsl" with { type: "text" };
import attention_slices_tiled from "../../kernels/attention_slices_tiled.wgsl" with { type: "text" };
import attention_slots_subgroup8 from "../../kernels/attention_slots_subgroup8.wgsl" with { type: "text" };
import attention_softmax_subgroup8 from "../../kernels/attention_softmax_subgroup8.wgsl" with {
  type: "text",
};

/** `lane_sum` and `lane_max` by subgroups. */
export const LANES_SUBGROUP: string = markedSource("lanes_subgroup", lanes_subgroup);
/** `lane_sum` and `lane_max` without subgroups. */
export const LANES_WORKGROUP: string = markedSource("lanes_workgroup", lanes_workgroup);

const GEMM_EPILOGUE = markedSource("gemm_epilogue", gemm_epilogue);
const ATTENTION_SLICES_TILED = markedSource("attention_slices_tiled", attention_slices_tiled);
const ATTENTION_SLOTS_SUBGROUP8 = markedSource("attention_slots_subgroup8", attention_slots_subgroup8);
const ATTENTION_SOFTMAX_SUBGROUP8 = markedSource("attention_softmax_subgroup8", attention_softmax_subgroup8);

/** Every registered kernel: the file's name without `.wgsl` -> its text. */
export const KERNEL_SOURCES = {
  cross_entropy,
  log_probabilities,
  qk_norm_rope_backward,
  qk_norm_rope_forward,
  rms_norm_forward,
  adamw,
  adamw_rows,
  add_rows,
  clip_factor,
  copy,
  embedding_backward,
  embedding_forward,
  // The epilogue is first: Deno's naga panics if an override follows an array of a computed length.
  gemm_subgroup8: GEMM_EPILOGUE + markedSource("gemm_subgroup8", gemm_subgroup8),
  gemm_tiled: GEMM_EPILOGUE + markedSource("gemm_tiled", gemm_tiled),
  limit_rows,
  muon_momentum,
  muon_factors,
  muon_scale,
  reduce_partials,
  shift_keys,
  sum_splits,
  rms_norm_backward,
  attention_backward_key_subgroup8: attention_backward_key_subgroup8 + ATTENTION_SLOTS_SUBGROUP8,
  attention_backward_key_tiled: attention_backward_key_tiled + ATTENTION_SLICES_TILED,
  attention_backward_query_subgroup8: attention_backward_query_subgroup8 + ATTENTION_SLOTS_SUBGROUP8,
  attention_backward_query_tiled: attention_backward_query_tiled + ATTENTION_SLICES_TILED,
  attention_decode_subgroup8: attention_decode_subgroup8 + ATTENTION_SLOTS_SUBGROUP8 +
    ATTENTION_SOFTMAX_SUBGROUP8,
  attention_decode_tiled: attention_decode_tiled + ATTENTION_SLICES_TILED,
  attention_forward_subgroup8: attention_forward_subgroup8 + ATTENTION_SLOTS_SUBGROUP8 +
    ATTENTION_SOFTMAX_SUBGROUP8,
  attention_forward_tiled: attention_forward_tiled + ATTENTION_SLICES_TILED,
} as const;

/** The name of a registered kernel. */
export type KernelName = keyof typeof KERNEL_SOURCES;
