/** Events of alarms as JSON and as text. @module */
import { formatMs } from "../../base/text.ts";
import type { AlarmEvent } from "./pair_watch.ts";

/** The smallest spread that a shift is compared with, ms. */
const MIN_SPREAD_MS = 0.1;

/** The line of an event: a plain object for JSON. Absent are the sizes where all packets are lost. */
export function alarmLine(event: AlarmEvent): Record<string, unknown> {
  const { kind, alarm, timeS, evidence, reason } = event;
  const { id, src, dst, sinceS, usual, now, group } = alarm;
  const shiftMs = now.medianMs - usual.medianMs;
  return {
    event: kind,
    alarm: id,
    time: isoTime(timeS),
    since: isoTime(sinceS),
    src,
    dst,
    text: alarmText(event),
    usual_ms: numberOf(usual.medianMs),
    usual_spread_ms: numberOf(usual.spreadMs),
    usual_loss_rate: numberOf(usual.lossRate),
    rtt_ms: numberOf(now.medianMs),
    loss_rate: numberOf(now.lossRate),
    size_ms: numberOf(shiftMs),
    size_spreads: numberOf(shiftMs / Math.max(MIN_SPREAD_MS, usual.spreadMs)),
    ...(evidence !== undefined &&
      { confidence: numberOf(1 / (1 + Math.exp(-evidence))), evidence: numberOf(evidence) }),
    group: group.id,
    ...(group.shared !== undefined && { shared: group.shared }),
    open_in_group: group.numOpen,
    ...(reason !== undefined && { reason }),
  };
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

function isoTime(timeS: number): string {
  return new Date(1000 * timeS).toISOString().replace(".000Z", "Z");
}

/** Four digits; undefined, which JSON leaves out, for NaN. */
function numberOf(value: number): number | undefined {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : undefined;
}
