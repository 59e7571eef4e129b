/** Asks one checkpoint the same question in all ways. All answers must come from one distribution. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { fromFileUrl } from "@std/path";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { requirePage } from "../cli/process.ts";
import type { Stage } from "../../lib/cli/stage.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { PlaceTable } from "../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../lib/data/addresses/places/open_places.ts";
import { FAILED_RTT_MS } from "../../lib/data/formats/batch.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import type { EvalCase } from "../../lib/eval/cases.ts";
import { forecastRtts } from "../../lib/eval/sections/rtt_forecasts.ts";
import { fitPool } from "../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../lib/model/pool/pool_tables.ts";
import { expectationsOf, EXPECTED_QUANTILES } from "../../lib/query/changes/expectation.ts";
import { loadModel } from "../../lib/query/files/load_model.ts";
import { drawDestinations } from "../../lib/query/rtt/prefix_query.ts";
import type { RttDistribution } from "../../lib/query/rtt/rtt_distribution.ts";
import { RttMaps } from "../../lib/query/rtt/rtt_map.ts";
import { jsonLines } from "../../lib/query/questions/lines.ts";
import { PingService } from "../../lib/serve/api/ping_service.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { writePool } from "../../lib/train/checkpoint_files.ts";
import { exportStage } from "../../tasks/export.ts";
import { likelihoodStage } from "../../tasks/query_likelihood.ts";
import { mapStage } from "../../tasks/query_map.ts";
import { matrixStage } from "../../tasks/query_matrix.ts";
import { destinationsStage, nearestStage, sampleStage } from "../../tasks/query_questions.ts";
import type { AnswerOf } from "../../lib/query/questions/questions.ts";
import { rttStage } from "../../tasks/query_rtt.ts";
import { scoreStage } from "../../tasks/score.ts";
import { blockPlaces } from "../data/addresses/block_places.ts";
import { INFO } from "../serve/api/tiny_service.ts";
import { StaticServer } from "../serve/test_server.ts";
import { KNOWN, tinyRowModel } from "./adapt/tiny_rows.ts";
import { withRowCheckpoint } from "./adapt/row_checkpoint.ts";
import { writeParquet } from "./score/sample_rows.ts";

const [SRC, , DST, OTHER] = KNOWN;
const TIME_S = 1_700_000_000;
const CITIES = fromFileUrl(new URL("../data/places/city.csv", import.meta.url));
/** Two programs compute the network's logits, with sums in different orders. */
const RELATIVE = 1e-4;
const LEVELS = [0.05, 0.5, 0.95];

/** A pool that remembers RTTs and losses of two pairs. */
function pool(): Map<string, TensorArray> {
  const tables = new PoolTables();
  const [source, ...ends] = [SRC, DST, OTHER].map((text) => PoolTables.endOf(addressBytes(text)));
  [20.5, 20.6, 21, 20.4, 35].forEach((ms, i) =>
    tables.add(source, ends[0], encodeRttCode(ms), TIME_S - 600 * i)
  );
  tables.add(source, ends[1], encodeRttCode(140), TIME_S);
  for (let i = 0; i < 8; i++) tables.add(source, ends[i % 2], null, TIME_S - 300 * i);
  return tables.save(fitPool([]));
}

/** A parsed JSON value, whose fields the assertions check. */
type Json = ReturnType<typeof JSON.parse>;

/** The numbers that one way of asking returns. */
interface Said {
  readonly pFailed?: number;
  /** By level, ms. */
  readonly quantilesMs?: Readonly<Record<string, number>>;
}

function agree({ pFailed, quantilesMs = {} }: Said, truth: RttDistribution, way: string): void {
  if (pFailed !== undefined) assertAlmostEquals(pFailed, truth.pFailed, RELATIVE * truth.pFailed, way);
  for (const [level, ms] of Object.entries(quantilesMs)) {
    // If rounding of sums decides between two codes, either is a quantile.
    const [below, upTo] = [truth.cdf(ms) - truth.probabilityOf(ms), truth.cdf(ms)];
    assert(below <= +level + RELATIVE && upTo >= +level - RELATIVE, `${way}: ${level} is ${ms} ms`);
  }
}

/** Runs a command within this process. @returns The output of `--json`. */
async function run(stage: Stage, ...args: string[]): Promise<Json> {
  return (await stage.run([...args, "--quiet"], { log: () => {} })).json ?? {};
}

/** Parses a file of JSON lines. */
function linesOf(path: string): Json[] {
  return Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** Asks the worker of an exported site, as its page does. */
async function askSite(site: string, operation: string, question: unknown): Promise<Json> {
  const worker = new Worker(new URL("../../lib/serve/page/worker.ts", import.meta.url), { type: "module" });
  const { promise, resolve, reject } = Promise.withResolvers<Json>();
  worker.onerror = (event) => reject(new Error(event.message));
  worker.onmessage = ({ data }) => {
    if (data.kind === "ready") worker.postMessage({ kind: "ask", id: 1, operation, question });
    if (data.kind === "status" && data.status.state === "failed") reject(new Error(data.status.message));
    if (data.kind === "problem") reject(new Error(data.detail));
    if (data.kind === "answer") resolve(data.answer);
  };
  worker.postMessage({ kind: "open", site });
  return await promise.finally(() => worker.terminate());
}

Deno.test("all interfaces of a checkpoint answer from the same distribution", async (test) => {
  // 192.0.2.1 in Berlin and 198.51.100.7 in Rome, so that no answer has mass below the RTT of light.
  const [cities, own] = [
    await openPlaces([CITIES]),
    blockPlaces([
      [addressBytes(SRC), { latitude: 52.5, longitude: 13.5 }],
      [addressBytes(DST), { latitude: 41.9, longitude: 12.5 }],
    ]),
  ];
  const places = PlaceTable.of({
    parts: [cities, own],
    locate: (address) => own.locate(address) ?? cities.locate(address),
    visitBounds(length, visit) {
      for (const part of [cities, own]) part.visitBounds(length, visit);
    },
  });
  await withRowCheckpoint(async (at) => {
    const { directory, state } = loadCheckpoint(at("run"));
    writePool(directory, pool(), state.files.model.sha256);
    using model = await loadModel(at("run"));
    const service = new PingService(model, { info: INFO });
    const [source, destination, other] = [SRC, DST, OTHER].map(addressBytes);
    const query = { source, destination, timeS: TIME_S, context: [] };
    const truth = await model.rttDistribution(query);
    const ofOther = await model.rttDistribution({ ...query, destination: other });
    using alone = await loadModel(at("run"), { noPool: true });
    const ofNetwork = await alone.rttDistribution(query);
    assert(Math.abs(truth.cdf(21) - ofNetwork.cdf(21)) > 0.01, "the pool counts");
    assert(Math.abs(truth.pFailed - ofNetwork.pFailed) > 0.01, "its share of losses does");
    const floorMs = truth.floorMs ?? NaN;
    assert(
      floorMs > 5 && truth.cdf(floorMs) === 0 && ofNetwork.cdf(floorMs) > 0.05,
      `${floorMs} ms`,
    );
    assert(truth.pFailed > 0.01 && truth.pFailed < 0.99, `P(no reply) is ${truth.pFailed}`);
    const checkpoint = ["--checkpoint", at("run")];
    const [from, to, when] = [["--src", SRC], ["--dst", DST], ["--time", String(TIME_S)]];
    Deno.writeTextFileSync(at("nodes.txt"), `${DST}\n${OTHER}\n`);
    Deno.writeTextFileSync(at("source.txt"), `${SRC}\n`);
    const asked = { src: SRC, dst: DST, time: TIME_S };

    await test.step("query rtt, for one pair and for a file", async () => {
      agree(await run(rttStage, ...checkpoint, ...from, ...to, ...when), truth, "query rtt");
      Deno.writeTextFileSync(at("q.jsonl"), JSON.stringify({ src: SRC, dst: DST, time: TIME_S }));
      await run(rttStage, ...checkpoint, "--queries", at("q.jsonl"), "--output", at("a.jsonl"));
      agree(linesOf(at("a.jsonl"))[0], truth, "query rtt --queries");
      agree(await run(rttStage, ...checkpoint, ...from, ...to, ...when, "--no-pool"), ofNetwork, "--no-pool");
    });

    await test.step("query matrix and query nearest", async () => {
      const nodes = ["--nodes", at("source.txt"), "--destinations", at("nodes.txt")];
      const levels = ["--quantiles", "0.05,0.95"];
      await run(matrixStage, ...checkpoint, ...nodes, ...when, ...levels, "--output", at("m.csv"));
      const rows = Deno.readTextFileSync(at("m.csv")).trimEnd().split("\n").map((line) => line.split(","));
      for (const [row, distribution] of [[1, truth], [2, ofOther]] as const) {
        const of = (name: string) => Number(rows[row][rows[0].indexOf(name)]);
        const quantilesMs = { 0.5: of("median_ms"), 0.05: of("q0.05_ms"), 0.95: of("q0.95_ms") };
        agree({ pFailed: of("p_failed"), quantilesMs }, distribution, "query matrix");
      }
      const near = await run(nearestStage, ...checkpoint, ...from, ...when, "--candidates", at("nodes.txt"));
      for (const { candidate, median_ms: medianMs, p_failed: pFailed } of near.nearest) {
        const distribution = candidate === DST ? truth : ofOther;
        agree({ pFailed, quantilesMs: { 0.5: medianMs } }, distribution, "query nearest");
      }
    });

    await test.step("query map, for countries represented by one address", async () => {
      await run(mapStage, ...checkpoint, ...from, ...when, "--output", at("m.geojson"));
      const { features } = JSON.parse(Deno.readTextFileSync(at("m.geojson")));
      const maps = new RttMaps(model);
      const areas = maps.areas("country", maps.source(SRC)).filter(({ prefixes }) => prefixes.length === 1);
      assert(areas.length > 0);
      for (const { country, prefixes: [{ prefix }] } of areas.slice(0, 3)) {
        const [destination] = await drawDestinations(model, query, [{ prefix, index: 0 }], 0);
        const there = await model.rttDistribution({ ...query, destination });
        const { properties } = features.find((
          { properties }: { properties: AnswerOf<"map">["places"][number] },
        ) => properties.country === country && properties.cell_degrees === null);
        agree({ pFailed: properties.p_failed }, there, `query map ${country}`);
        // A twentieth of the probability may be spread within first bytes.
        const { low_ms, median_ms, high_ms } = properties;
        [low_ms, median_ms, high_ms].forEach((ms: number, i) => {
          const [below, upTo] = [there.cdf(ms) - there.probabilityOf(ms), there.cdf(ms)];
          assert(
            below <= LEVELS[i] + 0.05 && upTo >= LEVELS[i] - 0.05,
            `${country}: ${LEVELS[i]} is ${ms} ms`,
          );
        });
      }
    });

    await test.step("score and query likelihood, with and without a reply", async () => {
      const rtts = [truth.quantileMs(0.3), 20.5, 700, FAILED_RTT_MS];
      const results = rtts.map((ms) =>
        Math.log(ms === FAILED_RTT_MS ? truth.pFailed : (1 - truth.pFailed) * truth.probabilityOf(ms))
      );
      writeParquet(at("in.parquet"), {
        numRows: rtts.length,
        eventTimeUs: new Float64Array(rtts.length).fill(TIME_S * 1e6),
        srcAddr: rtts.map(() => SRC),
        dstAddr: rtts.map(() => DST),
        ipVersion: new Uint8Array(rtts.length).fill(4),
        rttMs: Float64Array.from(rtts),
        msmId: Float64Array.from(rtts, (_, i) => i),
      });
      const input = ["--input", at("in.parquet")];
      await run(scoreStage, ...checkpoint, ...input, "--output", at("out.parquet"), "--context", "0");
      const file = Deno.readFileSync(at("out.parquet")).buffer;
      const scored = await parquetReadObjects({ file, compressors });
      const order = ["--order", "source,destination,time,result"];
      await run(likelihoodStage, ...checkpoint, ...input, ...order, "--output", at("bits.jsonl"));
      const bits = linesOf(at("bits.jsonl"));
      const measurements = rtts.map((ms) => ({ ...asked, rtt: ms === FAILED_RTT_MS ? null : ms }));
      const scores = await Array.fromAsync(service.scoreLines(jsonLines(measurements), { context: 0 }));
      for (const [i, nats] of results.entries()) {
        assertAlmostEquals(Number(scored[i].log_likelihood), nats, RELATIVE * 10, `score ${rtts[i]}`);
        assertAlmostEquals(
          -bits[i].orders[0].block_bits.result * Math.LN2,
          nats,
          RELATIVE * 10,
          `bits ${rtts[i]}`,
        );
        const score = scores[i];
        assert("log_likelihood" in score);
        assertAlmostEquals(score.log_likelihood, nats, RELATIVE * 10, `/v1/score ${rtts[i]}`);
      }
    });

    await test.step("query sample, within binomial bounds", async () => {
      const count = 4000;
      await run(
        sampleStage,
        ...checkpoint,
        ...from,
        ...to,
        ...when,
        "--count",
        `${count}`,
        "--output",
        at("s.jsonl"),
      );
      followsIt(linesOf(at("s.jsonl")).map(({ rtt }) => rtt), truth, "query sample");
      const network = ["--count", `${count}`, "--no-pool", "--output", at("n.jsonl")];
      await run(sampleStage, ...checkpoint, ...from, ...to, ...when, ...network);
      followsIt(linesOf(at("n.jsonl")).map(({ rtt }) => rtt), ofNetwork, "query sample --no-pool");
    });

    await test.step("query destinations, with the likelihoods of query rtt", async () => {
      const weightsOf = async (rtt: string) => {
        const options = ["--rtt", rtt, "--candidates", "2", "--top", "9"];
        const { destinations } = await run(destinationsStage, ...checkpoint, ...from, ...when, ...options);
        return [DST, OTHER].map((address) =>
          destinations.find(({ prefix }: { prefix: string }) => prefix === address).probability
        );
      };
      // All replies, which leaves the prior and P(no reply); then those of a range.
      const [all, within] = [await weightsOf("0..1000000000000"), await weightsOf("15..30")];
      const share = (of: RttDistribution) => of.cdf(30) - of.cdf(15) + of.probabilityOf(15);
      const ratio = share(truth) / share(ofOther) * all[0] / all[1];
      assertAlmostEquals(within[0] / within[1] / ratio, 1, 1e-3);
    });

    await test.step("/v1/rtt and the worker of an exported site", async () => {
      const quantiles = [...LEVELS];
      const saidBy = ({ p_failed, quantiles_ms }: Json): Said => ({
        pFailed: p_failed,
        quantilesMs: quantiles_ms,
      });
      const served = await service.rtt({ ...asked, quantiles });
      agree(saidBy(served), truth, "/v1/rtt");
      assertEquals(served.basis.kind, "measured");
      requirePage();
      await run(exportStage, ...checkpoint, "--output", at("site"));
      await using server = new StaticServer(at("site"));
      const answer = await askSite(server.at("/site.json"), "rtt", { ...asked, quantiles });
      agree(saidBy(answer), truth, "the site's worker");
      assertEquals(answer.basis, served.basis);
    });

    await test.step("eval's forecasts and watch's expectations", async () => {
      const rttMs = 20.5;
      const measurement = { ...query, rttCode: encodeRttCode(rttMs) };
      const drawn: EvalCase = { sourceKey: SRC, srcAddr: SRC, dstAddr: DST, rttMs, measurement, history: [] };
      const { pFailed, codeBits, upTo } = await forecastRtts(model, [drawn], { contexts: [0] });
      agree({ pFailed: pFailed[0] }, truth, "eval");
      assertAlmostEquals(codeBits[0], -Math.log2(truth.probabilityOf(rttMs)), 1e-3);
      assertAlmostEquals(upTo[0], truth.cdf(rttMs), 0.01);
      const [expected] = await expectationsOf(model, [{ measurement: query, before: [], rttMs }]);
      const quantilesMs = Object.fromEntries(EXPECTED_QUANTILES.map((q, i) => [q, expected.quantilesMs[i]]));
      agree({ quantilesMs }, truth, "watch");
    });
  }, tinyRowModel(512, places.encode()));
});

/** Checks that RTTs, ms, null for no reply, follow a distribution: shares within four standard errors. */
function followsIt(drawn: readonly (number | null)[], truth: RttDistribution, way: string): void {
  const isNear = (share: number, count: number, of: number, what: string) => {
    const error = Math.sqrt(share * (1 - share) / of);
    assert(Math.abs(count / of - share) <= 4 * error, `${way}: ${what} is ${count / of}, expected ${share}`);
  };
  const replies = drawn.filter((ms) => ms !== null);
  isNear(truth.pFailed, drawn.length - replies.length, drawn.length, "the share of losses");
  for (const level of [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]) {
    const ms = truth.quantileMs(level);
    isNear(truth.cdf(ms), replies.filter((each) => each <= ms).length, replies.length, `P(<= ${ms} ms)`);
  }
}
