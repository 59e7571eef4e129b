import { assert, assertAlmostEquals, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { streamOf, withService } from "./tiny_service.ts";
import {
  measurementLines,
  type MeasurementLinesOptions,
  withReadings,
} from "../../../lib/query/questions/lines.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { LineHistories } from "../../../lib/query/score/score_lines.ts";
import type { LineError } from "../../../lib/query/questions/question.ts";
import { score, type ScoreAnswer } from "../../../lib/query/questions/score.ts";
import { parseMeasurement } from "../../../lib/query/rtt/rtt_question.ts";
import { scoreFile } from "../../../lib/query/files/score_file.ts";
import type { TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { sampleRows, writeParquet } from "../../query/score/sample_rows.ts";

function lineOf(dst: number, time: number | null, rtt: number | null = 10 + dst) {
  return {
    src: "192.0.2.1",
    dst: `198.51.100.${dst}`,
    time: time === null ? null : 1_700_000_000 + time,
    rtt,
  };
}

function numbersOf(answer: ScoreAnswer | LineError): [number, number, number] {
  assert(!("error" in answer), JSON.stringify(answer));
  const { log_likelihood, p_value, loss_run_p_value } = score.answer.parse(answer);
  return [log_likelihood, p_value, loss_run_p_value];
}

/** The context of each line, as indexes into all lines. */
function contextsOf(lines: readonly ReturnType<typeof lineOf>[], maxContext = 3): number[][] {
  const histories = new LineHistories(maxContext);
  const measurements: TokenMeasurement[] = [];
  return lines.map((line) => {
    const measurement = parseMeasurement(line);
    const context = histories.contextOf(measurement, line.time);
    measurements.push(measurement);
    return context.map((each) => measurements.indexOf(each));
  });
}

Deno.test("scores match those of the stage score for lines in time order", () =>
  withService(async (service, model) => {
    using folder = new TemporaryFolder();
    const rows = sampleRows(120);
    const order = [...rows.eventTimeUs.keys()].sort((a, b) => rows.eventTimeUs[a] - rows.eventTimeUs[b]);
    const sorted = {
      ...rows,
      eventTimeUs: Float64Array.from(order, (i) => rows.eventTimeUs[i]),
      srcAddr: order.map((i) => rows.srcAddr[i]),
      dstAddr: order.map((i) => rows.dstAddr[i]),
      ipVersion: Uint8Array.from(order, (i) => rows.ipVersion[i]),
      rttMs: Float64Array.from(order, (i) => rows.rttMs[i]),
    };
    writeParquet(folder.at("in.parquet"), sorted);
    await scoreFile(model, {
      inputs: [folder.at("in.parquet")],
      history: [],
      output: folder.at("out.parquet"),
      workFolder: folder.at("work"),
      maxContext: 5,
      groupBy: "src_addr",
      seed: 3,
      maxRejectRatio: 0,
      memoryLimitBytes: 5e8,
    });
    const file = Deno.readFileSync(folder.at("out.parquet")).buffer;
    const expected = await parquetReadObjects({ file, compressors });
    const lines = order.map((_, i) =>
      JSON.stringify({
        src: sorted.srcAddr[i],
        dst: sorted.dstAddr[i],
        time: sorted.eventTimeUs[i] / 1e6,
        rtt: sorted.rttMs[i] < 0 ? null : sorted.rttMs[i],
      })
    );
    const answers = await Array.fromAsync(service.scoreLines(streamOf(lines), { context: 5, seed: 3 }));
    assertEquals(answers.length, 120);
    answers.forEach((answer, i) => {
      const [logLikelihood, pValue, lossRunPValue] = numbersOf(answer);
      // The stage scores in another order, so rounding differs.
      assertAlmostEquals(logLikelihood, Number(expected[i].log_likelihood), 1e-4);
      assertAlmostEquals(pValue, Number(expected[i].p_value), 2e-3);
      assertAlmostEquals(lossRunPValue, Number(expected[i].loss_run_p_value), 1e-4);
    });
  }));

Deno.test("contexts contain the source's lines up to the line's time, with the pair's own lines last", () => {
  assertEquals(contextsOf([lineOf(1, 3), lineOf(1, 2), lineOf(1, 1)]), [[], [], []]);
  assertEquals(contextsOf([lineOf(1, 1), lineOf(1, 9), lineOf(1, 5), lineOf(1, 10)]), [[], [0], [0], [
    0,
    2,
    1,
  ]]);
  assertEquals(contextsOf([lineOf(1, null), lineOf(2, null), lineOf(1, null)]), [[], [0], [0]]);
  assertEquals(contextsOf([lineOf(1, 1), lineOf(1, null), lineOf(1, 2), lineOf(1, null)]), [[], [], [0], [
    1,
  ]]);
  const manyPairs = [1, 1, 2, 2, 2, 1].map((dst, i) => lineOf(dst, i));
  assertEquals(contextsOf(manyPairs, 2).at(-1), [0, 1]);
  const others = [...manyPairs, { ...lineOf(1, 9), src: "192.0.2.2" }];
  assertEquals(contextsOf(others).at(-1), []);
  assertEquals(contextsOf(manyPairs, 0).flat(), []);
});

Deno.test("LineHistories keeps a bounded number of measurements, from the newest sources", () => {
  const histories = new LineHistories(4, Infinity, 40);
  const contextOf = (source: number, time: number | null, dst = 1) => {
    const line = { ...lineOf(dst, time), src: `192.0.2.${source}` };
    return histories.contextOf(parseMeasurement(line), line.time).length;
  };
  for (let time = 0; time < 3; time++) {
    for (let source = 0; source < 10; source++) assertEquals(contextOf(source, time), time);
  }
  assertEquals(histories.numKept, 30);
  for (let source = 10; source < 30; source++) contextOf(source, 0);
  assert(histories.numKept <= 40, `${histories.numKept} kept`);
  assertEquals([contextOf(0, 3), contextOf(29, 3)], [0, 1]);
  // A source with many pairs at the same time, so that all of them are its newest.
  for (let dst = 0; dst < 256; dst++) {
    contextOf(77, 5, dst);
    assert(histories.numKept <= 40, `${histories.numKept} kept`);
  }
  assertEquals(contextOf(78, 5), 0);
  assertEquals(contextOf(78, 6), 1);
});

Deno.test("the random part of a p-value depends only on the seed and the line", () =>
  withService(async (service) => {
    const same = lineOf(1, 0);
    const pValuesOf = async (lines: (ReturnType<typeof lineOf> | string)[], seed: number) => {
      const texts = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line));
      const answers = await Array.fromAsync(service.scoreLines(streamOf(texts), { context: 0, seed }));
      return new Map(answers.flatMap((each) => "error" in each ? [] : [[each.line, each.p_value] as const]));
    };
    const first = await pValuesOf([same, same, same], 1);
    const second = await pValuesOf(["", "nonsense", same], 1);
    const third = await pValuesOf([same], 2);
    const at = (values: Map<number, number>, line: number) => values.get(line) ?? NaN;
    assertAlmostEquals(at(second, 3) / at(first, 3), 1, 1e-4);
    assertNotEquals(at(first, 1), at(first, 2));
    assertNotEquals(at(third, 1), at(first, 1));
    assertEquals([...second.keys()], [3]);
  }));

Deno.test("scoreLines() reads at most one part ahead, and stops with its consumer", () =>
  withService(async (service) => {
    let numPulled = 0;
    const lines = Array.from({ length: 600 }, (_, i) => JSON.stringify(lineOf(i % 3, i)));
    let numScored = 0;
    for await (const { line } of service.scoreLines(streamOf(lines, () => numPulled++), {})) {
      assertEquals(line, ++numScored);
      // Scoring works on parts of 256 lines.
      assert(numPulled - numScored < 256, `${numPulled - numScored} lines ahead`);
      if (numScored === 120) break;
    }
    assert(numPulled <= 256, `${numPulled} lines were read`);
  }));

/** The measurements of lines as scoring reads them, or their errors. */
async function measuredIn(
  text: string,
  options: Partial<MeasurementLinesOptions> = {},
): Promise<unknown[]> {
  const texts = streamOf(text.split("\n"), () => {});
  const found: unknown[] = [];
  for await (const { line, read } of measurementLines(texts, { isText: false, withIds: true, ...options })) {
    try {
      found.push([line, read()]);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      found.push([line, error.message]);
    }
  }
  return found;
}

Deno.test("measurementLines() reads RIPE Atlas results and messages of its stream", async () => {
  const ping = {
    ...{ type: "ping", msm_id: 1, prb_id: 2, af: 4, timestamp: 1_700_000_000, from: "193.0.0.1" },
    ...{ dst_addr: "198.51.100.7", src_addr: "10.0.0.2", sent: 1, rcvd: 1, size: 48, result: [{ rtt: 5 }] },
  };
  const own = { src: "192.0.2.1", dst: "198.51.100.7", time: 3, rtt: 5 };
  const lines = [own, ["atlas_result", ping], ping, { ...ping, type: "dns" }, { ...ping, sent: 0 }];
  const row = { src: "193.0.0.1", dst: "198.51.100.7", time: 1_700_000_000, rtt: 5 };
  const says = (what: string) => `found ${what}, which does not measure a path, expected a ping result`;
  assertEquals(await measuredIn(lines.map((line) => JSON.stringify(line)).join("\n")), [
    [1, own],
    [2, { ...row, msm_id: 1, prb_id: 2 }],
    [3, { ...row, msm_id: 1, prb_id: 2 }],
    [4, says("dns")],
    [5, says("nothing sent")],
  ]);
  assertEquals(await measuredIn(JSON.stringify(ping), { withIds: false }), [[1, row]]);
  const nan = '{"src":"192.0.2.1","dst":"198.51.100.7","tme":3,"rtt":NaN,"note":"NaN"}';
  assertEquals(await measuredIn(`${nan}\n{"rtt":nan}`), [
    [1, { src: "192.0.2.1", dst: "198.51.100.7", tme: 3, rtt: null, note: "NaN" }],
    [2, "the line must be a JSON object"],
  ]);
  const { src: src_addr, dst: dst_addr, time: timestamp, rtt } = own;
  assertEquals(await measuredIn(JSON.stringify({ src_addr, dst_addr, timestamp, rtt })), [[1, own]]);
});

Deno.test("measurementLines() reads the column names, units and no-reply words of tables", async () => {
  const [src, dst, time] = ["192.0.2.1", "198.51.100.7", 1_700_000_000];
  const row = { src, dst, time };
  const cases: [object, unknown][] = [
    [{ source: src, target: dst, timestamp: time, rtt_ms: 5, ttl: 57 }, { ...row, rtt: 5 }],
    [{ source: src, target: dst, timestamp: time, rtt_ms: 0 }, "zeroRtt, rtt_ms 0 is not an RTT"],
    [{ src, dst, time_ms: 1000 * time, rtt_s: 0.005 }, { ...row, rtt: 5 }],
    [{ src: `[${src}]`, dst: `https://${dst}:443/`, time, rtt: "5.5 ms" }, { ...row, rtt: 5.5 }],
    ...[null, "", "timeout", "NaN", -1, "*"].map((rtt): [object, unknown] => [
      { src, dst, time, rtt },
      { ...row, rtt: null },
    ]),
    [{ time, rtt: 5 }, { ...row, rtt: 5 }],
    [{ src, dst, time, rtt: 0, msm_id: 7 }, { ...row, rtt: 0 }],
    // The API's schema explains what is wrong with these.
    ...[
      { src, dst, tme: time, rtt: 5 },
      { src, dst, time, rtt: 0 },
      { src, dst, time },
      { src: "192.0.2.0/24", dst, time, rtt: 5 },
      { src, dst, time, rtt: 5, unit: "s" },
      { src, dst, time, rtt: 5, rtt_s: 5 },
    ].map((line): [object, unknown] => [line, line]),
  ];
  for (const [line, expected] of cases) {
    const ends = "src" in line || "source" in line ? {} : { src, dst };
    assertEquals(await measuredIn(JSON.stringify(line), { withIds: false, ...ends }), [[1, expected]]);
  }
});

Deno.test("withReadings() puts the reading of another format before the answers", async () => {
  const texts = [
    "PING 198.51.100.7 (198.51.100.7) 56(84) bytes of data.",
    "[1700000000.5] 64 bytes from 198.51.100.7: icmp_seq=1 ttl=57 time=27.0 ms",
  ];
  const answers = (text: readonly string[], isText: boolean) =>
    Array.fromAsync(withReadings((onReading) => {
      const options = { isText, src: "192.0.2.1", withIds: false, onReading };
      return measurementLines(ReadableStream.from(text), options);
    }));
  const [said, ...rest] = await answers(texts, true);
  assert("reading" in said);
  assertEquals([said.reading.format, said.reading.source, rest.length], [
    "ping",
    "the heading, else 192.0.2.1 (--src)",
    1,
  ]);
  // The API's own measurements have no reading.
  const own = await answers(['{"src":"192.0.2.1","dst":"198.51.100.7","time":1700000000,"rtt":5}'], false);
  assertEquals(own.map((each) => "reading" in each), [false]);
});

Deno.test("measurementLines() reads other text formats, with source and destination added", async () => {
  const ping = "PING 198.51.100.7 (198.51.100.7) 56(84) bytes of data.\n" +
    "[1700000000.5] 64 bytes from 198.51.100.7: icmp_seq=1 ttl=57 time=27.0 ms\n" +
    "[1700000002.5] 64 bytes from 198.51.100.7: icmp_seq=3 ttl=57 time=16.7 ms";
  const row = { src: "192.0.2.1", dst: "198.51.100.7" };
  assertEquals(await measuredIn(ping, { isText: true, src: "192.0.2.1" }), [
    [2, { ...row, time: 1_700_000_000.5, rtt: 27 }],
    [3, { ...row, time: 1_700_000_001.5, rtt: null }],
    [3, { ...row, time: 1_700_000_002.5, rtt: 16.7 }],
  ]);
  const table = "dst;time;rtt\n198.51.100.7;1700000000;5,5\n198.51.100.7;1700000001;0";
  assertEquals(await measuredIn(table, { isText: true, src: "192.0.2.1" }), [
    [2, { ...row, time: 1_700_000_000, rtt: 5.5 }],
    [3, "zeroRtt, rtt 0 is not an RTT"],
  ]);
  assertEquals(await measuredIn("[]", { isText: true }), []);
  await assertRejects(
    () => measuredIn('[["192.0.2.1", "198.51.100.7", 1700000000, 5]]', { isText: true }),
    UserError,
    "Cannot read the body: found no measurements, expected objects with src, dst, time and rtt",
  );
  const { message } = await assertRejects(() => measuredIn("hello, world\n", { isText: true }), UserError);
  assertEquals(
    message,
    "Cannot read the body at its header: found the columns hello, world, expected src, dst, rtt; " +
      "give src and dst in the URL if the text does not contain them",
  );
});
