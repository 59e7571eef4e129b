import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as z from "zod";
import { ApiError, problemOf } from "../../../lib/serve/api/api_error.ts";
import { readFields, readRttQuestion, withFullNames } from "../../../lib/serve/api/read_question.ts";
import {
  destinationsQuestionSchema,
  likelihoodQuestionSchema,
  measurementSchema,
  type Problem,
  problemSchema,
  rttQuestionSchema,
  scoreOptionsSchema,
} from "../../../lib/serve/api/schemas.ts";
import { FormatError, InterruptedError, UsageError, UserError } from "../../../lib/base/errors.ts";
import { streamOf, withService } from "./tiny_service.ts";

const QUESTION = { src_addr: "192.0.2.1", dst_addr: "198.51.100.7" };
const ENDED = "Cannot answer: the request was ended before its answer was there; ask again";

function problemFrom(read: () => unknown): Problem {
  try {
    read();
  } catch (error) {
    return problemOf(error);
  }
  throw new Error("it was read");
}

Deno.test("problemOf() gives what callers can mend as 400, an end as 503, and tells nothing of other errors", () => {
  const known = [
    new UserError("found no src, expected one"),
    new UsageError("Cannot use --src: it is invalid"),
    new FormatError("found nothing", { path: "a.json" }),
    new ApiError(413, "Cannot read: found 2 MB, expected at most 1 MB"),
    AbortSignal.abort().reason,
    new DOMException("too late", "TimeoutError"),
    new InterruptedError("SIGTERM"),
  ].map(problemOf);
  assertEquals(known.map(({ status, title, detail }) => [status, title, detail]), [
    [400, "Bad Request", "Cannot answer: found no src, expected one"],
    [400, "Bad Request", "Cannot use --src: it is invalid"],
    [400, "Bad Request", "Cannot read a.json: found nothing"],
    [413, "Content Too Large", "Cannot read: found 2 MB, expected at most 1 MB"],
    ...Array(3).fill([503, "Service Unavailable", ENDED]),
  ]);
  const secret = "secret weights at line 7";
  for (
    const error of [new Error(secret), new DOMException(secret, "DataError"), secret, null, { status: 200 }]
  ) {
    const problem = problemOf(error);
    assertEquals(problemSchema.parse(problem), problem);
    assertEquals([problem.status, problem.type], [500, "about:blank"]);
    assert(!JSON.stringify(problem).includes("secret"));
  }
});

Deno.test("what a schema refuses is said in one line: the field, what was found, what is expected", () => {
  const ofRtt: [fields: object, expected: string][] = [
    [{ src_addr: 7 }, "found src_addr 7, expected an IPv4 or IPv6 address"],
    [
      { tiem: 1 },
      'found "tiem", expected only src_addr, dst_addr, timestamp, context, quantiles, at, cdf, draws, seed',
    ],
    [{ timestamp: [] }, "found timestamp an array, expected text or a number"],
    [{ quantiles: [0.5, 2] }, "found quantiles[1] 2, expected at most 1"],
    [{ quantiles: [-1] }, "found quantiles[0] -1, expected at least 0"],
    [{ quantiles: 0.5 }, "found quantiles 0.5, expected an array"],
    [{ quantiles: Array(201).fill(0.5) }, "found quantiles an array, expected at most 200 values"],
    [{ cdf: 2.5 }, "found cdf 2.5, expected a whole number"],
    [{ draws: 1 }, "found draws 1, expected at least 2"],
    [
      { context: [{ ...QUESTION, rtt: 1, prb_id: 7 }] },
      'found "prb_id" in context[0], expected only src_addr, dst_addr, timestamp, rtt',
    ],
    [{ context: [{ ...QUESTION }] }, "found no context[0].rtt, expected a number"],
    [{ context: [3] }, "found context[0] 3, expected a JSON object"],
  ];
  const source = { src_addr: "192.0.2.1" };
  const cases: [z.ZodType, unknown, string][] = [
    [rttQuestionSchema, {}, "found no src_addr, expected an IPv4 or IPv6 address"],
    [rttQuestionSchema, [], "found an array, expected a JSON object"],
    [rttQuestionSchema, undefined, "found no value, expected a JSON object"],
    [rttQuestionSchema, "x", 'found "x", expected a JSON object'],
    ...ofRtt.map(([fields, expected]): [z.ZodType, unknown, string] => [
      rttQuestionSchema,
      { ...QUESTION, ...fields },
      expected,
    ]),
    [measurementSchema, { ...QUESTION, rtt: "1" }, 'found rtt "1", expected a number'],
    [destinationsQuestionSchema, { ...source, rtt: [1] }, "found rtt an array, expected at least 2 values"],
    [destinationsQuestionSchema, { ...source, rtt: 5 }, "found rtt 5, expected an array"],
    [scoreOptionsSchema, { context: "many" }, 'found context "many", expected a number'],
    [scoreOptionsSchema, { context: "1001" }, 'found context "1001", expected at most 1000'],
  ];
  for (const [schema, value, expected] of cases) {
    const { status, detail } = problemFrom(() => readFields(schema, value));
    assertEquals([status, detail], [400, `Cannot answer: ${expected}`]);
    // The same of an error that zod throws itself, but for the value, which it does not tell.
    const thrown = problemFrom(() => schema.parse(withFullNames(value)));
    assert(
      thrown.status === 400 && thrown.detail.endsWith(detail.slice(detail.indexOf(", ") + 2)),
      thrown.detail,
    );
  }
});

Deno.test("src, dst and time stand for src_addr, dst_addr and timestamp, not beside them", () => {
  const short = { src: "192.0.2.1", dst: "198.51.100.7", time: 1_700_000_000, rtt: 2 };
  const long = { src_addr: short.src, dst_addr: short.dst, timestamp: short.time, rtt: 2 };
  assertEquals(readFields(measurementSchema, short), long);
  const nested = { ...short, context: [short, { ...short, time: null }] };
  assertEquals(readFields(likelihoodQuestionSchema, nested), {
    ...long,
    context: [long, { ...long, timestamp: null }],
  });
  assertEquals(
    readRttQuestion({ src: short.src, dst_addr: short.dst, time: "2023-11-14T22:13:20Z" }).query.timeS,
    1.7e9,
  );
  for (
    const [both, expected] of [
      [{ ...long, src: short.src }, "found src and src_addr, expected one of the two"],
      [{ ...short, timestamp: null }, "found time and timestamp, expected one of the two"],
      [{ ...short, context: [{ ...long, dst: "::" }] }, "found dst and dst_addr, expected one of the two"],
    ] as const
  ) {
    assertEquals(
      problemFrom(() => readFields(likelihoodQuestionSchema, both)).detail,
      `Cannot answer: ${expected}`,
    );
  }
});

/** JSON of any kind, often near a question: its fields with values of all kinds. */
function nearQuestions(): fc.Arbitrary<unknown> {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(..."192.0.2.1 198.51.100.0/30 2001:db8::/127 2023-11-14 1700000000".split(" ")),
    fc.constantFrom(1.7e9, 0, -1, 1e300),
    fc.array(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.double({ min: 0, max: 1 })), {
      maxLength: 3,
    }),
  );
  const measurement = fc.record(
    { src_addr: value, dst_addr: value, timestamp: value, rtt: value },
    { requiredKeys: [] },
  );
  const names = "src dst time rtt quantiles at cdf draws seed top __proto__ toString".split(" ");
  const fields = Object.fromEntries(
    [...names, "src_addr", "dst_addr", "timestamp", "prefix_length", "candidates"].map((
      name,
    ) => [name, value]),
  );
  const address = fc.constantFrom("192.0.2.1", "198.51.100.7", "::1");
  const likely = { src_addr: address, dst_addr: address };
  return fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.record({ ...fields, context: fc.oneof(value, fc.array(measurement, { maxLength: 3 })) }, {
      requiredKeys: [],
    }),
    fc.tuple(
      fc.record(likely),
      fc.record({ timestamp: value, at: value, cdf: value, rtt: value }, { requiredKeys: [] }),
    )
      .map(([first, second]) => ({ ...first, ...second })),
  );
}

Deno.test("whatever JSON is asked, there is an answer or a problem with status 400", () =>
  withService(async (service) => {
    const limits = { max_expansions: 8, candidates: 4 };
    // The bounds keep searches and draws short; they are no fault of the value.
    const bounded = (value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value, ...limits } : value;
    const operations: ((value: never) => Promise<unknown>)[] = [
      (value) => service.rtt(value),
      (value) => service.destinations(bounded(value) as never),
      (value) => service.likelihood(value),
      (value) => service.rttBatch(value),
      (value) => service.score(value),
      (value) => service.rttBatch([value]),
      (value) => service.score([value]),
      (value) => service.score([], value),
      (value) => Array.fromAsync(service.rttLines(streamOf([]), value)),
    ];
    let numRefused = 0;
    let numAnswered = 0;
    await fc.assert(
      fc.asyncProperty(nearQuestions(), fc.nat(operations.length - 1), async (value, place) => {
        try {
          await operations[place](value as never);
          numAnswered++;
        } catch (error) {
          const problem = problemOf(error);
          assertEquals(problem.status, 400, String(error));
          assert(problem.detail.startsWith("Cannot ") && !problem.detail.includes("\\n"), problem.detail);
          numRefused++;
        }
      }),
      { numRuns: 500 },
    );
    assert(numRefused > 100 && numAnswered > 20, `${numRefused} refused, ${numAnswered} answered`);
  }));

Deno.test("whatever a line has, it has an answer or an error with its number", () =>
  withService(async (service) => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: "binary" }),
      nearQuestions().map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (texts) => {
        const expected = texts.flatMap((each, i) => each.trim() === "" ? [] : [i + 1]);
        const answers = await Array.fromAsync(service.rttLines(streamOf(texts)));
        assertEquals(answers.map(({ line }) => line), expected);
        const scores = await Array.fromAsync(service.scoreLines(streamOf(texts)));
        assertEquals(scores.map(({ line }) => line), expected);
      }),
      { numRuns: 60 },
    );
  }));
