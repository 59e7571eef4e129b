/** Alarms as JSON and as text. @module */
import * as z from "zod";
import { formatCount, formatMs, formatSeconds, formatShare, isoTime } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";
import { type AddressNames, NO_NAMES } from "../../data/addresses/address_names.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { type Expectation, EXPECTED_QUANTILES } from "./expectation.ts";
import { type Alarm, type AlarmEvent, type AlarmGroup, type EndReason, shiftOf } from "./alarms.ts";

const number = z.number().optional();

/** The JSON line of an event. The sizes are absent if all packets are lost. */
export const alarmLineSchema = z.object({
  event: z.enum(["begin", "change", "end"]),
  cause: z.enum(["outage", "loss", "shift", "limit"]).describe(
    "no replies, more losses than usual, another level of RTTs, or a fixed limit that is passed",
  ),
  alarm: z.int().describe("number of the alarm, counting from 1 in the order in which they began"),
  time: z.string().describe("when the change happened: ISO 8601, UTC"),
  since: z.string().describe("when the alarm began: ISO 8601, UTC"),
  src: z.string(),
  src_name: z.string().optional(),
  dst: z.string(),
  dst_name: z.string().optional(),
  limit: z.string().optional().describe("the fixed limit that is passed"),
  text: z.string().describe("the size in words, or why the alarm ended"),
  usual_ms: number.describe("median RTT before the alarm, ms"),
  usual_spread_ms: number.describe("interquartile range before the alarm, ms"),
  usual_loss_rate: number.describe("share of lost measurements before the alarm"),
  rtt_ms: number.describe("median RTT since the newest change, at the end since the beginning, ms"),
  loss_rate: number.describe(
    "share of lost measurements since the newest change; for the cause loss since the beginning",
  ),
  peak_ms: number.describe("at the end: the median of successive RTTs farthest from the usual one, ms"),
  lasted_s: number.describe("at the end: the time since the beginning, s"),
  size_ms: number.describe("rtt_ms - usual_ms"),
  size_spreads: number.describe("the size as a multiple of the usual spread"),
  times: z.int().describe("how often it happened: bursts of losses, or the same again shortly after its end"),
  evidence: number.describe(
    "how much less likely the measurements since then would be without the change, nats",
  ),
  per_day: number.describe(
    "how often per day, over all pairs, a change with this cause has at least this evidence",
  ),
  group: z.int().describe("number of the first alarm of its group"),
  shared: z.string().optional().describe(
    "the property that all alarms of the group share: an endpoint's address, AS or country",
  ),
  sharing: z.int().optional().describe("number of watched pairs that have that property"),
  open_in_group: z.int().describe("alarms of the group that have not ended"),
  reason: z.enum(["usual", "new usual", "dropped"]).optional().describe("why the alarm ended"),
  expected_ms: z.record(z.string(), z.number()).optional()
    .describe("the RTT that the model expected when the alarm began, by quantile in percent, ms"),
});
export type AlarmLine = z.infer<typeof alarmLineSchema>;

/** Lower bound of the usual spread when it measures a shift, ms. */
const MIN_SPREAD_MS = 0.1;
/** Texts contain the peak of a shift if it is more than this many times the shift. */
const SHOWN_PEAK = 1.25;

/** @param expected The model's forecast when the alarm began. */
export function alarmLine(
  event: AlarmEvent,
  expected?: Pick<Expectation, "quantilesMs">,
  names: AddressNames = NO_NAMES,
): AlarmLine {
  const { kind, alarm, timeS, evidence, perDay, reason } = event;
  const { id, cause, src, dst, limit, sinceS, usual, now, group, numTimes } = alarm;
  const shiftMs = now.medianMs - usual.medianMs;
  const { src_name, dst_name } = names.namedEnds({ src, dst });
  return {
    event: kind,
    cause,
    alarm: id,
    time: isoTime(timeS),
    since: isoTime(sinceS),
    src,
    ...(src_name !== undefined && { src_name }),
    dst,
    ...(dst_name !== undefined && { dst_name }),
    ...(limit !== undefined && { limit }),
    text: alarmText(event),
    usual_ms: numberOf(usual.medianMs),
    usual_spread_ms: numberOf(usual.spreadMs),
    usual_loss_rate: numberOf(usual.lossRate),
    rtt_ms: numberOf(now.medianMs),
    loss_rate: numberOf(now.lossRate),
    ...(kind === "end" && { peak_ms: numberOf(alarm.peakMs), lasted_s: numberOf(timeS - sinceS) }),
    size_ms: numberOf(shiftMs),
    size_spreads: numberOf(shiftMs / Math.max(MIN_SPREAD_MS, usual.spreadMs)),
    times: numTimes,
    evidence: numberOf(evidence),
    per_day: limit === undefined ? numberOf(perDay) : undefined,
    group: group.id,
    shared: group.shared,
    ...(group.shared !== undefined && { sharing: group.numSharing }),
    open_in_group: group.numOpen,
    reason,
    expected_ms: expected && expectedMs(expected),
  };
}

function expectedMs({ quantilesMs }: Pick<Expectation, "quantilesMs">): Record<string, number> {
  return Object.fromEntries(
    EXPECTED_QUANTILES.map((quantile, i) => [String(100 * quantile), Number(quantilesMs[i].toPrecision(4))]),
  );
}

function alarmText({ kind, reason, alarm, timeS }: AlarmEvent): string {
  if (kind !== "end") return sizeText(alarm);
  const ended = reason !== "usual"
    ? `ended: ${reason}`
    : alarm.limit !== undefined
    ? `no longer ${alarm.limit}`
    : alarm.cause === "outage"
    ? "replies again"
    : "as usual again";
  return `${ended} after ${formatSeconds(timeS - alarm.sinceS)}${
    alarm.limit !== undefined || alarm.cause === "outage" && alarm.numTimes === 1
      ? ""
      : `: ${sizeText(alarm)}`
  }`;
}

/** An alarm's size as text, such as `no reply, usually 20.1 ms` or `+38 ms, 3 x its usual spread`. */
function sizeText({ cause, limit, usual, now, numTimes, peakMs }: Alarm): string {
  if (limit !== undefined) {
    const median = Number.isNaN(now.medianMs) ? "" : `median ${formatMs(now.medianMs)}, `;
    return `${limit}: ${median}${formatShare(now.lossRate)} lost`;
  }
  const times = numTimes > 1 ? `, ${formatCount(numTimes)} times` : "";
  const usually = `usually ${formatMs(usual.medianMs)}`;
  if (cause === "outage" && now.lossRate === 1) return `no reply${times}, ${usually}`;
  if (cause !== "shift") {
    const lost = `${formatShare(now.lossRate, 0)} lost${times}`;
    return cause === "outage" ? `${lost}, ${usually}` : `${lost}, usually ${formatShare(usual.lossRate, 0)}`;
  }
  const [shiftMs, peakShiftMs] = [now.medianMs, peakMs ?? NaN].map((ms) => ms - usual.medianMs);
  const signed = (ms: number) => `${ms < 0 ? "-" : "+"}${formatMs(Math.abs(ms))}`;
  const spreads = Math.abs(shiftMs) / Math.max(MIN_SPREAD_MS, usual.spreadMs);
  const peak = peakShiftMs / shiftMs > SHOWN_PEAK ? `, at most ${signed(peakShiftMs)}` : "";
  return `${signed(shiftMs)}, ${Number(spreads.toPrecision(2))} x its usual spread${peak}${times}`;
}

/** Rounds to four digits; undefined, which JSON omits, for NaN. */
function numberOf(value = NaN): number | undefined {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : undefined;
}

interface ShownGroup {
  readonly group: AlarmGroup;
  /** The alarm with the largest shift. */
  largest: Alarm;
  /** When the last alarm ended, Unix seconds, and why. */
  endS: number;
  reason: EndReason | undefined;
}

/** Table of alarms for people, one row per group. */
export class AlarmTable {
  readonly #groups = new Map<number, ShownGroup>();

  constructor(readonly names: AddressNames = NO_NAMES) {}

  /** Adds an event. @returns A line to print if a group begins, doubled since its last line, or has ended. */
  add({ kind, alarm, timeS, reason }: AlarmEvent): string | undefined {
    const { group } = alarm;
    const shown = this.#groups.get(group.id) ?? { group, largest: alarm, endS: -Infinity, reason };
    this.#groups.set(group.id, shown);
    if (shiftOf(alarm) > shiftOf(shown.largest)) shown.largest = alarm;
    if (kind === "end" && timeS >= shown.endS) Object.assign(shown, { endS: timeS, reason });
    const isTold = kind === "begin"
      ? Number.isInteger(Math.log2(group.numAlarms))
      : kind === "end" && group.numOpen === 0;
    return isTold ? this.#cells(shown).filter((cell) => cell !== "").join("  ") : undefined;
  }

  /** All groups: open ones first, then by size; empty if there are none. */
  toString(): string {
    if (this.#groups.size === 0) return "";
    const groups = [...this.#groups.values()].sort((a, b) =>
      Number(b.group.numOpen > 0) - Number(a.group.numOpen > 0) || b.group.numAlarms - a.group.numAlarms ||
      shiftOf(b.largest) - shiftOf(a.largest) || a.group.id - b.group.id
    );
    const head = ["", "since (UTC)", "lasted", "pairs", "where", "what"];
    return formatTable([head, ...groups.map((shown) => this.#cells(shown))], { left: [0, 1, 4, 5] });
  }

  #cells(
    { group, largest, endS, reason }: ShownGroup,
  ): string[] {
    const { numAlarms, numOpen, shared, begun: [sinceS] } = group;
    const { src, dst } = largest;
    const { src_name, dst_name } = this.names.namedEnds({ src, dst });
    const [source, destination] = [withName(src, src_name), withName(dst, dst_name)];
    const where = shared === undefined
      ? `${source} -> ${destination}`
      : shared === `src ${src}`
      ? `src ${source}`
      : shared === `dst ${dst}`
      ? `dst ${destination}`
      : shared;
    return [
      numOpen > 0 ? "open" : reason === "usual" ? "ended" : reason ?? "",
      isoTime(Math.floor(sinceS)).replace("T", " ").replace("Z", ""),
      numOpen === 0 && reason === "usual" ? formatSeconds(endS - sinceS) : "",
      numOpen > 0 && numOpen < numAlarms ? `${numOpen} of ${numAlarms}` : formatCount(numAlarms),
      where,
      whatText(group, largest),
    ];
  }
}

/** What happened to a group. @param largest Its alarm with the largest shift. */
function whatText({ cause, numAlarms, numSharing }: AlarmGroup, largest: Alarm): string {
  const size = sizeText(largest);
  if (numAlarms === 1) return size;
  if (cause === "shift") return `up to ${size}`;
  const isCutOff = largest.now.lossRate === 1 && numAlarms > numSharing / 2;
  return `${isCutOff ? "is cut off" : size}: ${formatCount(numAlarms)} of ${formatCount(numSharing)} pairs`;
}
