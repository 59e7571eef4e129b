import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { TextCursor } from "../../../lib/io/parquet/column.ts";
import { ParquetFile } from "../../../lib/io/parquet/file.ts";
import { writeParquet } from "../../data/measurement_files/batches.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";
import { PerText, TextPool } from "../../../lib/io/parquet/text_pool.ts";

Deno.test("TextPool.codeOf() numbers texts in order, and restarts after a trim", () => {
  const pool = new TextPool();
  assertEquals(["a", "b", "a", "", "c"].map((text) => pool.codeOf(text)), [0, 1, 0, 2, 3]);
  pool.trim(4);
  assertEquals([pool.generation, pool.texts], [0, ["a", "b", "", "c"]]);
  pool.trim(3);
  assertEquals([pool.generation, pool.codeOf("c"), pool.texts], [1, 0, ["c"]]);
});

Deno.test("TextPool.codeOfUtf8() returns the codes of codeOf()", () => {
  const text = fc.oneof(fc.nat(5000).map(String), fc.string({ unit: "binary", maxLength: 90 }));
  fc.assert(
    fc.property(text, (value) => {
      const pool = new TextPool();
      const bytes = new TextEncoder().encode(`x${value}y`);
      // A lone surrogate is not valid UTF-8.
      assertEquals(pool.texts[pool.codeOfUtf8(bytes, 1, bytes.length - 1)], value.toWellFormed());
      assertEquals(pool.codeOf(value.toWellFormed()), 0);
    }),
    // A decoder that strips a byte order mark would lose the first character.
    { numRuns: 200, examples: [["\ufeff"], ["\ufeff8.8.8.8"]] },
  );
});

Deno.test("PerText.of() computes each value once, and again after a trim or clear", () => {
  const pool = new TextPool();
  const asked: string[] = [];
  const lengths = new PerText((length) => new Int32Array(length), (text) => asked.push(text) && text.length);
  const codesOf = (...texts: string[]) => Int32Array.from(texts, (text) => pool.codeOf(text));
  const lengthsOf = (codes: Int32Array) => {
    const values = lengths.of(pool, codes);
    return Array.from(codes, (code) => values[code]);
  };
  assertEquals(lengthsOf(codesOf("aa", "b", "aa", "")), [2, 1, 2, 0]);
  assertEquals(lengthsOf(codesOf("b", "cccc")), [1, 4]);
  assertEquals(asked, ["aa", "b", "", "cccc"]);
  lengths.clear();
  assertEquals(lengthsOf(codesOf("cccc")), [4]);
  pool.trim(0);
  assertEquals(lengthsOf(codesOf("dd")), [2]);
  assertEquals(asked.slice(4), ["cccc", "dd"]);
});

Deno.test("TextCursor.read() returns the same texts when the pool is trimmed midway", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("texts.parquet");
  const numRows = 100;
  const srcAddr = Array.from({ length: numRows }, (_, row) => `192.0.2.${row % 7}`);
  writeParquet(path, {
    numRows,
    eventTimeUs: new Float64Array(numRows),
    srcAddr,
    dstAddr: srcAddr.map((_, row) => `198.51.100.${row}`),
    ipVersion: new Uint8Array(numRows).fill(4),
    rttMs: new Float64Array(numRows),
  });
  using file = await ParquetFile.open(path);
  for (const name of ["src_addr", "dst_addr"]) {
    const pool = new TextPool();
    const cursor = new TextCursor(file.source, file.chunk(name, file.rowGroups[0]), pool);
    const texts: string[] = [];
    for (let row = 0; row < numRows; row += 20) {
      const { values, codes } = cursor.read(20);
      assertEquals(values, Array.from(codes, (code) => pool.texts[code]));
      texts.push(...values);
      pool.trim(row % 40 === 0 ? 0 : numRows);
    }
    assertEquals(texts, name === "src_addr" ? srcAddr : srcAddr.map((_, row) => `198.51.100.${row}`));
  }
});
