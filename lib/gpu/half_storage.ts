/**
 * 16-bit storage: changes a kernel's text so that some of its arrays hold f16, two per 32-bit word.
 *
 * Kernels are written once, for f32. They use their large arrays, whose elements are vec4, only as `x[i]`,
 * `x[i] = value` and `x[i] += value`. Here these become calls of two functions around the built-ins `unpack2x16float`
 * and `pack2x16float` (WGSL, sections 17.9.6 and 17.10.6), which need no feature of the adapter. All arithmetic stays
 * f32.
 *
 * Measured on 2 cores of lavapipe (Mesa 25.0), processor time relative to f32, in turns in one process (2026-11-21):
 * matrix products of 1024 x 2560 x 640 0.73 (NT), 0.64 (NN) and 0.75 (TN), since a load checks the bounds of half as many
 * words; a training step of the demo preset 0.87; forward and backward at the width of 95m 0.72.
 *
 * A number beyond f16's range becomes NaN, since WGSL leaves its conversion open. So every check for finite results
 * finds an overflow.
 *
 * @module
 */
import { KernelError } from "../errors.ts";
import { errorAt, withoutComments } from "./kernel_source.ts";

/** Appended to a changed kernel, so that its own lines keep their numbers. */
const FUNCTIONS = `
fn unpack_half(x: vec2u) -> vec4f {
  return vec4f(unpack2x16float(x.x), unpack2x16float(x.y));
}

fn pack_half(x: vec4f) -> vec2u {
  let kept = clamp(x, vec4f(-65504f), vec4f(65504f));
  // By bits, since WGSL may assume that there is no NaN. With all bits of the exponent set, 65504 is a NaN.
  let is_beyond = (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(bitcast<u32>(65504f));
  let exponent = select(vec4u(0u), vec4u(0x7c00u, 0x7c000000u, 0x7c00u, 0x7c000000u), is_beyond);
  return vec2u(pack2x16float(kept.xy) | exponent.x | exponent.y, pack2x16float(kept.zw) | exponent.z | exponent.w);
}
`;

/**
 * Changes a kernel so that some of its bindings are stored as f16.
 *
 * @param kernel The kernel's name, for errors.
 * @param source Its WGSL.
 * @param names The bindings' WGSL variables; without any the text is returned unchanged.
 * @throws {KernelError} If a binding is not an array of vec4f or is used in another way than above.
 */
export function withHalfStorage(kernel: string, source: string, names: readonly string[]): string {
  if (names.length === 0) return source;
  const code = names.reduce(
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

/** Changes each `name[…]` of a text, and the statement around it if it is assigned to. @param before The text before `code`, for errors. */
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

/** The index of a closing character, from `start` on, outside of inner brackets. */
function endOf(code: string, start: number, closing: string): number {
  let depth = 0;
  for (let at = start; at < code.length; at++) {
    if (depth === 0 && code[at] === closing) return at;
    if ("([{".includes(code[at])) depth++;
    if (")]}".includes(code[at])) depth--;
  }
  return code.length;
}
