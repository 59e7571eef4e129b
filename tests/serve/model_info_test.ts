import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { modelAnswerSchema } from "../../lib/api/schemas.ts";
import { evaluationOf, evaluationPath, modelInfo } from "../../lib/serve/model_info.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";

Deno.test("modelInfo() tells of the checkpoint, and thins the curve to what was trained up to it", () =>
  withCheckpoint((folder, path) => {
    const checkpoint = loadCheckpoint(path);
    const options = { adapter: "none", isCalibrated: true, evaluation: null };
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
    modelAnswerSchema.strict().parse(info);
    assertEquals([info.step, info.vocabulary, info.data_fingerprint], [900, "v2", "none"]);
    assertEquals(info.model_sha256, checkpoint.state.files.model.sha256);
    const { training_curve: curve } = info;
    assert(curve.length >= 100 && curve.length <= 200, `${curve.length} points`);
    assertEquals([curve[0].step, curve.at(-1)?.step], [1, 900]);
    assertEquals(curve.filter((point) => point.eval_loss !== null).map(({ step }) => step), [250, 500, 750]);
    return Promise.resolve();
  }));

Deno.test("evaluationOf() reads the report of this model, the model first, and no other's", () =>
  withCheckpoint((folder, path) => {
    const checkpoint = loadCheckpoint(path);
    assertEquals(evaluationPath(checkpoint), undefined);
    Deno.mkdirSync(join(folder, "eval"));
    const report = join(folder, "eval", "report.json");
    const overall = { medianAbsoluteMs: 1, meanAbsoluteMs: 2, crpsMs: 3 };
    const write = (modelSha256: string, rest: object) =>
      Deno.writeTextFileSync(
        report,
        JSON.stringify({ run: { modelSha256, numMeasurements: 9, split: "test" }, ...rest }),
      );
    const baselines = [{ name: "median", overall: { ...overall, crpsMs: null } }];
    const { sha256 } = checkpoint.state.files.model;
    write(sha256, { rtt: { model: { overall }, baselines } });
    assertEquals(evaluationPath(checkpoint), report);
    assertEquals(evaluationOf(report, checkpoint), {
      num_measurements: 9,
      split: "test",
      methods: [
        { name: "model", median_absolute_ms: 1, mean_absolute_ms: 2, crps_ms: 3 },
        { name: "median", median_absolute_ms: 1, mean_absolute_ms: 2, crps_ms: null },
      ],
    });
    write(sha256, {});
    assertEquals(evaluationOf(report, checkpoint), null);
    write("0".repeat(64), { rtt: { model: { overall }, baselines } });
    assertEquals(evaluationOf(report, checkpoint), undefined);
    return Promise.resolve();
  }));
