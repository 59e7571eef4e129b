import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../../lib/base/errors.ts";
import { formatAddress, parseAddress } from "../../../lib/data/addresses/ip.ts";
import { formatPrefix, parsePrefix, prefixContains } from "../../../lib/data/addresses/ip_prefix.ts";
import { PlaceIndex } from "../../../lib/data/addresses/place_index.ts";
import { addressNumber, countryCode, PlaceTable } from "../../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";
import { readMeasurementFiles } from "../../../lib/query/files/measurement_files.ts";
import { loadModel } from "../../../lib/query/files/load_model.ts";
import { drawAddresses, rttBetweenPrefixes } from "../../../lib/query/rtt/prefix_query.ts";
import { parseEnds } from "../../../lib/query/rtt/rtt_question.ts";
import { PingService } from "../../../lib/serve/api/ping_service.ts";
import type { ModelInfo } from "../../../lib/serve/api/schemas.ts";
import { DEMO_CAMPAIGN } from "../../../tasks/stages.ts";
import { runStageProcess } from "../../cli/process.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";
import { withTinyModel } from "../tiny_model.ts";

const pathOf = (name: string) => new URL(`../../../${name}`, import.meta.url).pathname;
const FILES = DEMO_CAMPAIGN.places.map(pathOf);
const TABLE = PlaceTable.of(await openPlaces(FILES));
const INDEX = new PlaceIndex(TABLE);
const ends = (src: string, dst: string) => parseEnds(src, dst, INDEX);

Deno.test("the places of the campaign have all its public addresses, by names", async () => {
  const { measurements } = await readMeasurementFiles([pathOf(DEMO_CAMPAIGN.measurements)], {
    most: 1_000_000,
    isWanted: () => true,
  });
  const addresses = new Map(
    measurements.flatMap(({ source, destination }) => [source, destination]).map((each) => [
      formatAddress(each),
      each,
    ]),
  );
  const known = [...addresses.values()].map((address) => INDEX.describe(address));
  assertEquals(known.length, 774);
  assert(known.every(({ countryCode, city }) => countryCode && city));
  assert(known.filter(({ asName }) => asName).length > 760);
});

Deno.test("a source and a destination may be places, of the IP version of the other end", () => {
  const { source, destination, notes } = ends("Frankfurt am Main, DE", "8.8.8.0/24");
  assertEquals(source.mixture?.name, "Frankfurt am Main, DE");
  assertEquals([source.bytes.length, formatPrefix(destination)], [4, "8.8.8.0/24"]);
  assertStringIncludes(notes[0], "Frankfurt am Main, DE: a mixture over prefixes of its");
  assertThrows(() => ends("2001:db8::1", "DE"), UserError, "which has no IPv6 prefixes");
  assertEquals(ends("DE", "FR").source.bytes.length, 4);
  // One prefix is asked for as that prefix.
  const one = ends("AS59441", "8.8.8.8");
  assertEquals(one.source.mixture, undefined, JSON.stringify(INDEX.prefixes({ asNumber: 59441 }, 9, 4)));
});

Deno.test("what is no place is refused in one line, which lists what it may be", () => {
  const messageOf = (src: string, places?: PlaceIndex) =>
    assertThrows(() => parseEnds(src, "8.8.8.8", places), UserError).message;
  assertStringIncludes(messageOf("Frankfrut am Main, DE", INDEX), "similar: Frankfurt am Main, DE");
  assertStringIncludes(messageOf("Berlin, DE"), "the model has no places to ask for by name");
  assertStringIncludes(messageOf("10.0.0.0/33", INDEX), "found length 33");
});

Deno.test("a mixture draws from its prefixes by their shares, and the same each time", () =>
  withTinyModel(async (model) => {
    const { source, destination } = ends("DE", "NL");
    const query = { source, destination, timeS: null, context: [] };
    const { pairs, sourceProbability, destinationProbability } = await drawAddresses(model, query, {
      numDraws: 40,
      seed: 1,
    });
    assertEquals([sourceProbability, destinationProbability], [null, null]);
    const countryOf = (address: Uint8Array) => countryCode(TABLE.locate(addressNumber(address), 4).country);
    assert(
      pairs.every(({ source, destination }) => countryOf(source) === "DE" && countryOf(destination) === "NL"),
    );
    for (const { prefix, share } of source.mixture?.take(40) ?? []) {
      const drawn = pairs.filter(({ source }) => prefixContains(prefix, source));
      assertAlmostEquals(drawn.reduce((sum, { count }) => sum + count, 0), 40 * share, 1);
    }
    const [a, b] = [await rttBetweenPrefixes(model, query), await rttBetweenPrefixes(model, query)];
    assertEquals(a.mixture.distribution.probabilities, b.mixture.distribution.probabilities);
  }));

Deno.test("a mixture of one prefix answers as that prefix does, and one of equal halves as their mean", () =>
  withTinyModel(async (model) => {
    const [first, second] = ["192.0.2.0/24", "198.51.100.0/24"].map(parsePrefix);
    const destination = parsePrefix("203.0.113.5");
    const mixtureOf = (...prefixes: typeof first[]) => ({
      bytes: new Uint8Array(4),
      length: 0,
      mixture: {
        name: "a place",
        numNetworks: prefixes.length,
        take: () => prefixes.map((prefix) => ({ prefix, share: 1 / prefixes.length })),
      },
    });
    const ask = async (source: typeof first, numDraws: number) =>
      (await rttBetweenPrefixes(model, { source, destination, timeS: null, context: [] }, { numDraws }))
        .mixture
        .distribution;
    const [alone, asPlace] = [await ask(first, 16), await ask(mixtureOf(first), 16)];
    alone.probabilities.forEach((p, i) => assertAlmostEquals(asPlace.probabilities[i], p, 1e-6));
    const [both, other] = [await ask(mixtureOf(first, second), 2000), await ask(second, 1000)];
    const [a, b] = [await ask(first, 1000), other];
    assertAlmostEquals(both.pFailed, (a.pFailed + b.pFailed) / 2, 0.02);
  }));

Deno.test("query rtt, nearest and matrix take places, and say what the mixture is over", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const asked = ["--checkpoint", checkpoint, "--draws", "8"];
    const rtt = ["query", "rtt", ...asked, "--src", "Frankfurt am Main, DE", "--dst", "8.8.8.8"];
    const { code, stdout, stderr } = await runStageProcess([...rtt, "--json"]);
    assertEquals(code, 0, stderr);
    const answer = JSON.parse(stdout);
    assertEquals([answer.src, answer.drawn.numDraws, answer.drawn.sourceProbability], [
      "Frankfurt am Main, DE",
      8,
      null,
    ]);
    assertEquals(answer.basis.places.src, "Frankfurt am Main, DE");
    assertStringIncludes(answer.notes[0], "a mixture over prefixes of its");
    const text = await runStageProcess(rtt);
    assertStringIncludes(text.stdout, "RTT Frankfurt am Main, DE -> 8.8.8.8");
    assertStringIncludes(text.stderr, "a mixture over prefixes of its");
    const wrong = await runStageProcess([
      ...rtt.slice(0, -4),
      "--src",
      "Frankfrut am Main",
      "--dst",
      "8.8.8.8",
    ]);
    assertEquals([wrong.code, wrong.stderr.trim().split("\n").length], [2, 1], wrong.stderr);
    assertStringIncludes(wrong.stderr, "similar: Frankfurt am Main, DE");
    const list = join(folder, "list.txt");
    Deno.writeTextFileSync(list, "Amsterdam, NL\nDE\n8.8.8.8\n");
    const near = await runStageProcess(
      ["query", "nearest", ...asked, "--src", "FR", "--candidates", list, "--json"],
    );
    assertEquals(near.code, 0, near.stderr);
    const { nearest } = JSON.parse(near.stdout) as { nearest: { candidate: string }[] };
    assertEquals(nearest.map(({ candidate }) => candidate).sort(), ["8.8.8.8", "Amsterdam, NL", "DE"]);
    const output = join(folder, "m.csv");
    const matrix = await runStageProcess(["query", "matrix", ...asked, "--nodes", list, "--output", output]);
    assertEquals(matrix.code, 0, matrix.stderr);
    assertStringIncludes(Deno.readTextFileSync(output), '"Amsterdam, NL",8.8.8.8,');
  }, { places: TABLE }));

Deno.test("--geo at a question overrides what the checkpoint knows", () =>
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
    assertThrows(() => parseEnds("DE", "8.8.8.8", after.places), UserError, "does not have");
  }, { places: TABLE }));

Deno.test("--geo needs a model that was trained with places", () =>
  withCheckpoint(async (_, checkpoint) => {
    const args = ["query", "rtt", "--checkpoint", checkpoint, "--src", "8.8.8.8", "--dst", "8.8.4.4"];
    const { code, stderr } = await runStageProcess([...args, "--geo", FILES[0]]);
    assertEquals([code, stderr.trim().split("\n").length], [1, 1], stderr);
    assertStringIncludes(stderr, "expected one that was trained with --geo");
  }));

Deno.test("the API takes places as the commands do", () =>
  withCheckpoint(async (_, checkpoint) => {
    using model = await loadModel(checkpoint);
    const service = new PingService(model, { info: {} as ModelInfo });
    const answer = await service.rtt({ src_addr: "AS24940@DE", dst_addr: "Amsterdam, NL", draws: 8 });
    assertEquals(answer.src_addr, "AS24940@DE");
    assertStringIncludes(answer.notes?.join() ?? "", "in Germany");
    const { nearest } = await service.nearest({ src_addr: "DE", candidates: ["NL", "8.8.8.8"], draws: 8 });
    assertEquals(nearest.length, 2);
    const [bad] = await service.rttBatch([{ src_addr: "Amsterdma, NL", dst_addr: "8.8.8.8" }]);
    assert("error" in bad);
    assertStringIncludes(bad.error, "Amsterdam, NL");
  }, { places: TABLE }));
