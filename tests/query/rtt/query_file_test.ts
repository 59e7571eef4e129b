import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { FormatError, UserError } from "../../../lib/base/errors.ts";
import { type AnsweredQuery, answerQueries } from "../../../lib/query/rtt/answer_queries.ts";
import { rttBetweenPrefixes } from "../../../lib/query/rtt/prefix_query.ts";
import {
  type BadLine,
  type FileQuery,
  readQueries,
  type SharedEnds,
} from "../../../lib/query/rtt/query_file.ts";
import { MAX_LINE_BYTES } from "../../../lib/query/text_lines.ts";
import { readLines } from "../../../lib/query/files/read_lines.ts";
import { formatPrefix } from "../../../lib/data/addresses/ip_prefix.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { withTinyModel } from "../tiny_model.ts";

const NEVER = new AbortController().signal;

async function read(content: string | Uint8Array, shared?: SharedEnds): Promise<(FileQuery | BadLine)[]> {
  using folder = new TemporaryFolder();
  const path = folder.at("queries");
  if (typeof content === "string") Deno.writeTextFileSync(path, content);
  else Deno.writeFileSync(path, content);
  return await Array.fromAsync(readQueries(readLines(path, NEVER), path, shared));
}

function gist(line: FileQuery | BadLine): unknown[] {
  return "error" in line ? [line.line, line.error] : [line.line, line.src, line.dst, line.timeS];
}

Deno.test("readQueries() reads JSON lines and CSV alike, with and without times", async () => {
  const expected = [[1, "192.0.2.1", "198.51.100.7", null], [3, "2001:db8::1", "::2", 1_700_000_000]];
  const json = '{"src":"192.0.2.1","dst":"198.51.100.7"}\n\n' +
    '{"time":1700000000,"src":"2001:db8::1","dst":"::2"}';
  assertEquals((await read(json)).map(gist), expected);
  const iso = json.replace("1700000000", '"2023-11-14T22:13:20Z"').replaceAll("\n", "\r\n");
  assertEquals((await read(iso)).map(gist), expected);
  const csv = 'dst,"src",time\r\n198.51.100.7,192.0.2.1,\r\n"::2",2001:db8::1,1700000000\r\n';
  assertEquals(
    (await read(csv)).map(gist),
    expected.map(([line, ...rest]) => [line === 1 ? 2 : line, ...rest]),
  );
  for (const separator of [";", "\t"]) {
    assertEquals((await read(csv.replaceAll(",", separator))).map(gist), (await read(csv)).map(gist));
  }
  assertEquals(await read(""), []);
});

Deno.test("readQueries() reads one source's destinations from plain lines, CSV and JSON lines alike", async () => {
  const shared = { src: "192.0.2.1", time: "1700000000" };
  const expected = ["198.51.100.7", "10.0.0.0/8"].map((dst) => ["192.0.2.1", dst, 1_700_000_000]);
  for (
    const content of [
      "198.51.100.7\r\n\n10.0.0.0/8",
      "dst\n198.51.100.7\n10.0.0.0/8\n",
      "src,dst,time\n192.0.2.1,198.51.100.7,\n,10.0.0.0/8,1700000000\n",
      "dst;time\n198.51.100.7;\n10.0.0.0/8;1700000000\n",
      '{"dst":"198.51.100.7"}\n{"src":"192.0.2.1","dst":"10.0.0.0/8"}\n',
    ]
  ) {
    assertEquals((await read(content, shared)).map((line) => gist(line).slice(1)), expected, content);
  }
  const [other, later, none] = await read(
    "dst,src,time\n10.0.0.1,192.0.2.2,\n10.0.0.1,,1\n,,\n",
    shared,
  );
  assertEquals(gist(other), [2, 'found src "192.0.2.2", expected 192.0.2.1 as on all lines']);
  assertEquals(gist(later), [3, 'found time "1", expected 1700000000 as on all lines']);
  assertEquals(gist(none), [4, "found no dst, expected an IPv4 or IPv6 address or prefix"]);
  const [ofProbe] = await read('{"dst":"10.0.0.1","probe":7}', shared);
  assertEquals(gist(ofProbe), [1, "found probe 7, expected none as on all lines"]);
  await assertRejects(() => read("nowhere\n10.0.0.1\n", shared), FormatError, "header dst");
});

Deno.test("readQueries() skips comments and empty lines, also before the first line", async () => {
  const shared = { src: "192.0.2.1", time: undefined };
  const lists = [
    "\ufeff# nodes, as of today\n\n \n198.51.100.7 # Berlin\n  #10.0.0.1\n10.0.0.0/8\t# lab, old\n",
    "# nodes\n# dst,src\ndst\n198.51.100.7\n#\n10.0.0.0/8\n",
    '#{\n#\n\n{"dst":"198.51.100.7"}\n#\n{"dst":"10.0.0.0/8"}\n',
  ];
  for (const content of lists) {
    const found = (await read(content, shared)).map(gist).map(([line, , dst]) => [line, dst]);
    assertEquals(found, [[4, "198.51.100.7"], [6, "10.0.0.0/8"]], content);
  }
  const [query] = await read("# src,dst\nsrc,dst\n#\n192.0.2.1,198.51.100.7\n");
  assertEquals(gist(query), [4, "192.0.2.1", "198.51.100.7", null]);
});

Deno.test("readQueries() reports bad lines with number and reason and continues", async () => {
  const lines = await read(
    [
      '{"src":"192.0.2.1","dst":"198.51.100.7"}',
      '{"src":"192.0.2","dst":"198.51.100.7"}',
      '{"src":"192.0.2.1"}',
      "nonsense",
      '{"src":"192.0.2.1","dst":"198.51.100.7","tiem":3}',
      '{"src":"192.0.2.1","dst":"198.51.100.7","time":"noon"}',
      '{"src":"192.0.2.1","dst":"198.51.100.7","time":-3}',
      '[{"src":"192.0.2.1"}]',
      '{"src":"192.0.2.1","dst":"198.51.100.8"}',
      '{"src":"192.0.2.1/33","dst":"198.51.100.8"}',
      '{"src":"192.0.2.1","dst":"198.51.100.8","context":[{"src":"192.0.2.1"}]}',
    ].join("\n"),
  );
  assertEquals(lines.map(({ line }) => line), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  const errors = lines.map((line) => "error" in line ? line.error.split(",")[0] : "");
  assertEquals(errors, [
    "",
    'found src "192.0.2"',
    "found no dst",
    "the line is not a JSON object",
    "found tiem",
    'found time "noon"',
    "found time -3",
    "the line is not a JSON object",
    "",
    'found src "192.0.2.1/33"',
    "found no context[0].dst",
  ]);
  const [few, many] = await read("src,dst\n1.2.3.4\n1.2.3.4,1.2.3.5,6,7,8\n");
  assertEquals(gist(few), [2, "found 1 values, expected 2 as in the header"]);
  assertEquals(gist(many), [3, "found more than 2 values, expected 2 as in the header"]);
});

Deno.test("readQueries() reads prefixes and, in JSON lines, contexts", async () => {
  const [first, second] = await read(
    '{"src":"10.2.0.0/16","dst":"10.3.4.5/9","context":[{"src":"10.2.0.1","dst":"10.3.0.1","time":1700000000,"rtt":1.5}]}\n' +
      '{"src":"::/0","dst":"::1","context":[]}\n',
  );
  assert(!("error" in first) && !("error" in second));
  assertEquals([first.source, first.destination].map(formatPrefix), ["10.2.0.0/16", "10.0.0.0/9"]);
  assertEquals([first.src, first.dst], ["10.2.0.0/16", "10.3.4.5/9"]);
  assertEquals(first.notes, ["10.3.4.5/9 has bits set after the prefix: read as 10.0.0.0/9"]);
  assertEquals(first.context?.map(({ timeS }) => timeS), [1_700_000_000]);
  assertEquals([second.context, second.notes], [[], []]);
  const [csv] = await read("src,dst\n10.2.0.0/16,10.3.4.5\n");
  assert(!("error" in csv));
  assertEquals([formatPrefix(csv.source), csv.context], ["10.2.0.0/16", null]);
  await assertRejects(() => read("src,dst,context\n"), FormatError);
  const probes = await read("src,dst,probe\n10.2.0.1,10.3.4.5,7\n10.2.0.1,10.3.4.5,\n10.2.0.1,10.3.4.5,-1\n");
  const expected = 'found probe "-1", expected a whole number from 0 to 4294967295';
  assertEquals(probes.map((each) => "error" in each ? each.error : each.probe), [7, undefined, expected]);
});

Deno.test("readQueries() rejects an unknown header and readLines() a missing file", async () => {
  await assertRejects(
    () => read("source,dst\n1.2.3.4,1.2.3.4\n"),
    FormatError,
    "header src,dst[,time,probe]",
  );
  await assertRejects(() => read("src,src,dst\n"), FormatError);
  await assertRejects(() => read(new Uint8Array(1000).fill(200)), FormatError);
  await assertRejects(() => Array.fromAsync(readLines("no/such/file", NEVER)), UserError, "no such file");
});

/** A valid line, the given bytes as a line, and another valid line. */
function around(bytes: Uint8Array): Uint8Array {
  const good = new TextEncoder().encode('\n{"src":"192.0.2.1","dst":"198.51.100.7"}\n');
  const all = new Uint8Array(bytes.length + 2 * good.length);
  all.set(good);
  all.set(bytes, good.length);
  all.set(good, good.length + bytes.length);
  return all;
}

Deno.test("readQueries() reports each line that is too long, too deep or not UTF-8 as an error", async () => {
  const text = (start: string, length: number) => new TextEncoder().encode(start.padEnd(length, "["));
  const bad: [Uint8Array, string][] = [
    [
      text('{"src":"', MAX_LINE_BYTES + 1),
      `found ${MAX_LINE_BYTES + 1} bytes, expected at most ${MAX_LINE_BYTES} per line`,
    ],
    [text('{"src":', 1e6), "the line is not a JSON object"],
    [
      new TextEncoder().encode(`{"src":${"[".repeat(1e6)}${"]".repeat(1e6)},"dst":"::1"}`),
      "found src an array",
    ],
    [Uint8Array.of(0x7b, 0xff, 0xfe, 0x7d), "found bytes that are not UTF-8"],
  ];
  for (const [bytes, message] of bad) {
    const lines = await read(around(bytes));
    assertEquals(lines.map((line) => "error" in line), [false, true, false], message);
    assert("error" in lines[1]);
    assertEquals([lines[1].line, lines[1].error.startsWith(message)], [3, true], lines[1].error);
    assert(lines[1].error.length < 200);
    const first = await read(bytes);
    assertEquals(first.map((line) => "error" in line && line.error.startsWith(message)), [true]);
  }
});

Deno.test("readLines() returns lines up to the length limit and reports longer ones", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("lines");
  const lengths = [0, 1, 65_535, 65_536, 65_537, 131_071, 200_000, 3, 0, 200_001, 400_000, 5];
  Deno.writeTextFileSync(
    path,
    lengths.map((length, i) => "x".repeat(length) + (i % 2 ? "\n" : "\r\n")).join(""),
  );
  const lines = await Array.fromAsync(readLines(path, NEVER, 200_001));
  assertEquals(
    lines.map(({ text, fault }) => fault ?? text.length),
    lengths.map((length, i) => {
      const lengthBytes = length + (i % 2 ? 0 : 1);
      return lengthBytes > 200_001 ? `found ${lengthBytes} bytes, expected at most 200001 per line` : length;
    }),
  );
});

/** The answer with a distribution that stays valid. */
function keep(answered: AnsweredQuery): AnsweredQuery {
  const { mixture, ...masses } = answered.answer;
  const kept = { ...mixture, distribution: mixture.distribution.copy() };
  return { ...answered, answer: { ...masses, mixture: kept } };
}

Deno.test("answerQueries() answers in order as if asked separately, and passes on errors", () =>
  withTinyModel(async (model) => {
    const rows = Array.from({ length: 130 }, (_, i) => `192.0.2.${i % 5},198.51.100.7`);
    rows[3] = "192.0.2.1,2001:db8::1";
    rows[126] = "192.0.2.1,nowhere";
    const lines = await read("src,dst\n" + rows.join("\n"));
    const feed = async function* () {
      for (const line of lines) yield await Promise.resolve(line);
    };
    const answers = await Array.fromAsync(answerQueries(model, feed(), { context: [] }, keep));
    assertEquals(answers.length, 130);
    for (const [i, answer] of answers.entries()) {
      if (i === 3 || i === 126) {
        assert("error" in answer && answer.line === i + 2);
        assert(answer.error.includes(i === 3 ? "same version" : "nowhere"), answer.error);
        continue;
      }
      assert(!("error" in answer));
      assertEquals(answer.query.line, i + 2);
    }
    for (const i of [0, 4, 125, 129]) {
      const [answer, line] = [answers[i], lines[i]];
      assert(!("error" in answer) && !("error" in line));
      const alone = await model.rttDistribution({ src: line.src, dst: line.dst });
      const { distribution } = answer.answer.mixture;
      assertEquals(distribution.quantileMs(0.5), alone.quantileMs(0.5));
      assert(Math.abs(distribution.pFailed - alone.pFailed) < 1e-6);
    }
  }));

Deno.test("answerQueries() uses each line's context and prefixes and reports how much context was used", () =>
  withTinyModel(async (model) => {
    const context = Array.from({ length: 30 }, (_, i) => ({
      src: "192.0.2.1",
      dst: "198.51.100.7",
      time: 1_700_000_000 + i,
      rtt: 10 + i,
    }));
    const pair = { src: "192.0.2.1", dst: "198.51.100.7" };
    const questions = [
      { ...pair, context },
      { ...pair, context: context.slice(0, 2) },
      pair,
      { src: "192.0.2.0/24", dst: "198.51.100.7", context: [] },
      { src: "2001:db8::/32", dst: "198.51.100.7" },
    ];
    const lines = await read(questions.map((question) => JSON.stringify(question)).join("\n"));
    const shared = lines[1];
    assert(!("error" in shared) && shared.context);
    const options = { context: shared.context, numDraws: 20, seed: 3 };
    const answers = await Array.fromAsync(answerQueries(model, lines, options, keep));
    const used = answers.map((answer) =>
      "error" in answer
        ? answer.error
        : [answer.numContext, answer.numContextUsed, answer.answer.mixture.numDraws]
    );
    const [, fits] = used[0];
    assert(typeof fits === "number" && fits > 2 && fits < 30);
    assertEquals(used.slice(0, 4), [[30, fits, 0], [2, 2, 0], [2, 2, 0], [0, 0, 20]]);
    assert(String(used[4]).includes("IPv6 to IPv4"), String(used[4]));
    const [own, , option, prefix] = answers.map((answer) => {
      assert("error" in answer || answer.answer.mixture.distribution);
      return "error" in answer ? undefined : answer.answer.mixture;
    });
    assert(own && option && prefix);
    const alone = await model.rttDistribution({ ...pair, context: context.slice(0, 2) });
    assertEquals(option.distribution.quantileMs(0.9), alone.quantileMs(0.9));
    const longest = await model.rttDistribution({ ...pair, context });
    assertEquals(own.distribution.quantileMs(0.9), longest.quantileMs(0.9));
    const drawn = await rttBetweenPrefixes(model, { src: "192.0.2.0/24", dst: "198.51.100.7" }, options);
    assertEquals(prefix.distribution.quantileMs(0.9), drawn.mixture.distribution.quantileMs(0.9));
    assertEquals(prefix.pFailedError, drawn.mixture.pFailedError);
  }));

Deno.test("answerQueries() skips later measurements in the shared context and rejects them in a query's own", () =>
  withTinyModel(async (model) => {
    const pair = { src: "192.0.2.1", dst: "198.51.100.7" };
    const own = [1, 2, 3].map((i) => ({ ...pair, time: 1_700_000_000 + i, rtt: i }));
    const questions = [
      { ...pair, time: 1_700_000_002, context: own },
      { ...pair, time: 1_700_000_003, context: own },
      { ...pair, time: 1_700_000_002 },
      { ...pair, time: 1_600_000_000 },
      { ...pair },
    ];
    const lines = await read(questions.map((question) => JSON.stringify(question)).join("\n"));
    assert(!("error" in lines[0]) && lines[0].context);
    const options = { context: lines[0].context };
    const answers = await Array.fromAsync(answerQueries(model, lines, options, keep));
    assertEquals(
      answers.map((each) =>
        "error" in each ? each.line : [each.numContext, each.numContextUsed, each.numContextLater]
      ),
      [1, [3, 3, 0], [2, 2, 1], [0, 0, 3], [3, 3, 0]],
    );
    assert("error" in answers[0]);
    assertStringIncludes(answers[0].error, "its context has a later measurement, at 1700000003");
    const alone = await model.rttDistribution({ ...pair, time: 1_700_000_002, context: own.slice(0, 2) });
    assert(!("error" in answers[2]));
    assertEquals(answers[2].answer.mixture.distribution.quantileMs(0.7), alone.quantileMs(0.7));
  }));
