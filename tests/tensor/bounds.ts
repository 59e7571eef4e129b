/**
 * Finds accesses of kernels outside their arrays. A watched device compiles each kernel source from the
 * program with a check of every index that the compiler does not know. Its workgroup memory starts as NaN.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { withoutComments } from "../../lib/tensor/kernels.ts";
import type { Gpu } from "../../lib/tensor/device.ts";
import type { Tensor } from "../../lib/tensor/tensor.ts";

/** Binding of the faults in the kernels' single group. */
const BINDING = 99;
/** Maximum number of checked arrays in all kernels of a device. */
const MAX_PLACES = 4096;

/** WGSL source of indexable types, such as `array<vec4f, 8>`, by name; field names begin with a dot. */
type Types = ReadonlyMap<string, string>;

/**
 * A kernel that records the largest index of each array. It is compared once, when the kernel ends, because a
 * software driver takes long to compile a branch or a store at each access.
 *
 * @param source The whole source to compile.
 * @param placeOf The number of an array in the source, from 1.
 * @throws {AssertionError} If an array is used in a way that cannot be checked.
 */
function withBoundsChecks(source: string, placeOf: (array: string) => number): string {
  const code = withoutComments(source);
  const parts = code.split(/^(?=\w|@)/m);
  const typesIn = (start: RegExp) => typesOf(parts.filter((part) => start.test(part)).join(""));
  const variables = typesIn(/^@group|^var/);
  const fields = new Map([...typesIn(/^struct/)].map(([name, type]) => [`.${name}`, type]));
  const constants = new Set([...code.matchAll(/^const (\w+)/gm)].map(([, name]) => name));
  const unknown = code.replaceAll(/(?:arrayLength|subgroupMatrix(?:Load|Store)(?:<[^>]*>)?)\(&/g, "");
  for (const [, name] of unknown.matchAll(/[(,=] *&(\w+)\b(?! *\[)/g)) {
    assert(
      !variables.get(name)?.startsWith("array"),
      `&${name} is a pointer to an array, expected only ${name}[i]`,
    );
  }
  const arrays = new Map<string, { length: string; number: number }>();
  const checked = parts.map((part) => {
    if (!part.startsWith("fn ")) {
      assert(!/\bfn \w/.test(part), `a function does not begin a line: ${part}`);
      return part;
    }
    return withChecks(part, {
      types: new Map([...fields, ...variables, ...typesOf(part)]),
      constants,
      arrays,
    });
  }).join("");
  return withReport(checked, arrays, placeOf);
}

interface Scope {
  types: Types;
  constants: ReadonlySet<string>;
  arrays: Map<string, { length: string; number: number }>;
}

/** Adds checks of all indexes. */
function withChecks(text: string, scope: Scope): string {
  let result = "";
  for (let at = 0; at < text.length;) {
    const [start] = /^subgroupMatrix(?:Load|Store)\b[^(]*\(/.exec(text.slice(at)) ?? [];
    if (start) {
      const end = closing(text, at + start.length - 1);
      result += start + matrixArguments(start, text.slice(at + start.length, end), scope);
      at = end;
    } else if (text[at] === "[") {
      const end = closing(text, at);
      result += `[${checkedIndex(indexed(text.slice(0, at)), text.slice(at + 1, end), scope)}]`;
      at = end + 1;
    } else {
      result += text[at++];
    }
  }
  return result;
}

function checkedIndex(array: string, index: string, scope: Scope): string {
  const type = typeAt(scope.types, array);
  const checked = withChecks(index, scope);
  const isConstant = index.match(/\b[A-Za-z_]\w*/g)?.every((word) => scope.constants.has(word)) ?? true;
  // The compiler checks it, except in a runtime-sized array.
  if (isConstant && !(type && lengthOf(array, type).startsWith("arrayLength"))) return checked;
  const name = array.replaceAll(/\[.*?\]/g, "[i]");
  // The comparison compiles for a vec4 only.
  return type === undefined || type.startsWith("vec4")
    ? `seen_in_vec4(u32(${checked}), ${array} == ${array})`
    : `seen_${numberOf(scope, name, lengthOf(array, type))}(u32(${checked}))`;
}

/** (&array, at, value or type, is column-major, stride): all rows of the matrix are in the array. */
function matrixArguments(start: string, text: string, scope: Scope): string {
  const parts = text.split(/,(?![^()[\]]*[)\]])/);
  const array = parts[0].trim().slice(1);
  const type = scope.types.get(array) ?? "";
  const wordBytes = { vec4u: 16, vec4f: 16, vec2u: 8, vec2f: 8, u32: 4, f32: 4, f16: 2 }[elementOf(type)];
  assert(wordBytes, `${start}${text}) is of an unknown array`);
  const rest = `(MATRIX - 1u) * ${parts.at(-1)} + MATRIX * ${
    /Load<(Left|Right)/.test(start) ? 2 : 4
  }u / ${wordBytes}u - 1u`;
  const number = numberOf(scope, array, lengthOf(array, type));
  return [
    parts[0],
    ` seen_${number}(${withChecks(parts[1], scope)} + ${rest}) - (${rest})`,
    ...parts.slice(2),
  ].join();
}

function numberOf({ arrays }: Scope, name: string, length: string): number {
  const known = arrays.get(name) ?? { length, number: arrays.size + 1 };
  assertEquals(length, known.length, `${name} has two lengths`);
  arrays.set(name, known);
  return known.number;
}

/**
 * Adds the functions that it calls, and an entry point that fills workgroup memory with NaN, as f32 and f16,
 * and stores a fault at the end.
 */
function withReport(code: string, arrays: Scope["arrays"], placeOf: (array: string) => number): string {
  const [entry, attributes, parameters] = /(@compute[^{]*?)fn main\(([^{]*)\) *(?={)/.exec(code) ?? [];
  assert(entry && attributes !== undefined && parameters !== undefined, "there is no entry point main");
  // Errors have the line.
  const inner = `${attributes.replaceAll(/[^\n]/g, "")}fn checked_main(${
    parameters.replaceAll(/@builtin\(\w+\)/g, "")
  }) `;
  const names = parameters.split(",").map((parameter) => /(\w+) *:/.exec(parameter)?.[1]).join();
  const ofThread = /@builtin\(local_invocation_index\)\s*(\w+)/.exec(parameters)?.[1];
  const thread = ofThread ?? "thread_of_watch";
  const threads = /@workgroup_size\(([^)]*)\)/.exec(attributes)?.[1].replaceAll(",", " *") ?? "1";
  const all = [...arrays, ["a vec4", { length: "4u", number: 0 }] as const];
  const workgroup = [...code.matchAll(/^var<workgroup> (\w+): (.*);/gm)];
  assertEquals(workgroup.length, code.split("var<workgroup>").length - 1, "variables of workgroup memory");
  const functions = all.map(([, { number }]) => `
var<private> largest_${number}: u32;
fn seen_${number}(i: u32) -> u32 {
  largest_${number} = max(largest_${number}, i);
  return i;
}`);
  const comparisons = all.map(([name, { length, number }]) =>
    `  fault = select(fault, vec2u(${placeOf(name)}u, largest_${number}), largest_${number} >= ${length});`
  );
  return `${code.replace(entry, inner)}${functions.join("")}
fn seen_in_vec4(i: u32, is_vec4: vec4<bool>) -> u32 { return seen_0(i); }
@group(0) @binding(${BINDING}) var<storage, read_write> faults: array<atomic<u32>>;
var<private> zero: u32;
${attributes}fn main(${ofThread ? "" : `@builtin(local_invocation_index) ${thread}: u32, `}${parameters}) {
  let nan = zero + 0x7fc07fc1u;
${workgroup.map(([, name, type]) => filled(name, type, thread, threads)).join("")}  workgroupBarrier();
  checked_main(${names});
  var fault = vec2u();
${comparisons.join("\n")}
  if (fault.x > 0u) { atomicMax(&faults[fault.x], fault.y); }
}
`;
}

/** Fills a variable of workgroup memory with `nan`, so that reading it before writing it spoils a result. */
function filled(name: string, type: string, thread: string, threads: string): string {
  if (type.startsWith("atomic")) return `  atomicStore(&${name}, nan);\n`;
  let element = type;
  const lengths: string[] = [];
  for (; element.startsWith("array"); element = elementOf(element)) lengths.push(lengthOf(name, element));
  const place = lengths.map((length, i) => `[${["i", ...lengths.slice(i + 1)].join(" / ")} % ${length}]`)
    .join("");
  const [, width] = /^vec(\d)/.exec(element) ?? [];
  const value = `bitcast<${element}>(${width ? `vec${width}u(nan)` : "nan"})`;
  const length = ["1u", ...lengths].join(" * ");
  return `  for (var i = ${thread}; i < ${length}; i += u32(${threads})) { ${name}${place} = ${value}; }\n`;
}

/** The types of arrays, vectors and matrices by the names of variables, parameters and fields. */
function typesOf(code: string): Types {
  const types = new Map<string, string>();
  const declarations = /([\w]+) *(?::|=(?= *array<)) *(?:ptr<\w+, *)?(?=((?:array<|vec\d|mat\dx\d).*))/g;
  for (const [, name, rest] of code.matchAll(declarations)) {
    const type = typeAtStart(rest);
    assertEquals(type, types.get(name) ?? type, `${name} has two types`);
    types.set(name, type);
  }
  return types;
}

function typeAtStart(text: string): string {
  const name = /^\w+/.exec(text)?.[0] ?? "";
  if (text[name.length] !== "<") return name;
  let end = name.length;
  for (let depth = 0; end < text.length;) {
    depth += { "<": 1, ">": -1 }[text[end++]] ?? 0;
    if (depth === 0) break;
  }
  return text.slice(0, end);
}

/** The type of `name`, `(*pointer).field`, `name[i]`; undefined if not declared. */
function typeAt(types: Types, expression: string): string | undefined {
  if (!expression.endsWith("]")) return types.get(/\.?\w+$/.exec(expression)?.[0] ?? "");
  const type = typeAt(types, expression.slice(0, opening(expression, expression.length - 1)));
  return type && (/^mat/.test(type) ? "vec4f" : elementOf(type));
}

/** `T` of `array<T, n>`. */
function elementOf(type: string): string {
  return typeAtStart(type.replace(/^array< */, ""));
}

function lengthOf(name: string, type: string): string {
  const [, columns] = /^mat(\d)/.exec(type) ?? [];
  if (columns) return `${columns}u`;
  const [, width] = /^vec(\d)/.exec(type) ?? [];
  if (width) return `${width}u`;
  const length = type.slice("array<".length + elementOf(type).length, -1).replace(",", "").trim();
  return length ? `u32(${length})` : `arrayLength(&${name})`;
}

/** The expression indexed at the end of a source. */
function indexed(before: string): string {
  let start = before.length;
  while (start > 0) {
    const last = before[start - 1];
    if (last === "]" || last === ")") start = opening(before, start - 1);
    else if (/[\w.]/.test(last)) start--;
    else break;
  }
  return before.slice(start);
}

function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if ("([{".includes(text[at])) depth++;
    if (")]}".includes(text[at]) && --depth === 0) return at;
  }
  throw new Error(`no end of ${text.slice(open, open + 40)}`);
}

function opening(text: string, close: number): number {
  let depth = 0;
  for (let at = close; at >= 0; at--) {
    if (")]}".includes(text[at])) depth++;
    if ("([{".includes(text[at]) && --depth === 0) return at;
  }
  throw new Error(`no beginning of ${text.slice(0, close + 1)}`);
}

export interface BoundsWatch {
  /** The largest out-of-bounds index of each checked array, else 0. */
  readonly faults: Tensor;
  /** Asserts that the contents of `faults` are 0. */
  check(contents: Float32Array): void;
}

const watches = new WeakMap<Gpu, BoundsWatch>();

/** Makes a device compile all further kernels with checks. */
export function watchBounds(gpu: Gpu): BoundsWatch {
  const watch = watches.get(gpu) ?? makeWatch(gpu);
  watches.set(gpu, watch);
  return watch;
}

function makeWatch(gpu: Gpu): BoundsWatch {
  const { device } = gpu;
  const faults = gpu.tensor("faults", [MAX_PLACES]);
  const places = ["none"];
  const placeOf = (place: string) => {
    if (!places.includes(place)) places.push(place);
    assert(places.length <= MAX_PLACES);
    return places.indexOf(place);
  };
  const { createShaderModule, createBindGroupLayout, createBindGroup } = device;
  device.createShaderModule = (descriptor) => {
    const code = withBoundsChecks(descriptor.code, (place) => placeOf(`${descriptor.label}: ${place}`));
    return createShaderModule.call(device, { ...descriptor, code });
  };
  device.createBindGroupLayout = (descriptor) => {
    const visibility = GPUShaderStage.COMPUTE;
    const entry: GPUBindGroupLayoutEntry = { binding: BINDING, visibility, buffer: { type: "storage" } };
    return createBindGroupLayout.call(device, { ...descriptor, entries: [...descriptor.entries, entry] });
  };
  device.createBindGroup = (descriptor) => {
    const entry = { binding: BINDING, resource: { buffer: faults.buffer } };
    return createBindGroup.call(device, { ...descriptor, entries: [...descriptor.entries, entry] });
  };
  return {
    faults,
    check(contents) {
      const indexes = new Uint32Array(contents.buffer, contents.byteOffset, contents.length);
      const found = places.flatMap((place, i) => indexes[i] ? [`${place} at index ${indexes[i]}`] : []);
      if (found.length > 0) gpu.write(faults, new Uint32Array(MAX_PLACES));
      assertEquals(found, [], "accesses outside of an array");
    },
  };
}
