import { assertEquals } from "@std/assert";

// Finds races on storage buffers between the lanes of a workgroup in the source of a kernel.

const IDENTIFIER = /[A-Za-z_]\w*/g;

/**
 * Elements of storage buffers that one lane writes and another reads without a `storageBarrier()` in between.
 * `workgroupBarrier()`, and so `lane_sum` and `lane_max`, order workgroup memory only (WGSL, 17.11).
 *
 * An index derived from the lane's number, also as a function's parameter, counts as an element of that lane
 * alone; any other index counts as the same element for all lanes, such as the row of `row_of()`. `a[i] += x`
 * counts as a write, and source order as the order of execution.
 *
 * @param source WGSL.
 * @returns One line for each fault; empty if there is none.
 */
function storageRaces(source: string): string[] {
  const text = source.replace(/\/\/.*/g, "");
  if (/@workgroup_size\(1\)/.test(text)) return [];
  const own = ownNames(text);
  return [...text.matchAll(/var<storage, read_write> *(\w+)/g)].flatMap(([, buffer]) => {
    const accesses = accessesOf(text, buffer, own);
    for (const [k, write] of accesses.entries()) {
      if (!write.isWrite) continue;
      const other = accesses.find((access, i) =>
        i !== k && !access.isWrite && access.part === write.part && !(access.isOwn && write.isOwn)
      );
      if (other) {
        return [
          `${buffer}[${other.index}] is read and ${buffer}[${write.index}] written without storageBarrier() between`,
        ];
      }
    }
    return [];
  });
}

/** Names whose values differ between the lanes of a workgroup. */
function ownNames(text: string): Set<string> {
  const own = new Set(
    [...text.matchAll(/@builtin\((?:local_invocation_\w+|global_invocation_id)\) *(\w+)/g)].map(([, name]) =>
      name
    ),
  );
  for (const [, name, parameters] of text.matchAll(/fn (\w+)\(([^@{]*?)\) *(?:->|\{)/g)) {
    if (name === "main") continue;
    for (const [, parameter] of parameters.matchAll(/(\w+) *:/g)) own.add(parameter);
  }
  for (let before = -1; before !== own.size;) {
    before = own.size;
    for (const [, name, value] of text.matchAll(/(?:let|var) (\w+) *(?::[^=]*)?= *([^;]*);/g)) {
      if (value.startsWith("row_of(")) continue;
      if (value.match(IDENTIFIER)?.some((used) => own.has(used))) own.add(name);
    }
  }
  return own;
}

interface Access {
  index: string;
  isWrite: boolean;
  isOwn: boolean;
  /** Number of storage barriers before it. */
  part: number;
}

function accessesOf(text: string, buffer: string, own: ReadonlySet<string>): Access[] {
  return [...text.matchAll(new RegExp(`\\b${buffer}\\[`, "g"))].map(({ index: at, 0: { length } }) => {
    let end = at + length;
    for (let depth = 1; depth > 0; end++) depth += text[end] === "[" ? 1 : text[end] === "]" ? -1 : 0;
    const index = text.slice(at + length, end - 1);
    return {
      index,
      isWrite: /^\s*[-+*/]?=(?!=)/.test(text.slice(end, end + 20)),
      isOwn: index.match(IDENTIFIER)?.some((name) => own.has(name)) ?? false,
      part: text.slice(0, at).split("storageBarrier()").length,
    };
  });
}

const textOf = (name: string) => Deno.readTextFileSync(`kernels/${name}`);

Deno.test("no kernel reads an element of a storage buffer that another lane writes without storageBarrier()", () => {
  const names = [...Deno.readDirSync("kernels")].map(({ name }) => name).filter((name) =>
    name.endsWith(".wgsl")
  );
  assertEquals(names.length > 30, true);
  const faults = names.flatMap((name) =>
    storageRaces(textOf(name)).map((fault) => `kernels/${name}: ${fault}`)
  );
  assertEquals(faults, []);
});
