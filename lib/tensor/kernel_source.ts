/**
 * Reads a kernel's interface from its WGSL text: bindings, parameters, overrides.
 *
 * Kernels are written in a plain form that a few regular expressions understand; lib/tensor/README.md has its rules.
 *
 * @module
 */
import { KernelError } from "../base/errors.ts";

/** One `@group(0) @binding(N) var<…>` of a kernel. */
export interface Binding {
  /** The WGSL variable. */
  readonly name: string;
  /** N of `@binding(N)`. */
  readonly index: number;
  /** `uniform` is `params`; the others are storage buffers. */
  readonly access: "read" | "read_write" | "uniform";
}

/** A scalar of the uniform struct `Params`, in order; each takes 4 bytes. */
export interface ParamField {
  /** Its name in the WGSL struct. */
  readonly name: string;
  /** Its scalar type. */
  readonly type: "u32" | "i32" | "f32";
}

/** A kernel's interface. */
export interface KernelInterface {
  /** All bindings of group 0, as declared. */
  readonly bindings: readonly Binding[];
  /** Fields of `params`, field i at byte 4 i; empty without one. */
  readonly params: readonly ParamField[];
  /** Names of the override constants. */
  readonly overrides: readonly string[];
  /** Whether it calls the lane functions of the prelude, `lane_sum` and `lane_max`. */
  readonly usesLanes: boolean;
  /** Whether it calls subgroup built-ins itself, so that it cannot run without them. */
  readonly usesSubgroups: boolean;
}

/** The prefix of the line before a file's text, in kernels that are assembled from several files. */
const FILE_MARK = "//! ";

/** The text of a file of kernels/, marked with its name, so that {@link errorAt} can find its lines. */
export function markedSource(file: string, text: string): string {
  return `${FILE_MARK}${file}\n${text}`;
}

/** The text without comments, but with all lines and the marks of {@link markedSource}. */
export function withoutComments(source: string): string {
  return source.replace(/\/\/(?!!).*$/gm, "");
}

/**
 * An error with the file and line of a position in a compiled text.
 *
 * @param kernel The kernel's name; also the file's name before the first {@link markedSource}.
 * @param source The compiled text.
 * @param line The line in that text, from 1.
 * @param message The fault.
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
 * @param source Its WGSL.
 * @throws {KernelError} If a declaration is not of the plain form.
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
    overrides: [...code.matchAll(/^\s*override\s+(\w+)/gm)].map((match) => match[1]),
    usesLanes: /\b(lane_sum|lane_max|LANES)\b/.test(code),
    usesSubgroups: /\bsubgroup[A-Z]\w*\s*\(/.test(code),
  };
}
