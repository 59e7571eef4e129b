import { assert, assertEquals } from "@std/assert";
import { pairNameOf, SourceHistory } from "../../../lib/data/tokens/source_history.ts";
import { drawCases, queryOf } from "../../../lib/eval/cases.ts";
import { RejectLog } from "../../../lib/data/measurement_files/rejects.ts";
import type { ProbeRow } from "../../../lib/data/probe_rows/probe_row.ts";
import { encodeQuery } from "../../../lib/query/query_tokens.ts";
import { orderRows, readOrdered } from "../../../lib/query/files/ordered_rows.ts";
import { MEASUREMENT_START, type TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { sampleRows, writeParquet } from "../../query/score/sample_rows.ts";
import { MemoryRowSource } from "../loader/synthetic_rows.ts";

const MAX_CONTEXT = 6;

Deno.test("score and eval see the same history for the same measurement", async () => {
  using folder = new TemporaryFolder();
  const rows = sampleRows(400);
  writeParquet(folder.at("in.parquet"), rows);
  const ofScore = await contextsOfScore(folder);
  const numTied = rows.numRows - new Set(rows.eventTimeUs).size;
  assert(numTied > 20, `only ${numTied} measurements have the time of another`);
  const source = new MemoryRowSource(probeRowsOf(rows));
  const none = new MemoryRowSource([]);
  const cases = await drawCases({ heldOut: source, training: none, others: [], history: "all" }, {
    count: rows.numRows,
    maxContext: MAX_CONTEXT,
    seed: 1,
  });
  assertEquals(cases.length, rows.numRows);
  for (const drawn of cases) {
    assertEquals(ofScore.get(nameOf(drawn.measurement)), queryOf(drawn, MAX_CONTEXT).context.map(nameOf));
  }
});

Deno.test("contexts grow until the model's sequence is full, then restart with half of it", () => {
  const [maxContext, sequenceLength] = [20, 128];
  const history = new SourceHistory(maxContext, sequenceLength);
  const sizes = Array.from({ length: 30 }, (_, i) => {
    // With 4 bytes of time: 19 tokens, the first one 4 more.
    const measurement = {
      source: Uint8Array.of(192, 0, 2, 1),
      destination: Uint8Array.of(198, 51, 100, 1),
      rttCode: 20_000,
      timeS: 1_700_000_000 + 900 * i,
    };
    const context = history.growingContextOf("pair", i, measurement);
    history.add("pair", i, measurement);
    const query = encodeQuery({ ...measurement, context }, sequenceLength);
    assertEquals(query.filter((token) => token === MEASUREMENT_START).length, context.length + 1);
    return context.length;
  });
  assertEquals(sizes, [0, 1, 2, 3, 4, 5, ...Array.from({ length: 24 }, (_, i) => 3 + i % 3)]);
});

Deno.test("a pair's second context continues its first, which contains only other pairs", () => {
  const history = new SourceHistory(MAX_CONTEXT);
  const next = (destination: number, timeS: number) => {
    const measurement = {
      source: Uint8Array.of(192, 0, 2, 1),
      destination: Uint8Array.of(198, 51, 100, destination),
      rttCode: 20_000,
      timeS,
    };
    const pair = pairNameOf(measurement);
    const times = history.growingContextOf(pair, timeS, measurement).map((each) => each.timeS);
    history.add(pair, timeS, measurement);
    return times;
  };
  for (const timeS of [1, 2, 3, 4]) next(1, timeS);
  assertEquals([next(2, 5), next(2, 6), next(1, 7), next(2, 8)], [[2, 3, 4], [2, 3, 4, 5], [1, 2, 3, 4], [
    2,
    3,
    4,
    5,
    6,
  ]]);
});

/** The contexts that `score` uses, by measurement. */
async function contextsOfScore(folder: TemporaryFolder): Promise<Map<string, string[]>> {
  const input = { inputs: [folder.at("in.parquet")], history: [], groupBy: "src_addr", columns: [] } as const;
  const { index } = await orderRows(input, {
    folder: folder.path,
    memoryLimitBytes: 5e8,
    rejects: new RejectLog(),
    numRows: 400,
    hooks: {},
  });
  const history = new SourceHistory(MAX_CONTEXT);
  const contexts = new Map<string, string[]>();
  for (const { isFirstOfSource, timeUs, pair, measurement } of readOrdered(folder.path, index)) {
    if (isFirstOfSource) history.clear();
    contexts.set(nameOf(measurement), history.contextOf(pair, timeUs).map(nameOf));
    history.add(pair, timeUs, measurement);
  }
  return contexts;
}

function nameOf({ source, destination, timeS, rttCode }: TokenMeasurement): string {
  return `${source} ${destination} ${timeS} ${rttCode}`;
}

/** Each source's measurements in time order, with equal times in file order, like probe rows. */
function probeRowsOf(rows: MeasurementBatch): ProbeRow[] {
  const places = Array.from(rows.srcAddr.keys()).sort((a, b) => rows.eventTimeUs[a] - rows.eventTimeUs[b]);
  return [...Map.groupBy(places, (place) => rows.srcAddr[place])].map(([source, ofSource], i) => {
    const dstAddrs = [...new Set(ofSource.map((place) => rows.dstAddr[place]))];
    return {
      srcId: BigInt(i),
      eventTimeUs: Float64Array.from(ofSource, (place) => rows.eventTimeUs[place]),
      srcAddrs: [source],
      srcIndex: new Int32Array(ofSource.length),
      dstAddrs,
      dstIndex: Int32Array.from(ofSource, (place) => dstAddrs.indexOf(rows.dstAddr[place])),
      ipVersion: Int8Array.from(ofSource, (place) => rows.ipVersion[place]),
      rttMs: Float32Array.from(ofSource, (place) => rows.rttMs[place]),
    };
  });
}
