import { assert, assertEquals } from "@std/assert";
import { rttSchemes } from "../../../lib/evaluate/encodings/rtt_scheme.ts";
import {
  MAX_SCHEME_MEASUREMENT_TOKENS,
  schemeBatchMaker,
  SchemeSequences,
} from "../../../lib/evaluate/encodings/scheme_batches.ts";
import { replaceResults, resultLength } from "../../../lib/evaluate/encodings/scheme_tokens.ts";
import { MemoryRowSource } from "../../../lib/loader/row_source.ts";
import { encodeRttCode } from "../../../lib/tokens/rtt_code.ts";
import {
  BYTE_BASE,
  FIELD_ORDERS,
  MEASUREMENT_START,
  RTT_START,
  TokenWriter,
} from "../../../lib/tokens/vocab_v2.ts";
import { syntheticRows } from "../../loader/synthetic_rows.ts";

const SCHEMES = rttSchemes(300_000);
const V2 = SCHEMES[SCHEMES.length - 1];
const ROWS = new MemoryRowSource([...syntheticRows(4, 8, 30)]);
const OPTIONS = { seed: 3, sequenceLength: 256 };

Deno.test("replaceResults() changes the bytes of RTTs and nothing else", () => {
  const addresses = { source: Uint8Array.of(10, 0, 0, 1), destination: Uint8Array.of(10, 0, 0, 2) };
  const plain = new Uint16Array(40);
  const writer = new TokenWriter(plain);
  writer.write({ ...addresses, rttCode: encodeRttCode(1.5), timeS: null }, FIELD_ORDERS[0]);
  writer.write({ ...addresses, rttCode: null, timeS: null }, FIELD_ORDERS[0]);
  const out = new Uint16Array(60).fill(999);
  for (const scheme of SCHEMES) {
    const end = replaceResults(plain.subarray(0, writer.at), [1.5, null], { scheme, out, start: 2 });
    const [head, tail] = [plain.subarray(0, 11), plain.subarray(14, 25)];
    const written = [...out.subarray(2, end)];
    assertEquals(written.slice(0, 11), [...head]);
    assertEquals(written.slice(11 + resultLength(false, scheme), 22 + resultLength(false, scheme)), [
      ...tail,
    ]);
    assertEquals(written.length, 22 + resultLength(false, scheme) + resultLength(true, scheme));
    if (scheme === V2) assertEquals(written, [...plain.subarray(0, writer.at)]);
  }
  // 1.5 as a double, and -1 for no reply.
  const bytes = [0x3f, 0xf8, 0, 0, 0, 0, 0, 0].map((byte) => BYTE_BASE + byte);
  const none = [0xbf, 0xf0, 0, 0, 0, 0, 0, 0].map((byte) => BYTE_BASE + byte);
  const end = replaceResults(plain.subarray(0, writer.at), [1.5, null], {
    scheme: SCHEMES[0],
    out,
    start: 0,
  });
  assertEquals([...out.subarray(11, 20)], [RTT_START, ...bytes]);
  assertEquals([...out.subarray(end - 9, end)], [RTT_START, ...none]);
});

Deno.test("schemeBatchMaker() gives the same batches again, from any position, of whole measurements", () => {
  for (const scheme of SCHEMES) {
    const maker = schemeBatchMaker(scheme);
    using first = maker.openTraining(ROWS, { ...OPTIONS, batchSize: 2 });
    const batches = [first.next(), first.next(), first.next()];
    using again = maker.openTraining(ROWS, {
      ...{ ...OPTIONS, batchSize: 2 },
      position: { epoch: 0, block: 2, sequence: 0 },
    });
    assertEquals(again.next(), batches[1]);
    assertEquals(again.position, { epoch: 0, block: 4, sequence: 0 });
    for (const { tokens, segmentStart, numPaddingTokens } of batches) {
      assert(numPaddingTokens <= 2 * MAX_SCHEME_MEASUREMENT_TOKENS);
      // Every context begins with a measurement.
      segmentStart.forEach((start, i) => {
        const isFirst = start === i % OPTIONS.sequenceLength;
        if (isFirst && tokens[i] !== 0) assertEquals(tokens[i], MEASUREMENT_START);
      });
    }
  }
});

Deno.test("SchemeSequences counts what its batches have", () => {
  for (const scheme of SCHEMES) {
    const [counts] = new SchemeSequences(ROWS, scheme, OPTIONS).count().take(1);
    const { tokens, numInputs } = new SchemeSequences(ROWS, scheme, OPTIONS).make(0);
    assertEquals(counts.numTokens, numInputs[0]);
    const numStarts = tokens.subarray(0, numInputs[0]).filter((token) => token === MEASUREMENT_START).length;
    assertEquals(counts.numMeasurements, numStarts);
  }
});
