import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import * as z from "zod";
import { ApiError, problemOf } from "../../../lib/serve/api/api_error.ts";
import { measurementSchema, servedSchema } from "../../../lib/query/questions/question.ts";
import { QUESTIONS } from "../../../lib/query/questions/questions.ts";
import {
  defaultsSchema,
  exampleOf,
  normalized,
  queryFields,
  readFields,
} from "../../../lib/query/questions/read_fields.ts";
import { score } from "../../../lib/query/questions/score.ts";
import { watch } from "../../../lib/query/questions/watch.ts";
import { type Problem, problemSchema, statusCheckQuestionSchema } from "../../../lib/serve/api/schemas.ts";
import { FormatError, InterruptedError, UsageError, UserError } from "../../../lib/base/errors.ts";
import { streamOf, withService } from "./tiny_service.ts";

const QUESTION = { src: "192.0.2.1", dst: "198.51.100.7" };
const ENDED = "Cannot answer: the request was cancelled before the answer was ready; ask again";

function problemFrom(read: () => unknown): Problem {
  try {
    read();
  } catch (error) {
    return problemOf(error);
  }
  throw new Error("it was read");
}

Deno.test("problemOf() maps callers' errors to 400 and interruptions to 503, and hides other errors", () => {
  const known = [
    new UserError({ path: ["src"], value: null, expected: "one" }),
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

const REQUESTS: Record<string, z.ZodObject> = {
  ...Object.fromEntries(Object.values(QUESTIONS).map((kind) => [kind.name, servedSchema(kind)])),
  defaults: defaultsSchema(servedSchema(QUESTIONS.rtt)),
  measurement: measurementSchema,
  watch: watch.line,
  score: score.options,
  statusCheck: statusCheckQuestionSchema,
};

/** Converts all numbers of a request to text, and lists with `asText`. */
function asTexts(value: unknown, asText: (list: unknown[]) => unknown): unknown {
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return asText(value.map((each) => asTexts(each, asText)));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, each === null ? null : asTexts(each, asText)]),
  );
}

Deno.test("numbers and lists in every request may be text", () => {
  for (const [name, schema] of Object.entries(REQUESTS)) {
    const example = exampleOf(schema);
    const fields = Object.entries(schema.shape).filter(([, field]) =>
      !(field.unwrap?.() instanceof z.ZodEnum)
    );
    for (const [field] of fields) {
      assert(Object(example)[field] !== undefined, `${name} has an example of ${field}`);
    }
    const expected = JSON.stringify(readFields(schema, example));
    const isFlat = (list: unknown[]) => list.every((each) => typeof each !== "object");
    for (
      const asText of [
        (list: unknown[]) => list,
        (list: unknown[]) => JSON.stringify(list),
        (list: unknown[]) => ` ${JSON.stringify(list, null, 1)}`,
        (list: unknown[]) => isFlat(list) ? list.join(",") : list,
        (list: unknown[]) => isFlat(list) ? list.join(", ") : list,
      ]
    ) assertEquals(JSON.stringify(readFields(schema, asTexts(example, asText))), expected, name);
  }
  const destinations = { src: "::1", rtt: "20..25" };
  assertEquals(readFields(servedSchema(QUESTIONS.destinations), destinations).rtt, [20, 25]);
  assertEquals(readFields(servedSchema(QUESTIONS.destinations), { ...destinations, rtt: "20" }).rtt, [
    20,
    20,
  ]);
  for (const time of ["2026-11-01T12:00:00", "2026-11-01 12:00", "2026-11-01T12:00:00.5"]) {
    const { time: read } = queryFields(`http://localhost/v1/rtt?time=${time}+02:00`);
    assertEquals(read, `${time}+02:00`);
  }
  assertEquals(queryFields("http://localhost/v1/rtt?time=2026-11-01+12:00"), { time: "2026-11-01 12:00" });
  const url = "http://localhost/v1/rtt?quantiles=[0.1,0.9]&at=50,100&draws=8";
  assertEquals(readFields(servedSchema(QUESTIONS.rtt), { ...QUESTION, ...queryFields(url) }), {
    ...QUESTION,
    quantiles: [0.1, 0.9],
    at: [50, 100],
    draws: 8,
  });
});

Deno.test("null and an empty text count as absent in optional fields except endpoints, and as no reply in a measurement's rtt", () => {
  for (const [name, schema] of Object.entries(REQUESTS)) {
    const required: Record<string, unknown> = {};
    const nulls: Record<string, null> = {};
    const blanks: Record<string, string> = {};
    for (const [field, type] of Object.entries(schema.shape)) {
      const isEndpoint = ["src", "dst", "within"].includes(field);
      if (z.safeParse(type, undefined).success) {
        nulls[field] = null;
        if (!isEndpoint) blanks[field] = "";
      } else required[field] = exampleOf(type);
    }
    const expected = JSON.stringify(readFields(schema, required));
    assertEquals(JSON.stringify(readFields(schema, { ...required, ...nulls })), expected, name);
    assertEquals(JSON.stringify(readFields(schema, { ...required, ...blanks })), expected, name);
    if ("within" in nulls) {
      assertNotEquals(JSON.stringify(readFields(schema, { ...required, within: "" })), expected, name);
    }
  }
  const lost = { ...QUESTION, rtt: null };
  const { rtt, context } = readFields(servedSchema(QUESTIONS.likelihood), {
    ...lost,
    time: null,
    context: [{ ...lost, time: null }],
  });
  assertEquals([rtt, context], [null, [lost]]);
  for (const word of ["", "NaN", "timeout", "*", -1, "-1"]) {
    const asked = { ...QUESTION, rtt: word, context: [{ ...QUESTION, rtt: word }] };
    const read = readFields(servedSchema(QUESTIONS.likelihood), asked);
    assertEquals([read.rtt, read.context], [null, [lost]]);
  }
});

Deno.test("a schema error names the field, the value found, the expected one and an example", () => {
  const ofRtt: [fields: object, expected: string][] = [
    [{ src: 7 }, 'found src 7, expected an IPv4 or IPv6 address, such as "192.0.2.1"'],
    [
      { tiem: 1 },
      'found "tiem", expected only src, dst, time, context, probe, quantiles, at, cdf, histogram, measured, draws, seed',
    ],
    [{ time: [] }, 'found time an array, expected text or a number, such as "2026-11-01T12:00Z"'],
    [
      { time: "noon" },
      'found time "noon", it is not a time, expected a time as ISO 8601 or Unix seconds, ' +
      'such as "2026-11-01T12:00Z"',
    ],
    [
      { context: [{ ...QUESTION, time: 5, rtt: 1 }] },
      'found context[0].time 5, expected a time from 1990 to 2099, such as "2026-11-01T12:00Z"',
    ],
    [
      { context: [{ ...QUESTION, src: "web.example", rtt: 1 }] },
      'found context[0].src "web.example", expected an IPv4 or IPv6 address, such as "192.0.2.1"; ' +
      "this looks like a host name: resolve it and give its address",
    ],
    [
      { src: undefined, source: "192.0.2.1" },
      'found "source", expected only src, dst, time, context, probe, quantiles, at, cdf, histogram, measured, draws, seed',
    ],
    [
      { context: [{ ...QUESTION, rtt: 0 }] },
      "found context[0].rtt 0, expected ms above 0, or null for no reply, such as 12.5",
    ],
    [{ quantiles: [0.5, 2] }, "found quantiles[1] 2, expected at most 1, such as 0.9"],
    [{ quantiles: 0.5 }, "found quantiles 0.5, expected an array, such as [0.1, 0.9]"],
    [{ quantiles: "0.1;0.9" }, 'found quantiles "0.1;0.9", expected an array, such as [0.1, 0.9]'],
    [{ draws: "eight" }, 'found draws "eight", expected a number, such as 64'],
    [
      { quantiles: Array(201).fill(0.5) },
      "found quantiles an array, expected at most 200 values, such as [0.1, 0.9]",
    ],
    [{ cdf: 2.5 }, "found cdf 2.5, expected an integer, such as 50"],
    [{ probe: -1 }, "found probe -1, expected at least 0, such as 1000"],
    [{ draws: 1 }, "found draws 1, expected at least 2, such as 64"],
    [
      { context: [{ ...QUESTION, rtt: 1, prb_id: 7 }] },
      'found "prb_id" in context[0], expected only src, dst, time, rtt',
    ],
    [{ context: [{ ...QUESTION }] }, "found no context[0].rtt, expected a number, such as 12.5"],
    [
      { context: [3] },
      'found context[0] 3, expected a JSON object, such as {"src":"192.0.2.1","dst":"198.51.100.7",' +
      '"time":"2026-11-01T12:00Z","rtt":12.5}',
    ],
  ];
  const source = { src: "192.0.2.1" };
  const cases: [z.ZodType, unknown, string][] = [
    [servedSchema(QUESTIONS.rtt), {}, 'found no src, expected an IPv4 or IPv6 address, such as "192.0.2.1"'],
    [servedSchema(QUESTIONS.rtt), [], "found an array, expected a JSON object"],
    [servedSchema(QUESTIONS.rtt), undefined, "found no value, expected a JSON object"],
    [servedSchema(QUESTIONS.rtt), "x", 'found "x", expected a JSON object'],
    ...ofRtt.map(([fields, expected]): [z.ZodType, unknown, string] => [
      servedSchema(QUESTIONS.rtt),
      { ...QUESTION, ...fields },
      expected,
    ]),
    [measurementSchema, { ...QUESTION, rtt: "1 ms" }, 'found rtt "1 ms", expected a number, such as 12.5'],
    [servedSchema(QUESTIONS.map), { ...source, level: "x" }, 'found level "x", expected "country" or "cell"'],
    [
      servedSchema(QUESTIONS.destinations),
      { ...source, rtt: [1] },
      "found rtt an array, expected at least 2 values, such as [20, 25]",
    ],
    [score.options, { context: "many" }, 'found context "many", expected a number, such as 20'],
  ];
  for (const [schema, value, expected] of cases) {
    const { status, detail } = problemFrom(() => readFields(schema, value));
    assertEquals([status, detail], [400, `Cannot answer: ${expected}`]);
  }
});

Deno.test("errors of a URL's fields show an example in URL form", () => {
  const url = "http://localhost/v1/destinations?src=192.0.2.1";
  const cases: [schema: z.ZodType, url: string, expected: string][] = [
    [
      servedSchema(QUESTIONS.destinations),
      `${url}&rtt=140-150`,
      'rtt "140-150", expected an array, such as rtt=20,25',
    ],
    [servedSchema(QUESTIONS.destinations), url, "no rtt, expected an array, such as rtt=20,25"],
    [
      servedSchema(QUESTIONS.destinations),
      `${url}&rtt=-1,5`,
      "rtt[0] -1, expected at least 0, such as rtt=20,25",
    ],
    [
      servedSchema(QUESTIONS.destinations),
      `${url}&rtt=1,2&top=0`,
      "top 0, expected at least 1, such as top=20",
    ],
    [servedSchema(QUESTIONS.rtt), `${url}&dst=::1&at=x`, 'at "x", expected an array, such as at=50,100'],
  ];
  for (const [schema, url, expected] of cases) {
    const { status, detail } = problemFrom(() => readFields(schema, queryFields(url)));
    assertEquals([status, detail], [400, `Cannot answer: found ${expected}`]);
  }
  let numTried = 0;
  for (const schema of Object.values(REQUESTS)) {
    for (const field of Object.keys(schema.shape)) {
      const alone = z.strictObject({ [field]: schema.shape[field] });
      if (z.safeParse(alone, normalized(alone, { [field]: "?" })).success) continue;
      const { detail } = problemFrom(() => readFields(alone, queryFields(`http://localhost/?${field}=?`)));
      const [, example] = / such as (\S+)$/.exec(detail) ?? [];
      if (example === undefined) continue;
      numTried++;
      readFields(alone, queryFields(`http://localhost/?${example}`));
    }
  }
  assert(numTried > 20, `${numTried} examples`);
});

/** JSON of any kind, often close to a question: its fields with values of all kinds. */
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
    { src: value, dst: value, time: value, rtt: value },
    { requiredKeys: [] },
  );
  const names = "src dst time rtt quantiles at cdf draws seed top __proto__ toString".split(" ");
  const fields = Object.fromEntries(
    [...names, "src_addr", "timestamp", "prefix_length", "candidates"].map((name) => [name, value]),
  );
  const address = fc.constantFrom("192.0.2.1", "198.51.100.7", "::1");
  const likely = { src: address, dst: address };
  return fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.record({ ...fields, context: fc.oneof(value, fc.array(measurement, { maxLength: 3 })) }, {
      requiredKeys: [],
    }),
    fc.tuple(
      fc.record(likely),
      fc.record({ time: value, at: value, cdf: value, rtt: value }, { requiredKeys: [] }),
    )
      .map(([first, second]) => ({ ...first, ...second })),
  );
}

Deno.test("any JSON gets an answer or a problem with status 400", () =>
  withService(async (service) => {
    const limits = { max_expansions: 8, candidates: 4 };
    // The bounds keep searches and draws short; exceeding them is not a fault of the value.
    const bounded = (value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value, ...limits } : value;
    const operations: ((value: never) => Promise<unknown>)[] = [
      (value) => service.rtt(value),
      (value) => service.destinations(bounded(value) as never),
      (value) => service.likelihood(value),
      (value) => service.rttBatch([value]),
      (value) => service.score([value]),
      (value) => Array.fromAsync(service.scoreLines(streamOf([]), value)),
      (value) => Array.fromAsync(service.lines("rtt", streamOf([]), value)),
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

Deno.test("any line gets an answer or an error with its number", () =>
  withService(async (service) => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: "binary" }),
      nearQuestions().map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (texts) => {
        const expected = texts.flatMap((each, i) => each.trim() === "" ? [] : [i + 1]);
        const answers = await Array.fromAsync(service.lines("rtt", streamOf(texts)));
        assertEquals(answers.map(({ line }) => line), expected);
        const scores = await Array.fromAsync(service.scoreLines(streamOf(texts)));
        assertEquals(scores.map(({ line }) => line), expected);
      }),
      { numRuns: 60 },
    );
  }));
