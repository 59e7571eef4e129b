import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { FormatError, UserError } from "../../../lib/base/errors.ts";
import { newManifest, writeManifest } from "../../../lib/io/files/manifest.ts";
import { inspect } from "../../../lib/cli/inspect/inspect.ts";
import { describeReports, type InspectOptions, reportsAsJson } from "../../../lib/cli/inspect/report.ts";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import { writeParquet } from "../../data/measurement_files/batches.ts";
import { writeRecords } from "../../io/array_record/write_records.ts";
import { synthesize } from "../../../lib/data/synth/synthesize.ts";
import { modelShapes } from "../../../lib/model/model_config.ts";
import { encodeProbeRow, type ProbeRow, probeRowSrcId } from "../../../lib/data/probe_rows/probe_row.ts";
import { AdaptedModel } from "../../../lib/query/adapt/adapt.ts";
import { AddressCounts } from "../../../lib/data/addresses/known_addresses.ts";
import { baseOf, writeAdapted } from "../../../lib/train/adapted_checkpoint.ts";
import {
  checkpointDirectory,
  loadCheckpoint,
  loadResumable,
  saveCheckpoint,
} from "../../../lib/train/checkpoint.ts";
import { loadConfig } from "../../../lib/train/run_config.ts";
import { writeRowCheckpoint } from "../../query/adapt/row_checkpoint.ts";
import { knownData, newMeasurements } from "../../query/adapt/tiny_rows.ts";
import { SMALL_RUN } from "../../train/small_run.ts";
import { writeUntrainedRun } from "../../train/untrained_run.ts";
import { TemporaryFolder, withFolder } from "../../io/files/temporary_folder.ts";
import { SimulatedTime } from "../../simulated_time.ts";
import { ping } from "../../data/formats/ping_result.ts";
import { runStageProcess, succeeded } from "../process.ts";
import { TokenParquetWriter } from "../../../lib/data/loader/pretokenize/token_shards.ts";

const OPTIONS: InspectOptions = { samples: 2, sequenceLength: 64, seed: 0, onCorrupt: "error" };
const START_US = 1_750_000_000_000_000;

/** Inspects one path. @returns The report as JSON and as text. */
async function look(path: string, options: Partial<InspectOptions> = {}) {
  const reports = await inspect([path], { ...OPTIONS, ...options });
  const text = describeReports(reports);
  assert(!/undefined|NaN|\[object/.test(text), text);
  const json: Record<string, unknown> = JSON.parse(JSON.stringify(reportsAsJson(reports)));
  assertEquals(json.stage, "inspect");
  return { json, text };
}

function probeRow(src: string, timesS: number[], rttMs: number[]): ProbeRow {
  const n = timesS.length;
  return {
    srcId: probeRowSrcId(src),
    srcAddrs: [src],
    dstAddrs: ["8.8.8.8", "9.9.9.9"],
    srcIndex: new Int32Array(n),
    dstIndex: Int32Array.from({ length: n }, (_, i) => i % 2),
    ipVersion: new Int8Array(n).fill(4),
    eventTimeUs: Float64Array.from(timesS, (timeS) => START_US + 1e6 * timeS),
    rttMs: Float32Array.from(rttMs),
  };
}

Deno.test("inspect() counts measurements, failures and ranges of Parquet files", () =>
  withFolder(async (folder) => {
    for (const split of ["train", "val"]) {
      writeParquet(join(folder, split, "shard-00000.parquet"), {
        numRows: 4,
        eventTimeUs: Float64Array.of(START_US, START_US + 2e6, START_US + 1e6, START_US + 3e6),
        srcAddr: ["1.1.1.1", "1.1.1.1", "2001:db8::1", "1.1.1.2"],
        dstAddr: ["8.8.8.8", "9.9.9.9", "2001:db8::2", "8.8.8.8"],
        ipVersion: Uint8Array.of(4, 4, 6, 4),
        rttMs: Float64Array.of(10, -1, 30, 20),
      });
    }
    const { json, text } = await look(folder);
    const { rtt_ms: rttMs, samples, bytes, ...rest } = json;
    assertEquals(rest, {
      stage: "inspect",
      kind: "measurements",
      path: folder,
      files: 2,
      rows: 8,
      splits: { train: 4, val: 4 },
      rejected: {},
      sources: 3,
      destinations: 3,
      distinct_capped: false,
      ipv6_share: 0.25,
      first_time: "2025-06-15T15:06:40Z",
      last_time: "2025-06-15T15:06:43Z",
      steps_back_in_time: 2,
      duplicate_rows: 4,
      duplicates_among: 8,
      failed_share: 0.25,
      columns: [],
    });
    assertEquals(rttMs, { min: 10, p50: 20, p90: 30, p99: 30, max: 30, mean: 20 });
    assertEquals(samples, [
      "2025-06-15T15:06:40Z  1.1.1.1 -> 8.8.8.8  10 ms",
      "2025-06-15T15:06:42Z  1.1.1.1 -> 9.9.9.9  no reply",
    ]);
    assert(typeof bytes === "number" && bytes > 1000);
    assertStringIncludes(text, "splits              train 4, val 4");
  }));

Deno.test("inspect() shows measurements in the requested vocabulary, decoded beside the tokens", () =>
  withFolder(async (folder) => {
    const path = join(folder, "a.parquet");
    const batch = {
      numRows: 2,
      eventTimeUs: Float64Array.of(START_US, START_US + 2e6),
      srcAddr: ["1.1.1.1", "2001:db8::1"],
      dstAddr: ["8.8.8.8", "2001:db8::2"],
      ipVersion: Uint8Array.of(4, 6),
      rttMs: Float64Array.of(10, -1),
    };
    const write = (change: Partial<MeasurementBatch> = {}) => writeParquet(path, { ...batch, ...change });
    const words = (line: string) => line.split(" ");
    write();
    const v2 = (await look(path, { vocabulary: "v2" })).json as Record<string, string[]>;
    assertEquals(v2.token_samples.map((line) => words(line).length), [23, 45]);
    assertEquals(v2.decoded_samples, [
      "2025-06-15T15:06:40Z  1.1.1.1 -> 8.8.8.8  10.004 ms",
      "2025-06-15T15:06:42Z  2001:db8::1 -> 2001:db8::2  no reply",
    ]);
    const lacking = await look(path, { vocabulary: "v1" });
    assertEquals(lacking.json.token_samples, []);
    assertStringIncludes(lacking.text, "which needs msm_id");

    write({
      msmId: Float64Array.of(7, 8),
      sizeBytes: Float64Array.of(64, 65_536),
      packetErrorCount: Float64Array.of(1, 3),
    });
    const { json, text } = await look(path, { vocabulary: "v1" });
    const { token_samples: tokenSamples, decoded_samples: decodedSamples } = json as Record<string, string[]>;
    // The size of the second row has no tokens.
    assertEquals(tokenSamples.map((line) => words(line).length), [45]);
    assertEquals(decodedSamples, [
      "2025-06-15T15:06:40Z  1.1.1.1 -> 8.8.8.8  10 ms  msm_id 7, size 64, lost 1",
    ]);
    assertStringIncludes(text, `${decodedSamples[0]}  ${tokenSamples[0]}`);
  }));

Deno.test("inspect() finds order violations, duplicates and small rows of probe rows", () =>
  withFolder(async (folder) => {
    const good = probeRow("1.1.1.1", [0, 60, 120, 600], [10, -1, 30, 20]);
    const many = probeRow("1.1.1.2", Array.from({ length: 50 }, (_, i) => 60 * i), new Array(50).fill(5));
    const backward = probeRow("1.1.1.3", [50, 10, 20], [1, 2, 3]);
    const twice = probeRow("1.1.1.4", [5, 5, 5, 5, 5], [1, 2, 1, 2, 7]);
    await writeRecords(
      join(folder, "train", "train-00000-of-00001.arrayrecord"),
      [good, many].map(encodeProbeRow),
    );
    await writeRecords(
      join(folder, "val", "val-00000-of-00001.arrayrecord"),
      [backward, twice].map(encodeProbeRow),
    );
    const { json, text } = await look(folder);
    assertEquals(json.kind, "probe rows");
    assertEquals(json.records, 4);
    assertEquals(json.measurements, 62);
    assertEquals(json.splits, {
      train: { records: 2, measurements: 54 },
      val: { records: 2, measurements: 8 },
    });
    assertEquals([json.order_violations, json.duplicates, json.wrong_row_times], [1, 2, 1]);
    assertEquals(json.small_row_below, 4);
    assertEquals(json.small_row_share, 1 / 4);
    assertEquals([json.groups, json.sources, json.destinations], [4, 4, 2]);
    assertEquals(json.padding_share, null);
    assertStringIncludes(text, "not computed: ");

    const train = await look(join(folder, "train"));
    assertEquals([train.json.order_violations, train.json.duplicates], [0, 0]);
    const {
      padding_share: paddingShare,
      packed_sequences: packedSequences,
      token_samples: tokenSamples,
      samples,
    } = train.json;
    assert(typeof paddingShare === "number" && paddingShare >= 0 && paddingShare < 0.5, `${paddingShare}`);
    assert(Number(packedSequences) > 1);
    assertEquals(samples, [
      "2025-06-15T15:06:40Z  1.1.1.1 -> 8.8.8.8  10 ms",
      "2025-06-15T15:07:40Z  1.1.1.1 -> 9.9.9.9  no reply",
    ]);
    assert(Array.isArray(tokenSamples) && tokenSamples.length === 2);
    const { decoded_samples: decodedSamples } = train.json;
    assert(Array.isArray(decodedSamples) && decodedSamples.length === 2);
    for (const [i, decoded] of decodedSamples.entries()) {
      assertMatch(
        decoded,
        /^(no time|2025-06-15T1[56]:\d\d:\d\dZ) {2}1\.1\.1\.[12] -> [89]\.\S+ {2}([\d.]+ ms|no reply)$/,
      );
      assertStringIncludes(train.text, `${decoded}`);
      const bytesOf = (address: string) => address.replaceAll(".", " ");
      const [, src, dst] = / {2}(\S+) -> (\S+) {2}/.exec(decoded) ?? [];
      for (const words of [`SrcIpv4 ${bytesOf(src)}`, `DstIpv4 ${bytesOf(dst)}`]) {
        assertStringIncludes(tokenSamples[i], words);
      }
    }
    assert(/^MeasurementStart .*SrcIpv4 1 1 1 [12]/.test(tokenSamples[0]), tokenSamples[0]);
    assertEquals((await look(join(folder, "train"))).json, train.json, "a second look");
    assertEquals((await look(join(folder, "train"), { samples: 0 })).json.token_samples, []);
  }));

Deno.test("inspect() finds duplicate rows, and rows of a group out of order", () =>
  withFolder(async (folder) => {
    const row = (timesS: number[], src = "1.1.1.1") =>
      encodeProbeRow(probeRow(src, timesS, timesS.map(() => 3)));
    await writeRecords(join(folder, "a.arrayrecord"), [
      row([0, 10]),
      row([10, 20]),
      row([15, 30]),
      row([0, 10]),
    ]);
    await writeRecords(join(folder, "b.arrayrecord"), [row([0, 5]), row([0, 5], "1.1.1.2"), row([0, 10])]);
    const { json, text } = await look(folder);
    assertEquals([json.rows_out_of_order, json.order_violations], [3, 0]);
    assertEquals([json.duplicate_rows, json.duplicates], [2, 0]);
    assertStringIncludes(text, "0 measurements, 2 rows");
  }));

Deno.test("inspect() shows the container of empty ArrayRecord files and of those with other records", () =>
  withFolder(async (folder) => {
    await writeRecords(
      join(folder, "a"),
      ["abc", "", "0123456789012345678901234567890123456789"]
        .map((text) => new TextEncoder().encode(text)),
    );
    const { json } = await look(folder);
    assertEquals([json.kind, json.records, json.chunks, json.decoded_bytes], ["records", 3, 3, 43]);
    assertEquals(json.samples, ["3 B: 61 62 63", "0 B: "]);
    await writeRecords(join(folder, "a"), []);
    assertEquals((await look(join(folder, "a"))).json.records, 0);
  }));

Deno.test("inspect() skips a damaged chunk only with onCorrupt set to skip", () =>
  withFolder(async (folder) => {
    const path = join(folder, "a.arrayrecord");
    const rows = [[0, 60], [120, 180], [240, 300]].map((times) => probeRow("1.1.1.1", times, [1, 2]));
    await writeRecords(path, rows.map(encodeProbeRow));
    const bytes = Deno.readFileSync(path);
    bytes[1000] ^= 4;
    Deno.writeFileSync(path, bytes);
    await assertRejects(() => look(path), FormatError, "--on-corrupt skip");
    const { json, text } = await look(path, { onCorrupt: "skip" });
    assertEquals([json.corrupt_chunks, json.records, json.measurements], [1, 3, 4]);
    assertStringIncludes(text, "damaged chunks      1, skipped");
  }));

Deno.test("inspect() names a record among probe rows that is not a probe row", () =>
  withFolder(async (folder) => {
    const path = join(folder, "a.arrayrecord");
    await writeRecords(path, [encodeProbeRow(probeRow("1.1.1.1", [0], [1])), new Uint8Array(9)]);
    await assertRejects(() => look(path), FormatError, `Cannot read ${path} at record 1: `);
  }));

Deno.test("inspect() reads checkpoints, runs, metrics, states and safetensors", () =>
  withFolder(async (run) => {
    const config = loadConfig(SMALL_RUN, ["model.numLayers=1"]);
    const shapes = modelShapes(config.model).parameters;
    const size = (shape: number[]) => shape.reduce((a, b) => a * b, 1);
    const weights = new Map([...shapes].map(([name, shape]) => [name, new Float32Array(size(shape))]));
    for (const [step, evalLoss] of [[100, 2.5], [200, 3]]) {
      writeUntrainedRun(run, { config, weights, step, evalLoss, keep: 2 });
    }
    const records = [{ step: 100, "train/loss": 3 }, { step: 200, "train/loss": 2, "eval/loss": 2.5 }];
    Deno.writeTextFileSync(join(run, "metrics.jsonl"), records.map((r) => JSON.stringify(r) + "\n").join(""));

    const checkpoint = join(run, "checkpoints", "step-00000200");
    const { json, text } = await look(checkpoint);
    const numParameters = [...shapes.values()].reduce((sum, shape) => sum + size(shape), 0);
    assertEquals([json.kind, json.step, json.eval_loss, json.parameters], [
      "checkpoint",
      200,
      3,
      numParameters,
    ]);
    assertEquals(json.tensors, Object.fromEntries([...shapes].sort(([a], [b]) => (a < b ? -1 : 1))));
    assertEquals(json.config, JSON.parse(JSON.stringify(config)));
    assertStringIncludes(text, "wte.weight");

    const whole = (await look(run)).json;
    assertEquals([whole.kind, whole.checkpoints, whole.best_checkpoint], [
      "run",
      ["step-00000100", "step-00000200"],
      "step-00000100",
    ]);
    assertEquals((whole.metrics as Record<string, unknown>)["train/loss"], {
      count: 2,
      first: 3,
      last: 2,
      min: 2,
      max: 3,
    });
    assertEquals((await look(join(run, "checkpoints"))).json.kind, "run");
    assertEquals((await look(join(run, "metrics.jsonl"))).json.last_step, 200);
    assertEquals((await look(join(checkpoint, "state.json"))).json.step, 200);
    const tensors = await look(join(checkpoint, "model.safetensors"));
    assertEquals([tensors.json.kind, tensors.json.elements], ["safetensors", numParameters]);

    Deno.truncateSync(join(checkpoint, "model.safetensors"), 1000);
    await assertRejects(() => look(checkpoint), FormatError, "model.safetensors");
    Deno.removeSync(join(checkpoint, "model.safetensors"));
    await assertRejects(() => look(checkpoint), UserError, "no such file");
  }));

Deno.test("inspect() reports what runs and adapted checkpoints learned from, in text and in JSON", () =>
  withFolder(async (folder) => {
    const at = (name: string) => join(folder, name);
    writeRowCheckpoint(at("run"));
    const data = "16 measurements of 4 sources to 4 destinations";
    const run = await look(at("run"));
    assertStringIncludes(run.text, data);
    assertEquals((run.json.data as Record<string, unknown>).measurements, 16);

    const checkpoint = loadCheckpoint(at("run"));
    const model = new AdaptedModel(checkpoint.config.model, checkpoint.weights, checkpoint);
    const { base } = baseOf(checkpoint);
    const [measurement] = newMeasurements();
    const counts = new AddressCounts();
    counts.add(counts.id(measurement.source), counts.id(measurement.destination), measurement.timeS);
    model.adaptation = { summary: counts.summary({ origin: "", isSynthetic: null }), known: counts.table() };
    Deno.mkdirSync(at("adapted"));
    writeAdapted(at("adapted"), model, baseOf(checkpoint));
    const { text, json } = await look(at("adapted"));
    const adapted = "1 measurement of 1 source to 1 destination";
    assertStringIncludes(text, adapted);
    assertStringIncludes(text, base);
    assertEquals([json.kind, json.base, (json.adaptation as Record<string, unknown>).measurements], [
      "adapted checkpoint",
      base,
      1,
    ]);

    const { state, weights, optimizer } = loadResumable(at("run"));
    const trainingData = { ...knownData(), adaptation: model.adaptation };
    saveCheckpoint(join(at("merged"), "checkpoints"), { state, weights, optimizer, trainingData }, {
      keep: 1,
    });
    for (const path of [at("merged"), checkpointDirectory(at("merged"))]) {
      assertStringIncludes(
        (await look(path)).text,
        `${data}, 2023-11-14 to 2023-11-14; adapted to ${adapted}`,
      );
    }
  }));

Deno.test("inspect() reads the files that synth and other stages write beside their output", () =>
  withFolder(async (folder) => {
    const output = join(folder, "s.parquet");
    await synthesize(output, { seed: 0, rows: 300, probes: 5, destinations: 4, days: 1, ipv6Share: 0.4 });
    const truth = (await look(join(folder, "s.truth.json"))).json;
    assertEquals([truth.kind, truth.probe_addresses], ["truth", 5]);
    assertEquals((await look(output)).json.rows, 300);

    const manifest = newManifest({ stage: "shard", inputs: [], options: { ratios: "80,10,10" } });
    writeManifest(join(folder, "manifest.json"), { ...manifest, rejected: { invalidRtt: 2 } });
    const { json, text } = await look(join(folder, "manifest.json"));
    assertEquals([json.kind, json.made_by, json.complete], ["manifest", "shard", false]);
    assertStringIncludes(text, "invalidRtt 2");

    const reject = { reason: "invalidRtt", path: "a", row: 3 };
    Deno.writeTextFileSync(join(folder, "rejects.jsonl"), `${JSON.stringify(reject)}\n`.repeat(3));
    assertEquals((await look(join(folder, "rejects.jsonl"))).json.listed, { invalidRtt: 3 });
  }));

Deno.test("inspect() reports each kind separately, and sums up files of one kind", () =>
  withFolder(async (folder) => {
    await writeRecords(join(folder, "a"), [new Uint8Array(1)]);
    await writeRecords(join(folder, "b"), [new Uint8Array(2), new Uint8Array(3)]);
    Deno.writeTextFileSync(join(folder, "metrics"), '{"step":1,"train/loss":2}\n');
    const paths = ["a", "metrics", "b", "a"].map((name) => join(folder, name));
    const json = reportsAsJson(await inspect(paths, OPTIONS));
    assertEquals(json.kind, "several");
    const reports = json.reports as Record<string, unknown>[];
    assertEquals(reports.map(({ kind, files }) => [kind, files]), [["records", 2], ["metrics", undefined]]);
    assertEquals(reports[0].records, 3);
  }));

Deno.test("inspect() reports unknown files as a one-line error", () =>
  withFolder(async (folder) => {
    const path = join(folder, "x");
    const cases: [string, string][] = [
      ["", "it is empty"],
      ["hello", "its format is unknown"],
      ['{"a": 1}', "its format is unknown"],
      ["[1, 2]", "its format is unknown"],
      ['{"a": ', "not JSON"],
      ["PAR1 and no more", "PAR1"],
      ['[{"type":"ping","msm_id":1,"prb_id":2}]', "deno task import"],
      ['{"type":"ping","msm_id":1}\n{"type":"ping","msm_id":1}\n', "deno task import"],
    ];
    for (const [content, message] of cases) {
      Deno.writeTextFileSync(path, content);
      const error = await assertRejects(() => look(path), UserError, "Cannot ", content);
      assert(!error.message.includes("\n"), error.message);
      if (message !== "PAR1") assertStringIncludes(error.message, message);
    }
    Deno.writeTextFileSync(path, "hello");
    await assertRejects(() => look(folder), UserError, "none of its 1 files has a known format");
    await assertRejects(() => look(join(folder, "none")), UserError, "no such file");
    Deno.removeSync(path);
    await assertRejects(() => look(folder), UserError, "check the path");
  }));

Deno.test("inspect() counts invalid RTTs in Parquet and in probe rows", () =>
  withFolder(async (folder) => {
    const parquet = join(folder, "a.parquet");
    writeParquet(parquet, {
      numRows: 3,
      eventTimeUs: new Float64Array(3).fill(START_US),
      srcAddr: new Array(3).fill("1.1.1.1"),
      dstAddr: new Array(3).fill("8.8.8.8"),
      ipVersion: new Uint8Array(3).fill(4),
      rttMs: Float64Array.of(10, 1e39, 1e300),
    });
    const { json } = await look(parquet);
    assertEquals(json.rejected, { invalidRtt: 2 });
    const rows = join(folder, "a.arrayrecord");
    await writeRecords(rows, [encodeProbeRow(probeRow("1.1.1.1", [0, 1, 2, 3], [10, Infinity, -1, -7]))]);
    const found = (await look(rows)).json;
    assertEquals([found.impossible_rtts, found.failed_share], [2, 0.25]);
    assertEquals(found.rtt_ms, { min: 10, p50: 10, p90: 10, p99: 10, max: 10, mean: 10 });
  }));

Deno.test("inspect() of a long file stops soon after it is aborted", async (t) => {
  await withFolder(async (folder) => {
    const parquet = join(folder, "a.parquet");
    await synthesize(parquet, {
      seed: 1,
      rows: 400_000,
      probes: 50,
      destinations: 20,
      days: 1,
      ipv6Share: 0,
    });
    const records = join(folder, "a.arrayrecord");
    const times = Array.from({ length: 2000 }, (_, i) => i);
    const row = encodeProbeRow(probeRow("1.1.1.1", times, times));
    await writeRecords(records, new Array(500).fill(row));
    const bytes = join(folder, "b.arrayrecord");
    await writeRecords(bytes, new Array(100_000).fill(new Uint8Array(10)));
    for (const path of [parquet, records, bytes]) {
      await t.step(path.slice(folder.length), async () => {
        // Every reading of the clock finds that it is time to listen.
        using _ = new SimulatedTime(1000);
        const controller = new AbortController();
        setTimeout(() => controller.abort(new UserError("stopped")));
        await assertRejects(() => look(path, { signal: controller.signal }), UserError, "stopped");
      });
    }
  });
});

Deno.test("import counts duplicate results, and inspect counts equal rows from two probes behind one address", async () => {
  using folder = new TemporaryFolder();
  const [input, output] = [folder.at("in.jsonl"), folder.at("out.parquet")];
  // The first result is duplicated; probe 3 has the same address as probe 2.
  const results = [ping(), ping(), ping({ prb_id: 3 }), ping({ timestamp: 1_600_000_010 })];
  Deno.writeTextFileSync(input, results.map((result) => JSON.stringify(result)).join("\n"));
  const imported = await succeeded(runStageProcess(["import", "--input", input, "--output", output]));
  assertStringIncludes(
    imported.stdout,
    "  left out: 1 duplicate results (same measurement, probe and time), 0 that say nothing about a path, 0 rejected\n",
  );
  const inspected = await succeeded(runStageProcess(["inspect", output]));
  assertStringIncludes(
    inspected.stdout,
    "  equal rows          1 (same time, addresses, RTT and measurement; such as from probes behind one address)\n",
  );
});

Deno.test("inspect explains what to do when too many files are open", {
  ignore: Deno.build.os === "windows",
}, async () => {
  using folder = new TemporaryFolder();
  for (let i = 0; i < 80; i++) await writeRecords(folder.at(`${i}.arrayrecord`), [new Uint8Array(3)]);
  const main = fromFileUrl(new URL("../../../tasks/main.ts", import.meta.url));
  const { code, stderr } = await new Deno.Command("sh", {
    args: ["-c", `ulimit -n 64; exec "$0" run --no-prompt --allow-read --allow-write "$@"`, Deno.execPath()]
      .concat(main, "inspect", folder.path),
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(code, 1);
  assertMatch(
    new TextDecoder().decode(stderr),
    /^error: Cannot read \S+\.arrayrecord: this process may not open more files; raise the limit with ulimit -n, or pass fewer files\n$/,
  );
});

function write(path: string, vocabulary: string, sequences: number[][]): void {
  using writer = new TokenParquetWriter(path, {
    vocabSize: 267,
    metadata: { "ping_llm.vocabulary": vocabulary, "ping_llm.rtt_encoding": "log" },
  });
  for (const tokens of sequences) writer.append(Uint16Array.from(tokens));
  writer.close();
}

Deno.test("inspect() sums up the token files of pretokenize", async () => {
  using folder = new TemporaryFolder();
  write(folder.at("out/train/tokens-00000.parquet"), "v1", [[0, 9, 10, 265], [0, 1]]);
  write(folder.at("out/train/tokens-00001.parquet"), "v1", [[0, 2, 3]]);
  const reports = await inspect([folder.at("out")], OPTIONS);
  const { bytes: _bytes, length_tokens: lengthTokens, ...json } = reportsAsJson(reports);
  assertEquals(json, {
    stage: "inspect",
    kind: "tokens",
    path: folder.at("out"),
    files: 2,
    sequences: 3,
    tokens: 9,
    metadata: { vocabulary: "v1", rtt_encoding: "log" },
    samples: ["MeasurementStart MsmIdStart 0 255", "MeasurementStart SrcIpStart"],
  });
  assertEquals((lengthTokens as Record<string, number>).max, 4);
  const text = describeReports(reports);
  assertStringIncludes(text, "rtt encoding");
  assertStringIncludes(text, "3 in 2 files");

  write(folder.at("out/val/tokens-00000.parquet"), "v2", [[0]]);
  await assertRejects(
    () => inspect([folder.at("out")], OPTIONS),
    FormatError,
    "not of the same kind as the first file",
  );
});
