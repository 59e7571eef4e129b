import { formatAddress } from "../../../lib/data/addresses/ip.ts";
import { AddressNames } from "../../../lib/data/addresses/address_names.ts";
import { formatPrefix, parsePrefix } from "../../../lib/data/addresses/ip_prefix.ts";
import { AddressCounts, basisJson } from "../../../lib/data/addresses/known_addresses.ts";
import { assert, assertAlmostEquals, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { problemOf } from "../../../lib/serve/api/api_error.ts";
import { PingService } from "../../../lib/serve/api/ping_service.ts";
import { type AnswerOf, QUESTIONS } from "../../../lib/query/questions/questions.ts";
import { summaryOf } from "../../../lib/query/questions/rtt.ts";
import { rankDestinations } from "../../../lib/query/destinations/destination_ranking.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { rttBetweenPrefixes } from "../../../lib/query/rtt/prefix_query.ts";
import { parseAddressQuestion, parseQuestion } from "../../../lib/query/rtt/rtt_question.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";
import { RttMaps } from "../../../lib/query/rtt/rtt_map.ts";
import { knownData, measured, tinyPlacedModel } from "../../query/adapt/tiny_rows.ts";
import { withTinyModel } from "../../query/tiny_model.ts";
import { INFO, questionOf, streamOf, withService } from "./tiny_service.ts";

const CONTEXT = [
  { src: "192.0.2.1", dst: "198.51.100.9", time: 1_699_999_000, rtt: 12.5 },
  { src: "192.0.2.1", dst: "198.51.100.7", time: 1_699_999_900, rtt: null },
];
const QUESTION = { src: "192.0.2.1", dst: "198.51.100.7", time: "2023-11-14T22:13:20Z", context: CONTEXT };
Deno.test("rtt() returns the numbers of rttDistribution() and a grid of its distribution function", () =>
  withService(async (service, model) => {
    const expected = await model.rttDistribution(QUESTION);
    const quantiles = [0, 0.1, 0.5, 1];
    const asked = { ...QUESTION, quantiles, at: [12.5, 0, 1e300], cdf: 17 };
    const answer = await service.rtt(asked);
    const summary = summaryOf(await rttBetweenPrefixes(model, QUESTION), { quantiles, at: asked.at });
    assertEquals(QUESTIONS.rtt.answer.parse(answer), answer);
    const { cdf, ...numbers } = answer;
    assertEquals(numbers, {
      src: "192.0.2.1",
      dst: "198.51.100.7",
      time: 1_700_000_000,
      context_measurements: 2,
      ...summary,
      basis: basisJson(model.basisOf(parseQuestion(QUESTION))),
      ...(answer.notes && { notes: answer.notes }),
      step: 0,
    });
    assert(cdf && cdf.length === 17);
    assertAlmostEquals(cdf[0].rtt_ms, expected.quantileMs(0.001), 1e-9);
    assertAlmostEquals(cdf[16].rtt_ms / expected.quantileMs(0.999), 1, 1e-12);
    const ratio = cdf[1].rtt_ms / cdf[0].rtt_ms;
    cdf.forEach(({ rtt_ms, cdf: mass }, i) => {
      assertEquals(mass, expected.cdf(rtt_ms));
      if (i > 0) assertAlmostEquals(rtt_ms / cdf[i - 1].rtt_ms, ratio, 1e-9);
    });
    const { quantiles_ms } = await service.rtt(QUESTION);
    assertEquals(Object.keys(quantiles_ms).join(), "0.05,0.25,0.5,0.75,0.95");
  }));

Deno.test("lines() reads a bounded part of its lines ahead of the answers", () =>
  withService(async (service) => {
    let numPulled = 0;
    const questions = Array.from({ length: 400 }, (_, i) => JSON.stringify(questionOf(i)));
    const answers = service.lines("rtt", streamOf(questions, () => numPulled++));
    assertEquals(numPulled, 0);
    let numAnswered = 0;
    let mostAhead = 0;
    for await (const { line } of answers) {
      assertEquals(line, ++numAnswered);
      mostAhead = Math.max(mostAhead, numPulled - numAnswered);
      if (numAnswered === 200) break;
    }
    assert(mostAhead >= 60 && mostAhead <= 124, `${mostAhead} lines ahead`);
    const pulledAtEnd = numPulled;
    await service.rtt(questionOf(1));
    assertEquals(numPulled, pulledAtEnd, "more lines were pulled after the last answer was taken");
  }));

Deno.test("callers share batches, and a single question does not wait for another caller's lines", () => {
  const sizes: number[] = [];
  return withService(async (service) => {
    const events: string[] = [];
    const linesOf = (length: number) =>
      streamOf(Array.from({ length }, (_, i) => JSON.stringify(questionOf(i))));
    const drain = async (name: string, length: number) => {
      for await (const _ of service.lines("rtt", linesOf(length)));
      events.push(name);
    };
    const long = drain("long", 300);
    const short = ["a", "b", "c"].map((name) => drain(name, 3));
    const single = service.rtt(questionOf(3)).then(() => events.push("single"));
    await Promise.all([long, ...short, single]);
    assertEquals(events.at(-1), "long");
    assertEquals(sizes.reduce((a, b) => a + b, 0), 310);
    assert(sizes.length <= 7, `batches of ${sizes}`);
  }, { onBatch: (size) => sizes.push(size) });
});

Deno.test("destinations() reports how often the source measured each one in the training data", () =>
  withService(async (_, { config, registry, weights }) => {
    const asked = { src: "192.0.2.1", rtt: [12.5, 12.5] as [number, number], prefix_length: 1 };
    const counts = new AddressCounts();
    const [source, other, destination] = ["192.0.2.1", "192.0.2.2", "198.51.100.7"].map((text) =>
      counts.id(parsePrefix(text).bytes)
    );
    for (const timeS of [1_600_000_000, 1_600_000_010]) counts.add(source, destination, timeS);
    counts.add(other, source, 1_600_000_020);
    const summary = counts.summary({ origin: "a.parquet", isSynthetic: false });
    const trainingData = { summary, known: counts.table() };
    const model = PingModel.of(config, registry, { weights, trainingData });
    const answer = await new PingService(model, { info: INFO }).destinations(asked);
    assertEquals(QUESTIONS.destinations.answer.parse(answer), answer);
    const measured = Object.fromEntries(
      answer.destinations.map(({ prefix, measured }) => [prefix, measured]),
    );
    assertEquals(measured, {
      "0.0.0.0/1": { measurements: 0, in_adaptation: 0, last_seen: null },
      "128.0.0.0/1": { measurements: 2, in_adaptation: 0, last_seen: "2020-09-13T12:26:50.000Z" },
    });
  }));

Deno.test("destinations() returns the result of rankDestinations()", () =>
  withService(async (service, model) => {
    const query = { ...parseAddressQuestion(QUESTION), rttMs: [12.5, 12.5] as const };
    const { dst: _, ...source } = QUESTION;
    const asked = { ...source, rtt: [12.5, 12.5] as [number, number], top: 4, max_expansions: 200 };
    const answer = await service.destinations({ ...asked, prefix_length: 12, candidates: 30 });
    const options = { top: 4, maxExpansions: 200, prefixLength: 12, numCandidates: 30 };
    const [found] = await rankDestinations(model, [query], options);
    assertEquals(QUESTIONS.destinations.answer.strict().parse(answer), answer);
    assertEquals(answer, {
      src: "192.0.2.1",
      rtt: [12.5, 12.5],
      time: 1_700_000_000,
      prefix_length: 12,
      context_measurements: 2,
      destinations: found.destinations.map(({ prefix, probability }) => ({
        prefix: formatPrefix(prefix),
        probability,
        basis: "guess" as const,
        measured: { measurements: 0, in_adaptation: 0, last_seen: null },
      })),
      unlisted_probability: found.unlistedProbability,
      candidates: found.candidates,
      prior_mass: found.priorMass,
      step: 0,
    });
  }));

Deno.test("examples are frequently measured pairs, without those that lose most replies", () =>
  withService(async (_, { config, registry, weights }) => {
    const counts = new AddressCounts();
    const ids = [1, 2, 3, 4, 5, 6].map((i) => counts.id(parsePrefix(`192.0.2.${i}`).bytes));
    const measured = [[1, 2, 9], [1, 3, 8], [4, 5, 2], [3, 5, 3], [6, 1, 1], [2, 6, 1]];
    for (const [from, to, times] of measured) {
      for (let i = 0; i < times; i++) counts.add(ids[from - 1], ids[to - 1], 1.6e9 + i);
    }
    const known = counts.table();
    const pairs = known.mostMeasured(6).map(({ source, destination }) => ({
      src: formatAddress(source),
      dst: formatAddress(destination),
    }));
    const shorts = pairs.map(({ src, dst }) => `${src.at(-1)}${dst.at(-1)}`);
    assertEquals(shorts, ["12", "35", "13", "45", "26", "61"]);
    const summary = counts.summary({ origin: "a.parquet", isSynthetic: false });
    const model = PingModel.of(config, registry, { weights, trainingData: { summary, known } });
    const service = new PingService(model, { info: INFO });
    const { examples } = await service.model();
    const lossOf = async (pair: typeof pairs[number]) => (await service.rtt(pair)).p_failed;
    const losses = await Promise.all(pairs.map(lossOf));
    const least = losses.toSorted((a, b) => a - b).slice(0, 4);
    assert(least[0] > 0.1, "this model loses many");
    assertEquals(await Promise.all(examples.map(lossOf)), least);
  }));

Deno.test("an answer says what its RTTs mean if a reply is unlikely", () =>
  withTinyModel(async (model) => {
    const service = new PingService(model, { info: INFO });
    const answers = await service.rttBatch(Array.from({ length: 60 }, (_, i) => questionOf(i)));
    const said = answers.map((answer) =>
      "error" in answer ? answer.error : [
        answer.p_failed >= 0.9,
        answer.notes?.some((note) => note.startsWith("a reply is unlikely")) ?? false,
      ]
        .join()
    );
    assertEquals(new Set(said), new Set(["true,true", "false,false"]));
  }, 8));

Deno.test("long work stops at its signal, both waiting and running", () =>
  withService(async (service) => {
    const search = { src: "192.0.2.1", rtt: [1, 1000] as [number, number], top: 1000 };
    const running = new AbortController();
    const waiting = new AbortController();
    const first = service.destinations({ ...search, max_expansions: 2 ** 16 }, running.signal);
    const second = service.rtt({ src: "192.0.2.0/24", dst: "198.51.100.1" }, waiting.signal);
    const third = service.likelihood({ ...QUESTION, rtt: 1 });
    // Questions between addresses do not wait for the search.
    const answer: AnswerOf<"rtt"> = await service.rtt(questionOf(1));
    assertEquals([answer.dst, service.queueLength], ["198.51.100.1", 2]);
    waiting.abort();
    await assertRejects(() => second, DOMException);
    assertEquals(service.queueLength, 1);
    running.abort();
    await assertRejects(() => first, DOMException);
    assertEquals((await third).orders.length, 24);
    const ranking = { src: "192.0.2.1", rtt: [5, 5] as [number, number], candidates: 1024 };
    const ranked = new AbortController();
    setTimeout(() => ranked.abort());
    await assertRejects(
      () => service.destinations({ ...ranking, max_expansions: 2 ** 13 }, ranked.signal),
      DOMException,
    );
    await assertRejects(() => service.rtt(questionOf(1), AbortSignal.abort()), DOMException);
    const lines = service.lines("rtt", streamOf([JSON.stringify(questionOf(1))]), {}, AbortSignal.abort());
    await assertRejects(() => Array.fromAsync(lines), DOMException);
  }));

Deno.test("a caller beyond the queue's limit gets 429, and waiting callers are answered", () =>
  withService(async (service) => {
    const asked = [1, 2, 3].map((number) => service.rtt(questionOf(number)));
    const drawn = [1, 2, 3, 4].map((seed) =>
      service.rtt({ src: "192.0.2.1", dst: "198.51.100.0/24", draws: 2, seed })
    );
    const statusOf = (outcome: PromiseSettledResult<AnswerOf<"rtt">>) =>
      outcome.status === "fulfilled" ? 200 : problemOf(outcome.reason).status;
    const outcomes = await Promise.allSettled([...asked, ...drawn]);
    assertEquals(outcomes.map(statusOf), [200, 200, 429, 200, 200, 200, 429]);
    assertEquals(service.queueLength, 0);
  }, { maxQueue: 2 }));

async function problemFrom(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    const { status, detail } = problemOf(error);
    assertEquals(status, 400);
    return detail;
  }
  throw new Error("there was an answer");
}

Deno.test("map() returns a map part by part, and rejects a model without places", async () => {
  using gpu = await Gpu.open();
  const { config, weights } = await tinyPlacedModel();
  const model = PingModel.of(config, new KernelRegistry(gpu), { weights });
  const service = new PingService(model, { info: INFO });
  const maps = new RttMaps(model);
  const source = maps.source("192.0.2.1");
  const timeS = 1_700_000_000;
  const origin = await maps.origin(source, { timeS, context: [] });
  const whole = await Array.fromAsync(maps.rtts(maps.areas("cell", source), origin));
  const places = [];
  const asked = { src: "192.0.2.1", time: "2023-11-14T22:13:20Z", level: "cell" } as const;
  for (let first = 0; first < whole.length; first += 50) {
    const part = await service.map({ ...asked, first, count: 50 });
    assertEquals(QUESTIONS.map.answer.parse(part), part);
    assertEquals([part.first, part.total, part.time], [first, whole.length, 1_700_000_000]);
    places.push(...part.places);
  }
  assertEquals(
    places.map(({ country, name, median_ms }) => [country, name, median_ms]),
    whole.map(({ country, name, median_ms }) => [country, name, median_ms]),
  );
  const before = { src: "192.0.2.1", dst: "198.51.100.7", time: timeS - 60, rtt: 33 };
  const after = await service.map({ ...asked, context: [before], count: 20 });
  const context = [measured("192.0.2.1", "198.51.100.7", 33, timeS - 60)];
  const part = await Array.fromAsync(
    maps.rtts(maps.areas("cell", source).slice(0, 20), await maps.origin(source, { timeS, context })),
  );
  assertEquals(after.places.map(({ median_ms }) => median_ms), part.map(({ median_ms }) => median_ms));
  assertNotEquals(
    part.map(({ median_ms }) => median_ms),
    whole.slice(0, 20).map(({ median_ms }) => median_ms),
  );
  const countries = await service.map({ src: "192.0.2.1" } as never);
  assertEquals([countries.level, countries.places.length], ["country", countries.total]);
  for (
    const wrong of [{ ...asked, count: 513 }, { ...asked, level: "city" }, { ...asked, src: "Atlantis" }]
  ) {
    await problemFrom(service.map(wrong as typeof asked));
  }
  const ended = AbortSignal.abort(new Error("gone"));
  await assertRejects(() => service.map(asked, ended), Error, "gone");
  await withService(async (service) => {
    await assertRejects(() => service.map(asked), Error, "use one trained with --geo");
  });
});

Deno.test("places() completes addresses, their names, places and ASes", async () => {
  using gpu = await Gpu.open();
  const { config, weights } = await tinyPlacedModel();
  const names = new AddressNames();
  names.add(
    new TextEncoder().encode("192.0.2.1,probe 6001\n8.8.8.8,dns.google\n8.8.0.0/16,de-cix"),
    "names.csv",
  );
  const model = PingModel.of(config, new KernelRegistry(gpu), { weights, names, trainingData: knownData() });
  const service = new PingService(model, { info: INFO });
  const find = async (q: string, count = 8) => {
    const answer = await service.places({ q, count });
    assertEquals(QUESTIONS.places.answer.parse(answer), answer);
    assert(answer.places.length <= count);
    return answer.places;
  };
  const texts = async (q: string, count?: number) => (await find(q, count)).map(({ text }) => text);
  const asked = await service.rtt({ src: "Probe 6001", dst: "dns.google" });
  assertEquals([asked.src, asked.src_name, asked.dst], ["192.0.2.1", "probe 6001", "8.8.8.8"]);
  assertEquals(await texts("google"), ["8.8.8.8"]);
  assertEquals(await find("8.8.8.8"), [{ text: "8.8.8.8", name: "dns.google", position: null }]);
  assertEquals(await texts("192.0"), ["192.0.2.1", "192.0.2.9"]);
  assertEquals((await find("192.0.2.1"))[0].name, "probe 6001");
  assertEquals(await texts("192.0.2.1/32"), ["192.0.2.1"]);
  assertEquals(await texts("2001:DB8:0::1"), ["2001:db8::1"]);
  assertEquals((await texts("united")).includes("United States"), true);
  const [{ position, ...region }] = await find("jersey");
  assertEquals(region, { text: "New Jersey, US" });
  const degrees = [position?.latitude, position?.longitude].map((each) => Math.round(each ?? NaN));
  assertEquals(degrees, [41, -74]);
  assertEquals(await find("as1459"), [{ text: "AS14593", position: null }]);
  // If there are many places, names take at most half of the results.
  assertEquals((await texts("d", 2)).length, 2);
  assertEquals((await texts("d", 2))[0], "8.8.8.8");
  for (const { text } of await find("ch")) {
    await service.rtt({ src: "192.0.2.1", dst: text, draws: 2 });
  }
  for (const wrong of [{ q: "" }, { q: "x".repeat(121) }, { q: "x", count: 51 }, {}]) {
    await problemFrom(service.places(wrong as { q: string }));
  }
  await withService(async (service) => assertEquals((await service.places({ q: "Berlin" })).places, []));
});
