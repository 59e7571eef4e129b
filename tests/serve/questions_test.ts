/** Programs, the command line and HTTP get the same answers to every kind of question. */
import { assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { fitPool } from "../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../lib/model/pool/pool_tables.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { writePool } from "../../lib/train/checkpoint_files.ts";
import { UserError } from "../../lib/base/errors.ts";
import { type QuestionName, QUESTIONS } from "../../lib/query/questions/questions.ts";
import { loadModel } from "../../mod.ts";
import { succeed } from "../cli/process.ts";
import { withRowCheckpoint } from "../query/adapt/row_checkpoint.ts";
import { KNOWN, tinyLocatedModel, tinyPlacedModel } from "../query/adapt/tiny_rows.ts";
import { TestServer } from "./test_server.ts";

const SRC = "192.0.2.1";
const DST = "198.51.100.7";
const CONTEXT = [{ src: SRC, dst: DST, time: 1748736000, rtt: 12.5 }];
const CANDIDATES = ["198.51.100.7", "203.0.113.0/24"];
const TIME = 1748739600;

/** A question of each kind that is also a command. */
const ASKED: Record<Exclude<QuestionName, "places"> | "nearest of many", Record<string, unknown>> = {
  rtt: {
    src: SRC,
    dst: DST,
    time: TIME,
    context: CONTEXT,
    probe: 1000,
    quantiles: [0.1, 0.5],
    at: [20],
    cdf: 5,
    histogram: 4,
    measured: true,
  },
  destinations: { src: SRC, rtt: [20, 21], top: 3, prefix_length: 8, max_expansions: 16, context: CONTEXT },
  nearest: { src: SRC, probe: 1000, candidates: CANDIDATES, by: "probability", draws: 4, seed: 3 },
  "nearest of many": {
    sources: [{ src: SRC }, { src: "192.0.2.128/25", weight: 3 }],
    candidates: CANDIDATES,
    draws: 4,
    best: 2,
  },
  matrix: { nodes: [SRC, DST], destinations: CANDIDATES, quantiles: [0.9], samples: 2, draws: 4 },
  map: { src: SRC, level: "cell", first: 1, count: 3 },
  likelihood: { src: SRC, dst: DST, time: TIME, rtt: 12.5, context: CONTEXT, tokens: true },
  sample: { src: SRC, count: 3, temperature: 0.9, seed: 1 },
  place: { src: SRC, context: [{ ...CONTEXT[0], dst: "109.90.179.1" }], count: 7 },
  advise: { src: SRC, candidates: KNOWN, budget: 2, draws: 4 },
};

/** RTTs of a pair, newest first; null for no reply. */
const REMEMBERED = Array.from({ length: 48 }, (_, i) => i % 9 === 0 ? null : 12 + i % 12);
/** The jitter of the remembered pair, ms. */
const JITTER_MS = (() => {
  const rttsMs = REMEMBERED.flatMap((rttMs) => rttMs ?? []);
  const steps = rttsMs.slice(1).map((rttMs, i) => Math.abs(rttMs - rttsMs[i]));
  return steps.reduce((a, b) => a + b) / steps.length;
})();

/** Adds a pool that remembers four days of the pair. */
function rememberPair(run: string): void {
  const tables = new PoolTables();
  const [from, to] = [SRC, DST].map((address) => PoolTables.endOf(addressBytes(address)));
  REMEMBERED.forEach((rttMs, i) => tables.add(from, to, rttMs && encodeRttCode(rttMs), TIME - 7200 * i));
  const { directory, state } = loadCheckpoint(run);
  writePool(directory, tables.save(fitPool([])), state.files.model.sha256);
}

for (
  const [tinyModel, names] of [
    [() => tinyPlacedModel(), [
      "rtt",
      "destinations",
      "nearest",
      "nearest of many",
      "matrix",
      "map",
      "place",
      "likelihood",
      "sample",
    ]],
    [() => Promise.resolve(tinyLocatedModel()), ["advise", "rtt"]],
  ] as const
) {
  Deno.test(`ask(), query ${names} --json, GET and POST return the same bytes for the same question`, async (test) =>
    await withRowCheckpoint(async (at) => {
      rememberPair(at("run"));
      await using server = await TestServer.start(at("run"));
      using model = await loadModel(at("run"));
      for (const title of names) {
        await test.step(title, async () => {
          const { [title]: question } = ASKED;
          const name = title === "nearest of many" ? "nearest" : title;
          const args = Object.entries(question).flatMap(([field, value]) => {
            const option = `--${field.replaceAll("_", "-")}`;
            if (value === true) return [option];
            const isFile = Array.isArray(value) && typeof value[0] !== "number";
            if (!isFile) return [option, field === "rtt" ? String(value).replace(",", "..") : String(value)];
            const path = at(field);
            const lines = value.map((each) => typeof each === "string" ? each : JSON.stringify(each));
            Deno.writeTextFileSync(path, `${lines.join("\n")}\n`);
            return [option, path];
          });
          const { stdout } = await succeed("query", name, "--checkpoint", at("run"), ...args, "--json");
          const posted = await server.post(`/v1/${name}`, question);
          const text = await posted.text();
          assertEquals(stdout, `${text}\n`);
          assertEquals(JSON.stringify(await model.ask(name, question as never)), text);
          QUESTIONS[name].answer.strict().parse(JSON.parse(text));
          if (name === "rtt") assertEquals(JSON.parse(text).measured?.by_hour.length, 12);
          if (name === "matrix") {
            const [[own, unmeasured]] = JSON.parse(text).rows.map((row: { jitter_ms: unknown }) =>
              row.jitter_ms
            );
            assertAlmostEquals(own, JITTER_MS, 0.01);
            assertEquals(unmeasured, null);
            const files = ["--nodes", at("nodes"), "--output", at("m.gml")];
            await succeed("query", name, "--checkpoint", at("run"), ...files);
            const edges = Deno.readTextFileSync(at("m.gml")).split("edge [").slice(1);
            const jitters = edges.map((edge) => Number(/^ {4}jitter "(\d+) us"$/m.exec(edge)?.[1]));
            assertEquals([jitters[0], jitters[3]], [NaN, NaN]);
            for (const jitterUs of jitters.slice(1, 3)) {
              assertAlmostEquals(jitterUs, 1000 * JITTER_MS / Math.SQRT2, 10);
            }
          }
          const lines = await server.postLines(`/v1/${name}:batch`, [question]);
          assertEquals(lines, [{ line: 1, ...JSON.parse(text) }]);
          const { context: _, ...flat } = question;
          const query = new URLSearchParams(
            Object.entries(flat).map(([field, value]) => [
              field,
              Array.isArray(value) && typeof value[0] === "object" ? JSON.stringify(value) : String(value),
            ]),
          );
          const got = await server.fetch(`/v1/${name}?${query}`);
          assertEquals(await got.text(), await (await server.post(`/v1/${name}`, flat)).text());
        });
      }
    }, await tinyModel()));
}

Deno.test("ask() answers places and scores as HTTP does, and throws what HTTP says", async () =>
  await withRowCheckpoint(async (at) => {
    await using server = await TestServer.start(at("run"));
    using model = await loadModel(at("run"));
    const places = { q: "192", count: 2 };
    const posted = await (await server.post("/v1/places", places)).text();
    assertEquals(JSON.stringify(await model.ask("places", places)), posted);
    const measurements = [...CONTEXT, { src: SRC, dst: DST, time: TIME, rtt: null }, {
      ...CONTEXT[0],
      rtt: -5,
    }];
    const { answers } = await model.ask("score", { measurements, context: 5, seed: 2 });
    assertEquals(answers, await server.postLines("/v1/score?context=5&seed=2", measurements));
    assertEquals(answers.map((each) => "error" in each), [false, false, true]);

    const wrong = [
      ["rtt", { src: SRC }],
      ["rtt", { src: SRC, dst: "nowhere.example" }],
      ["nearest", { src: SRC, candidates: [DST, "2001:db8::1"] }],
      ["nearest", { sources: [SRC], probe: 7, candidates: [DST] }],
      ["sample", { src: SRC, counts: 3 }],
    ] as const;
    for (const [kind, question] of wrong) {
      const { detail } = await (await server.post(`/v1/${kind}`, question)).json();
      if ("probe" in question) {
        assertEquals(detail, "Cannot answer: found probe 7, expected it only with src");
      }
      await assertRejects(() => model.ask(kind, question as never), UserError, detail);
    }
    await assertRejects(
      () => model.ask("nearst" as never, {} as never),
      UserError,
      'Cannot answer: found the question "nearst", expected rtt, ',
    );
  }, await tinyPlacedModel()));

Deno.test("ask() reports progress and ends when its signal aborts", async () =>
  await withRowCheckpoint(async (at) => {
    using model = await loadModel(at("run"));
    const done: number[] = [];
    await model.ask("sample", { count: 3 }, { onProgress: (steps) => done.push(steps) });
    assertEquals(done, [1, 2, 3]);
    const stopped = new AbortController();
    const onProgress = () => stopped.abort(new Error("enough"));
    const { signal } = stopped;
    await assertRejects(() => model.ask("sample", { count: 3 }, { signal, onProgress }), Error, "enough");
    await assertRejects(() => model.ask("rtt", { src: SRC, dst: DST }, { signal }), Error, "enough");
  }, await tinyPlacedModel()));
