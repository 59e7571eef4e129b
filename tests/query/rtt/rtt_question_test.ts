import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { parseAddressQuestion, parseQuestion } from "../../../lib/query/rtt/rtt_question.ts";
import { rttBetweenPrefixes } from "../../../lib/query/rtt/prefix_query.ts";
import { sampleMeasurements } from "../../../lib/query/score/sample.ts";
import { formatAddress } from "../../../lib/data/addresses/ip.ts";
import { decodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { withTinyModel } from "../tiny_model.ts";

const PAIR = { src: "192.0.2.1", dst: "198.51.100.7" };
const START_S = Date.UTC(2025, 0, 1) / 1000;

Deno.test("parseQuestion() reads a context, sorts it by time and notes it", () => {
  const measurements = [
    { ...PAIR, time: "2025-01-01T00:05:00Z", rtt: 20 },
    { ...PAIR, time: START_S + 100, rtt: null },
    { src: "2001:db8::1", dst: "::2", time: String(START_S + 200), rtt: 0.001 },
  ];
  const { context, notes } = parseQuestion({ ...PAIR, context: measurements });
  assert(context);
  assertEquals(context.map(({ timeS }) => timeS), [100, 200, 300].map((s) => START_S + s));
  assertEquals(context.map(({ rttCode }) => rttCode === null ? null : decodeRttCode(rttCode)), [
    null,
    0.001,
    20.008,
  ]);
  assertEquals(formatAddress(context[1].source), "2001:db8::1");
  assertEquals(notes, ["the context was not in time order and was sorted"]);
  const untimed = parseQuestion({ ...PAIR, context: [{ ...PAIR, rtt: 3 }, { ...PAIR, rtt: 1 }] });
  assertEquals([untimed.context?.map(({ timeS }) => timeS), untimed.notes], [[null, null], []]);
  assertEquals(parseQuestion(PAIR).context, null);
});

Deno.test("parseQuestion() names the error in a context", () => {
  const measurement = { ...PAIR, time: START_S, rtt: 5 };
  const cases: [unknown, string][] = [
    ["recent", "expected an array of measurements"],
    [[3], "found context[0] 3, expected an object"],
    [[measurement, { ...measurement, rtt: -1 }], "found context[1].rtt -1"],
    [[{ ...measurement, rtt: 0 }], "found context[0].rtt 0, expected ms above 0"],
    [[{ ...measurement, rtt: "5" }], 'found context[0].rtt "5"'],
    [[{ ...PAIR, time: START_S }], "found no context[0].rtt"],
    [[{ ...measurement, src: "10.0.0.0/8" }], 'found context[0].src "10.0.0.0/8"'],
    [[{ ...measurement, dst: "::1" }], "of different IP versions"],
    [[{ ...measurement, tme: 3 }], "found tme, expected only src, dst, time, rtt"],
    [[measurement, { ...PAIR, rtt: 5 }], "expected all or none"],
    [[{ ...measurement, time: "noon" }], 'found context[0].time "noon"'],
    [
      [{ ...measurement, time: 1.7e12 }],
      "found context[0].time 1700000000000, it looks like milliseconds",
    ],
    [[{ ...measurement, time: [3] }], "found context[0].time an array, it is not a time"],
  ];
  for (const [context, message] of cases) {
    assertThrows(() => parseQuestion({ ...PAIR, context }), UserError, message);
  }
});

Deno.test("parseQuestion() keeps errors about long and deep values short", () => {
  const long = "1".repeat(1e6);
  let deep: unknown = [];
  for (let depth = 0; depth < 1e5; depth++) deep = [deep];
  const measurement = { ...PAIR, rtt: 1 };
  for (
    const values of [
      ...[long, deep].flatMap((bad) => [{ ...PAIR, src: bad }, { ...PAIR, time: bad }]),
      ...[long, deep].map((bad) => ({ ...PAIR, context: [{ ...measurement, rtt: bad }] })),
      { ...PAIR, context: [{ ...measurement, dst: long }] },
      { ...PAIR, context: { deep } },
      { ...PAIR, [long]: 1 },
      { ...PAIR, dst: `10.0.0.1/${long}` },
    ]
  ) {
    const { message } = assertThrows(() => parseQuestion(values), UserError);
    assert(message.length < 200, `${message.length} characters: ${message.slice(0, 200)}`);
  }
});

Deno.test("a question with context after its time, or 2^32 s before it, is rejected", () =>
  withTinyModel(async (model) => {
    const context = [{ ...PAIR, time: START_S, rtt: 12 }];
    const late = { ...PAIR, time: START_S - 1, context };
    const refused = "its context has a later measurement";
    await assertRejects(() => model.rttDistribution(late), UserError, refused);
    await assertRejects(
      () => rttBetweenPrefixes(model, { ...late, dst: "198.51.100.0/24" }),
      UserError,
      refused,
    );
    for (const time of [START_S, null]) await model.rttDistribution({ ...late, time });
    const query = parseAddressQuestion({ ...late, time: START_S });
    const far = { ...query, timeS: START_S + 2 ** 32 };
    await assertRejects(() => model.rttDistribution(far), UserError, "at most 4294967295 s between");
    await assertRejects(
      () => Array.fromAsync(sampleMeasurements(model, far, { count: 1, seed: 0 })),
      UserError,
    );
    await model.rttDistribution({ ...far, timeS: far.timeS - 1 });
  }));

Deno.test("text questions are answered like byte queries, and rttDistribution() rejects prefixes", () =>
  withTinyModel(async (model) => {
    const question = { ...PAIR, time: 1_700_000_000, context: [{ ...PAIR, time: 1_600_000_000, rtt: 12 }] };
    const ofBytes = await model.rttDistribution(parseAddressQuestion(question));
    assertEquals((await model.rttDistribution(question)).probabilities, ofBytes.probabilities);
    const { mixture } = await rttBetweenPrefixes(model, question);
    assertEquals(mixture.distribution.probabilities, ofBytes.probabilities);
    await assertRejects(
      () => model.rttDistribution({ ...PAIR, dst: "198.51.100.0/24" }),
      UserError,
      "198.51.100.0/24: expected two addresses",
    );
    await assertRejects(
      () => model.rttDistribution({ src: "nowhere", dst: "::1" }),
      UserError,
      "found src",
    );
  }));

Deno.test("parseQuestion() accepts times from 1990 to 2099", () => {
  for (const [time, timeS] of [["1990-01-01", 631_152_000], ["4102444799.9", 4_102_444_799], ["", null]]) {
    assertEquals(parseQuestion({ ...PAIR, time }).timeS, timeS);
  }
  for (const time of [0, 631_151_999, "4102444800", "1990-01-01T00:59:59+01:00", "9".repeat(60)]) {
    assertThrows(() => parseQuestion({ ...PAIR, time }), UserError, "from 1990 to 2099");
  }
});
