/**
 * Interfaces to watched pairs: measurements in and alarms out, Prometheus metrics, and RIPE Atlas status
 * checks (REST API, version 2).
 *
 * @module
 */
import { UserError } from "../base/errors.ts";
import { type AddressNames, NO_NAMES } from "../data/addresses/address_names.ts";
import { formatAddress, parseAddress } from "../data/addresses/ip.ts";
import { alarmLine } from "../query/changes/alarm_lines.ts";
import { type Expectation, EXPECTED_QUANTILES, type PairExpectations } from "../query/changes/expectation.ts";
import type { AlarmEvent } from "../query/changes/alarms.ts";
import { type PairWatch, rttMsOf, type WatchedPair } from "../query/changes/pair_watch.ts";
import type { TimedMeasurement } from "../query/files/arriving.ts";
import type { LineError, ReadingLine } from "../query/questions/question.ts";
import { readFields } from "../query/questions/read_fields.ts";
import { watch as watchQuestion, type WatchAnswer } from "../query/questions/watch.ts";
import { parseTimedMeasurement } from "../query/rtt/rtt_question.ts";
import { ApiError } from "./api/api_error.ts";
import type { PingService } from "./api/ping_service.ts";
import { type StatusCheckAnswer, statusCheckQuestionSchema } from "./api/schemas.ts";
import { gauge, type Metric, total } from "./metrics.ts";

/** A watch and the counts that its metrics report. */
export interface WatchedState {
  readonly watch: PairWatch;
  /** Maximum pairs that have their own metrics. */
  readonly maxPairs: number;
  /** Absent without a model. */
  readonly expectations?: PairExpectations | undefined;
  /** Names of addresses for labels (none). */
  readonly names?: AddressNames | undefined;
  /** Counts of posts to the webhook. */
  readonly webhook?: Posted | undefined;
  /** Lines that could not be used. */
  readonly numUnusable: number;
}

interface Posted {
  readonly numSent: number;
  readonly numFailedTries: number;
  readonly numLost: number;
  readonly numWaiting: number;
}

export function watchMetrics(
  { watch, maxPairs, expectations, names = NO_NAMES, webhook, numUnusable }: WatchedState,
): Metric[] {
  const counter = (name: string, help: string, value: number) =>
    total(`ping_llm_watch_${name}_total`, help, value);
  const reading = (name: string, help: string, value: number) => gauge(`ping_llm_watch_${name}`, help, value);
  const pairs = watch.foremostPairs(maxPairs).map((pair) => {
    const { src, dst } = pair;
    return { pair, ends: { src, dst, ...names.namedEnds({ src, dst }) } };
  });
  /** @param samplesOf `[further labels, value]` of each sample of a pair; NaN values are left out. */
  const ofPairs = (
    name: string,
    help: string,
    samplesOf: (pair: WatchedPair) => readonly (readonly [Record<string, string | number>, number])[],
  ): Metric => ({
    name: `ping_llm_watch_${name}`,
    help,
    type: "gauge",
    *samples() {
      for (const { pair, ends } of pairs) {
        for (const [labels, value] of samplesOf(pair)) {
          if (!Number.isNaN(value)) yield ["", { ...ends, ...labels }, value] as const;
        }
      }
    },
  });
  return [
    counter("measurements", "Watched measurements.", watch.numMeasurements),
    counter("unusable", "Lines that could not be used.", numUnusable),
    counter("late", "Measurements that arrived after a later one of the same pair.", watch.numLate),
    counter("in_future", "Measurements with a time in the future.", watch.numInFuture),
    counter(
      "wrong_clock",
      "Measurements whose time contradicts others of the same pair.",
      watch.numWrongClock,
    ),
    counter("dropped_pairs", "Pairs dropped because there were too many.", watch.numDropped),
    counter("alarms", "Alarms that have begun.", watch.alarms.numAlarms),
    reading("pairs", "Remembered pairs.", watch.numPairs),
    reading("open_alarms", "Alarms that have not ended.", watch.alarms.numOpen),
    ofPairs("alarm", "Whether a pair has an open alarm.", ({ alarm }) => [[{}, alarm ? 1 : 0]]),
    ofPairs(
      "alarm_cause",
      "The cause of a pair's open alarm, and the limit that is passed.",
      ({ alarm }) => alarm ? [[{ cause: alarm.cause, ...(alarm.limit && { limit: alarm.limit }) }, 1]] : [],
    ),
    ofPairs(
      "alarm_size_ms",
      "The shift of the median of a pair with an open alarm.",
      ({ alarm }) => alarm ? [[{ group: alarm.group.id }, alarm.now.medianMs - alarm.usual.medianMs]] : [],
    ),
    ofPairs("lost", "Whether the newest measurement of a pair had no reply.", (pair) => [
      [{}, Number.isNaN(rttMsOf(newestOf(pair))) ? 1 : 0],
    ]),
    ofPairs(
      "rtt_ms",
      "The newest RTT of a pair; absent if there was no reply.",
      (pair) => [[{}, rttMsOf(newestOf(pair))]],
    ),
    ...(expectations
      ? [
        ofPairs(
          "expected_rtt_ms",
          "Quantiles that the model expected for the newest RTT of a pair.",
          (pair) =>
            EXPECTED_QUANTILES.flatMap((quantile, i) => {
              const expected = expectations.of(pair);
              return expected ? [[{ q: quantile }, expected.quantilesMs[i]] as const] : [];
            }),
        ),
        ofPairs("p_value", "Probability of a reply at least as far from the expected ones.", (pair) => {
          const pValue = expectations.of(pair)?.pValue;
          return pValue === undefined ? [] : [[{}, pValue]];
        }),
      ]
      : []),
    ...(webhook
      ? [
        counter("webhook_sent", "Events accepted by the webhook.", webhook.numSent),
        counter("webhook_failed_tries", "Failed attempts to post an event.", webhook.numFailedTries),
        counter("webhook_lost", "Events that the webhook rejected or that were dropped.", webhook.numLost),
        reading("webhook_waiting", "Events not yet accepted by the webhook.", webhook.numWaiting),
      ]
      : []),
  ];
}

function newestOf({ recent }: WatchedPair): TimedMeasurement {
  return recent[recent.length - 1];
}

/**
 * The alarms of a measurement by probe. A measurement is identified by its RIPE Atlas ID or the address of
 * its destination, a probe by its ID if known, else by its address.
 *
 * @throws {ApiError} 404 if no pair has that ID or destination.
 */
export function statusCheck(watch: PairWatch, id: string, value: unknown): StatusCheckAnswer {
  const { permitted_total_alerts = 0, max_packet_loss = 100, show_all } = readFields(
    statusCheckQuestionSchema,
    value,
  );
  const isMeant = selectorOf(id);
  // A probe is represented by its most recently seen pair.
  const probes = new Map<string, StatusCheckAnswer["probes"][string]>();
  for (const pair of watch.pairs()) {
    if (!isMeant(pair)) continue;
    const { src, srcPlace: { countryCode, asNumber }, recent, alarm } = pair;
    const rttsMs = recent.map((measurement) => finiteOrNull(rttMsOf(measurement)));
    const last = rttsMs[rttsMs.length - 1];
    const lossPercent = last === null ? 100 : 0;
    const alert = alarm !== undefined || lossPercent > max_packet_loss;
    probes.set(String(newestOf(pair).prbId ?? src), {
      alert,
      last,
      last_packet_loss: lossPercent,
      source: countryCode ? `Country: ${countryCode}` : asNumber ? `AS${asNumber}` : src,
      ...((alert || show_all === "true") && { all: rttsMs }),
    });
  }
  if (probes.size === 0) {
    throw new ApiError(
      404,
      `Cannot answer for measurement ${id.slice(0, 80)}: no watched measurement has that msm_id or dst`,
    );
  }
  const total_alerts = [...probes.values()].filter(({ alert }) => alert).length;
  return {
    global_alert: total_alerts > permitted_total_alerts,
    total_alerts,
    probes: Object.fromEntries(probes),
  };
}

function selectorOf(id: string): (pair: WatchedPair) => boolean {
  if (/^\d+$/.test(id)) return ({ recent }) => recent.some(({ msmId }) => msmId === Number(id));
  const address = parseAddress(id);
  const text = address && formatAddress(address);
  return ({ dst }) => dst === text;
}

const finiteOrNull = (rttMs: number) => Number.isNaN(rttMs) ? null : Number(rttMs.toPrecision(6));

/**
 * Watches measurements as they arrive: JSON lines, or a text in a known format.
 *
 * @param service Reads the measurements, and reports what its model expected when an alarm began.
 * @param options `isText`: false for JSON lines; `fields`: options of the question; `onReading`: called with the
 *   readings of other formats.
 * @returns Events and errors by line; most lines have neither.
 */
export async function* watchLines(
  watch: PairWatch,
  lines: AsyncIterable<string>,
  service: PingService,
  { signal, isText, fields, onReading }: {
    signal: AbortSignal;
    isText: boolean;
    fields: Record<string, unknown>;
    onReading?: (line: ReadingLine) => void;
  },
): AsyncGenerator<({ line: number } & WatchAnswer) | LineError> {
  const { src, dst } = readFields(watchQuestion.options, fields);
  const asked = { isText, src, dst, withIds: true, onReading };
  for await (const { line, read } of service.readMeasurements(lines, asked, signal)) {
    signal.throwIfAborted();
    let events: AlarmEvent[];
    try {
      const { numInFuture, numLate, numUsed } = watch;
      events = watch.add(watchedMeasurement(read()));
      if (watch.numInFuture > numInFuture) {
        throw new UserError("time must not be in the future (it is UTC unless it has a zone); left out");
      }
      if (watch.numLate > numLate && watch.numUsed === numUsed) {
        yield {
          line,
          error: "time must not be before the pair's earlier measurements; left out",
        };
      }
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      yield { line, error: error.message };
      continue;
    }
    for (const event of events) {
      yield { line, ...alarmLine(event, await expectedAt(event, service, signal), service.names) };
    }
  }
}

function watchedMeasurement(value: unknown): TimedMeasurement {
  const { msm_id: msmId, prb_id: prbId, ...asked } = readFields(watchQuestion.line, value);
  return {
    ...parseTimedMeasurement(asked),
    ...(msmId !== undefined && { msmId }),
    ...(prbId !== undefined && { prbId }),
  };
}

async function expectedAt(
  { kind, alarm: { src, dst }, timeS, history = [] }: AlarmEvent,
  service: PingService,
  signal: AbortSignal,
): Promise<Pick<Expectation, "quantilesMs"> | undefined> {
  if (kind !== "begin") return undefined;
  const context = history.map((measurement) => ({
    src,
    dst,
    time: measurement.timeS,
    rtt: finiteOrNull(rttMsOf(measurement)),
  }));
  const { quantiles_ms } = await service.rtt({
    src,
    dst,
    time: timeS,
    context,
    quantiles: [...EXPECTED_QUANTILES],
  }, signal);
  return { quantilesMs: EXPECTED_QUANTILES.map((quantile) => quantiles_ms[String(quantile)]) };
}
