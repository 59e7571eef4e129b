/** The report of a period, compared with an independent computation on a real campaign. @module */
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import {
  type PairSummary,
  PeriodTally,
  type RoundsSummary,
} from "../../../lib/query/changes/period_report.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { commandOf, loadStage } from "../../cli/stage_in_process.ts";
import { succeed } from "../../cli/process.ts";
import { readAll } from "../../data/measurement_files/batches.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

const MENOG = "tests/data/campaigns/menog-2019-05.parquet";
/** Bound of a quantile's error, from the README. */
const QUANTILE_ERROR = 0.004;

interface Round {
  timeS: number;
  /** NaN for a loss. */
  rttMs: number;
}

const timeOf = (text: string) => Date.parse(text) / 1000;

/** Asserts counts, quantiles and jitter of rounds in order of time. */
function assertSummary(found: RoundsSummary, rounds: readonly Round[]): void {
  const rtts = rounds.map(({ rttMs }) => rttMs).filter((ms) => !Number.isNaN(ms));
  assertEquals([found.rounds, found.lost], [rounds.length, rounds.length - rtts.length]);
  assertEquals(found.availability, rounds.length === 0 ? null : 1 - found.lost / found.rounds);
  const sorted = rtts.toSorted((a, b) => a - b);
  for (const [name, q] of [["median_ms", 0.5], ["q0.95_ms", 0.95], ["q0.99_ms", 0.99]] as const) {
    const wanted = sorted[Math.ceil(q * sorted.length) - 1];
    if (wanted === undefined) assertEquals(found[name], null);
    else assertAlmostEquals(found[name] ?? NaN, wanted, QUANTILE_ERROR * wanted + 0.0041);
  }
}

/** Asserts a pair's outages: series of three losses or more that its other losses do not explain. */
function assertOutages({ outages }: PairSummary, rounds: readonly Round[]): void {
  const letters = rounds.map(({ rttMs }) => Number.isNaN(rttMs) ? "-" : "+").join("");
  const series = [...letters.matchAll(/-{3,}/g)].map(({ index, 0: { length } }) => ({ index, length }));
  const isOutage = (least: number) => {
    const others = letters.replace(new RegExp(`-{${least},}`, "g"), "");
    const lossRate = others === "" ? 0 : others.replaceAll("+", "").length / others.length;
    return lossRate ** least <= 1e-6;
  };
  const least = Array.from({ length: rounds.length }, (_, i) => i + 3).find(isOutage) ?? Infinity;
  const wanted = series.filter(({ length }) => length >= least).map(({ index, length }) => {
    const [first, next] = [rounds[index], rounds.at(index + length)];
    const seconds = (next ?? rounds[rounds.length - 1]).timeS - first.timeS;
    return [first.timeS, next?.timeS ?? null, seconds, length];
  });
  const found = outages.listed.map((
    { from, to, seconds, rounds },
  ) => [timeOf(from), to === null ? null : timeOf(to), seconds, rounds]);
  assertEquals(found, wanted);
  const lengthsS = wanted.map(([, , seconds]) => seconds as number);
  assertEquals([outages.count, outages.seconds, outages.longest_s], [
    ...[wanted.length, lengthsS.reduce((sum, each) => sum + each, 0), Math.max(0, ...lengthsS)],
  ]);
}

Deno.test("the report of a campaign has the counts, quantiles, jitter and outages of its rounds", async () => {
  const rows = (await readAll([MENOG])).batches.flatMap(({ numRows, eventTimeUs, srcAddr, dstAddr, rttMs }) =>
    Array.from({ length: numRows }, (_, i) => (
      { src: srcAddr[i], dst: dstAddr[i], timeS: eventTimeUs[i] / 1e6, rttMs: rttMs[i] < 0 ? NaN : rttMs[i] }
    ))
  );
  // The sources with the most measurements.
  const bySource = [...Map.groupBy(rows, ({ src }) => src)].sort(([, a], [, b]) => b.length - a.length);
  const some = bySource.slice(0, 2).flatMap(([, each]) => each).sort((a, b) => a.timeS - b.timeS);
  const compareAtS = timeOf("2019-05-20T10:30:00Z");
  const tally = new PeriodTally({ maxPairs: 1e6, compareAtS });
  for (const { src, dst, timeS, rttMs } of some) {
    const rttCode = Number.isNaN(rttMs) ? null : encodeRttCode(rttMs);
    const ends = [{ text: `src ${src}`, breadth: 0 }, { text: `dst ${dst}`, breadth: 0 }];
    const measured = { source: addressBytes(src), destination: addressBytes(dst), timeS, rttCode, rttMs };
    tally.add({ src, dst, ends }, measured);
  }
  const report = tally.report();
  assertEquals([timeOf(report.from), timeOf(report.to)], [some[0].timeS, some[some.length - 1].timeS]);
  const byPair = Map.groupBy(some, ({ src, dst }) => `${src} ${dst}`);
  assertEquals(report.pairs.length, byPair.size);
  for (const pair of report.pairs) {
    const rounds = byPair.get(`${pair.src} ${pair.dst}`) ?? [];
    assertSummary(pair, rounds);
    const replies = rounds.filter(({ rttMs }) => !Number.isNaN(rttMs)).map(({ rttMs }) => rttMs);
    const differences = replies.slice(1).map((rttMs, i) => Math.abs(rttMs - replies[i]));
    const jitterMs = differences.reduce((sum, ms) => sum + ms, 0) / differences.length;
    if (differences.length === 0) assertEquals(pair.jitter_ms, null);
    else assertAlmostEquals(pair.jitter_ms ?? NaN, jitterMs, 0.0006 * jitterMs);
    for (const day of pair.days) {
      assertSummary(
        day,
        rounds.filter(({ timeS }) => new Date(1000 * timeS).toISOString().startsWith(day.day)),
      );
    }
    for (const each of pair.hours) {
      assertSummary(each, rounds.filter(({ timeS }) => new Date(1000 * timeS).getUTCHours() === each.hour));
    }
    assert(pair.before && pair.after);
    assertSummary(pair.before, rounds.filter(({ timeS }) => timeS < compareAtS));
    assertSummary(pair.after, rounds.filter(({ timeS }) => timeS >= compareAtS));
    assertOutages(pair, rounds);
    for (const { from, to } of pair.not_measured) {
      assert(rounds.every(({ timeS }) => timeS < timeOf(from) || timeS >= timeOf(to)));
    }
  }
  assert(report.pairs.some(({ outages }) => outages.count > 0));
  for (const { group, pairs, ...found } of report.groups) {
    const rounds = some.filter(({ src, dst }) => ["all", `src ${src}`, `dst ${dst}`].includes(group));
    assertSummary(found, rounds);
    assertEquals(pairs, new Set(rounds.map(({ src, dst }) => `${src} ${dst}`)).size);
  }
  assertEquals(report.groups[0].group, "all");
});

Deno.test("watch --report writes a page and JSON of a period, and names what it cannot use", async () => {
  using folder = new TemporaryFolder();
  const START_S = timeOf("2026-11-17T00:00:00Z");
  // A day of pings every minute: an outage of 30 minutes at noon, and nothing from 20:00 to 22:00.
  const lines = Array.from({ length: 1440 }, (_, minute) => {
    const rtt = minute >= 720 && minute < 750
      ? ""
      : (20 + (minute % 7) / 10 + (minute < 600 ? 0 : 5)).toFixed(3);
    const isMissing = minute >= 1200 && minute < 1320;
    return isMissing ? [] : [`10.0.0.1,192.0.2.1,${START_S + 60 * minute},${rtt}`];
  }).flat();
  const [input, names, page, json] = ["pings.csv", "names.csv", "r.html", "r.json"].map((name) =>
    folder.at(name)
  );
  Deno.writeTextFileSync(input, `src,dst,time,rtt\n${lines.join("\n")}\n10.0.0.1,nowhere,${START_S},1\n`);
  Deno.writeTextFileSync(names, '10.0.0.1,"<b>hq</b>"\n');
  const usual = ["watch", "--input", input, "--report"];
  const { stdout } = await succeed(
    ...[...usual, page, json, "--names", names, "--json"],
    ...["--period", "2026-11-17T01:00:00Z..2026-11-18T02:00Z", "--compare-at", "2026-11-17T10:00:00Z"],
  );
  const { from, to, left_out, pairs: [pair], groups, alarms } = JSON.parse(Deno.readTextFileSync(json));
  assertEquals(JSON.parse(stdout).report, JSON.parse(Deno.readTextFileSync(json)));
  assertEquals([from, to, groups], ["2026-11-17T01:00:00Z", "2026-11-18T02:00:00Z", []]);
  assertEquals([pair.src_name, pair.rounds, pair.lost, pair.measured], ["<b>hq</b>", 1260, 30, 21 / 25]);
  assertEquals(left_out, { unusable: 1, late: 0, in_future: 0, with_a_wrong_clock: 0, of_further_pairs: 0 });
  assertEquals(pair.outages, {
    count: 1,
    seconds: 1800,
    longest_s: 1800,
    listed: [{ from: "2026-11-17T12:00:00Z", to: "2026-11-17T12:30:00Z", seconds: 1800, rounds: 30 }],
  });
  assertEquals(pair.not_measured, [
    { from: "2026-11-17T20:00:00Z", to: "2026-11-17T22:00:00Z" },
    { from: "2026-11-18T00:00:00Z", to: "2026-11-18T02:00:00Z" },
  ]);
  assertEquals(pair.days.map((day: RoundsSummary) => [day.rounds, day.availability]), [
    [1260, 1230 / 1260],
    [0, null],
  ]);
  assertEquals(pair.worst_hours.by_loss.map(({ time, lost }: Record<string, unknown>) => [time, lost]), [
    ["2026-11-17T12:00:00Z", 30],
  ]);
  assertEquals(pair.hours[20].availability, null);
  assertAlmostEquals(pair.after.median_ms - pair.before.median_ms, 5, 0.1);
  assert(alarms.some(({ cause, to }: Record<string, unknown>) => cause === "outage" && to !== null));
  const html = Deno.readTextFileSync(page);
  assertMatch(html, /10\.0\.0\.1 \(&lt;b&gt;hq&lt;\/b&gt;\) -&gt; 192\.0\.2\.1/);
  for (
    const part of [
      "Not in the report: 1 unusable.",
      "30 min 00 s",
      "97.619 %",
      'id="timeline"',
      "Before and after 2026-11-17 10:00",
    ]
  ) {
    assert(html.includes(part), part);
  }
  assert(!/<script|<link|\bon\w+=|(?:src|href)="(?!#)/.test(html), "the page loads or runs nothing");

  const { command } = commandOf(["watch"]);
  const stage = await loadStage(command);
  const faults: [args: string[], message: string][] = [
    [[...usual, "r.txt"], "--report r.txt: expected a name that ends with .html or .json"],
    [[...usual, page, "--follow"], "--report with --follow: a report is of a whole input"],
    [[...usual, page, "--period", "2026-11-17"], "expected two times such as 2026-11-01..2026-12-01"],
    [[...usual, page, "--period", "2026-11-18..2026-11-17"], "an end at most 400 days after the beginning"],
    [[...usual, page, "--compare-at", "noon"], "use --compare-at noon"],
    [["watch", "--input", input, "--compare-at", "2026-11-17"], "it is for a report; add --report F.html"],
    [
      [...usual, page, "--output", folder.at("b.jsonl"), "--period", "2027-01-01..2027-02-01"],
      "no measurements in the period",
    ],
  ];
  for (const [[, ...args], message] of faults) {
    await assertRejects(() => stage.run([...args, "--quiet"]), UserError, message);
  }
  assertEquals(Deno.readTextFileSync(page), html);
});
