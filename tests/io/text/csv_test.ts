import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type CsvRecord, CsvScanner, MAX_RECORD_CHARACTERS } from "../../../lib/io/text/csv.ts";

/** The records of a text that is split into pieces: fields, or what is wrong. */
function scan(text: string, pieceLength = Infinity): (string[] | string)[] {
  const scanner = new CsvScanner();
  const records: CsvRecord[] = [];
  const take = (record: CsvRecord) => records.push(record);
  for (let at = 0; at < text.length; at += pieceLength) scanner.push(text.slice(at, at + pieceLength), take);
  scanner.push(undefined, take);
  return records.map((record) => record.fault ?? record.fields);
}

Deno.test("CsvScanner finds fields, quoted or not, and the ends of records", () => {
  assertEquals(scan("a,b\n1,2\r\n3,\n"), [["a", "b"], ["1", "2"], ["3", ""]]);
  assertEquals(scan("1,2"), [["1", "2"]]);
  assertEquals(scan("1\n2,3,4\n5,6\n"), [["1"], ["2", "3", "4"], ["5", "6"]]);
  assertEquals(scan("1,"), [["1", ""]]);
  assertEquals(scan("\n\r\n 1 , 2\t\n  \n"), [["1", "2"]]);
  assertEquals(scan(`"a,b" , "c ""d""\ne","",f"g\n`), [["a,b", `c "d"\ne`, "", `f"g`]]);
  assertEquals(scan(`x,"1"`), [["x", "1"]]);
  assertEquals(scan(""), []);
});

Deno.test("CsvScanner reads the same however the text is chunked", () => {
  const field = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("", `"`, `""`, ",", "\n", "é", " x "));
  const records = fc.array(fc.array(field, { minLength: 2, maxLength: 5 }), { maxLength: 6 });
  fc.assert(
    fc.property(records, fc.integer({ min: 1, max: 9 }), fc.boolean(), (rows, pieceLength, hasEnd) => {
      const quote = (text: string) => `"${text.replaceAll(`"`, `""`)}"`;
      const text = rows.map((row) => row.map(quote).join(",")).join("\n") + (hasEnd ? "\n" : "");
      // Trailing blanks of a field are ignored.
      const trimmed = rows.map((row) => row.map((value) => value.trimEnd()));
      assertEquals(scan(text, pieceLength), trimmed);
    }),
  );
  const bytes = fc.array(fc.constantFrom("a", ",", `"`, "\n", "\r", " "), { maxLength: 40 });
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 9 }), (parts, pieceLength) => {
      assertEquals(scan(parts.join(""), pieceLength), scan(parts.join("")));
    }),
  );
});

Deno.test("CsvScanner continues with the next line after an unreadable one", () => {
  assertEquals(scan(`1,2\n"3"x,4\n5,6\n`), [["1", "2"], "text after a closing quote", ["5", "6"]]);
  assertEquals(scan(`1,2\n3,"4\n5,6\n7,8`), [
    ...[["1", "2"], "an unclosed quote", ["5", "6"], ["7", "8"]],
  ]);
  const rows = Array.from({ length: 20_000 }, (_, i) => `${i},${i}\n`).join("");
  const found = scan(`1,"2\n${rows}`, 10_000);
  assertEquals(found.length, 20_001);
  assertEquals(found[0], `an unclosed quote within ${MAX_RECORD_CHARACTERS} characters`);
});

Deno.test("CsvScanner skips a line that is too long without buffering it", () => {
  const scanner = new CsvScanner();
  const chunk = "a".repeat(1 << 18);
  let numFaults = 0;
  for (let i = 0; i < 2000; i++) {
    scanner.push(chunk, ({ fault }) => {
      assertEquals(fault, `no end of record within ${MAX_RECORD_CHARACTERS} characters`);
      numFaults++;
    });
  }
  assertEquals(numFaults, 1);
  scanner.push("\n1,2\n", (record) => assertEquals(record, { line: 2, fields: ["1", "2"] }));
  const longest = "x".repeat(MAX_RECORD_CHARACTERS - 3);
  assertEquals(scan(`${longest},1\n2,3\n`), [[longest, "1"], ["2", "3"]]);
  const tooLong = `no end of record within ${MAX_RECORD_CHARACTERS} characters`;
  assertEquals(scan(`x${longest},1\n2,3\n`), [tooLong, ["2", "3"]]);
});
