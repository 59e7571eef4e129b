/**
 * `bench changes`: the agreement of the change detector with people.
 *
 * @module
 */
import { UserError } from "../lib/base/errors.ts";
import {
  changesOf,
  crossValidate,
  type CrossValidation,
  describeChanges,
  drawSetting,
  listSeries,
  medianAgreement,
  readSeries,
  type Series,
} from "../lib/cli/bench/changes.ts";
import { defineStage, serveStage, type StageContext } from "../lib/cli/stage.ts";
import { formatCount } from "../lib/base/text.ts";
import { writeLines } from "./query_options.ts";
import { openOwn } from "./own_outputs.ts";
import { benchChangesCommand } from "./bench_changes.command.ts";

export const changesBench = defineStage(benchChangesCommand, async (options, stage) => {
  const { input, output, overwrite } = options;
  const detecting = options.delay === undefined ? {} : { delay: options.delay };
  const paths = listSeries(input);
  using file = openOwn("bench changes --output", output, overwrite);
  const series: Series[] = [];
  for (const path of paths) series.push(await readSeries(path));
  const startMs = performance.now();
  const changes = series.map((each) => changesOf(each, detecting));
  const seconds = (performance.now() - startMs) / 1000;
  writeLines(file, changes.map(({ file, detections }) => ({ file, detections })));
  const rowsPerSecond = changes.reduce((sum, { numRows }) => sum + numRows, 0) / seconds;
  const agreements = changes.flatMap(({ agreement }) => agreement ?? []);
  const validation = options.settings === undefined
    ? undefined
    : await validate(series, { ...options, settings: options.settings }, stage);
  const texts = [describeChanges(changes), `${formatCount(Math.round(rowsPerSecond))} rows/s`];
  if (validation) {
    const [mean, least, most] = [validation.mean, ...validation.range].map((f2) => f2.toFixed(3));
    texts.push(
      `${options.folds}-fold cross-validation, best of ${options.settings} settings: median F2 ${mean} on series held ` +
        `out (${least} to ${most} by the division)`,
    );
  }
  return {
    text: texts.join("\n"),
    json: {
      stage: "bench changes",
      series: changes,
      medians: agreements.length > 0 ? medianAgreement(agreements) : null,
      rowsPerSecond,
      crossValidation: validation ?? null,
    },
  };
});

async function validate(
  all: readonly Series[],
  { settings, folds, seed, delay }: {
    settings: number;
    folds: number;
    seed: number;
    delay: number | undefined;
  },
  stage: StageContext,
): Promise<CrossValidation> {
  const marked = all.filter(({ marks }) => marks !== undefined);
  if (marked.length < folds) {
    throw new UserError(
      `Cannot cross-validate: found ${marked.length} labelled series, expected one for each of ${folds} folds; ` +
        "give more or lower --folds",
    );
  }
  using progress = stage.progress("cross-validating", { total: settings, unit: "settings" });
  const f2: number[][] = [];
  for (let number = 0; number < settings; number++) {
    progress.update(number);
    // Lets signals be handled.
    await new Promise((resolve) => setTimeout(resolve, 0));
    stage.signal.throwIfAborted();
    const setting = { ...drawSetting(seed, number), ...(delay !== undefined && { delay }) };
    f2.push(marked.map((series) => changesOf(series, setting).agreement?.f2 ?? 0));
  }
  return crossValidate(f2, folds, seed);
}

if (import.meta.main) serveStage(changesBench);
