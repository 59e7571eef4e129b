import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError, UserError } from "../../lib/errors.ts";
import {
  describeEncodings,
  type EncodingSection,
  readEncodingSection,
} from "../../lib/evaluate/encoding_section.ts";
import { encodingsPart } from "../../lib/evaluate/page/encodings_part.ts";

const SECTION: EncodingSection = {
  ...{
    dataFingerprint: "0123456789abcdef",
    seed: 0,
    numParameters: 132_000,
    sequenceLength: 192,
    batchSize: 4,
  },
  ...{ numCases: 300, numAnswered: 290, meanContext: 4.25, clipMs: 310.5 },
  rows: (["float64", "v2"] as const).map((encoding) => ({
    ...{ name: `${encoding} <&>`, encoding, steps: 100, tokensSeen: 50_000, measurementsSeen: 2500 },
    ...{ tokensPerMeasurement: 20, tokensPerRtt: encoding === "v2" ? 3 : 9, bitsPerRtt: 11.125 },
    ...{ bitsPerRttError: 0.25, bitsPerResult: 11.5, bitsPerOwnCode: 30.75 },
    ...{ meanAbsoluteErrorMs: 48.5, medianAbsoluteErrorMs: 33.625 },
  })),
};

Deno.test("describeEncodings() and encodingsPart() show every row with its figures", () => {
  const lines = describeEncodings(SECTION).split("\n");
  assertEquals(lines.length, 5);
  assertEquals(
    lines[2].split(/ {2,}/),
    ["float64 <&>", "100", "2500", "20.0", "9", "11.13", "0.25", "11.50", "30.75", "48.50", "33.63"],
  );
  const html = encodingsPart(SECTION);
  assert(html.includes("<td>v2 &lt;&amp;&gt;</td>") && html.includes("<td>33.63</td>"));
  assert(html.includes("300 held-out measurements (290 answered) with 4.3 before each"));
});

Deno.test("readEncodingSection() gives what was written, and refuses other files in one line", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const path = join(folder, "encodings.json");
    Deno.writeTextFileSync(path, JSON.stringify(SECTION));
    assertEquals(readEncodingSection(path), SECTION);
    for (const text of ["", "{}", JSON.stringify({ ...SECTION, rows: [{ name: "v2" }] })]) {
      Deno.writeTextFileSync(path, text);
      assertThrows(() => readEncodingSection(path), FormatError, "no study of encodings");
    }
    assertThrows(() => readEncodingSection(join(folder, "none.json")), UserError, "none.json");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
