import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UserError } from "../../lib/errors.ts";
import { parseAddressQuestion, parseQuestion, parseTimeS } from "../../lib/query/rtt_question.ts";
import { rttBetweenPrefixes } from "../../lib/query/prefix_query.ts";
import { formatAddress } from "../../lib/tokens/ip.ts";
import { decodeRttCode } from "../../lib/tokens/rtt_code.ts";
import { withTinyModel } from "./tiny_model.ts";

const PAIR = { src: "192.0.2.1", dst: "198.51.100.7" };

Deno.test("parseTimeS() takes ISO 8601 and Unix seconds, and nothing before 1970", () => {
  assertEquals(
    [
      "0",
      "1970-01-01T00:00:10Z",
      "1970-01-02 01:00:00+01:00",
      "1970-01-02T00:00",
      "-1",
      "1969-12-31T00:00:00Z",
      "",
      "x",
    ].map(parseTimeS),
    [
      0,
      10,
      86_400,
      86_400,
      undefined,
      undefined,
      undefined,
      undefined,
    ],
  );
});

Deno.test("parseQuestion() reads a context, sorts it by time and says so", () => {
  const measurements = [
    { ...PAIR, time: "1970-01-01T00:05:00Z", rtt: 20 },
    { ...PAIR, time: 100, rtt: null },
    { src: "2001:db8::1", dst: "::2", time: "200", rtt: 0 },
  ];
  const { context, notes } = parseQuestion({ ...PAIR, context: measurements });
  assert(context);
  assertEquals(context.map(({ timeS }) => timeS), [100, 200, 300]);
  assertEquals(context.map(({ rttCode }) => rttCode === null ? null : decodeRttCode(rttCode)), [
    null,
    0.001,
    20.008,
  ]);
  assertEquals(formatAddress(context[1].source), "2001:db8::1");
  assertEquals(notes, ["the context is not in order of time: it was sorted"]);
  const untimed = parseQuestion({ ...PAIR, context: [{ ...PAIR, rtt: 3 }, { ...PAIR, rtt: 1 }] });
  assertEquals([untimed.context?.map(({ timeS }) => timeS), untimed.notes], [[null, null], []]);
  assertEquals(parseQuestion(PAIR).context, null);
});

Deno.test("parseQuestion() names what is wrong with a context", () => {
  const measurement = { ...PAIR, time: 1, rtt: 5 };
  const cases: [unknown, string][] = [
    ["recent", "an array of measurements was wanted"],
    [[3], "context[0]: found no JSON object"],
    [[measurement, { ...measurement, rtt: -1 }], "context[1]: found rtt -1"],
    [[{ ...measurement, rtt: "5" }], 'found rtt "5"'],
    [[{ ...PAIR, time: 1 }], "found no rtt"],
    [[{ ...measurement, src: "10.0.0.0/8" }], 'found src "10.0.0.0/8"'],
    [[{ ...measurement, dst: "::1" }], "of different IP versions"],
    [[{ ...measurement, tme: 3 }], "found tme, only src, dst, time, rtt were wanted"],
    [[measurement, { ...PAIR, rtt: 5 }], "in all or none was wanted"],
    [[{ ...measurement, time: "noon" }], 'context[0]: found time "noon"'],
  ];
  for (const [context, message] of cases) {
    assertThrows(() => parseQuestion({ ...PAIR, context }), UserError, message);
  }
});

Deno.test("questions as text get the answers of queries as bytes; prefixes have no one exact distribution", () =>
  withTinyModel(async (model) => {
    const question = { ...PAIR, time: 1_700_000_000, context: [{ ...PAIR, time: 1_600_000_000, rtt: 12 }] };
    const ofBytes = await model.rttDistribution(parseAddressQuestion(question));
    assertEquals((await model.rttDistribution(question)).probabilities, ofBytes.probabilities);
    const { mixture } = await rttBetweenPrefixes(model, question);
    assertEquals(mixture.distribution.probabilities, ofBytes.probabilities);
    await assertRejects(
      () => model.rttDistribution({ ...PAIR, dst: "198.51.100.0/24" }),
      UserError,
      "198.51.100.0/24: two addresses were wanted",
    );
    await assertRejects(
      () => model.rttDistribution({ src: "nowhere", dst: "::1" }),
      UserError,
      "src: Cannot read",
    );
  }));
