/**
 * The WGSL sources of kernels/ by name, and a parser of a kernel's interface: bindings, parameters,
 * overrides. Kernels are written in a plain form that a few regular expressions can parse;
 * lib/tensor/README.md has the rules.
 *
 * @module
 */
import { ensure, KernelError } from "../base/errors.ts";
import adamw from "../../kernels/adamw.wgsl" with { type: "text" };
import adamw_rows from "../../kernels/adamw_rows.wgsl" with { type: "text" };
import add_rows from "../../kernels/add_rows.wgsl" with { type: "text" };
import attention_backward_key_matrix from "../../kernels/attention_backward_key_matrix.wgsl" with {
  type: "text",
};
import attention_backward_key_subgroup8 from "../../kernels/attention_backward_key_subgroup8.wgsl" with {
  type: "text",
};
import attention_backward_key_tiled from "../../kernels/attention_backward_key_tiled.wgsl" with {
  type: "text",
};
import attention_backward_query_matrix from "../../kernels/attention_backward_query_matrix.wgsl" with {
  type: "text",
};
import attention_backward_query_subgroup8 from "../../kernels/attention_backward_query_subgroup8.wgsl" with {
  type: "text",
};
import attention_backward_query_tiled from "../../kernels/attention_backward_query_tiled.wgsl" with {
  type: "text",
};
import attention_decode_subgroup8 from "../../kernels/attention_decode_subgroup8.wgsl" with { type: "text" };
import attention_decode_tiled from "../../kernels/attention_decode_tiled.wgsl" with { type: "text" };
import attention_forward_matrix from "../../kernels/attention_forward_matrix.wgsl" with { type: "text" };
import attention_forward_subgroup8 from "../../kernels/attention_forward_subgroup8.wgsl" with {
  type: "text",
};
import attention_forward_tiled from "../../kernels/attention_forward_tiled.wgsl" with { type: "text" };
import attention_gradients_matrix from "../../kernels/attention_gradients_matrix.wgsl" with { type: "text" };
import attention_slots_subgroup8 from "../../kernels/attention_slots_subgroup8.wgsl" with { type: "text" };
import attention_softmax_subgroup8 from "../../kernels/attention_softmax_subgroup8.wgsl" with {
  type: "text",
};
import attention_tiles_matrix from "../../kernels/attention_tiles_matrix.wgsl" with { type: "text" };
import attention_tiles_tiled from "../../kernels/attention_tiles_tiled.wgsl" with { type: "text" };
import clip_factor from "../../kernels/clip_factor.wgsl" with { type: "text" };
import copy from "../../kernels/copy.wgsl" with { type: "text" };
import cross_entropy from "../../kernels/cross_entropy.wgsl" with { type: "text" };
import embedding_backward from "../../kernels/embedding_backward.wgsl" with { type: "text" };
import embedding_forward from "../../kernels/embedding_forward.wgsl" with { type: "text" };
import gemm_epilogue from "../../kernels/gemm_epilogue.wgsl" with { type: "text" };
import gemm_matrix from "../../kernels/gemm_matrix.wgsl" with { type: "text" };
import gemm_subgroup8 from "../../kernels/gemm_subgroup8.wgsl" with { type: "text" };
import gemm_tiled from "../../kernels/gemm_tiled.wgsl" with { type: "text" };
import lanes_subgroup from "../../kernels/lanes_subgroup.wgsl" with { type: "text" };
import lanes_workgroup from "../../kernels/lanes_workgroup.wgsl" with { type: "text" };
import limit_rows from "../../kernels/limit_rows.wgsl" with { type: "text" };
import log_probabilities from "../../kernels/log_probabilities.wgsl" with { type: "text" };
import matrix_types from "../../kernels/matrix_types.wgsl" with { type: "text" };
import muon_factors from "../../kernels/muon_factors.wgsl" with { type: "text" };
import muon_momentum from "../../kernels/muon_momentum.wgsl" with { type: "text" };
import muon_scale from "../../kernels/muon_scale.wgsl" with { type: "text" };
import products_tiled from "../../kernels/products_tiled.wgsl" with { type: "text" };
import qk_norm_rope_backward from "../../kernels/qk_norm_rope_backward.wgsl" with { type: "text" };
import qk_norm_rope_forward from "../../kernels/qk_norm_rope_forward.wgsl" with { type: "text" };
import reduce_partials from "../../kernels/reduce_partials.wgsl" with { type: "text" };
import rms_norm_backward from "../../kernels/rms_norm_backward.wgsl" with { type: "text" };
import rms_norm_forward from "../../kernels/rms_norm_forward.wgsl" with { type: "text" };
import shift_keys from "../../kernels/shift_keys.wgsl" with { type: "text" };
import sum_splits from "../../kernels/sum_splits.wgsl" with { type: "text" };

/** One `@group(0) @binding(N) var<…>` of a kernel. */
export interface Binding {
  /** The WGSL variable. */
  readonly name: string;
  /** N of `@binding(N)`. */
  readonly index: number;
  /** `uniform` is `params`; the others are storage buffers. */
  readonly access: "read" | "read_write" | "uniform";
}

/** A scalar field of the uniform struct `Params`, 4 bytes. */
interface ParamField {
  /** Field name in WGSL. */
  readonly name: string;
  /** Scalar type. */
  readonly type: "u32" | "i32" | "f32";
}

/** The interface of a kernel. */
export interface KernelInterface {
  /** All bindings of group 0, as declared. */
  readonly bindings: readonly Binding[];
  /** Fields of `params`, field i at byte 4 i; empty without `params`. */
  readonly params: readonly ParamField[];
  /** Names of the override constants. */
  readonly overrides: readonly string[];
  /** Whether the kernel uses the row prelude, `lanes_subgroup` or `lanes_workgroup`. */
  readonly usesLanes: boolean;
  /** Whether the kernel itself calls subgroup built-ins and therefore requires subgroups. */
  readonly usesSubgroups: boolean;
  /** Whether the kernel uses the prelude's matrix types and therefore requires matrix units. */
  readonly usesMatrices: boolean;
}

/** Name, type and default of an override constant, which must be on a line of its own. */
const OVERRIDE = /^override (\w+): (\w+) = ([^;]+);/gm;

/** Makes a kernel's overrides constants, which may also be extents of inner arrays (WGSL, section 8.2). */
export function withConstants(source: string, overrides: Record<string, number>): string {
  return source.replace(OVERRIDE, (_, name, type, initial) => {
    const value = overrides[name] ?? initial;
    return `const ${name}: ${type} = ${type === "bool" && name in overrides ? Boolean(value) : value};`;
  });
}

/** Head of a loop that {@link withUnrolledLoops} unrolls: its variable, and the constant it ends before. */
const UNROLLED = /for \(var (\w+) = 0u; \1 < (\w+); \1\+\+\) \{ \/\/ unrolled\n/;

/**
 * Unrolls a kernel's loops that have the comment `unrolled`, because no driver except Mesa's unrolls loops.
 * All loads of a loop are then in flight at once, and arrays indexed by its variable are in registers. Line
 * numbers do not change. Such loops may not contain others.
 *
 * @param source WGSL without overrides; see {@link withConstants}.
 */
export function withUnrolledLoops(source: string): string {
  for (let head; (head = UNROLLED.exec(source));) {
    const [text, variable, end] = head;
    const count = Number(new RegExp(`^const ${end}(?:: u32)? = (\\d+)u?;`, "m").exec(source)?.[1]);
    ensure(count >= 0, `${end} of an unrolled loop is not a constant`);
    const start = head.index + text.length;
    const close = endOf(source, start, "}");
    const body = source.slice(start, close);
    const line = withoutComments(body).replace(/\s+/g, " ");
    const iterations = Array.from(
      { length: count },
      (_, i) => `{${line.replace(new RegExp(`\\b${variable}\\b`, "g"), `${i}u`)}}`,
    );
    const newlines = "\n".repeat(body.split("\n").length);
    source = source.slice(0, head.index) + iterations.join(" ") + newlines + source.slice(close + 1);
  }
  return source;
}

/** The index of a closing character, from `start` on, outside inner brackets. */
export function endOf(code: string, start: number, closing: string): number {
  let depth = 0;
  for (let at = start; at < code.length; at++) {
    if (depth === 0 && code[at] === closing) return at;
    if ("([{".includes(code[at])) depth++;
    if (")]}".includes(code[at])) depth--;
  }
  return code.length;
}

/** Prefix of the line before each file's source, in kernels assembled from several files. */
const FILE_MARK = "//! ";

/** Marks a source from kernels/ with its file name, so that {@link errorAt} can find its lines. */
export function markedSource(file: string, text: string): string {
  return `${FILE_MARK}${file}\n${text}`;
}

/** Removes comments but keeps all lines and the marks of {@link markedSource}. */
export function withoutComments(source: string): string {
  return source.replace(/\/\/(?!!).*$/gm, "");
}

/**
 * An error with the file and line of a position in a compiled source.
 *
 * @param kernel The kernel's name, which is also the file name before the first {@link markedSource}.
 * @param source The compiled source.
 * @param line The line in that source, from 1.
 * @param message What is wrong.
 */
export function errorAt(kernel: string, source: string, line: number, message: string): KernelError {
  const linesBefore = source.split("\n").slice(0, line - 1);
  const mark = linesBefore.findLastIndex((text) => text.startsWith(FILE_MARK));
  const file = linesBefore[mark]?.slice(FILE_MARK.length);
  return new KernelError(kernel, message, line - 1 - mark, file);
}

/**
 * Parses the declarations of a kernel.
 *
 * @param name The kernel's name, for errors.
 * @param source WGSL.
 * @throws {KernelError} If a declaration is not in the plain form.
 */
export function parseKernel(name: string, source: string): KernelInterface {
  const code = withoutComments(source);
  const bindings = [...code.matchAll(/@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>\s*(\w+)/g)].map(
    ([, group, index, kind, variable]): Binding => {
      if (group !== "0") {
        throw new KernelError(name, `binding ${variable} is in group ${group}, expected 0`);
      }
      const [space, access = "read"] = kind.split(",").map((part) => part.trim());
      return {
        name: variable,
        index: Number(index),
        access: space === "uniform" ? "uniform" : access as "read",
      };
    },
  );
  const struct = /struct\s+Params\s*\{([^}]*)\}/.exec(code)?.[1] ?? "";
  const params = struct.split(",").map((field) => field.trim()).filter(Boolean).map((field): ParamField => {
    const match = /^(\w+)\s*:\s*(u32|i32|f32)$/.exec(field);
    if (!match) throw new KernelError(name, `field "${field}" of Params is not NAME: u32 | i32 | f32`);
    return { name: match[1], type: match[2] as ParamField["type"] };
  });
  return {
    bindings,
    params,
    overrides: [...code.matchAll(OVERRIDE)].map((match) => match[1]),
    usesLanes: /\b(lane_sum|lane_max|part_sum|LANES|GROUP_SIZE)\b/.test(code),
    usesSubgroups: /\bsubgroup[A-Z]\w*\s*\(/.test(code),
    usesMatrices: /\bsubgroupMatrix/.test(code),
  };
}

/** `lane_sum` and `lane_max` with subgroups. */
export const LANES_SUBGROUP: string = markedSource("lanes_subgroup", lanes_subgroup);
/** `lane_sum` and `lane_max` without subgroups. */
export const LANES_WORKGROUP: string = markedSource("lanes_workgroup", lanes_workgroup);
export const MATRIX_TYPES: string = markedSource("matrix_types", matrix_types);

const PARTS = {
  attention_gradients_matrix,
  attention_slots_subgroup8,
  attention_softmax_subgroup8,
  attention_tiles_matrix,
  attention_tiles_tiled,
  gemm_epilogue,
  products_tiled,
};

const KERNELS = {
  adamw,
  adamw_rows,
  add_rows,
  attention_backward_key_matrix,
  attention_backward_key_subgroup8,
  attention_backward_key_tiled,
  attention_backward_query_matrix,
  attention_backward_query_subgroup8,
  attention_backward_query_tiled,
  attention_decode_subgroup8,
  attention_decode_tiled,
  attention_forward_matrix,
  attention_forward_subgroup8,
  attention_forward_tiled,
  clip_factor,
  copy,
  cross_entropy,
  embedding_backward,
  embedding_forward,
  gemm_matrix,
  gemm_subgroup8,
  gemm_tiled,
  limit_rows,
  log_probabilities,
  muon_factors,
  muon_momentum,
  muon_scale,
  qk_norm_rope_backward,
  qk_norm_rope_forward,
  reduce_partials,
  rms_norm_backward,
  rms_norm_forward,
  shift_keys,
  sum_splits,
};

/** Name of a registered kernel: its file name without `.wgsl`. */
export type KernelName = keyof typeof KERNELS;

/** All registered kernels, including the parts they use. */
export const KERNEL_SOURCES = Object.fromEntries(
  Object.entries(KERNELS).map(([name, text]) => [name, text + partsOf(text)]),
) as Readonly<Record<KernelName, string>>;

/** The parts that a source includes by lines such as `// #include gemm_epilogue.wgsl`, recursively. */
function partsOf(text: string): string {
  return [...text.matchAll(/^\/\/ #include (\w+)\.wgsl$/gm)].map(([, name]) => {
    const part: string | undefined = PARTS[name as keyof typeof PARTS];
    ensure(part, `${name}.wgsl is included but is not among the parts`);
    return markedSource(name, part) + partsOf(part);
  }).join("");
}
