/** Events of alarms as JSON and as text. @module */
import * as z from "zod";
import { formatMs, formatTime } from "../../base/text.ts";
import { type AddressNames, NO_NAMES } from "../../data/addresses/address_names.ts";
import { type Expectation, EXPECTED_QUANTILES } from "./expectation.ts";
import type { AlarmEvent } from "./pair_watch.ts";

const number = z.number().optional();

/** The line of an event. The sizes are absent where all packets are lost. */
export const alarmLineSchema = z.object({
  event: z.enum(["begin", "change", "end"]),
  alarm: z.int().describe("number of the alarm, from 1 in the order in which they began"),
  time: z.string().describe("when it changed: ISO 8601, UTC"),
  since: z.string().describe("when the alarm began: ISO 8601, UTC"),
  src: z.string(),
  src_name: z.string().optional(),
  dst: z.string(),
  dst_name: z.string().optional(),
  text: z.string().describe("the size for people, or why it ended"),
  usual_ms: number.describe("median RTT before the alarm, ms"),
  usual_spread_ms: number.describe("interquartile range before the alarm, ms"),
  usual_loss_rate: number.describe("share of lost measurements before the alarm"),
  rtt_ms: number.describe("median RTT since the newest change, ms"),
  loss_rate: number.describe("share of lost measurements since the newest change"),
  size_ms: number.describe("rtt_ms - usual_ms"),
  size_spreads: number.describe("the size in usual spreads"),
  confidence: number.describe("1 / (1 + exp(-evidence))"),
  evidence: number.describe("how much less likely the measurements since are without the change, nats"),
  group: z.int().describe("number of the first alarm of its group"),
  shared: z.string().optional().describe(
    "the property that all alarms of the group share: an end's address, AS or country",
  ),
  open_in_group: z.int().describe("alarms of the group that have not ended"),
  reason: z.enum(["usual", "new usual", "dropped"]).optional().describe("why it ended"),
  expected_ms: z.record(z.string(), z.number()).optional()
    .describe("the RTT that the model expected when it began, by quantile in percent, ms"),
  p_value: number.describe("how probable a reply at least as far from the expected ones is"),
});
/** See {@link alarmLineSchema}. */
export type AlarmLine = z.infer<typeof alarmLineSchema>;

/** The smallest spread that a shift is compared with, ms. */
const MIN_SPREAD_MS = 0.1;

/** The line of an event: a plain object for JSON. @param expected By a model when it began. @param names For its ends. */
export function alarmLine(
  event: AlarmEvent,
  expected?: Expectation,
  names: AddressNames = NO_NAMES,
): AlarmLine {
  const { kind, alarm, timeS, evidence, reason } = event;
  const { id, src, dst, sinceS, usual, now, group } = alarm;
  const shiftMs = now.medianMs - usual.medianMs;
  const { src_name, dst_name } = names.namedEnds({ src, dst });
  return {
    event: kind,
    alarm: id,
    time: formatTime(timeS),
    since: formatTime(sinceS),
    src,
    ...(src_name !== undefined && { src_name }),
    dst,
    ...(dst_name !== undefined && { dst_name }),
    text: alarmText(event),
    usual_ms: numberOf(usual.medianMs),
    usual_spread_ms: numberOf(usual.spreadMs),
    usual_loss_rate: numberOf(usual.lossRate),
    rtt_ms: numberOf(now.medianMs),
    loss_rate: numberOf(now.lossRate),
    size_ms: numberOf(shiftMs),
    size_spreads: numberOf(shiftMs / Math.max(MIN_SPREAD_MS, usual.spreadMs)),
    confidence: evidence === undefined ? undefined : numberOf(1 / (1 + Math.exp(-evidence))),
    evidence: evidence === undefined ? undefined : numberOf(evidence),
    group: group.id,
    shared: group.shared,
    open_in_group: group.numOpen,
    reason,
    expected_ms: expected && expectedMs(expected),
    p_value: expected?.pValue,
  };
}

function expectedMs({ quantilesMs }: Expectation): Record<string, number> {
  return Object.fromEntries(
    EXPECTED_QUANTILES.map((quantile, i) => [String(100 * quantile), Number(quantilesMs[i].toPrecision(4))]),
  );
}

/** The size of an alarm for people, such as `+38 ms, 3 x its usual spread`, or why it ended. */
function alarmText({ kind, reason, alarm: { usual, now } }: AlarmEvent): string {
  if (kind === "end") return reason === "usual" ? "as usual again" : `ended: ${reason}`;
  if (Number.isNaN(now.medianMs) || Number.isNaN(usual.medianMs) || now.lossRate - usual.lossRate > 0.5) {
    return `${percent(now.lossRate)} lost, usually ${percent(usual.lossRate)}`;
  }
  const shiftMs = now.medianMs - usual.medianMs;
  const spreads = Math.abs(shiftMs) / Math.max(MIN_SPREAD_MS, usual.spreadMs);
  const sign = shiftMs < 0 ? "-" : "+";
  return `${sign}${formatMs(Math.abs(shiftMs))} ms, ${Number(spreads.toPrecision(2))} x its usual spread`;
}

const percent = (share: number) => `${Math.round(100 * share)} %`;

/** Four digits; undefined, which JSON leaves out, for NaN. */
function numberOf(value: number): number | undefined {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : undefined;
}
