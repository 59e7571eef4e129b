import { assert, assertEquals, assertGreater, assertLess, assertNotEquals } from "@std/assert";
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { AddressEmbeddings, EmbeddingCursor, type RowUse } from "../../lib/model/address_embeddings.ts";
import { type ModelConfig, modelShapes, ROWS_PER_TOKEN } from "../../lib/model/model_config.ts";
import { PairHistory, type TimedRtt } from "../../lib/model/pair_history.ts";
import { EmbeddingTable, NO_ROW } from "../../lib/model/embedding_table.ts";
import { rowsBeforeFirstByte } from "../../lib/model/selected_rows.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { NUM_HISTORY_RTTS, type RttHistory, rttHistoryOf } from "../../lib/data/tokens/rtt_history.ts";
import {
  BYTE_BASE,
  FIELD_ORDERS,
  QUERY_ORDER,
  RTT_START,
  type TokenMeasurement,
  TokenWriter,
} from "../../lib/data/tokens/vocab_v2.ts";
import { tinyConfig } from "./tiny_model.ts";

function rowsConfig(changes: Partial<ModelConfig> = {}): ModelConfig {
  return tinyConfig({
    prefixVectors: { rows: 64, seed: 1, dropShare: 0 },
    pairVectors: { rows: 64, seed: 1, dropShare: 0, history: false },
    ...changes,
  });
}

function measurement(src: string, dst: string): TokenMeasurement {
  return { source: addressBytes(src), destination: addressBytes(dst), rttCode: 1234, timeS: 5 };
}

function knowing(config: ModelConfig, ...pairs: [string, string][]): AddressEmbeddings {
  const rows = new AddressEmbeddings(config);
  for (const [src, dst] of pairs) rows.claim(addressBytes(src), addressBytes(dst));
  return rows;
}

/** The rows of each token of a measurement, with its fields in a given order. */
function read(
  rows: AddressEmbeddings,
  { src, dst, order = 0 }: { src: string; dst: string; order?: number },
) {
  const tokens = new Uint16Array(64);
  const length = new TokenWriter(tokens).write(measurement(src, dst), FIELD_ORDERS[order]);
  const cursor = new EmbeddingCursor(rows);
  const found = new Uint32Array(ROWS_PER_TOKEN);
  return [...tokens.subarray(0, length)].map((token) => {
    cursor.read(token, found, 0);
    return { token, rows: [...found].filter((row) => row !== NO_ROW) };
  });
}

const [A, B, C] = ["192.0.2.1", "198.51.100.7", "192.0.2.9"];
/** Tokens before RTT bytes; the first order is start, source, destination, RttStart, two bytes, time. */
const RTT_PLACES = [11, 12];

Deno.test("AddressEmbeddings: each address byte has a row, and the two tokens before RTT bytes have the pair's", () => {
  const found = read(knowing(rowsConfig(), [A, B]), { src: A, dst: B });
  const counts = found.map(({ rows }) => rows.length);
  assertEquals(counts.slice(0, 14), [0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0]);
  for (const place of RTT_PLACES) {
    assert(found[place].rows[0] >= 64, "the pair's row is after those of prefixes");
  }
  const distinct = new Set(found.slice(0, 11).flatMap(({ rows }) => rows));
  assertEquals(distinct.size, 8);
  const [src, dst] = ["2001:db8::1", "2001:db8:1::2"];
  const ofIpv6 = read(knowing(rowsConfig(), [src, dst]), { src, dst });
  assertEquals(ofIpv6.slice(2, 18).map(({ rows }) => rows.length), new Array(16).fill(1));
});

Deno.test("AddressEmbeddings: rows depend only on earlier fields, in every field order", () => {
  const rows = knowing(rowsConfig(), [A, B]);
  FIELD_ORDERS.forEach((fields, order) => {
    const found = read(rows, { src: A, dst: B, order });
    const isBefore = (field: "source" | "destination") => fields.indexOf(field) < fields.indexOf("result");
    const [source, destination] = [isBefore("source"), isBefore("destination")];
    const wanted = source && destination ? 1 : Number(source) + Number(destination);
    const numOfPairs = found.filter(({ rows }) => rows.some((row) => row >= 64)).length;
    assertEquals(numOfPairs, source && destination ? 2 : 0, fields.join());
    assertEquals(found.reduce((sum, { rows }) => sum + rows.length, 0), 8 + 2 * wanted, fields.join());
  });
});

Deno.test("AddressEmbeddings: arbitrary token sequences are read without selecting spurious rows", () => {
  const cursor = new EmbeddingCursor(knowing(rowsConfig(), [A, B]));
  const found = new Uint32Array(ROWS_PER_TOKEN);
  const odd = [BYTE_BASE + 192, 8, BYTE_BASE, 1, BYTE_BASE + 192, 8, BYTE_BASE, 3, 0, BYTE_BASE, 10, 8, 8];
  const counts = odd.map((token) => {
    cursor.read(token, found, 0);
    return found.filter((row) => row !== NO_ROW).length;
  });
  assertEquals(counts, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
});

Deno.test("EmbeddingCursor.clone() shares earlier history with the original, and each then keeps its own", () => {
  const config = rowsConfig({ pairVectors: { rows: 64, seed: 1, dropShare: 0, history: true } });
  const rows = new AddressEmbeddings(config);
  const [found, tokens] = [new Uint32Array(ROWS_PER_TOKEN), new Uint16Array(64)];
  /** Reads measurements and returns the rows before the last one's RTT. */
  const readOn = (cursor: EmbeddingCursor, ...rttCodes: number[]) => {
    let before: number[] = [];
    for (const rttCode of rttCodes) {
      const length = new TokenWriter(tokens).write({ ...measurement(A, B), rttCode }, FIELD_ORDERS[0]);
      tokens.subarray(0, 12).forEach((token) => cursor.read(token, found, 0));
      before = [...found];
      tokens.subarray(12, length).forEach((token) => cursor.read(token, found, 0));
    }
    return before;
  };
  const readAll = (...rttCodes: number[]) => readOn(new EmbeddingCursor(rows), ...rttCodes);
  const origin = new EmbeddingCursor(rows);
  readOn(origin, 0x1400, 0x1400, 0x1500);
  const [one, other] = [origin.clone(), origin.clone()];
  assertEquals(readOn(one, 0x1600, 0x1600, 0x2600), readAll(0x1400, 0x1400, 0x1500, 0x1600, 0x1600, 0x2600));
  assertEquals(readOn(origin, 0x2600, 0x1400), readAll(0x1400, 0x1400, 0x1500, 0x2600, 0x1400));
  assertEquals(readOn(other, 0x1500), readAll(0x1400, 0x1400, 0x1500, 0x1500));
  assertEquals(readOn(other, 0x1600), readAll(0x1400, 0x1400, 0x1500, 0x1500, 0x1600));
});

/** Gives the codes times, 10 s apart. */
function timed(...codes: number[]): TimedRtt[] {
  return codes.map((rttCode, i) => ({ rttCode, timeS: 10 * (i + 1) }));
}

Deno.test("AddressEmbeddings: a pair's remembered RTT codes select rows by their bytes", () => {
  const config = rowsConfig({ pairVectors: { rows: 64, seed: 1, dropShare: 0, history: true } });
  const rows = new AddressEmbeddings(config);
  const pair = rows.claim(addressBytes(A), addressBytes(B));
  const first = 128;
  const selected = (codes: readonly number[]) => codes.map((code) => code - first).filter((row) => row >= 0);
  assertEquals(selected(read(rows, { src: A, dst: B })[11].rows), []);
  for (const rtt of timed(0x1300, 0x1234, 0x1111)) rows.remember(pair, rtt);
  const found = read(rows, { src: B, dst: A });
  assertEquals(selected(found[11].rows).slice(0, 4), [0x12, 256 + 0x34, 772 + 0x11, 772 + 256 + 0x11]);
  // The measured RTT has the first byte 0x04.
  assertEquals(selected(found[12].rows).slice(0, 2), [768 + 3, 772 + 768 + 3]);
  const places = new Uint32Array(ROWS_PER_TOKEN);
  const selectedBy = (
    byte: number,
    use: { isTraining: boolean; context: number; rttHistory?: RttHistory | null },
  ) => {
    const cursor = new EmbeddingCursor(rows);
    const tokens = new Uint16Array(64);
    new TokenWriter(tokens).write(measurement(A, B), FIELD_ORDERS[0]);
    tokens.subarray(0, 12).forEach((token) => cursor.read(token, places, 0, use));
    cursor.read(BYTE_BASE + byte, places, 0, use);
    return selected([...places].filter((row) => row !== NO_ROW));
  };
  const inference = { isTraining: false, context: 0 };
  assertEquals(
    [0x12, 0x11, 0x10, 0x13, 0x14].map((byte) => selectedBy(byte, inference)[0]),
    [512 + 0x34, 770, 771, 768, 769],
  );
  const rttHistory = rttHistoryOf([0x2299], 1, null);
  assert(rttHistory);
  assertEquals(selectedBy(0x22, { ...inference, rttHistory }).slice(0, 2), [512 + 0x99, 772 + 512 + 0x99]);
  assertEquals(selectedBy(0x22, { ...inference, rttHistory: null }), []);
});

/** The rows at the last measurement's RttStart, after the other measurements in the same sequence. */
function rowsAtEnd(
  rows: AddressEmbeddings,
  measurements: readonly TokenMeasurement[],
  use?: RowUse,
): number[] {
  const tokens = new Uint16Array(256);
  const writer = new TokenWriter(tokens);
  for (const each of measurements) writer.write(each, QUERY_ORDER);
  const end = tokens.lastIndexOf(RTT_START) + 1;
  const [cursor, places] = [new EmbeddingCursor(rows), new Uint32Array(ROWS_PER_TOKEN)];
  for (const token of tokens.subarray(0, end)) cursor.read(token, places, 0, use);
  return [...places].filter((row) => row !== NO_ROW);
}

Deno.test("EmbeddingCursor adds the pair's RTTs in a sequence to the remembered ones, with their ages", () => {
  const config = rowsConfig({ pairVectors: { rows: 64, seed: 1, dropShare: 0, history: true } });
  const rows = new AddressEmbeddings(config);
  const pair = rows.claim(addressBytes(A), addressBytes(B));
  rows.remember(pair, { rttCode: 0x1300, timeS: 5 });
  const of = (dst: string, rttCode: number | null, timeS: number | null): TokenMeasurement => ({
    source: addressBytes(A),
    destination: addressBytes(dst),
    rttCode,
    timeS,
  });
  const told = [of(B, 0x1500, 10), of(C, 0x2600, 20), of(B, null, 25), of(B, 0x1400, 400)];
  const rowsAfter = (use?: RowUse) => rowsAtEnd(rows, [...told, of(B, 0x1600, 450)], use);
  const same = (rttHistory: RttHistory | undefined) =>
    rowsAfter({ isTraining: false, context: 0, rttHistory: rttHistory ?? null });
  assertEquals(rowsAfter(), same(rttHistoryOf([0x1400, 0x1500, 0x1300], 3, 50)));
  const recent = [{ rttCode: 0x1700, timeS: 449 }];
  assertEquals(
    rowsAfter({ isTraining: false, context: 0, recent }),
    same(rttHistoryOf([0x1700], 1, 1)),
  );
  // For a pair without a row, the sequence is all that is known.
  const other = rowsAtEnd(rows, [...told, of(C, 0x1600, null)]);
  assertEquals(other.length, 6);
  assertEquals(other.slice(0, 4).map((row) => row - 128), [0x26, 256, 772 + 0x26, 772 + 256]);
});

Deno.test("PairHistory keeps the newest codes and their time across a checkpoint", () => {
  const history = new PairHistory(2);
  for (const rtt of timed(99, ...Array.from({ length: NUM_HISTORY_RTTS }, (_, i) => i + 1))) {
    history.add(1, rtt);
  }
  const loaded = new PairHistory(2);
  loaded.load(history.save());
  for (const each of [history, loaded]) {
    assertEquals(each.rttHistory(0), undefined);
    const rttHistory = each.rttHistory(1, { timeS: 101 });
    assertEquals(rttHistory, rttHistoryOf([9, 8, 7, 6, 5, 4, 3, 2, 1], 9, 1));
    assertEquals([rttHistory?.typicalCode, rttHistory?.newestCode], [7, 9]);
  }
  const old = { rttCode: 5, timeS: 1_750_000_123 };
  loaded.add(0, old);
  const again = new PairHistory(2);
  again.load(loaded.save());
  assertEquals(again.rttHistory(0, { timeS: old.timeS + 3 }), rttHistoryOf([5], 1, 3));
});

Deno.test("PairHistory.rttHistory() puts newer RTTs first and skips those that it already has", () => {
  const history = new PairHistory(1);
  for (const rtt of timed(4, 5)) history.add(0, rtt);
  const newer = [{ rttCode: 5, timeS: 20 }, { rttCode: 7, timeS: 25 }, { rttCode: 8, timeS: 30 }];
  assertEquals(history.rttHistory(0, { timeS: 31, newer }), rttHistoryOf([8, 7, 5, 4], 4, 1));
  assertEquals(
    history.rttHistory(0, { newer: [{ rttCode: 9, timeS: null }] }),
    rttHistoryOf([9, 5, 4], 3, null),
  );
  assertEquals(new PairHistory(1).rttHistory(0, { newer }), rttHistoryOf([8, 7, 5], 3, null));
});

Deno.test("AddressEmbeddings: training hides dropShare of the pairs in each context, and only the rows of that share of the rest", () => {
  const config = rowsConfig({
    prefixVectors: null,
    pairVectors: { rows: 4096, seed: 1, dropShare: 0.3, history: true },
  });
  const pairs = Array.from({ length: 1000 }, (_, i): [string, string] => [`10.0.${i >> 8}.${i & 255}`, B]);
  const rows = knowing(config, ...pairs);
  const rttHistory = rttHistoryOf([0x1234], 1, null) ?? null;
  const found = new Uint32Array(ROWS_PER_TOKEN);
  /** What is known about each pair: 1 for its row, plus 2 for its history. */
  const knownIn = (context: number) =>
    pairs.map(([src, dst]) => {
      const tokens = new Uint16Array(64);
      new TokenWriter(tokens).write(measurement(src, dst), FIELD_ORDERS[0]);
      const cursor = new EmbeddingCursor(rows);
      tokens.subarray(0, 12).forEach((token) =>
        cursor.read(token, found, 0, { isTraining: true, context, rttHistory })
      );
      return Number(found[2] !== NO_ROW) + 2 * Number(found[3] !== NO_ROW);
    });
  const [known, other] = [knownIn(5), knownIn(6)];
  for (const all of [known, other]) {
    const counts = [0, 1, 2, 3].map((kind) => all.filter((each) => each === kind).length);
    assertEquals(counts[1], 0);
    // Five standard deviations.
    [300, 0, 210, 490].forEach((wanted, i) => assert(Math.abs(counts[i] - wanted) < 80, counts.join()));
  }
  assertNotEquals(known, other);
  assertEquals(knownIn(5), known);
});

Deno.test("AddressEmbeddings: without history features, a coordinate estimate selects rows", () => {
  const coordinates = { nodes: 64, rank: 2, folds: 4, dropShare: 0 };
  const config = rowsConfig({ pairVectors: null, coordinates });
  const rows = new AddressEmbeddings(config);
  const texts = Array.from({ length: 12 }, (_, i) => `10.0.0.${i}`);
  const nodes = texts.map((text) => rows.claimNode(addressBytes(text)));
  const pairs = nodes.flatMap((a, i) => nodes.slice(i + 1).map((b, j) => ({ a, b, rttMs: 10 + i + j })));
  rows.coordinates?.fit({
    a: Uint32Array.from(pairs, ({ a }) => a),
    b: Uint32Array.from(pairs, ({ b }) => b),
    rttMs: Float64Array.from(pairs, ({ rttMs }) => rttMs),
  });
  const weights = new Map<string, TensorArray>();
  rows.save(weights);
  assertEquals([...weights].map(([name, { length }]) => [name, length]).slice(1), [
    ...modelShapes(config).entries.entries().filter(([name]) => name.startsWith("coordinates"))
      .map(([name, [height, width]]) => [name, height * width]),
  ]);
  const loaded = new AddressEmbeddings(config);
  loaded.load(weights);
  const places = new Uint32Array(ROWS_PER_TOKEN);
  const selectedBy = (src: string, dst: string, use?: RowUse) => {
    const cursor = new EmbeddingCursor(loaded);
    const tokens = new Uint16Array(64);
    new TokenWriter(tokens).write(measurement(src, dst), FIELD_ORDERS[0]);
    tokens.subarray(0, 12).forEach((token) => cursor.read(token, places, 0, use));
    return [...places].filter((row) => row !== NO_ROW && row >= 64).map((row) => row - 64);
  };
  const known = (isTraining: boolean) => {
    const estimate = rows.coordinates?.estimate(nodes[2], nodes[7], { isTraining });
    assert(estimate);
    return [...rowsBeforeFirstByte(estimate)];
  };
  assertEquals(selectedBy(texts[2], texts[7]), known(false));
  assertEquals(selectedBy(texts[7], texts[2], { isTraining: true, context: 1 }), known(true));
  assertNotEquals(known(true), known(false));
  const ofTypical = rows.coordinates?.estimate(nodes[2], NO_ROW);
  assert(ofTypical && !ofTypical.isOfBoth);
  loaded.claim(addressBytes(texts[2]), addressBytes(texts[7]));
  assertEquals(selectedBy(texts[2], A), [...rowsBeforeFirstByte(ofTypical)]);
  assertNotEquals(places[0], NO_ROW, "its own row says what such an estimate does not");
  selectedBy(texts[2], texts[7]);
  assertEquals(places[0], NO_ROW);
});

Deno.test("NodeCoordinates: a hidden endpoint is estimated like an unknown one", () => {
  const { coordinates } = new AddressEmbeddings(
    rowsConfig({ coordinates: { nodes: 64, rank: 2, folds: 4, dropShare: 0 } }),
  );
  assert(coordinates);
  assertEquals(coordinates.estimate(0, 1), undefined);
  const ends = Array.from({ length: 12 }, (_, i) => i);
  const pairs = ends.flatMap((a) => ends.filter((b) => b > a).map((b) => [a, b]));
  coordinates.fit({
    a: Uint32Array.from(pairs, ([a]) => a),
    b: Uint32Array.from(pairs, ([, b]) => b),
    rttMs: Float64Array.from(pairs, ([a, b]) => 10 + a + b),
  });
  const hidden = coordinates.estimate(11, 0, { hidden: [false, true] });
  assertEquals(hidden, coordinates.estimate(11, NO_ROW));
  assertEquals(hidden?.isOfBoth, false);
  assertEquals(coordinates.estimate(11, 0)?.isOfBoth, true);
  const trained = coordinates.estimate(11, 0, { isTraining: true, hidden: [false, true] });
  assertNotEquals(trained?.rttMs, hidden?.rttMs, "it knows all but the pair's fold");
  const [least, most] = [0, 10].map((other) => coordinates.estimate(11, other)?.rttMs ?? NaN);
  assertGreater(hidden?.rttMs ?? NaN, least);
  assertLess(hidden?.rttMs ?? NaN, most);
});

Deno.test("EmbeddingTable: rows are distinct, full tables return none and unclaimed keys are not found", () => {
  const table = new EmbeddingTable(100, 16);
  const hash = (i: number, j: number) => Math.imul(i + 1, 0x9e3779b1 + j) >>> 0;
  const claimed = Array.from({ length: 16 }, (_, i) => table.row(hash(i, 0), hash(i, 2), true));
  assertEquals(claimed.toSorted((a, b) => a - b), Array.from({ length: 16 }, (_, i) => 100 + i));
  assertEquals(table.row(hash(16, 0), hash(16, 2), true), NO_ROW);
  assertEquals(claimed.map((_, i) => table.row(hash(i, 0), hash(i, 2))), claimed);
  assertEquals(table.row(hash(17, 0), hash(17, 2)), NO_ROW);
  assertEquals(table.numOwned, 16);
});

Deno.test("AddressEmbeddings: the pair seed places pair rows, and the prefix seed places prefix rows", () => {
  const rowsOf = (prefixSeed: number, pairSeed: number) => {
    const rows = knowing(
      rowsConfig({
        prefixVectors: { rows: 4096, seed: prefixSeed, dropShare: 0 },
        pairVectors: { rows: 4096, seed: pairSeed, dropShare: 0, history: false },
      }),
      [A, B],
    );
    assertEquals(
      rows.rowOfPair(addressBytes(B), addressBytes(A)),
      rows.rowOfPair(addressBytes(A), addressBytes(B)),
    );
    return {
      prefixes: rows.rowsOfPrefixes(addressBytes(A)),
      pair: rows.rowOfPair(addressBytes(A), addressBytes(B)),
    };
  };
  assertEquals(rowsOf(1, 2).prefixes, rowsOf(1, 1).prefixes);
  assertNotEquals(rowsOf(1, 2).pair, rowsOf(1, 1).pair);
  assertNotEquals(rowsOf(2, 1).prefixes, rowsOf(1, 1).prefixes);
});
