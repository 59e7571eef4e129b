import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { FormatError } from "../../../lib/base/errors.ts";
import {
  JsonObjectScanner,
  type JsonPiece,
  MAX_OBJECT_BYTES,
  parsePiece,
} from "../../../lib/io/text/json_stream.ts";

/** The objects and damaged lines (undefined) of a piece, in text order. */
function objectsOf(piece: JsonPiece): { value: unknown; offsetBytes: number }[] {
  const objects: ReturnType<typeof objectsOf> = [];
  parsePiece(piece, (value, _, offsetBytes) => objects.push({ value, offsetBytes }));
  for (const { kind, offsetBytes } of piece.marks) {
    if (kind === "damaged") objects.push({ value: undefined, offsetBytes });
  }
  return objects.sort((a, b) => a.offsetBytes - b.offsetBytes);
}

function scan(text: string, chunkBytes = 1 << 16): { value: unknown; offsetBytes: number }[] {
  const bytes = new TextEncoder().encode(text);
  const scanner = new JsonObjectScanner("f.json");
  const all = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    all.push(...objectsOf(scanner.push(bytes.subarray(at, at + chunkBytes))));
  }
  scanner.end();
  return all;
}

const values = (text: string, chunkBytes?: number) => scan(text, chunkBytes).map(({ value }) => value);

Deno.test("JsonObjectScanner extracts the outermost objects from any text, however it is chunked", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(
      fc.array(object),
      fc.integer({ min: 1, max: 50 }),
      fc.constantFrom(0, 1, 2, 3, 4),
      (objects, size, shape) => {
        const texts = [
          JSON.stringify(objects),
          JSON.stringify(objects, null, 2),
          objects.map((each) => JSON.stringify(each)).join("\n"),
          JSON.stringify([[], [objects, 1.5e-3, "{[", true, null]]),
          objects.map((each, i) => JSON.stringify(each) + ["\n", " ", ""][i % 3]).join(""),
        ];
        assertEquals(values(texts[shape], size), JSON.parse(JSON.stringify(objects)));
      },
    ),
  );
});

Deno.test("JsonObjectScanner reports the byte offset of each object", () => {
  assertEquals(scan(`["é", {"a": 1}]`), [{ offsetBytes: 7, value: { a: 1 } }]);
});

Deno.test("JsonObjectScanner descends into an object that exceeds the maximum length", () => {
  const results = Array.from({ length: 120_000 }, (_, id) => ({ id, text: `}]"${"x".repeat(id % 50)}` }));
  const text = JSON.stringify({
    count: 7,
    meta: { page: 1 },
    lists: [results.slice(0, 80_000), results.slice(80_000)],
  });
  assertEquals(text.length > MAX_OBJECT_BYTES, true);
  assertEquals(values(text, 79_193), [{ page: 1 }, ...results]);
});

Deno.test("JsonObjectScanner reports where a truncated text ends and what was open", () => {
  const text = `[{"a": 1}, {"b": [2, 3]}]`;
  for (let size = 1; size < text.length; size++) {
    const message = `Cannot read f.json at byte ${size}: the JSON ends inside the `;
    assertThrows(() => scan(text.slice(0, size)), FormatError, message);
  }
});

Deno.test("JsonObjectScanner rejects a file that is not JSON", () => {
  for (const text of ["<html>", "PAR1", "\u0000", "'a'", "[}", "]"]) {
    assertThrows(() => scan(text), FormatError, "Cannot read f.json at byte");
  }
});

Deno.test("JsonObjectScanner yields undefined for a damaged line of JSON lines and continues", () => {
  const lines = [`{"a": 1}`, `{"a": "cut`, `ERROR 500`, `{"a": tru}`, `{"a": 2}`].join("\n");
  for (const chunkBytes of [1, 3, 100]) {
    const all = scan(lines, chunkBytes);
    assertEquals(all.map(({ value }) => value), [{ a: 1 }, undefined, undefined, undefined, { a: 2 }]);
    assertEquals(all.map(({ offsetBytes }) => offsetBytes), [0, 19, 21, 30, 41]);
  }
});

Deno.test("JsonObjectScanner yields undefined for a line that ends inside an object, and the next lines whole", () => {
  const lines = [`{"a": 1}`, `{"a": {"b": 2}`, `{"c": 3} {"d": 4}`, `{"e": 5} x}`, `{"f": "}`, `{"g": 6}`]
    .join("\n");
  for (const chunkBytes of [1, 10, 100]) {
    const all = scan(lines, chunkBytes);
    assertEquals(all.map(({ value }) => value), [
      ...[{ a: 1 }, undefined, { c: 3 }, { d: 4 }, { e: 5 }, undefined, undefined, { g: 6 }],
    ]);
    assertEquals(all.map(({ offsetBytes }) => offsetBytes), [0, 9, 24, 33, 42, 51, 62, 63]);
  }
});

Deno.test("JsonObjectScanner yields undefined for a line cut after a number or a bracket, and the next lines whole", () => {
  for (const cut of [`{"a": 17`, `{"a"`, `{"a": {"b": 2`, `{"a": [1, 2`, `{"a": true`]) {
    for (const chunkBytes of [1, 10, 100]) {
      const text = `{"a": 1}\n${cut}\n{"a": 2}\n{"a": 3}\n`;
      assertEquals(values(text, chunkBytes), [{ a: 1 }, undefined, { a: 2 }, { a: 3 }]);
    }
  }
});

Deno.test("JsonObjectScanner finds no objects in empty text, whitespace or a byte order mark", () => {
  for (const text of ["", " \r\n\t", "\u{feff}[]", "[[], [[]]]", "null"]) assertEquals(values(text), []);
});

Deno.test("JsonObjectScanner rejects excessive nesting", () => {
  assertThrows(() => scan("[".repeat(600)), FormatError, "nested more than 512 deep");
  const deep = `{"a":`.repeat(400_000);
  assertThrows(() => scan(deep), FormatError);
});

Deno.test("JsonObjectScanner yields objects or throws a FormatError for any bytes", () => {
  const byte = fc.constantFrom(...new TextEncoder().encode(`{}[]",:\\ \na1e-tn`), 0, 255);
  fc.assert(fc.property(fc.array(byte, { maxLength: 60 }), (bytes) => {
    const scanner = new JsonObjectScanner("f.json");
    try {
      for (const each of bytes) objectsOf(scanner.push(Uint8Array.of(each)));
      scanner.end();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
    }
  }));
});
