import { assertEquals } from "@std/assert";
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
