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
import { STANDARD_INPUT } from "../lib/io/compression/decompress.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { exposition, Reading } from "../lib/serve/metrics.ts";
import { writeOutputFile } from "../lib/io/files/output_file.ts";
import { JsonLinesOutput } from "./query_options.ts";
import { STAGES } from "./stages.ts";

type Options = OptionsOf<typeof STAGES.watch>;

const SECONDS_OF = { hour: 3600, day: 86_400, week: 604_800 };
/** The time between two writings of the metrics. */
const METRICS_MS = 10_000;
/** The alarms that metrics have of their own, so that their number is bounded. */
const MAX_SHOWN_ALARMS = 100;
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
  using metrics = options.metrics === undefined
    ? undefined
    : new MetricsFile(options.metrics, input, { watch, arriving });
  for await (const measurement of arriving) {
    metrics?.check();
    progress.update(watch.numMeasurements, `${watch.numPairs} pairs, ${watch.numAlarms} alarms`);
    for (const event of watch.add(measurement)) {
      lines.write({ ...alarmLine(event), ...(model && await expectedBy(model, event)) });
    }
  }
  lines.commit();
  metrics?.write();
  stage.signal.throwIfAborted();
  const counts = {
    measurements: watch.numMeasurements,
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

/** What is watched as a file of metrics that is written anew again and again. */
class MetricsFile implements Disposable {
  readonly #metrics: Parameters<typeof exposition>[0];
  readonly #timer: ReturnType<typeof setInterval>;
  #error: unknown;

  constructor(
    readonly path: string,
    readonly inputs: readonly string[],
    { watch, arriving }: { watch: PairWatch; arriving: ArrivingMeasurements },
  ) {
    const counter = (name: string, help: string, read: () => number) =>
      new Reading(`ping_llm_watch_${name}_total`, help, "counter", read);
    const gauge = (name: string, help: string, read: () => number) =>
      new Reading(`ping_llm_watch_${name}`, help, "gauge", read);
    this.#metrics = [
      counter("measurements", "Measurements that were watched.", () => watch.numMeasurements),
      counter("unusable", "Lines that could not be used.", () => arriving.numBad),
      counter("late", "Measurements that came after a later one of their pair.", () => watch.numLate),
      counter("dropped_pairs", "Pairs that were forgotten because of too many.", () => watch.numDropped),
      counter("alarms", "Alarms that have begun.", () => watch.numAlarms),
      gauge("pairs", "Pairs that are remembered.", () => watch.numPairs),
      gauge("open_alarms", "Alarms that have not ended.", () => watch.openAlarms().length),
      {
        name: "ping_llm_watch_alarm_size_ms",
        help: `The shift of the median of a pair with an open alarm, for the ${MAX_SHOWN_ALARMS} largest.`,
        type: "gauge",
        *samples() {
          for (const { src, dst, group, usual, now } of watch.openAlarms().slice(0, MAX_SHOWN_ALARMS)) {
            yield ["", { src, dst, group: group.id }, now.medianMs - usual.medianMs] as const;
          }
        },
      },
    ];
    this.#timer = setInterval(() => {
      try {
        this.write();
      } catch (error) {
        this.#error = error;
      }
    }, METRICS_MS);
    this.write();
  }

  write(): void {
    writeOutputFile(this.path, exposition(this.#metrics), { stage: "watch", inputs: this.inputs });
  }

  /** Throws if the file could not be written. */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
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
  if (calibration.includes(STANDARD_INPUT)) {
    throw new UsageError("Cannot calibrate on standard input: expected files; name them with --calibration");
  }
  const perDay = ratePerDay(falseAlarms);
  const watch = new PairWatch({ ...watching, minEvidence: 0 });
  const evidences: number[] = [];
  let firstS = Infinity;
  let lastS = -Infinity;
  using progress = stage.progress("calibrating", { unit: "measurements" });
  for await (const measurement of arrivalsOf(calibration, { ...options, follow: false }, stage)) {
    progress.update(watch.numMeasurements);
    firstS = Math.min(firstS, measurement.timeS);
    lastS = Math.max(lastS, measurement.timeS);
    for (const { evidence } of watch.add(measurement)) if (evidence !== undefined) evidences.push(evidence);
  }
  stage.signal.throwIfAborted();
  // Changes are found among the decided measurements only.
  const spanDays = (lastS - firstS) / SECONDS_OF.day * (watch.numDecided / watch.numMeasurements);
  const days = (spanDays || 0).toPrecision(3);
  if (!(spanDays * perDay >= 1)) {
    throw new UsageError(
      `Cannot calibrate ${falseAlarms}: found ${days} days of decided measurements, expected enough for one alarm; ` +
        "give more with --calibration or a larger rate",
    );
  }
  const minEvidence = evidenceThreshold(evidences, spanDays, perDay);
  const read = `${formatCount(watch.numMeasurements)} measurements of ${formatCount(watch.numPairs)} pairs`;
  const needed = `alarms need ${minEvidence.toPrecision(3)} nats`;
  stage.log(`calibrated on ${read} in ${days} decided days with ${evidences.length} changes: ${needed}`);
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
