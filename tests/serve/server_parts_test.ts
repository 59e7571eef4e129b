import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { modelInfoSchema } from "../../lib/serve/api/schemas.ts";
import { FormatError } from "../../lib/base/errors.ts";
import { modelInfo, readEvaluation } from "../../lib/serve/described_model.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { Counter, exposition, gauge, Histogram, ServerMetrics } from "../../lib/serve/metrics.ts";
import { PairWatch } from "../../lib/query/changes/pair_watch.ts";
import { makeApp } from "../../lib/serve/app.ts";
import { ServedModels } from "../../lib/serve/served_models.ts";
import { HttpServer } from "../../lib/serve/server.ts";
import { withService } from "./api/tiny_service.ts";

Deno.test("modelInfo() describes the checkpoint, with a thinned training curve up to its step", () =>
  withCheckpoint((folder, path) => {
    const checkpoint = loadCheckpoint(path);
    const options = { isCalibrated: true, evaluation: null };
    assertEquals(modelInfo(checkpoint, options).training_curve, []);
    const lines = Array.from({ length: 1000 }, (_, i) => ({
      step: i + 1,
      "train/loss": 2000 - i,
      ...((i + 1) % 250 === 0 && { "eval/loss": i }),
    }));
    Deno.writeTextFileSync(
      join(folder, "metrics.jsonl"),
      lines.map((line) => JSON.stringify(line) + "\n").join(""),
    );
    assertEquals(modelInfo(checkpoint, options).training_curve.map(({ step }) => step), [1, 2, 3]);
    const info = modelInfo({ ...checkpoint, state: { ...checkpoint.state, step: 900 } }, options);
    modelInfoSchema.strict().parse(info);
    assertEquals([info.step, info.vocabulary, info.data_fingerprint], [900, "v2", "none"]);
    const { model: { sequenceLength }, train: { batchSize } } = checkpoint.config;
    assertEquals(info.trained_tokens, 900 * batchSize * sequenceLength);
    assertEquals(info.model_sha256, checkpoint.state.files.model.sha256);
    const { training_curve: curve } = info;
    assert(curve.length >= 100 && curve.length <= 200, `${curve.length} points`);
    assertEquals([curve[0].step, curve.at(-1)?.step], [1, 900]);
    assertEquals(curve.filter((point) => point.eval_loss !== null).map(({ step }) => step), [250, 500, 750]);
    // Files store losses in nats.
    assertEquals(curve[0].train_loss, 2000 / Math.LN2);
    return Promise.resolve();
  }));

Deno.test("readEvaluation() reads this model's report, with the model first, and no other model's", () =>
  withCheckpoint((folder, path) => {
    const checkpoint = loadCheckpoint(path);
    assertEquals(readEvaluation(undefined, checkpoint), null);
    // As `demo` and `eval --all-splits` write it.
    Deno.mkdirSync(join(folder, "eval", "time"), { recursive: true });
    const report = join(folder, "eval", "time", "report.json");
    const overall = { medianAbsoluteMs: 1, meanAbsoluteMs: 2, crpsMs: 3 };
    const write = (modelSha256: string, rest: object) =>
      Deno.writeTextFileSync(
        report,
        JSON.stringify({ run: { modelSha256, numMeasurements: 9, split: "test" }, ...rest }),
      );
    const baselines = [{ name: "median", overall: { ...overall, crpsMs: null } }];
    const { sha256 } = checkpoint.state.files.model;
    write(sha256, { rtt: { numTraining: 5, model: { overall }, baselines } });
    const wanted = {
      num_measurements: 9,
      split: "test",
      num_training: 5,
      methods: [
        { name: "model", median_absolute_ms: 1, mean_absolute_ms: 2, crps_ms: 3 },
        { name: "median", median_absolute_ms: 1, mean_absolute_ms: 2, crps_ms: null },
      ],
    };
    assertEquals([readEvaluation(report, checkpoint), readEvaluation(undefined, checkpoint)], [
      wanted,
      wanted,
    ]);
    write(sha256, {});
    assertEquals(readEvaluation(report, checkpoint), null);
    write("0".repeat(64), { rtt: { numTraining: 5, model: { overall }, baselines } });
    assertEquals(readEvaluation(undefined, checkpoint), null);
    assertThrows(() => readEvaluation(report, checkpoint), FormatError, "it is the report of another model");
    return Promise.resolve();
  }));

Deno.test("exposition() writes counters, gauges and cumulative histograms, and escapes labels", () => {
  const counter = new Counter("a_total", "Counts\nlines.");
  counter.add({ route: 'x"\\\n', status: 200 });
  counter.add({ route: 'x"\\\n', status: 200 });
  counter.add({ route: "y", status: 404 });
  const histogram = new Histogram("b_seconds", "Times.", [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value);
  const text = exposition([counter, histogram, gauge("c", "Now.", 2.5)]);
  assertEquals(
    text,
    [
      "# HELP a_total Counts\\nlines.",
      "# TYPE a_total counter",
      'a_total{route="x\\"\\\\\\n",status="200"} 2',
      'a_total{route="y",status="404"} 1',
      "# HELP b_seconds Times.",
      "# TYPE b_seconds histogram",
      'b_seconds_bucket{le="0.1"} 2',
      'b_seconds_bucket{le="1"} 3',
      'b_seconds_bucket{le="+Inf"} 4',
      "b_seconds_sum 7.65",
      "b_seconds_count 4",
      "# HELP c Now.",
      "# TYPE c gauge",
      "c 2.5",
      "",
    ].join("\n"),
  );
});

const LIMITS = { maxBodyBytes: 1024, maxRequestS: 10, maxConnections: 4, maxClientConnections: 4 };

Deno.test("/healthz returns 503 after the GPU is lost", () =>
  withService(async (service, { gpu }) => {
    const models = new ServedModels({ service, tag: "1", step: 1, fault: () => gpu.fault, close: () => {} });
    const place = { host: "127.0.0.1", limits: LIMITS };
    const { fetch: answer } = makeApp({
      ...place,
      models,
      metrics: new ServerMetrics(),
      allowOrigins: [],
      pageFiles: new Map(),
      stopping: new AbortController().signal,
      log: () => {},
      watched: {
        watch: new PairWatch({ maxPairs: 1 }),
        maxPairs: 1,
        numUnusable: 0,
      },
    });
    const server = await HttpServer.listen({ ...place, port: 0, log: () => {}, fetch: answer });
    const health = async () => {
      const response = await fetch(new URL("/healthz", server.url));
      return { status: response.status, text: await response.text() };
    };
    assertEquals(await health(), { status: 200, text: "ok\n" });
    gpu.close();
    await gpu.device.lost;
    const { status, text } = await health();
    assertEquals(status, 503);
    assertStringIncludes(text, "the GPU device was lost");
    await server.stop(1);
  }));
