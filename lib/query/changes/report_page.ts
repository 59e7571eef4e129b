/** The report of a period as a page. @module */
import { lineChart, spanChart } from "../../base/report/charts.ts";
import { type Block, contentsOf, element, pageOf, tableOf } from "../../base/report/page.ts";
import { FULL_WIDTH } from "../../base/report/theme.ts";
import { escapeHtml, formatCount, formatMs, formatSeconds, formatTime, isoTime } from "../../base/text.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import type {
  GroupSummary,
  Outage,
  PairsSummary,
  PairSummary,
  PeriodReport,
  RoundsSummary,
} from "./period_report.ts";

/** How many rows tables of pairs, groups, outages and alarms have at most. The JSON contains all. */
const MAX_ROWS = 500;
/** How many pairs the timeline shows. */
const MAX_TIMELINES = 100;
/** How many groups and pairs have their own charts. */
const MAX_DETAILS = { groups: 20, pairs: 40 };
const LABEL_PX = 260;
const CHART_SIZE = { width: 330, height: 150 };
const KINDS = ["outage", "other alarm", "not measured", "measured"] as const;

const SUMMARY_HEADINGS = ["availability", "rounds", "lost", "median", "95 %", "99 %", "jitter"];
const OUTAGE_HEADINGS = ["outages", "down", "measured"];

/** Renders a report as HTML. @param source The measurements, for its title. */
export async function reportPage(report: PeriodReport, source: string): Promise<string> {
  const { from, to, pairs, groups, alarms, left_out, compare_at } = report;
  const missing = Object.entries(left_out).filter(([, count]) => count > 0)
    .map(([reason, count]) => `${formatCount(count)} ${reason.replaceAll("_", " ")}`);
  const rounds = pairs.reduce((sum, each) => sum + each.rounds, 0);
  const outages = pairs.flatMap((pair) =>
    pair.outages.listed.map((outage) => ({ where: nameOf(pair), ...outage }))
  );
  const name = namesOf(report);
  const numOutages = pairs.reduce((sum, each) => sum + each.outages.count, 0);
  const intro = [
    element(
      "p",
      `${timeText(from)} to ${timeText(to)} UTC: ${formatCount(rounds)} rounds of ${
        formatCount(pairs.length)
      } pairs, ` +
        `${formatCount(numOutages)} outages, ${formatCount(alarms.length)} alarms.` +
        (missing.length > 0 ? ` Not in the report: ${missing.join(", ")}.` : ""),
    ),
    element(
      "p",
      "A round is one measurement of a pair. The availability is the share of the rounds with a reply; where " +
        "nothing was measured it is unknown (–). An outage is a series of three or more lost rounds, of more if the " +
        "other losses of the pair explain it; it ends with the next reply. The jitter is the mean " +
        "difference between the RTTs of successive replies (RFC 3550, section 6.4.1, averaged over all replies). " +
        "RTTs are accurate to 0.4 %, or 4 µs. Days and hours are in UTC.",
    ),
  ];
  const parts: Block[] = [
    element("h2", "Timeline"),
    timelineOf(report, name),
    element("h2", "Pairs"),
    ...limitedTable(["pair", ...SUMMARY_HEADINGS, ...OUTAGE_HEADINGS], pairs, (pair) => [
      nameOf(pair),
      ...summaryCells(pair),
      ...outageCells(pair),
    ], "named"),
    ...(groups.length === 0 ? [] : [
      element("h2", "Groups of pairs"),
      ...limitedTable(["group", "pairs", ...SUMMARY_HEADINGS, ...OUTAGE_HEADINGS], groups, (group) => [
        nameOf(group),
        String(group.pairs),
        ...summaryCells(group),
        ...outageCells(group),
      ], "named"),
    ]),
    ...(compare_at === undefined ? [] : comparisonOf(report, compare_at)),
    element("h2", "Outages"),
    ...(outages.length === 0 ? [element("p", "None.")] : limitedTable(
      ["from", "to", "lasted", "pair", "lost rounds"],
      outages.sort((a, b) => Date.parse(a.from) - Date.parse(b.from)),
      ({ from, to, seconds, where, rounds }) => [
        timeText(from),
        to === null ? "open" : timeText(to),
        formatSeconds(seconds),
        where,
        String(rounds),
      ],
    )),
    element("h2", "Alarms"),
    ...(alarms.length === 0 ? [element("p", "None.")] : limitedTable(
      ["from", "to", "pair", "what"],
      alarms,
      ({ from, to, src, dst, text }) => [
        timeText(from),
        to === null ? "open" : timeText(to),
        name(src, dst),
        text,
      ],
    )),
    element("h2", "By day and hour"),
    ...detailsOf(report),
  ];
  return await pageOf(`Report of ${source}`, [...intro, contentsOf(parts), ...parts]);
}

function timelineOf(report: PeriodReport, name: ReturnType<typeof namesOf>): Block {
  const { pairs, alarms } = report;
  const shown = pairs.slice(0, MAX_TIMELINES);
  const rows = shown.map(nameOf);
  const end = Date.parse(report.to);
  const spanOf = (
    row: string,
    kind: typeof KINDS[number],
    { from, to }: { from: string; to: string | null },
  ) => ({
    row,
    kind,
    from: Date.parse(from),
    to: to === null ? end : Date.parse(to),
  });
  const spans = [
    ...shown.flatMap((pair) => [
      spanOf(nameOf(pair), "measured", report),
      ...pair.outages.listed.map((outage) =>
        spanOf(nameOf(pair), "outage", { ...outage, to: endOf(outage) })
      ),
      ...pair.not_measured.map((gap) => spanOf(nameOf(pair), "not measured", gap)),
    ]),
    ...alarms.filter(({ cause }) => cause !== "outage")
      .map((alarm) => spanOf(name(alarm.src, alarm.dst), "other alarm", alarm))
      .filter(({ row }) => rows.includes(row)),
  ];
  return {
    name: "timeline",
    caption: `Outages, other alarms, and hours without measurements${
      pairs.length > shown.length ? ` of the ${shown.length} pairs with the lowest availability` : ""
    }`,
    chart: spanChart({ rows, kinds: KINDS, spans, width: FULL_WIDTH - LABEL_PX }),
  };
}

/** An open outage is known until the pair's last round. */
function endOf({ from, to, seconds }: Outage): string {
  return to ?? isoTime(Date.parse(from) / 1000 + seconds);
}

function comparisonOf({ pairs, groups }: PeriodReport, at: string): Block[] {
  const sides = [...groups, ...pairs];
  const headings = ["availability", "median", "95 %", "jitter"];
  return [
    element("h2", `Before and after ${timeText(at)} UTC`),
    ...limitedTable(
      [
        "",
        ...headings.map((each) => `${each} before`),
        ...headings.map((each) => `${each} after`),
        "median changed",
      ],
      sides,
      (each) => {
        const { before, after } = each;
        const cells = [before, after].map((side) => side ? summaryCells(side) : []);
        const change = (after?.median_ms ?? NaN) - (before?.median_ms ?? NaN);
        return [
          nameOf(each),
          ...cells.flatMap((
            [availability, , , median, q95, , jitter],
          ) => [availability, median, q95, jitter]),
          Number.isNaN(change) ? "–" : `${change < 0 ? "-" : "+"}${formatMs(Math.abs(change))}`,
        ];
      },
      "named",
    ),
  ];
}

/** Charts and tables by day and hour, folded up. */
function detailsOf({ pairs, groups }: PeriodReport): Block[] {
  const all = [...groups.slice(0, MAX_DETAILS.groups), ...pairs.slice(0, MAX_DETAILS.pairs)];
  const numMore = groups.length + pairs.length - all.length;
  const notes = numMore > 0
    ? [element("p", `The report as JSON contains ${numMore} more groups and pairs.`)]
    : [];
  return [
    ...notes,
    ...all.flatMap((of, i): Block[] => [
      `<details>\n<summary>${escapeHtml(nameOf(of))}</summary>`,
      {
        beside: [
          chartOf(`days-${i}`, "By day", of.days, ({ day }) => Date.parse(day), "utc"),
          chartOf(`hours-${i}`, "By hour of the day (UTC)", of.hours, ({ hour }) => hour, "linear"),
        ],
      },
      tableOf(["day", ...SUMMARY_HEADINGS], of.days.map((day) => [day.day, ...summaryCells(day)]), "numbers"),
      tableOf(
        ["hour", ...SUMMARY_HEADINGS],
        of.hours.map((each) => [String(each.hour), ...summaryCells(each)]),
        "numbers",
      ),
      worstOf(of),
      "</details>",
    ]),
  ];
}

function chartOf<T extends RoundsSummary>(
  name: string,
  caption: string,
  points: readonly T[],
  x: (point: T) => number,
  scale: "utc" | "linear",
): Block {
  const curve = (label: string, rank: 0 | 1 | 2, key: "median_ms" | "q0.95_ms" | "q0.99_ms") => ({
    label,
    rank,
    style: "marked" as const,
    points: points.map((point) => ({ x: x(point), y: point[key] })),
  });
  return {
    name,
    caption,
    chart: lineChart({
      ...CHART_SIZE,
      curves: [curve("median", 0, "median_ms"), curve("95 %", 1, "q0.95_ms"), curve("99 %", 2, "q0.99_ms")],
      x: { title: "", scale, ...(scale === "utc" && { format: "%d %b" }) },
      y: { title: "RTT, ms" },
    }),
  };
}

function worstOf({ worst_hours: { by_loss, by_median } }: PairsSummary): string {
  const rows = [
    ...by_loss.map((hour) => ["losses", hour] as const),
    ...by_median.map((hour) => ["RTT", hour] as const),
  ];
  return tableOf(
    ["worst hours by", "from", "rounds", "lost", "median"],
    rows.map(([what, { time, rounds, lost, median_ms }]) => [
      what,
      timeText(time),
      String(rounds),
      String(lost),
      msText(median_ms),
    ]),
  );
}

/** A table of at most {@link MAX_ROWS} rows that says how many there are. */
function limitedTable<T>(
  headings: readonly string[],
  rows: readonly T[],
  cellsOf: (row: T) => string[],
  kind: "texts" | "named" = "texts",
): Block[] {
  const table = tableOf(headings, rows.slice(0, MAX_ROWS).map(cellsOf), kind);
  if (rows.length <= MAX_ROWS) return [table];
  return [
    table,
    element("p", `The first ${MAX_ROWS} of ${rows.length} rows; the report as JSON contains all.`),
  ];
}

function summaryCells(of: RoundsSummary): string[] {
  const { rounds, lost, median_ms, "q0.95_ms": q95, "q0.99_ms": q99, jitter_ms } = of;
  return [
    availabilityText(of),
    String(rounds),
    String(lost),
    ...[median_ms, q95, q99, jitter_ms].map(msText),
  ];
}

function outageCells({ outages, measured }: PairSummary | GroupSummary): string[] {
  const { count, seconds } = outages;
  return [
    String(count),
    count === 0 ? "–" : formatSeconds(seconds),
    `${Math.floor(1000 * measured) / 10} %`,
  ];
}

/** Rounded down, so that only an availability without any loss is 100 %. */
function availabilityText({ availability }: RoundsSummary): string {
  return availability === null ? "–" : `${(Math.floor(1e5 * availability + 1e-6) / 1000).toFixed(3)} %`;
}

function msText(ms: number | null): string {
  return ms === null ? "–" : formatMs(ms);
}

function timeText(time: string): string {
  return formatTime(Date.parse(time) / 1000).replace(" UTC", "");
}

function nameOf(of: PairSummary | GroupSummary): string {
  if ("group" in of) return withName(of.group, of.name);
  return `${withName(of.src, of.src_name)} -> ${withName(of.dst, of.dst_name)}`;
}

/** Names the pair of two addresses. */
function namesOf({ pairs }: PeriodReport): (src: string, dst: string) => string {
  const names = new Map(pairs.map((pair) => [`${pair.src} ${pair.dst}`, nameOf(pair)]));
  return (src, dst) => names.get(`${src} ${dst}`) ?? `${src} -> ${dst}`;
}
