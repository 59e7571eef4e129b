/**
 * `watch`: alarms when the RTTs of pairs leave their usual level.
 *
 * @module
 */
import { UsageError } from "../lib/base/errors.ts";
import { formatCount } from "../lib/base/text.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import { defineStage, serveStage, type StageContext } from "../lib/cli/stage.ts";
import { addressBytes } from "../lib/data/addresses/ip.ts";
import { alarmLine } from "../lib/query/changes/alarm_lines.ts";
import { DEFAULT_CHANGE_OPTIONS } from "../lib/query/changes/change_detector.ts";
import {
  type AlarmEvent,
  evidenceThreshold,
  PairWatch,
  type WatchOptions,
} from "../lib/query/changes/pair_watch.ts";
import { ArrivingMeasurements } from "../lib/query/files/arriving.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { JsonLinesOutput } from "./query_options.ts";
import { STAGES } from "./stages.ts";

type Options = OptionsOf<typeof STAGES.watch>;

const SECONDS_OF = { hour: 3600, day: 86_400, week: 604_800 };
/** What the model expected is told at these quantiles. */
const QUANTILES = [0.05, 0.5, 0.95];

/** The stage `watch`. */
export const watchStage = defineStage(STAGES.watch, async (options, stage) => {
  const { output, input } = options;
  if (options.json && output === undefined) {
    throw new UsageError("Cannot use --json: the alarms use standard output; add --output FILE");
  }
  const watching = {
    changes: { ...DEFAULT_CHANGE_OPTIONS, delay: options.delay, minShiftMs: options.minShiftMs },
    maxPairs: options.maxPairs,
    newUsualAfterS: parseDurationS(options.newUsualAfter, "new-usual-after"),
    groupWithinS: parseDurationS(options.groupWithin, "group-within"),
  };
  const minEvidence = await calibrated(options, watching, stage);
  using model = options.checkpoint === undefined ? undefined : await loadModel(options.checkpoint);
  const watch = new PairWatch({ ...watching, minEvidence });
  const arriving = arrivalsOf(input, options, stage);
  using lines = new JsonLinesOutput(output, { stage: "watch", inputs: input });
  using progress = stage.progress("watching", { unit: "measurements" });
  let numMeasurements = 0;
  for await (const measurement of arriving) {
    progress.update(++numMeasurements, `${watch.numPairs} pairs, ${watch.numAlarms} alarms`);
    for (const event of watch.add(measurement)) {
      lines.write({ ...alarmLine(event), ...(model && await expectedBy(model, event)) });
    }
  }
  lines.commit();
  stage.signal.throwIfAborted();
  const counts = {
    measurements: numMeasurements,
    unusable: arriving.numBad,
    late: watch.numLate,
    pairs: watch.numPairs,
    dropped: watch.numDropped,
    alarms: watch.numAlarms,
  };
  stage.log(Object.entries(counts).map(([name, count]) => `${formatCount(count)} ${name}`).join(", "));
  return { text: "", json: { stage: "watch", ...counts, minEvidence } };
});

function arrivalsOf(paths: readonly string[], options: Options, stage: StageContext): ArrivingMeasurements {
  const { follow: isFollowing, rtt } = options;
  return new ArrivingMeasurements(paths, { isFollowing, rtt, signal: stage.signal, log: stage.log });
}

/** The evidence that an alarm must have for the wanted rate of false ones, nats; 0 if none is wanted. */
async function calibrated(
  options: Options,
  watching: Omit<WatchOptions, "minEvidence">,
  stage: StageContext,
): Promise<number> {
  const { falseAlarms, calibration } = options;
  if ((falseAlarms === undefined) !== (calibration.length === 0)) {
    throw new UsageError(
      "Cannot calibrate: found only one of --false-alarms and --calibration, expected both or none",
    );
  }
  if (falseAlarms === undefined) return 0;
  const perDay = ratePerDay(falseAlarms);
  const watch = new PairWatch({ ...watching, minEvidence: 0 });
  const evidences: number[] = [];
  let firstS = Infinity;
  let lastS = -Infinity;
  using progress = stage.progress("calibrating", { unit: "measurements" });
  let numMeasurements = 0;
  for await (const measurement of arrivalsOf(calibration, { ...options, follow: false }, stage)) {
    progress.update(++numMeasurements);
    firstS = Math.min(firstS, measurement.timeS);
    lastS = Math.max(lastS, measurement.timeS);
    for (const { evidence } of watch.add(measurement)) if (evidence !== undefined) evidences.push(evidence);
  }
  stage.signal.throwIfAborted();
  const spanDays = (lastS - firstS) / SECONDS_OF.day;
  if (!(spanDays * perDay >= 1)) {
    throw new UsageError(
      `Cannot calibrate ${falseAlarms}: found measurements of ${
        Math.max(0, spanDays).toPrecision(2)
      } days, expected ` +
        "enough for one alarm; give more with --calibration or a larger rate",
    );
  }
  const minEvidence = evidenceThreshold(evidences, spanDays, perDay);
  stage.log(
    `calibrated on ${formatCount(numMeasurements)} measurements of ${formatCount(watch.numPairs)} pairs in ` +
      `${spanDays.toPrecision(3)} days with ${evidences.length} changes: alarms need ${
        minEvidence.toPrecision(3)
      } nats`,
  );
  return minEvidence;
}

/** `1/day`, `0.5/hour`. */
function ratePerDay(text: string): number {
  const [, count, unit] = /^(\d+(?:\.\d+)?)\/(hour|day|week)$/.exec(text) ?? [];
  if (Number(count) > 0) return Number(count) * SECONDS_OF.day / SECONDS_OF[unit as keyof typeof SECONDS_OF];
  throw new UsageError(
    `Cannot use --false-alarms ${text}: expected a rate such as 1/day, 0.5/hour or 2/week`,
  );
}

/** What the model expected of the pair when an alarm began, given the measurements before. */
async function expectedBy(model: PingModel, event: AlarmEvent): Promise<Record<string, unknown> | undefined> {
  if (event.kind !== "begin") return undefined;
  const { alarm: { src, dst, now }, timeS, history = [] } = event;
  const [source, destination] = [addressBytes(src), addressBytes(dst)];
  const distribution = await model.rttDistribution({ source, destination, timeS, context: history });
  const expectedMs = QUANTILES.map((
    q,
  ) => [String(100 * q), Number(distribution.quantileMs(q).toPrecision(4))]);
  const below = Number.isNaN(now.medianMs) ? undefined : distribution.cdf(now.medianMs);
  return {
    expected_ms: Object.fromEntries(expectedMs),
    // Two-sided: how probable a reply at least as far out is.
    ...(below !== undefined && { p_value: Math.min(1, 2 * Math.min(below, 1 - below)) }),
  };
}

if (import.meta.main) serveStage(watchStage);
