import { assertEquals, assertGreater } from "@std/assert";
import { FEW_ROWS } from "../../lib/query/model_decoders.ts";
import { rankDestinations } from "../../lib/query/destinations/destination_ranking.ts";
import { parseAddressQuestion } from "../../lib/query/rtt/rtt_question.ts";
import { withTinyModel } from "./tiny_model.ts";

const QUERY = parseAddressQuestion({ src: "192.0.2.1", dst: "198.51.100.7", time: 1_700_000_000 });

Deno.test("an RTT is answered while a search for destinations goes on, and neither changes the other", () =>
  withTinyModel(async (model) => {
    const search = { ...QUERY, rttMs: [10, 11] as const };
    const alone = {
      rtt: await model.rttDistribution(QUERY),
      destinations: await rankDestinations(model, [search], { maxExpansions: 256 }),
    };
    const events: string[] = [];
    let asked: ReturnType<typeof model.rttDistribution> | undefined;
    const destinations = await rankDestinations(model, [search], {
      maxExpansions: 256,
      onSearch: () => asked ??= model.rttDistribution(QUERY).finally(() => events.push("rtt")),
    });
    events.push("destinations");
    const rtt = await asked;
    assertEquals(events, ["rtt", "destinations"]);
    assertEquals(rtt?.probabilities, alone.rtt.probabilities);
    assertEquals(destinations, alone.destinations);
  }));

Deno.test("work that is asked for after a reload of weights has the new ones, on both decoders", () =>
  withTinyModel(async (model) => {
    const { decoders, weights } = model;
    const prompt = Uint16Array.of(1, 2, 3);
    const ends = async () => {
      const rows: Float32Array[] = [];
      const asPrompt = decoders.withPrompts([prompt], 1, function* (decoder, group) {
        [rows[0]] = yield Promise.all([decoder.prefill(group)]);
      });
      const asContinued = decoders.continuePrompts(
        [prompt],
        (_, end) => Promise.resolve(rows[1] = end.slice()),
      );
      await Promise.all([asPrompt, asContinued]);
      return rows;
    };
    const before = await ends();
    const work = ends();
    for (const values of weights.values()) values.forEach((value, i) => values[i] = value / 2);
    const reloaded = decoders.reload();
    const after = ends();
    assertEquals(await work, before);
    await reloaded;
    const [first, second] = await after;
    assertEquals([first[0] === before[0][0], second[0] === before[1][0]], [false, false]);
    assertEquals(await ends(), [first, second]);
  }));

Deno.test("one question takes a small decoder, and many at once the same numbers from a large one", () =>
  withTinyModel(async ({ decoders, gpu }) => {
    const prompts = Array.from({ length: 2 * FEW_ROWS }, (_, i) => Uint16Array.of(1, 2 + i % 200));
    const endsOf = async (asked: Uint16Array[]) => {
      const ends: number[] = [];
      await decoders.withPrompts(asked, 1, function* (decoder, group) {
        const [read] = yield Promise.all([decoder.prefill(group)]);
        for (const logP of read) ends.push(logP);
      });
      return ends;
    };
    const first = await endsOf(prompts.slice(0, 1));
    const smallBytes = gpu.allocatedBytes;
    const all = await endsOf(prompts);
    assertGreater(gpu.allocatedBytes, 3 * smallBytes);
    assertEquals(all.slice(0, first.length), first);
    const allBytes = gpu.allocatedBytes;
    assertEquals(await endsOf(prompts.slice(0, 1)), first);
    assertEquals(gpu.allocatedBytes, allBytes, "the large one stays");
  }));
