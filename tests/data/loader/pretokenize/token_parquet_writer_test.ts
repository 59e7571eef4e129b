import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { TokenParquetWriter } from "../../../../lib/data/loader/pretokenize/token_shards.ts";
import { TemporaryFolder } from "../../../io/files/temporary_folder.ts";
import { readTokenFile } from "./token_files.ts";

const OPTIONS = { vocabSize: 267, metadata: { "ping_llm.vocabulary": "v2" } };

function write(path: string, sequences: readonly Uint16Array[]): { sequences: number; tokens: number } {
  using writer = new TokenParquetWriter(path, OPTIONS);
  for (const tokens of sequences) writer.append(tokens);
  return writer.close();
}

Deno.test("TokenParquetWriter writes lists of unsigned 16-bit integers and their lengths", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("new/tokens.parquet");
  const sequences = [Uint16Array.of(0, 266, 11), Uint16Array.of(5)];
  assertEquals(write(path, sequences), { sequences: 2, tokens: 4 });
  const read = await readTokenFile(path);
  assertEquals([read.sequences, read.lengths, read.metadata], [sequences, [3, 1], OPTIONS.metadata]);
  const [, list, repeated, element, length] = read.footer.schema;
  assertEquals([list.name, list.logical_type?.type, list.repetition_type], ["tokens", "LIST", "REQUIRED"]);
  assertEquals([repeated.name, repeated.repetition_type], ["list", "REPEATED"]);
  assertEquals([element.name, element.type, element.converted_type], ["element", "INT32", "UINT_16"]);
  // With one, hyparquet-writer makes a footer that Arrow refuses.
  assertEquals(element.logical_type, undefined);
  assertEquals([length.name, length.type], ["length", "INT64"]);
  assertEquals([...Deno.readDirSync(folder.at("new"))].map(({ name }) => name), ["tokens.parquet"]);
});

Deno.test("TokenParquetWriter gives back any sequences", async () => {
  using folder = new TemporaryFolder();
  const sequence = fc.array(fc.oneof(fc.nat(266), fc.constant(11)), { minLength: 1, maxLength: 70 });
  await fc.assert(
    fc.asyncProperty(fc.array(sequence.map((tokens) => Uint16Array.from(tokens))), async (sequences) => {
      const path = folder.at("any.parquet");
      write(path, sequences);
      assertEquals((await readTokenFile(path)).sequences, sequences);
    }),
    { numRuns: 50 },
  );
});

Deno.test("TokenParquetWriter begins a row group when one is full", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("large.parquet");
  const sequences = Array.from(
    { length: 1100 },
    (_, i) => Uint16Array.from({ length: 1000 }, (_, j) => (i * 7 + j * j) % 267),
  );
  write(path, sequences);
  const { footer, sequences: read, lengths } = await readTokenFile(path);
  assertEquals(footer.row_groups.map(({ num_rows }) => Number(num_rows)), [1048, 52]);
  assertEquals(Number(footer.num_rows), 1100);
  assertEquals(read, sequences);
  assertEquals(new Set(lengths), new Set([1000]));
});

Deno.test("TokenParquetWriter leaves nothing behind when it is given up", () => {
  using folder = new TemporaryFolder();
  {
    using writer = new TokenParquetWriter(folder.at("a.parquet"), OPTIONS);
    writer.append(Uint16Array.of(1));
    assertThrows(() => writer.append(new Uint16Array(0)), Error, "no tokens");
  }
  assertEquals([...Deno.readDirSync(folder.path)], []);
});
