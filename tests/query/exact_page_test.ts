/**
 * Checks the code against the test vectors of lib/model/EXACT.md, computed by a NumPy program from the page.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { fromFileUrl } from "@std/path";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { lightFloorMs } from "../../lib/data/addresses/light_floor.ts";
import {
  addressNumber,
  type LocatedPlace,
  NOWHERE,
  PlaceTable,
} from "../../lib/data/addresses/place_table.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { AddressEmbeddings, EmbeddingCursor } from "../../lib/model/address_embeddings.ts";
import {
  type ModelConfig,
  modelShapes,
  parseModelConfig,
  ROWS_PER_TOKEN,
} from "../../lib/model/model_config.ts";
import {
  advance,
  beginAddress,
  type Hashes,
  keyOfHashes,
  NO_ROW,
  pairHashes,
  pairKeysOf,
  pathOf,
} from "../../lib/model/embedding_table.ts";
import { ageShares, changedKernels } from "../../lib/model/pool/age.ts";
import {
  hasWeeks,
  kernelWeights,
  NUM_KERNELS,
  NUM_SHARES,
  sharesAt,
} from "../../lib/model/pool/time_kernels.ts";
import { NUM_SELECTED_ROWS } from "../../lib/model/selected_rows.ts";
import { indexFrom, indexOfCode, NUM_CODES } from "../../lib/model/pool/kernel_mixture.ts";
import { RttDistribution } from "../../lib/query/rtt/rtt_distribution.ts";
import { pValueOfNoReply, pValueOfReply } from "../../lib/query/score/surprise.ts";

import { IDENTITIES } from "../../lib/model/pool/identities.ts";
import { recallFrom } from "../../lib/model/pool/forecast.ts";
import { neighboursOf } from "../../lib/model/pool/pair_neighbours.ts";
import { Pool, type PooledForecast } from "../../lib/model/pool/pool.ts";
import { fitPool } from "../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../lib/model/pool/pool_tables.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { TINY_CONFIG } from "./tiny_model.ts";
import { encodeQuery, type RttQuery } from "../../lib/query/query_tokens.ts";
import { distributionOf, FIRST_BYTES, firstByteMasses, massOf } from "../../lib/query/rtt/rtt_bytes.ts";
import { parseAddressQuestion } from "../../lib/query/rtt/rtt_question.ts";
import { mix } from "../../lib/base/random.ts";
import { readSafetensors } from "../../lib/io/safetensors.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { rttHistoryOf } from "../../lib/data/tokens/rtt_history.ts";
import { BYTE_BASE, FAILED, RTT_START, VOCAB_SIZE } from "../../lib/data/tokens/vocab_v2.ts";
import { logProbabilities } from "../reference/cross_entropy.ts";
import { tensorsOfLists } from "../model/golden_rows.ts";
import { logitsProblem, referenceForward } from "../reference/model.ts";

/** A vector of the page: a parsed JSON value, whose fields the page explains. */
type Vector = ReturnType<typeof JSON.parse>;

const PAGE = Deno.readTextFileSync(new URL("../../lib/model/EXACT.md", import.meta.url));
const vectors: Record<string, Vector[]> = JSON.parse(/```json\n([^]*?)```/.exec(PAGE)?.[1] ?? "");

/** Hashes of each prefix of an address. */
function hashesOf(seed: number, address: string): Hashes[] {
  const bytes = addressBytes(address);
  const state = beginAddress(seed, bytes.length === 4 ? 4 : 16);
  return Array.from(bytes, (byte) => {
    advance(state, byte);
    return { hash1: state.hash1, hash2: state.hash2 };
  });
}

Deno.test("EXACT.md contains vectors of every kind", () => {
  assertEquals(Object.values(vectors).map(({ length }) => length), [4, 4, 2, 1, 1, 6, 4, 2, 2, 1, 1, 6]);
});

const both = ({ hash1, hash2 }: Hashes) => [hash1, hash2];

Deno.test("EXACT.md: hashes of numbers, prefixes, addresses and pairs", () => {
  for (const [x, mixed] of vectors.mix) assertEquals(mix(x), mixed);
  for (const { seed, address, firstByte, whole } of vectors.addresses) {
    const hashes = hashesOf(seed, address);
    assertEquals([both(hashes[0]), both(hashes[hashes.length - 1])], [firstByte, whole], address);
  }
  for (const { prefixSeed, pairSeed, addresses, hashes } of vectors.pairs) {
    const [a, b] = addresses.map((address: string) => hashesOf(prefixSeed, address)[3]);
    assertEquals(both(pairHashes(a, b, pairSeed - prefixSeed)), hashes);
    assertEquals(both(pairHashes(b, a, pairSeed - prefixSeed)), hashes);
  }
});

Deno.test("EXACT.md: places of addresses and their keys", () => {
  for (const { table, addresses, of, hashes } of vectors.places) {
    const places = PlaceTable.decode(Uint8Array.from(table), "the page");
    const locate = (text: string) => {
      const address = addressBytes(text);
      return places.locate(addressNumber(address), address.length === 4 ? 4 : 16);
    };
    for (const [address, latitude, longitude, country, region, asNumber] of addresses) {
      const position = latitude === null || longitude === null ? undefined : { latitude, longitude };
      assertEquals(locate(address), { position, country, region, asNumber }, address);
    }
    const [a, b] = of.map((address: string) => pathOf(7, locate(address)));
    assertEquals(
      [...a.steps, ...b.steps, ...pairKeysOf(7, a, b)].map((key) => key && both(key)),
      hashes,
    );
  }
});

Deno.test("EXACT.md: light floors between places and mixtures above them", () => {
  const table = PlaceTable.decode(Uint8Array.from(vectors.places[0].table), "the page");
  for (const { of, floorMs, firstCode, f, sum, probabilities, medianMs } of vectors.floors) {
    const [a, b] = of.map((text: string) => table.locate(addressNumber(addressBytes(text)), 4).position);
    assert(a && b);
    assertAlmostEquals(lightFloorMs(a, b, table.stepDegrees), floorMs, 1e-9);
    const begin = indexFrom(floorMs);
    assertEquals(CANONICAL_RTT_CODES[begin], firstCode);
    const logP = (weightOf: (byte: number) => number) =>
      Float32Array.from({ length: VOCAB_SIZE }, (_, token) => Math.log(weightOf(token - BYTE_BASE)));
    const first = logP((byte) => 1 + Math.max(0, FIRST_BYTES.indexOf(byte)) % 7);
    const seconds = Float32Array.from(FIRST_BYTES.flatMap((x) => [...logP((y) => 1 + (x + y) % 5)]));
    const shares = Float64Array.from(CANONICAL_RTT_CODES, (_, i) => 1 + i % 3);
    const whole = shares.reduce((x, y) => x + y, 0) / 0.4;
    const pool: PooledForecast = {
      floorMs,
      begin,
      modelShare: 0.6,
      end: shares.length,
      failureProbability: (ofModel) => ofModel,
      massBetween: (from, to) => shares.subarray(from, to).reduce((x, y) => x + y, 0) / whole,
      addTo: (out) => shares.forEach((share, i) => out[i] += share / whole),
      addToFirstBytes: () => {},
      withNetwork() {
        return this;
      },
    };
    const expanded = [...FIRST_BYTES.keys()];
    const outcome = new Float32Array(VOCAB_SIZE);
    const answer = distributionOf({ outcome, first, seconds, expanded }, { pool });
    for (const [code, probability] of probabilities) {
      assertAlmostEquals(answer.probabilities[CANONICAL_RTT_CODES.indexOf(code)], probability, 1e-10);
    }
    assertEquals([answer.quantileMs(0.5), answer.quantileMs(0)], [medianMs, decodeRttCode(firstCode)]);
    const masses = firstByteMasses(first, pool);
    assertAlmostEquals(massOf(masses, pool), sum, 1e-6);
    const place = FIRST_BYTES.indexOf(firstCode >> 8);
    assertAlmostEquals(masses[place] / firstByteMasses(first, { ...pool, begin: 0 })[place], f, 1e-9);
  }
});

Deno.test("EXACT.md: RTT codes and the features of histories", () => {
  for (const [rttMs, code, decodedMs] of vectors.codes) {
    assertEquals([encodeRttCode(rttMs), decodeRttCode(code)], [code, decodedMs]);
  }
  for (const { codesNewestFirst, ageS, typical, newest, spreadClass, ageClass } of vectors.histories) {
    assertEquals(rttHistoryOf(codesNewestFirst, codesNewestFirst.length, ageS), {
      typicalCode: typical,
      newestCode: newest,
      spread: spreadClass,
      age: ageClass,
    });
  }
  assert(PAGE.includes(`S is ${NUM_SELECTED_ROWS.toLocaleString("en")} if`));
});

Deno.test("EXACT.md: ages, and kernels in time", () => {
  for (const { s, spanS, ageS, replaced, changed, widths } of vectors.ages) {
    const shares = ageShares({ changeS: s }, ageS, spanS);
    assertAlmostEquals(shares.replaced, replaced, 1e-7);
    assertAlmostEquals(shares.changed, changed, 1e-7);
    for (const [j, width] of widths.entries()) {
      const unit = widths.map((_: number, i: number) => i === j ? 1 : 0);
      const octaves = changedKernels({ shares: unit }, [{ log: 0, mass: 1 }], ageS)
        .reduce((sum, kernel) => sum + kernel.mass * Math.log2(kernel.width), 0);
      close(2 ** octaves, width, 1e-6);
    }
  }
  for (const { codes, timeS, weights, part, ...given } of vectors.moments) {
    const pair = {
      timesS: Float64Array.from(given.timesS),
      codes: Uint16Array.from(codes),
      counts: Float64Array.from(given.counts),
    };
    const found = kernelWeights(pair, timeS, { weeks: hasWeeks(pair) });
    for (const [k, expected] of weights.entries()) {
      const replied = Array.from(pair.codes, (code, i) => code > 0 ? found[k * codes.length + i] : 0);
      const sum = replied.reduce((a, b) => a + b, 0);
      replied.forEach((weight, i) => assertAlmostEquals(weight / sum, expected[i], 1e-6));
    }
    // Each situation has its own kernel.
    const shares = new Float64Array(NUM_SHARES);
    for (let situation = 0; situation < 4; situation++) shares[situation * NUM_KERNELS + situation] = 1;
    const [from, to] = timeS <= given.timesS.at(-1) ? [0, 2] : [2, 3];
    const at = sharesAt(shares, pair, timeS, "rtts");
    assertAlmostEquals(at[from], 1 - part, 1e-6);
    assertAlmostEquals(at[to], part, 1e-6);
  }
});

Deno.test("EXACT.md: neighbours", () => {
  for (const { addresses, pairs, questions } of vectors.neighbours) {
    const placeOf = (address: string): LocatedPlace => {
      const [, asNumber, country, latitude, longitude] = addresses.find(([known]: Vector) =>
        known === address
      ) ?? [];
      const position = latitude && longitude ? { latitude, longitude } : undefined;
      return { ...NOWHERE, position, country: country ?? 0, asNumber: asNumber ?? 0 };
    };
    const tables = new PoolTables(placeOf);
    const endOf = (address: string) => PoolTables.endOf(addressBytes(address));
    for (const [source, destination, codes] of pairs) {
      codes.forEach((code: number) => tables.add(endOf(source), endOf(destination), code, 1_700_000_000));
    }
    const hosts = addresses.flatMap(([address, , , , , host]: Vector) =>
      host === null ? [] : [{ ...endOf(address).hashes, host }]
    ).sort((a: Hashes, b: Hashes) => keyOfHashes(a) - keyOfHashes(b));
    const rows = Uint32Array.from(hosts.flatMap(({ hash1, hash2, host }: Vector) => [hash1, hash2, host]));
    const tensors = new Map([...tables.save(fitPool([])), [IDENTITIES[0], rows] as const]);
    const pool = new Pool({ ...TINY_CONFIG, coordinates: null, pairVectors: null }, {
      weights: new Map(),
      pool: tensors,
    });
    const recall = recallFrom(tensors, placeOf);
    const massesOf = (kernels: readonly (readonly [log: number, mass: number])[]) =>
      [...Map.groupBy(kernels, ([log]) => log)].map(([log, same]) => [
        log,
        same.reduce((sum, [, mass]) => sum + mass, 0),
      ]).sort(([a], [b]) => a - b);
    for (const [src, dst, cell, kernels, probe] of questions) {
      const [source, destination] = [src, dst].map(addressBytes);
      const known = pool.known({ source, destination, timeS: null, context: [], probe });
      const found = neighboursOf({ ...known, recall });
      assertEquals(found?.cell ?? null, cell);
      const [masses, expected] = [
        massesOf(found?.logs.map(({ log, mass }) => [log, mass]) ?? []),
        massesOf(kernels),
      ];
      assertEquals(masses.length, expected.length);
      masses.forEach(([log, mass], i) => {
        assertAlmostEquals(log, expected[i][0], 1e-6);
        assertAlmostEquals(mass, expected[i][1], 1e-6);
      });
    }
  }
});

Deno.test("EXACT.md: p-values of results", () => {
  for (const { masses, results } of vectors.surprises) {
    const probabilities = new Float64Array(NUM_CODES).fill(1e-6 / NUM_CODES);
    for (const [code, mass] of masses) probabilities[indexOfCode(code)] += (1 - 1e-6) * mass;
    for (const [pFailed, code, u, p] of results) {
      const found = code === null
        ? pValueOfNoReply(pFailed, 1 - u)
        : pValueOfReply(code, new RttDistribution(pFailed, probabilities, 1), 1 - u);
      assertAlmostEquals(found, p, 1e-6 * p);
    }
  }
});

/** The golden model from PyTorch that is asked the questions. */
function goldenModel(): { config: ModelConfig; weights: Map<string, TensorArray> } {
  const folder = new URL("../golden/pytorch/", import.meta.url);
  const { tensors, metadata } = readSafetensors(fromFileUrl(new URL("rows.safetensors", folder)));
  const { learnedRows } = JSON.parse(Deno.readTextFileSync(new URL("batches.json", folder)));
  const weights = tensorsOfLists(learnedRows.weights);
  for (const [name, values] of tensors) {
    if (name.startsWith("weights.")) weights.set(name.slice("weights.".length), values);
  }
  return { config: parseModelConfig(JSON.parse(metadata.model)), weights };
}

/** The prompt of a question, with the address embeddings of its tokens, (tokens, ROWS_PER_TOKEN). */
function read(rows: AddressEmbeddings, query: RttQuery) {
  const prompt = Uint16Array.of(...encodeQuery(query, rows.config.sequenceLength), RTT_START);
  const ofTokens = new Uint32Array((prompt.length + 1) * ROWS_PER_TOKEN);
  const cursor = new EmbeddingCursor(rows);
  [...prompt, BYTE_BASE + 48].forEach((token, i) => cursor.read(token, ofTokens, i * ROWS_PER_TOKEN));
  return { prompt, ofTokens };
}

/** Next-token probabilities at the last two tokens of a prompt, in float64. */
function lastTwo(model: ReturnType<typeof goldenModel>, { prompt, ofTokens }: ReturnType<typeof read>) {
  const config = { ...model.config, sequenceLength: prompt.length };
  const weights = new Map([...model.weights].map(([name, values]) => [name, Float64Array.from(values)]));
  const zeros = new Uint8Array(prompt.length);
  const batch = {
    tokens: prompt,
    targets: zeros,
    lossMask: zeros,
    segmentStart: zeros,
    embeddingRows: ofTokens,
  };
  const { logits } = referenceForward(config, weights, batch);
  const V = modelShapes(config).vocabSize;
  const probabilities = Array.from(logProbabilities(logitsProblem(config), logits), Math.exp);
  return [2, 1].map((fromEnd) => probabilities.slice(-fromEnd * V).slice(0, V));
}

const close = (actual: number, expected: number, relative: number) =>
  assertAlmostEquals(actual, expected, relative * Math.abs(expected));

Deno.test("EXACT.md: tokens, rows and probabilities of questions, in float64", () => {
  const model = goldenModel();
  const rows = new AddressEmbeddings(model.config);
  rows.load(model.weights);
  for (const { question, prompt, known, probabilities, ...vector } of vectors.questions) {
    const found = read(rows, parseAddressQuestion(question));
    assertEquals([...found.prompt], prompt);
    const rowsAt = (place: number) =>
      [...found.ofTokens.subarray(place * ROWS_PER_TOKEN, (place + 1) * ROWS_PER_TOKEN)]
        .filter((row) => row !== NO_ROW);
    assertEquals(rowsAt(prompt.length - 1), vector.rowsAtRttStart);
    assertEquals(rowsAt(prompt.length), vector.rowsAtByte48);
    if ("rttMs" in known) {
      const [a, b] = [question.src, question.dst].map((address) => rows.nodeOf(addressBytes(address)));
      const estimate = rows.coordinates?.estimate(a, b);
      assert(estimate);
      close(estimate.rttMs, Number(known.rttMs), 1e-6);
      close(estimate.error, Number(known.error), 1e-6);
      assertEquals(estimate.isOfBoth, known.isOfBoth);
    }
    const [outcome, first] = lastTwo(model, found);
    close(outcome[FAILED], probabilities.Failed, 1e-6);
    close(outcome[RTT_START], probabilities.RttStart, 1e-6);
    close(first[BYTE_BASE], probabilities.byte0, 1e-6);
    close(first[BYTE_BASE + 48], probabilities.byte48, 1e-6);
  }
});

Deno.test("EXACT.md: answers to questions", async () => {
  const { config, weights } = goldenModel();
  using gpu = await Gpu.open();
  const model = PingModel.of(config, new KernelRegistry(gpu), { weights });
  const answers = await model.rttDistributions(
    vectors.questions.map(({ question }) => parseAddressQuestion(question)),
  );
  answers.forEach((answer, i) => {
    const { pFailed, cdfAt50Ms, quantilesMs, canonicalMass } = vectors.questions[i];
    close(answer.pFailed, pFailed, 1e-5);
    close(answer.cdf(50), cdfAt50Ms, 1e-5);
    close(answer.canonicalMass, canonicalMass, 1e-5);
    // The next code is at most 0.1 % away.
    for (const [q, rttMs] of Object.entries<number>(quantilesMs)) {
      close(answer.quantileMs(Number(q)), rttMs, 1e-3);
    }
  });
});
