import fc from "fast-check";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { createHash } from "node:crypto";
import { FormatError, UserError } from "../../lib/base/errors.ts";
import {
  readSafetensors,
  readSafetensorsHeader,
  type SafetensorsContent,
  writeSafetensors,
} from "../../lib/io/safetensors.ts";
import { decodeSafetensors, type TensorArray } from "../../lib/base/safetensors_header.ts";
import { inFolder } from "./files/temporary_folder.ts";

const GOLDEN = fromFileUrl(new URL("../golden/safetensors/python-0.8.0.safetensors", import.meta.url));

function sample(): SafetensorsContent {
  return {
    shapes: new Map([["b", [2, 3]], ["a", [4]]]),
    tensors: new Map([["b", Float32Array.of(1, 2, 3, 4, 5, 6)], ["a", Float32Array.of(-1, NaN, 1e-45, 0)]]),
    metadata: { config: '{"x": 1}' },
  };
}

function fileOf(header: string, numDataBytes: number): Uint8Array {
  const text = new TextEncoder().encode(header);
  const bytes = new Uint8Array(8 + text.length + numDataBytes);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

function entry(begin: number, end: number, shape: number[], dtype = "F32"): unknown {
  return { dtype, shape, data_offsets: [begin, end] };
}

Deno.test("readSafetensors() reads what the reference implementation wrote", () => {
  const { shapes, tensors, metadata } = readSafetensors(GOLDEN);
  assertEquals(metadata, { format: "pt" });
  assertEquals(
    Object.fromEntries(shapes),
    { "a.bias": [4], "b.weight": [2, 3], empty: [0, 5], scalar: [] },
  );
  assertEquals(tensors.get("b.weight"), Float32Array.of(-1, -0.75, -0.5, -0.25, 0, 0.25));
  assertEquals(tensors.get("a.bias"), Float32Array.of(-0, 1e-45, 3.4028235e38, Infinity));
  assertEquals(tensors.get("scalar"), Float32Array.of(2.5));
  assertEquals(tensors.get("empty"), new Float32Array(0));
});

Deno.test("writeSafetensors() writes the bytes of the reference implementation", () => {
  inFolder((folder) => {
    const path = join(folder, "again.safetensors");
    writeSafetensors(path, readSafetensors(GOLDEN));
    assertEquals(Deno.readFileSync(path), Deno.readFileSync(GOLDEN));
  });
});

Deno.test("writeSafetensors() and readSafetensors() round-trip any tensors bit by bit", () => {
  const tensorArbitrary = fc.record({
    name: fc.string({ minLength: 1, maxLength: 12 }).filter((name) => name !== "__proto__"),
    columns: fc.nat({ max: 5 }),
    bits: fc.array(fc.integer({ min: 0, max: 0x7f7fffff }), { maxLength: 6 }),
  });
  inFolder((folder) => {
    const path = join(folder, "t.safetensors");
    fc.assert(fc.property(fc.uniqueArray(tensorArbitrary, { selector: ({ name }) => name }), (drawn) => {
      const shapes = new Map<string, number[]>();
      const tensors = new Map<string, Float32Array>();
      for (const { name, columns, bits } of drawn) {
        const rows = columns > 0 ? Math.floor(bits.length / columns) : 3;
        shapes.set(name, [rows, columns]);
        tensors.set(name, new Float32Array(Uint32Array.from(bits.slice(0, rows * columns)).buffer));
      }
      writeSafetensors(path, { shapes, tensors, metadata: {} });
      const back = readSafetensors(path);
      assertEquals(new Map([...back.shapes].sort()), new Map([...shapes].sort()));
      for (const [name, data] of tensors) {
        assertEquals(
          new Uint32Array(back.tensors.get(name)?.slice().buffer ?? new ArrayBuffer(4)),
          new Uint32Array(data.buffer),
        );
      }
    }));
  });
});

Deno.test("writeSafetensors() stores the chosen tensors as float16, and both readers return float32", () => {
  inFolder((folder) => {
    const path = join(folder, "t.safetensors");
    const a = Float32Array.of(1 / 3, -65504, 2 ** -24);
    const c = Float32Array.of(1 / 3, 65537);
    const tensors = new Map([["a", a], ["b", Float32Array.of(5)], ["c", c]]);
    const shapes = new Map([["a", [3]], ["b", [1]], ["c", [2, 1]]]);
    writeSafetensors(path, { shapes, tensors, metadata: {}, halves: new Set(["a", "b"]) });
    const wanted = new Map(tensors).set("a", Float32Array.from(new Float16Array(a)));
    assertEquals(readSafetensors(path).tensors, wanted);
    const bytes = Deno.readFileSync(path);
    assertEquals(decodeSafetensors(bytes, path).tensors, wanted);
    assertEquals(
      bytes.length,
      8 + Number(new DataView(bytes.buffer).getBigUint64(0, true)) + 3 * 2 + 2 + 2 * 4,
    );
    assertThrows(() => decodeSafetensors(bytes.subarray(0, -1), path), FormatError, "truncated");
    assertThrows(() => decodeSafetensors(bytes.subarray(0, 5), path), FormatError, "the header's length");
    const golden = Deno.readFileSync(GOLDEN);
    assertEquals(decodeSafetensors(golden, GOLDEN).tensors, readSafetensors(GOLDEN).tensors);
  });
});

Deno.test("writeSafetensors() returns the file's size and SHA-256, and leaves nothing if tensors do not match their shapes", () => {
  inFolder((folder) => {
    const path = join(folder, "t.safetensors");
    const written = writeSafetensors(path, sample());
    const bytes = Deno.readFileSync(path);
    assertEquals(written.sizeBytes, bytes.length);
    assertEquals(written.sha256, createHash("sha256").update(bytes).digest("hex"));
    assertEquals(bytes.length % 4, 0);
    const other = sample();
    other.shapes.set("a", [5]);
    assertThrows(
      () => writeSafetensors(join(folder, "u.safetensors"), other),
      Error,
      "differs from its shape",
    );
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["t.safetensors"]);
  });
});

Deno.test("tensors keep their types, and are ordered by type so that PyTorch finds each aligned", () => {
  inFolder((folder) => {
    const path = join(folder, "t.safetensors");
    const tensors = new Map<string, TensorArray>([
      ["a", Uint8Array.of(0, 255, 7)],
      ["b", Uint32Array.of(2 ** 32 - 1, 1)],
      ["c", Float32Array.of(0.5)],
    ]);
    const shapes = new Map([...tensors].map(([name, { length }]) => [name, [length]]));
    writeSafetensors(path, { shapes, tensors, metadata: {} });
    assertEquals(readSafetensors(path).tensors, tensors);
    const decoded = decodeSafetensors(Deno.readFileSync(path), path);
    assertEquals([decoded.tensors, decoded.shapes], [tensors, shapes]);
    assertEquals([...decoded.shapes.keys()], ["c", "b", "a"]);
  });
});

Deno.test("readSafetensors() rejects a file truncated at any byte, and names it", () => {
  inFolder((folder) => {
    const path = join(folder, "t.safetensors");
    writeSafetensors(path, sample());
    const bytes = Deno.readFileSync(path);
    const cut = join(folder, "cut.safetensors");
    for (let length = 0; length < bytes.length; length++) {
      Deno.writeFileSync(cut, bytes.subarray(0, length));
      const error = assertThrows(() => readSafetensors(cut), FormatError);
      assertStringIncludes(error.message, cut);
      assert(error.offsetBytes !== undefined);
    }
  });
});

Deno.test("readSafetensors() rejects headers that break the format", () => {
  const two = (a: unknown, b: unknown) => JSON.stringify({ a, b });
  const cases: [string, number, string][] = [
    ["not json", 0, "not JSON"],
    [' {"a":1}', 0, "does not start with {"],
    ["[]", 0, "does not start with {"],
    ['{"a":1}', 0, "tensor a has an invalid or missing dtype"],
    ['{"__metadata__":{"a":1}}', 0, "must map texts to texts"],
    [two(entry(0, 8, [2]), entry(4, 12, [2])), 12, "b overlaps"],
    [two(entry(0, 8, [2]), entry(12, 16, [1])), 16, "b leaves a gap"],
    [JSON.stringify({ a: entry(4, 8, [1]) }), 8, "a leaves a gap"],
    [JSON.stringify({ a: entry(0, 8, [3]) }), 8, "has 8 bytes, expected 12"],
    [JSON.stringify({ a: entry(8, 0, [2]) }), 8, "expected "],
    [JSON.stringify({ a: entry(0, 4, [2], "BF16") }), 4, "BF16, expected one of F32, U32, F16, U8"],
    [JSON.stringify({ a: entry(0, 8, [2], "F16") }), 8, "has 8 bytes, expected 4"],
    [JSON.stringify({ a: entry(0, 8, [2]) }), 12, "bytes that belong to no tensor"],
    [JSON.stringify({ a: entry(0, 8, [2]) }), 4, "truncated"],
    [JSON.stringify({ a: entry(0, 8, [-2]) }), 8, "tensor a has an invalid or missing dtype"],
    [JSON.stringify({ a: entry(0, 6, [1.5]) }), 6, "tensor a has an invalid or missing dtype"],
  ];
  inFolder((folder) => {
    const path = join(folder, "bad.safetensors");
    for (const [header, numDataBytes, message] of cases) {
      Deno.writeFileSync(path, fileOf(header, numDataBytes));
      assertThrows(() => readSafetensors(path), FormatError, message);
    }
    const bytes = fileOf("{}", 0);
    bytes.fill(0xff, 0, 8);
    Deno.writeFileSync(path, bytes);
    assertThrows(() => readSafetensors(path), FormatError, "18446744073709551615 bytes");
  });
});

Deno.test("readSafetensorsHeader() reads only shapes and metadata", () => {
  inFolder((folder) => {
    const path = join(folder, "t.safetensors");
    writeSafetensors(path, sample());
    const { shapes, metadata } = readSafetensorsHeader(path);
    assertEquals(Object.fromEntries(shapes), { a: [4], b: [2, 3] });
    assertEquals(metadata, sample().metadata);
  });
});

Deno.test("readSafetensors() reports in one line that a file is missing or a directory", () => {
  inFolder((folder) => {
    assertThrows(() => readSafetensors(join(folder, "none")), UserError, "no such file");
    assertThrows(() => readSafetensors(folder), UserError, "is a directory");
  });
});
