import { assert, assertEquals, assertLess, assertThrows } from "@std/assert";
import { ConfigError } from "../../../lib/base/errors.ts";
import { BatchLoader, type LoaderOptions } from "../../../lib/data/loader/batches.ts";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import {
  chosenRttEncoding,
  RTT_ENCODING_NAMES,
  type RttEncoding,
} from "../../../lib/data/tokens/vocab_v1.ts";
import { contextsOf, MemoryRowSource, syntheticRows } from "./synthetic_rows.ts";

const ROWS = syntheticRows(1, 60, 25);
const SOURCE = new MemoryRowSource(ROWS);
const V1 = { name: "float64", clipMs: 100 } as const;
const OPTIONS: LoaderOptions = {
  seed: 5,
  sequenceLength: 256,
  batchSize: 3,
  blockRows: 20,
  rttEncoding: V1,
};

const take = (loader: BatchLoader, count: number) => Array.fromAsync({ length: count }, () => loader.next());

/** Reads the tokens of one measurement with a second implementation of the grammar. */
function read(tokens: Uint16Array, rttEncoding: RttEncoding): string {
  assertEquals(tokens[0], 0);
  const fields = new Map<number, string>();
  for (let i = 1; i < tokens.length;) {
    const role = tokens[i];
    const start = role === 1 || role === 2 ? i + 2 : i + 1;
    const end = start + (start === i + 1 ? 8 : tokens[i + 1] === 3 ? 4 : 16);
    const bytes = Uint8Array.from(tokens.slice(start, end), (token) => token - 10);
    assert(!fields.has(role) && end <= tokens.length);
    if (role === 1 || role === 2) fields.set(role, formatAddress(bytes));
    else if (role === 5) fields.set(role, String(rttEncoding.decode(new DataView(bytes.buffer))));
    else if (role === 8) fields.set(role, String(new DataView(bytes.buffer).getBigInt64(0)));
    else assert(false, `role ${role}`);
    i = end;
  }
  return [1, 2, 5, 8].map((role) => fields.get(role)).join(" ");
}

/** The results of {@link read} for the rows' measurements, with and without times. */
function written(rttEncoding: RttEncoding): Set<string> {
  const bytes = new DataView(new ArrayBuffer(8));
  return new Set(ROWS.flatMap((row) =>
    [...row.rttMs].flatMap((rttMs, i) => {
      rttEncoding.encode(rttMs < 0 ? null : rttMs, bytes);
      const pair = [row.srcAddrs[row.srcIndex[i]], row.dstAddrs[row.dstIndex[i]]];
      const addresses = pair.map((text) => formatAddress(addressBytes(text))).join(" ");
      const known = `${addresses} ${rttEncoding.decode(bytes)}`;
      return [`${known} `, `${known} ${Math.floor(row.eventTimeUs[i] / 1e6)}`];
    })
  ));
}

Deno.test("a loader of vocabulary v1 yields single measurements of the rows, in every RTT encoding", async () => {
  for (const name of RTT_ENCODING_NAMES) {
    const rttEncoding = { name, clipMs: 100 };
    const encoding = chosenRttEncoding(rttEncoding);
    const known = written(encoding);
    const contexts = (await take(BatchLoader.open(SOURCE, { ...OPTIONS, rttEncoding }), 60)).flatMap(
      contextsOf,
    );
    const seen = contexts.map((tokens) => read(tokens, encoding));
    for (const each of seen) assert(known.has(each), `${name}: ${each}`);
    assertEquals(new Set(contexts.map(({ length }) => length)), new Set([31, 55, 22, 46]));
    assert(new Set(seen).size > 400, `${name}: ${new Set(seen).size}`);
    assert(seen.some((each) => each.includes(" null ")), name);
  }
});

Deno.test("an epoch of vocabulary v1 contains as many measurements as one of v2", async () => {
  const countOf = async (rttEncoding: LoaderOptions["rttEncoding"]) => {
    const loader = BatchLoader.open(SOURCE, { ...OPTIONS, rttEncoding, batchSize: 1, blockRows: 60 });
    let count = 0;
    while (loader.position.epoch === 0) {
      const { tokens, targets, lossMask } = await loader.next();
      // MeasurementStart in both vocabularies; also the token of padding.
      for (let i = 0; i < tokens.length; i++) if (lossMask[i] === 1 && tokens[i] === 0) count++;
      assertEquals(targets.length, tokens.length);
    }
    return count;
  };
  // The sequence that is filled up differs.
  assertLess(Math.abs(await countOf(V1) - await countOf(undefined)), 2 * 256 / 12);
});

Deno.test("a loader of vocabulary v1 rejects sequences too short for an IPv6 measurement", async () => {
  const open = (sequenceLength: number) => () => BatchLoader.open(SOURCE, { ...OPTIONS, sequenceLength });
  assertThrows(open(54), ConfigError, "sequenceLength: found 54, expected an integer in 55..65535");
  await open(55)().next();
});
