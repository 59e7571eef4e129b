import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { join } from "@std/path";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { UserError } from "../../../lib/base/errors.ts";
import { formatAddress, parseAddress } from "../../../lib/data/addresses/ip.ts";
import {
  formatPrefix,
  type IpPrefix,
  parsePrefix,
  prefixContains,
} from "../../../lib/data/addresses/ip_prefix.ts";
import { PlaceIndex } from "../../../lib/data/addresses/place_index.ts";
import { addressNumber, countryCode, PlaceTable } from "../../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";
import { FAILED_RTT_MS } from "../../../lib/data/formats/batch.ts";
import { AddressEmbeddings } from "../../../lib/model/address_embeddings.ts";
import { EMBEDDING_VALUES } from "../../../lib/model/embedding_update.ts";
import { modelShapes } from "../../../lib/model/model_config.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import { scoreResults } from "../../../lib/query/score/score_results.ts";
import { TestServer } from "../../serve/test_server.ts";
import { withRowCheckpoint } from "../adapt/row_checkpoint.ts";
import { tinyRowModel } from "../adapt/tiny_rows.ts";
import { writeParquet } from "../score/sample_rows.ts";
import { decodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import {
  rankDestinations,
  rankDestinationsFrom,
} from "../../../lib/query/destinations/destination_ranking.ts";
import { sampleMeasurements } from "../../../lib/query/score/sample.ts";
import { readMeasurementFiles } from "../../../lib/query/files/measurement_files.ts";
import { loadModel } from "../../../lib/query/files/load_model.ts";
import { drawAddresses, rttBetweenPrefixes } from "../../../lib/query/rtt/prefix_query.ts";
import { parseEnds, parseWithin } from "../../../lib/query/rtt/rtt_question.ts";
import { DEMO_CAMPAIGN } from "../../../tasks/demo.command.ts";
import { refused, runStageProcess, succeed } from "../../cli/process.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";
import { withTinyModel } from "../tiny_model.ts";

const pathOf = (name: string) => new URL(`../../../${name}`, import.meta.url).pathname;
const FILES = DEMO_CAMPAIGN.places.map(pathOf);
const TABLE = PlaceTable.of(await openPlaces(FILES));
const INDEX = new PlaceIndex(TABLE);
const ends = (src: string, dst: string) => parseEnds(src, dst, INDEX);

Deno.test("sources and destinations may be places, with the IP version of the other end", () => {
  const { source, destination, notes } = ends("Tehran, IR", "8.8.8.0/24");
  assertEquals(source.mixture?.name, "Tehran, IR");
  assertEquals([source.bytes.length, formatPrefix(destination)], [4, "8.8.8.0/24"]);
  assertStringIncludes(notes[0], "Tehran, IR: a mixture over prefixes of its");
  assertThrows(() => ends("2001:db8::1", "IR"), UserError, "has no IPv6 prefixes in");
  assertEquals(ends("IR", "TR").source.bytes.length, 4);
  // A place with a single prefix is queried as that prefix.
  const one = ends("AS59441", "8.8.8.8");
  assertEquals(one.source.mixture, undefined, JSON.stringify(INDEX.prefixes({ asNumber: 59441 }, 9, 4)));
});

Deno.test("unknown places and invalid prefixes are rejected, with similar names", () => {
  const messageOf = (src: string, places?: PlaceIndex) =>
    assertThrows(() => parseEnds(src, "8.8.8.8", places), UserError).message;
  assertStringIncludes(messageOf("Tehrna, IR", INDEX), "similar: Tehran, IR");
  assertStringIncludes(messageOf("Berlin, DE"), "the model does not know places by name");
  assertStringIncludes(messageOf("10.0.0.0/33", INDEX), "its length is 33");
  assertThrows(() => parseWithin("Atlantis", INDEX), UserError, "found within ");
});

Deno.test("a mixture draws from its prefixes by their shares, and reproducibly", () =>
  withTinyModel(async (model) => {
    const { source, destination } = ends("IR", "OM");
    const query = { source, destination, timeS: null, context: [] };
    const { pairs, sourceProbability, destinationProbability } = await drawAddresses(model, query, {
      numDraws: 40,
      seed: 1,
    });
    assertEquals([sourceProbability, destinationProbability], [null, null]);
    const countryOf = (address: Uint8Array) => countryCode(TABLE.locate(addressNumber(address), 4).country);
    assert(
      pairs.every(({ source, destination }) => countryOf(source) === "IR" && countryOf(destination) === "OM"),
    );
    for (const { prefix, share } of source.mixture?.take(40) ?? []) {
      const drawn = pairs.filter(({ source }) => prefixContains(prefix, source));
      assertAlmostEquals(drawn.reduce((sum, { count }) => sum + count, 0), 40 * share, 1);
    }
    const [a, b] = [await rttBetweenPrefixes(model, query), await rttBetweenPrefixes(model, query)];
    assertEquals(a.mixture.distribution.probabilities, b.mixture.distribution.probabilities);
  }));

/** Combines prefixes into one source. */
function mixtureOf(...prefixes: IpPrefix[]): IpPrefix {
  const take = () => prefixes.map((prefix) => ({ prefix, share: 1 / prefixes.length }));
  return {
    bytes: new Uint8Array(4),
    length: 0,
    mixture: { name: "a place", numNetworks: prefixes.length, has: () => false, take },
  };
}

Deno.test("samples of a place lie in it, and their RTTs follow the mixture of query rtt", () =>
  withTinyModel(async (model) => {
    const { source, destination } = ends("IR", "OM");
    const timeS = 1_700_000_000;
    const options = { count: 2000, seed: 1 };
    const samples = await Array.fromAsync(
      sampleMeasurements(model, { source, destination, timeS, context: [] }, options),
    );
    const countryOf = (address: Uint8Array) => countryCode(TABLE.locate(addressNumber(address), 4).country);
    assert(
      samples.every(({ source, destination }) =>
        countryOf(source) === "IR" && countryOf(destination) === "OM"
      ),
    );
    assert(samples.every((sample) => sample.timeS === timeS));
    for (const { prefix, share } of source.mixture?.take(1024) ?? []) {
      const count = samples.filter(({ source }) => prefixContains(prefix, source)).length;
      assertAlmostEquals(count / 2000, share, 4 * Math.sqrt(share / 2000) + 1e-9);
    }
    const { mixture } = await rttBetweenPrefixes(
      model,
      { source, destination, timeS, context: [] },
      { numDraws: 512 },
    );
    const errorOf = (share: number, error: number) =>
      4 * Math.hypot(Math.sqrt(share * (1 - share) / 2000), error);
    const { pFailed } = mixture.distribution;
    const replies = samples.flatMap(({ rttCode }) => rttCode === null ? [] : [decodeRttCode(rttCode)]);
    assertAlmostEquals(1 - replies.length / 2000, pFailed, errorOf(pFailed, mixture.pFailedError));
    for (const ms of [0.05, 0.5, 0.95].map((q) => mixture.distribution.quantileMs(q))) {
      const share = replies.filter((each) => each <= ms).length / replies.length;
      assertAlmostEquals(share, mixture.distribution.cdf(ms), errorOf(share, mixture.cdfError(ms)));
    }
    const known = parsePrefix("8.8.8.8");
    const free = await Array.fromAsync(
      sampleMeasurements(model, { source, timeS: null, context: [] }, { count: 50, seed: 2 }),
    );
    assert(free.every(({ source }) => countryOf(source) === "IR"));
    const [one] = await Array.fromAsync(
      sampleMeasurements(model, { source: known, destination, timeS: null, context: [] }, {
        count: 1,
        seed: 2,
      }),
    );
    assertEquals([formatAddress(one.source), countryOf(one.destination)], ["8.8.8.8", "OM"]);
  }, 3));

Deno.test("destinations from a place average its sources' weights, and those within a prefix are renormalised", () =>
  withTinyModel(async (model) => {
    const addresses = ["192.0.2.1", "198.51.100.7"].map(parsePrefix);
    const asked = { rttMs: [10, 2000] as const, timeS: null, context: [] };
    const options = { numCandidates: 8, maxExpansions: 128, top: 1000 };
    const together = await rankDestinationsFrom(
      model,
      { ...asked, source: mixtureOf(...addresses) },
      options,
    );
    const alone = await Promise.all(
      addresses.map((source) => rankDestinationsFrom(model, { ...asked, source }, options)),
    );
    const [ranked] = await rankDestinations(model, [{ ...asked, source: addresses[0].bytes }], options);
    assertEquals(alone[0], ranked);
    assertAlmostEquals(together.priorMass, (alone[0].priorMass + alone[1].priorMass) / 2, 1e-6);
    const names = (answer: typeof ranked) => answer.destinations.map(({ prefix }) => formatPrefix(prefix));
    assertEquals(new Set(names(together)), new Set(alone.flatMap(names)));
    const sum = together.destinations.reduce((sum, { probability }) => sum + probability, 0);
    assertAlmostEquals(sum, 1, 1e-9);
    const half = parsePrefix("0.0.0.0/1");
    const isWithin = parseWithin("0.0.0.0/1", undefined);
    const within = await rankDestinationsFrom(model, { ...asked, source: addresses[0] }, {
      ...options,
      isWithin,
    });
    assert(within.destinations.every(({ prefix }) => prefixContains(half, prefix.bytes)));
    const shareOf = new Map(
      ranked.destinations.map(({ prefix, probability }) => [formatPrefix(prefix), probability]),
    );
    const [first, second] = within.destinations;
    const ratio = (shareOf.get(formatPrefix(first.prefix)) ?? NaN) /
      (shareOf.get(formatPrefix(second.prefix)) ?? NaN);
    assertAlmostEquals(first.probability / second.probability / ratio, 1, 1e-6);
    await assertRejects(
      () =>
        rankDestinationsFrom(model, { ...asked, source: addresses[0] }, {
          ...options,
          isWithin: () => false,
        }),
      UserError,
      "no candidate is within",
    );
  }));

Deno.test("query rtt, nearest and matrix accept places and report what the mixture covers", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const asked = ["--checkpoint", checkpoint, "--draws", "8"];
    const rtt = ["query", "rtt", ...asked, "--src", "Tehran, IR", "--dst", "8.8.8.8"];
    const { stdout } = await succeed(...rtt, "--json");
    const answer = JSON.parse(stdout);
    assertEquals([answer.src, answer.drawn.num_draws, answer.drawn.source_probability], [
      "Tehran, IR",
      8,
      null,
    ]);
    assertEquals(answer.basis.places.src, "Tehran, IR");
    assertStringIncludes(answer.notes[0], "a mixture over prefixes of its");
    const text = await runStageProcess(rtt);
    assertStringIncludes(text.stdout, "RTT Tehran, IR -> 8.8.8.8");
    assertStringIncludes(text.stderr, "a mixture over prefixes of its");
    const wrong = [...rtt.slice(0, -4), "--src", "Tehrna", "--dst", "8.8.8.8"];
    await refused(runStageProcess(wrong), 2, "similar: Tehran, IR");
    const list = join(folder, "list.txt");
    Deno.writeTextFileSync(list, "Muscat, OM\nIR\n8.8.8.8\n");
    const near = await succeed("query", "nearest", ...asked, "--src", "TR", "--candidates", list, "--json");
    const { nearest } = JSON.parse(near.stdout) as { nearest: { candidate: string }[] };
    assertEquals(nearest.map(({ candidate }) => candidate).sort(), ["8.8.8.8", "IR", "Muscat, OM"]);
    const output = join(folder, "m.csv");
    await succeed("query", "matrix", ...asked, "--nodes", list, "--output", output);
    assertStringIncludes(Deno.readTextFileSync(output), '"Muscat, OM",8.8.8.8,');
    const destinations = [
      "query",
      "destinations",
      "--checkpoint",
      checkpoint,
      "--src",
      "IR",
      "--rtt",
      "1..1000",
    ];
    const fast = ["--candidates", "8", "--max-expansions", "64", "--draws", "2"];
    const ranked = await succeed(...destinations, ...fast, "--within", "0.0.0.0/1", "--json");
    const found = JSON.parse(ranked.stdout).destinations as { prefix: string; measured: unknown }[];
    assert(found.length > 0 && found.every(({ prefix }) => Number(prefix.split(".")[0]) < 128));
    assertEquals(found[0].measured, null);
  }, { places: TABLE }));

Deno.test("--geo needs a model trained with places", () =>
  withCheckpoint(async (_, checkpoint) => {
    const loaded = loadModel(checkpoint, { geo: [FILES[0]] });
    await assertRejects(() => loaded, UserError, "use one that was trained with --geo");
  }));

Deno.test("--geo in a query overrides the checkpoint's places", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const own = join(folder, "own.csv");
    Deno.writeTextFileSync(
      own,
      "8.8.8.0,8.8.8.255,CH,Zurich,,Zurich,,47.4,8.5,\n1.1.1.0,1.1.2.255,CH,Zurich,,Zurich,,47.4,8.5,\n",
    );
    using before = await loadModel(checkpoint);
    using after = await loadModel(checkpoint, { geo: [own] });
    const [address] = [parseAddress("8.8.8.8")];
    assert(address && before.places && after.places);
    assertEquals(before.places.describe(address).city === "Zurich", false);
    assertEquals(after.places.describe(address).city, "Zurich");
    const basis = after.basisOf(parseEnds("8.8.8.8", "Zurich, CH", after.places));
    assertEquals(basis.places, { src: "Zurich, CH", dst: "Zurich, CH" });
    assertThrows(() => parseEnds("IR", "8.8.8.8", after.places), UserError, "does not contain");
  }, { places: TABLE }));

/** A model whose embeddings know the places of some of the campaign's addresses. */
function placedModel(pairs: readonly (readonly [Uint8Array, Uint8Array])[]): ReturnType<typeof tinyRowModel> {
  const { config, weights } = tinyRowModel(512, TABLE.encode());
  const rows = new AddressEmbeddings(config);
  rows.load(weights);
  for (const [source, destination] of pairs) rows.claim(source, destination);
  rows.save(weights);
  const random = new RandomStream(5, "test/places");
  const values = new Float32Array(modelShapes(config).numAddressEmbeddings * config.width);
  weights.set(EMBEDDING_VALUES, values.map(() => random.normal()));
  return { config, weights };
}

Deno.test("score, serve and adapt --merge use the places of --geo", async () => {
  const { measurements } = await readMeasurementFiles([pathOf(DEMO_CAMPAIGN.measurements)], {
    most: 40,
    isWanted: () => true,
  });
  const asked = measurements.filter(({ source }) => source.length === 4).slice(0, 12);
  // Known addresses in new pairs, for which places matter.
  const pairs = asked.map(({ source }, i) => [source, measurements[20 + i].source] as const);
  await withRowCheckpoint(async (at) => {
    // The real files, followed by a row that moves the first source to the other side of the world.
    const [{ source: moved }] = asked;
    const block = formatAddress(moved).replace(/\d+$/, "");
    Deno.writeTextFileSync(at("moved.csv"), `${block}0,${block}255,NZ,,,Auckland,,-36.85,174.76,\n`);
    const geo = [...FILES, at("moved.csv")];
    using model = await loadModel(at("run"), { geo });
    using before = await loadModel(at("run"));
    const cityOf = (of: PingModel) => of.places?.describe(moved).city;
    assertEquals([cityOf(model), cityOf(before) === "Auckland"], ["Auckland", false]);

    const rttsMs = asked.map(({ rttCode }) => rttCode === null ? FAILED_RTT_MS : decodeRttCode(rttCode));
    writeParquet(at("in.parquet"), {
      numRows: asked.length,
      eventTimeUs: Float64Array.from(asked, (_, i) => 1.7e15 + 1e6 * i),
      srcAddr: asked.map(({ source }) => formatAddress(source)),
      dstAddr: asked.map(({ destination }) => formatAddress(destination)),
      ipVersion: Uint8Array.from(asked, () => 4),
      rttMs: Float64Array.from(rttsMs),
      msmId: Float64Array.from(asked, (_, i) => i),
    });
    const score = ["score", "--checkpoint", at("run"), "--input", at("in.parquet"), "--context", "0"];
    await succeed(...score, "--output", at("out.parquet"), "--geo", ...geo);
    const file = Deno.readFileSync(at("out.parquet")).buffer;
    const scored = await parquetReadObjects({ file, compressors });
    const cases = asked.map((each, number) => ({
      measurement: { ...each, timeS: 1_700_000_000 + number },
      context: [],
      number,
    }));
    const { scores } = await scoreResults(model, cases, { seed: 0 });
    const own = await scoreResults(before, cases, { seed: 0 });
    const distances = scores.map(({ logLikelihood }, i) => {
      assertAlmostEquals(Number(scored[i].log_likelihood), logLikelihood, 1e-3);
      return Math.abs(logLikelihood - own.scores[i].logLikelihood);
    });
    assert(distances[0] > 1e-3, `${distances}`);

    await using server = await TestServer.start(at("run"), "--geo", ...geo);
    const ends = { src: formatAddress(moved), dst: formatAddress(asked[0].destination) };
    const answer = await (await server.post("/v1/rtt", ends)).json();
    const rtt = await model.rttDistribution({ src: ends.src, dst: ends.dst });
    assertAlmostEquals(answer.p_failed, rtt.pFailed, 1e-6);
    assertEquals(answer.quantiles_ms[0.5], rtt.quantileMs(0.5));
    assertStringIncludes(answer.basis.places.src, "Auckland, NZ");

    const adapt = [
      ...["adapt", "--checkpoint", at("run"), "--input", at("in.parquet"), "--steps", "1", "--geo"],
      ...geo,
    ];
    await succeed(...adapt, "--output", at("adapted"), "--merge");
    using adapted = await loadModel(at("adapted"));
    assertEquals(cityOf(adapted), "Auckland");
    await refused(runStageProcess([...adapt, "--output", at("parts")]), 2, "add --merge");
  }, placedModel(pairs));
});
