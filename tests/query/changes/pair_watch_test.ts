import { assert, assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { alarmLine } from "../../../lib/query/changes/alarm_lines.ts";
import { DEFAULT_CHANGE_OPTIONS } from "../../../lib/query/changes/change_detector.ts";
import { type AlarmEvent, type Departure, neededEvidence } from "../../../lib/query/changes/alarms.ts";
import { PairWatch, type WatchOptions } from "../../../lib/query/changes/pair_watch.ts";

const OPTIONS: WatchOptions = {
  changes: { ...DEFAULT_CHANGE_OPTIONS, delay: 10, maxDelay: 10 },
  maxPairs: 100,
  alarmsPerDay: Infinity,
  newUsualAfterS: 86_400,
  groupWithinS: 900,
};
const INTERVAL_S = 240;
const START_S = 1_480_000_000;

/** A measurement; the RTT alternates slightly around its level, ms; null for a loss. */
function measured(pair: string, number: number, levelMs: number | null) {
  const [src, dst] = pair.split(" ");
  const rttCode = levelMs === null ? null : encodeRttCode(levelMs + 0.1 * (number % 3));
  return {
    source: addressBytes(src),
    destination: addressBytes(dst),
    rttCode,
    timeS: START_S + INTERVAL_S * number,
  };
}

/** Feeds the pairs one measurement each in turn. @param levels A pair's level by measurement number, ms. */
function eventsOf(
  levels: Record<string, (number: number) => number | null>,
  numMeasurements: number,
  watch = new PairWatch(OPTIONS),
): AlarmEvent[] {
  const events: AlarmEvent[] = [];
  for (let number = 0; number < numMeasurements; number++) {
    for (const [pair, level] of Object.entries(levels)) {
      // A line shows the alarm's state at that time.
      events.push(...watch.add(measured(pair, number, level(number))));
    }
  }
  return events;
}

const between = (from: number, to: number, inside: number | null, outside: number) => (number: number) =>
  number >= from && number < to ? inside : outside;

Deno.test("an alarm reports its beginning and size, and its end", () => {
  const watch = new PairWatch(OPTIONS);
  const lines: Record<string, unknown>[] = [];
  for (let number = 0; number < 100; number++) {
    const level = between(40, 70, 58, 20)(number);
    for (const event of watch.add(measured("10.0.0.1 192.0.2.1", number, level))) {
      lines.push(alarmLine(event));
    }
  }
  const [begin, end, ...others] = lines;
  assertEquals(others, []);
  assertEquals(begin.event, "begin");
  assertEquals(begin.time, new Date(1000 * (START_S + 40 * INTERVAL_S)).toISOString().replace(".000", ""));
  assertAlmostEquals(Number(begin.size_ms), 38, 0.5);
  assertEquals([begin.src, begin.dst], ["10.0.0.1", "192.0.2.1"]);
  assert(/^\+38\.\d ms, \d+ x its usual spread$/.test(String(begin.text)), String(begin.text));
  assert(Number(begin.evidence) > 20);
  assertEquals([end.event, end.reason, end.alarm, end.since], ["end", "usual", 1, begin.time]);
  assertEquals(end.lasted_s, 30 * INTERVAL_S);
  assertEquals(end.time, new Date(1000 * (START_S + 70 * INTERVAL_S)).toISOString().replace(".000", ""));
});

Deno.test("the end of an alarm has the level and the peak of all of it", () => {
  const level = (number: number) =>
    number < 40 || number >= 140 ? 20 : 26 + 0.3 * Math.min(number - 40, 140 - number);
  const [begin, ...more] = eventsOf({ "10.0.0.1 192.0.2.1": level }, 200);
  const end = more.at(-1);
  assert(end?.kind === "end");
  const line = alarmLine(end);
  assertAlmostEquals(line.size_ms ?? NaN, 13.5, 1);
  assertAlmostEquals(line.peak_ms ?? NaN, 40.5, 1);
  assertMatch(
    line.text,
    /^as usual again after 6 h 40 min: \+1[34]\.\d ms, \d+ x its usual spread, at most \+20\.\d ms$/,
  );
  assertEquals(begin.kind, "begin");
});

Deno.test("a level between the usual one and the first change neither ends an alarm nor begins another", () => {
  const level = (number: number) => number < 40 ? 20 : number < 60 ? 60 : number < 80 ? 45 : 22;
  const events = eventsOf({ "10.0.0.1 192.0.2.1": level }, 120);
  assertEquals(events.map(({ kind }) => kind), ["begin", "change", "end"]);
  assertEquals(new Set(events.map(({ alarm }) => alarm.id)).size, 1);
});

Deno.test("an outage is reported after few losses, depending on earlier losses, and ends with replies", () => {
  const told = (level: (number: number) => number | null, numMeasurements = 300) => {
    const watch = new PairWatch(OPTIONS);
    const found: [number, string][] = [];
    for (let number = 0; number < numMeasurements; number++) {
      const events = watch.add(measured("10.0.0.1 192.0.2.1", number, level(number)));
      found.push(...events.map((event): [number, string] => [number, alarmLine(event).text]));
    }
    return found;
  };
  assertEquals(told(between(200, 220, null, 20)), [
    [202, "no reply, usually 20.1 ms"],
    [221, "replies again after 1 h 20 min"],
  ]);
  // A pair with few measurements needs one more loss; a pair that usually loses a quarter needs many more.
  assertEquals(told(between(20, 40, null, 20)).map(([number]) => number), [23, 41]);
  const isLossy = (number: number) => number % 4 === 0 || number >= 200 && number < 220;
  assertEquals(told((number) => isLossy(number) ? null : 20).map(([number]) => number), [208, 222]);
  // A pair that never replied has no usual level, and its first replies are not an alarm.
  assertEquals(told(between(0, 2000, null, 20), 2100), []);
  // Older measurements are forgotten, also those of an earlier outage.
  const isOut = (number: number) => number >= 4000 && number < 4500 || number >= 4502;
  assertEquals(told((number) => isOut(number) ? null : 20, 4520).map(([number]) => number), [
    4002,
    4501,
    4504,
  ]);
  // A single reply does not end an outage.
  assertEquals(told((number) => number >= 200 && number < 230 && number !== 210 ? null : 20).length, 2);
});

Deno.test("a loss rate that rises is one alarm until the usual rate is back", () => {
  const random = new RandomStream(1, "tests/query/changes");
  const isRisen = between(1500, 1900, 1, 0);
  const level = (number: number) => random.float64() < (isRisen(number) ? 0.15 : 0.02) ? null : 20;
  const lines: Record<string, unknown>[] = [];
  const watch = new PairWatch(OPTIONS);
  for (let number = 0; number < 2200; number++) {
    // A line shows the alarm's state at that time.
    for (const event of watch.add(measured("10.0.0.1 192.0.2.1", number, level(number)))) {
      lines.push(alarmLine(event));
    }
  }
  assertEquals(lines.map(({ event, cause }) => [event, cause]), [["begin", "loss"], ["end", "loss"]]);
  const [begun, ended] = lines.map(({ time }) => (Date.parse(String(time)) / 1000 - START_S) / INTERVAL_S);
  assert(Math.abs(begun - 1500) < 40 && Math.abs(ended - 1900) < 40, `${begun}, ${ended}`);
  assertAlmostEquals(Number(lines[1].loss_rate), 0.15, 0.05);
  assertAlmostEquals(Number(lines[0].usual_loss_rate), 0.02, 0.01);
});

Deno.test("a flapping link is one alarm, whatever it lost before", () => {
  for (const lostBefore of [[], [565], [565, 900]]) {
    const isLost = (number: number) =>
      number >= 1000 && number < 1360 && number % 10 < 3 || lostBefore.includes(number);
    const watch = new PairWatch(OPTIONS);
    const events = eventsOf({ "10.0.0.1 192.0.2.1": (number) => isLost(number) ? null : 20 }, 1600, watch);
    const kinds = events.map(({ kind }) => kind);
    assertEquals([kinds[0], kinds.at(-1), watch.alarms.numAlarms, watch.alarms.numOpen], [
      "begin",
      "end",
      1,
      0,
    ]);
    assert(events.length <= 10, `${events.length} events`);
    const [line] = events.slice(-1).map((event) => alarmLine(event));
    // The first time may count as one of the usual losses.
    assert([35, 36].includes(line.times), `${line.times} times`);
    assertAlmostEquals(line.loss_rate ?? NaN, 0.3, 0.03);
  }
});

Deno.test("what a pair does at the same hour every day is no alarm from the third day on", () => {
  const random = new RandomStream(2, "tests/query/changes");
  const perDay = 86_400 / INTERVAL_S;
  const evening = (number: number) => {
    const hour = (number / perDay % 1) * 24;
    return hour >= 17 && hour < 23 ? 15 * random.float64() * Math.sin((hour - 17) / 6 * Math.PI) : 0;
  };
  const begunDays = (extra: (number: number) => number) =>
    eventsOf({ "10.0.0.1 192.0.2.1": (number) => 20 + evening(number) + extra(number) }, 10 * perDay)
      .filter(({ kind }) => kind === "begin").map(({ timeS }) => (timeS - START_S) / 86_400);
  const usual = begunDays(() => 0);
  assert(usual.length >= 1 && usual.every((day) => day < 2.1), `${usual}`);
  const shifted = begunDays(between(7.5 * perDay, 7.6 * perDay, 8, 0) as (number: number) => number);
  assertAlmostEquals(shifted.at(-1) ?? NaN, 7.5, 0.01);
});

Deno.test("the usual level after an outage is the one before it", () => {
  const level = (number: number) => number >= 40 && number < 80 ? null : number < 80 ? 20 : 58;
  const watch = new PairWatch({ ...OPTIONS, newUsualAfterS: 20 * INTERVAL_S });
  const lines = eventsOf({ "10.0.0.1 192.0.2.1": level }, 95, watch).map((event) => alarmLine(event));
  assertEquals(lines.map(({ event, cause, alarm }) => [event, cause, alarm]), [
    ["begin", "outage", 1],
    ["end", "outage", 1],
    ["begin", "shift", 2],
  ]);
  assertAlmostEquals(Number(lines[2].size_ms), 38, 0.5);
  assertEquals([lines[2].time, lines[2].loss_rate], [lines[1].time, 0]);
});

Deno.test("a recovery is no alarm, however late", () => {
  const watch = () => new PairWatch({ ...OPTIONS, newUsualAfterS: 50 * INTERVAL_S });
  const kinds = (level: (number: number) => number | null) =>
    eventsOf({ "10.0.0.1 192.0.2.1": level }, 240, watch()).map(({ kind, reason }) => reason ?? kind);
  assertEquals(kinds(between(40, 180, 60, 20)), ["begin", "new usual"]);
  assertEquals(kinds((number) => number >= 40 && number < 180 && number % 4 > 0 ? null : 20), [
    "begin",
    "new usual",
  ]);
  // A change back to worse is an alarm.
  assertEquals(kinds(between(40, 180, 20, 60)), ["begin", "new usual", "begin", "new usual"]);
});

Deno.test("alarms that begin together and share an end form one group", () => {
  const shifted = between(40, 60, 60, 20);
  const events = eventsOf({
    "10.0.0.1 192.0.2.1": shifted,
    "10.0.0.2 192.0.2.1": shifted,
    "10.0.0.3 192.0.2.3": shifted,
    "10.0.0.4 192.0.2.1": shifted,
    "10.0.0.2 192.0.2.4": between(55, 70, 60, 20),
  }, 90);
  const begun = events.filter(({ kind }) => kind === "begin").map(({ alarm }) => alarm);
  assertEquals(begun.map(({ group }) => group.id), [1, 1, 3, 1, 5]);
  assertEquals(begun.map(({ group }) => group.shared), [
    "dst 192.0.2.1",
    "dst 192.0.2.1",
    undefined,
    "dst 192.0.2.1",
    undefined,
  ]);
  assertEquals(begun.map(({ group }) => group.numOpen), [0, 0, 0, 0, 0]);
  assertEquals(begun[0].group.numSharing, 3);
});

Deno.test("alarms that begin together and share an AS or a country form one group", () => {
  const places: Record<string, { asNumber?: number; countryCode?: string }> = {
    "10.0.0.1": { asNumber: 65_001, countryCode: "DE" },
    "10.0.0.2": { asNumber: 65_001, countryCode: "DE" },
    "10.0.0.3": { asNumber: 65_003, countryCode: "DE" },
    "10.0.0.4": { countryCode: "FR" },
  };
  const placeOf = (address: Uint8Array) => places[formatAddress(address)];
  const sharedBy = (pairs: readonly string[]) => {
    const levels = Object.fromEntries(pairs.map((pair) => [pair, between(40, 60, 60, 20)]));
    const events = eventsOf(levels, 55, new PairWatch({ ...OPTIONS, placeOf }));
    return events.map(({ alarm: { group } }) => [group.id, group.shared]);
  };
  assertEquals(sharedBy(["10.0.0.1 192.0.2.1", "10.0.0.2 192.0.2.2"]), [
    [1, "src AS65001"],
    [1, "src AS65001"],
  ]);
  // The property that all of them share: preferably the address, then the AS, then the country.
  assertEquals(
    sharedBy(["10.0.0.1 192.0.2.1", "10.0.0.1 192.0.2.2", "10.0.0.2 192.0.2.3", "10.0.0.3 192.0.2.4"]),
    Array(4).fill([1, "src DE"]),
  );
  // Sharing an address takes precedence over sharing a country, however large the country's group.
  assertEquals(
    sharedBy([
      ...["10.0.0.1 192.0.2.1", "10.0.0.3 192.0.2.2", "10.0.0.4 192.0.2.9"],
      ...["10.0.0.2 192.0.2.9", "10.0.0.4 192.0.2.8"],
    ]),
    [[1, "src DE"], [1, "src DE"], [3, "dst 192.0.2.9"], [3, "dst 192.0.2.9"], [5, undefined]],
  );
});

Deno.test("foremostPairs() returns the pairs with the largest alarms, then those seen first", () => {
  const watch = new PairWatch(OPTIONS);
  eventsOf(
    {
      "10.0.0.1 192.0.2.1": () => 20,
      "10.0.0.2 192.0.2.2": between(40, 99, 30, 20),
      "10.0.0.3 192.0.2.3": () => 20,
      "10.0.0.4 192.0.2.4": between(40, 99, 60, 20),
    },
    55,
    watch,
  );
  const shown = (most: number) => watch.foremostPairs(most).map(({ src }) => src.slice(-1)).join("");
  assertEquals([shown(9), shown(3), shown(1), shown(0)], ["4213", "421", "4", ""]);
  assertEquals(watch.alarms.numOpen, 2);
});

Deno.test("beyond maxPairs the least recently seen pair is dropped, and its alarm ends", () => {
  const watch = new PairWatch({ ...OPTIONS, maxPairs: 2 });
  const events = eventsOf(
    { "10.0.0.1 192.0.2.1": between(40, 99, 60, 20), "10.0.0.2 192.0.2.2": () => 5 },
    60,
    watch,
  );
  assertEquals(events.map(({ kind }) => kind), ["begin"]);
  watch.add(measured("10.0.0.2 192.0.2.2", 61, 5));
  const [end] = watch.add(measured("10.0.0.3 192.0.2.3", 61, 5));
  assertEquals([end.kind, end.reason, end.alarm.src], ["end", "dropped", "10.0.0.1"]);
  assertEquals([watch.numPairs, watch.numDropped], [2, 1]);
});

Deno.test("a measurement earlier than its pair's newest is left out, and one at the same time is used", () => {
  const watch = new PairWatch(OPTIONS);
  const pair = "10.0.0.1 192.0.2.1";
  eventsOf({ [pair]: () => 20 }, 30, watch);
  const newest = measured(pair, 29, 20);
  for (const beforeS of [0.001, 26 * INTERVAL_S]) {
    assertEquals(watch.add({ ...newest, timeS: newest.timeS - beforeS }), []);
  }
  assertEquals(watch.numLate, 2);
  for (let i = 0; i < 5; i++) watch.add(newest);
  assertEquals(watch.numLate, 2);
  const [{ recent }] = watch.pairs();
  assertEquals(recent.slice(-6).map(({ timeS }) => timeS), Array(6).fill(newest.timeS));
});

Deno.test("finish() decides the remaining measurements of all pairs in order of time", () => {
  const watch = new PairWatch(OPTIONS);
  const shifted = (from: number) => between(from, 99, 58, 20);
  const pairs = { "10.0.0.1 192.0.2.1": shifted(55), "10.0.0.2 192.0.2.1": shifted(53) };
  assertEquals(eventsOf({ ...pairs, "10.0.0.3 192.0.2.9": () => 20 }, 60, watch), []);
  // A gap without an end.
  watch.add(measured("10.0.0.3 192.0.2.9", 9e4, 20));
  assertEquals([watch.numDecided, watch.numUndecided], [150, 31]);
  const begun = [...watch.finish()];
  assertEquals(begun.map(({ kind, alarm: { src } }) => `${kind} ${src}`), [
    "begin 10.0.0.2",
    "begin 10.0.0.1",
  ]);
  assertEquals(begun.map(({ alarm: { group } }) => [group.id, group.shared]), [
    [1, "dst 192.0.2.1"],
    [1, "dst 192.0.2.1"],
  ]);
  assertEquals([watch.numDecided, watch.numUndecided, watch.numUsed], [181, 0, 181]);
});

/** Departures of pairs that share nothing, one per hour. */
function departuresOf(cause: Departure["cause"], evidences: readonly number[], end?: string): Departure[] {
  return evidences.map((evidence, i) => ({
    ...{ cause, src: "", dst: "", sinceS: 3600 * i, evidence, numTimes: 1, alarm: undefined },
    ends: [{ text: end ?? `src ${cause} ${i}`, breadth: 0 }],
    usual: { medianMs: 20, spreadMs: 1, lossRate: 0 },
    now: { medianMs: 50, spreadMs: 1, lossRate: 0 },
  }));
}

Deno.test("neededEvidence() admits as many groups as the rate allows, outages first up to half of them", () => {
  const shifts = departuresOf("shift", [30, 10, 50, 20, 40]);
  const needed = (departures: readonly Departure[], days: number, alarmsPerDay: number, groupWithinS = 900) =>
    neededEvidence({ departures, days }, { alarmsPerDay, groupWithinS });
  const numAbove = (threshold: number) => shifts.filter(({ evidence }) => evidence >= threshold).length;
  assertEquals(numAbove(needed(shifts, 2, 1).shift), 2);
  assertEquals(numAbove(needed(shifts, 3.9, 0.5).shift), 1);
  // Never 0, even if all may be reported.
  assertEquals(needed(shifts, 10, 1), { outage: 0.1, loss: 1, shift: 1 });
  assert(needed(departuresOf("shift", [5, 5, 5]), 2, 1).shift > 5);
  const outages = departuresOf("outage", [3, 2, 1]);
  const both = needed([...shifts, ...outages], 1, 4);
  assertEquals([numAbove(both.shift), both.outage > 1, both.outage < 2], [2, true, true]);
  assertEquals(numAbove(needed([...shifts, ...outages.slice(2)], 1, 4).shift), 3);
  // Simultaneous departures at one source are one group.
  assertEquals(needed(departuresOf("shift", [50, 30, 10], "src"), 1, 1, 3600).shift, 1);
  assert(needed(departuresOf("shift", [50, 30, 10], "src"), 1, 1, 3599).shift > 30);
});

/** Pairs with one shift each; later shifts are larger. */
const shiftedPairs = (numPairs: number) =>
  Object.fromEntries(
    Array.from({ length: numPairs }, (_, i) =>
      [`10.0.${i}.1 192.0.${i}.1`, between(40 + 20 * i, 60 + 20 * i, 22 + i, 20)] as const),
  );

Deno.test("a whole input reports the strongest alarms of all, an endless one the strongest so far", () => {
  const begun = (isWhole: boolean, alarmsPerDay: number) => {
    const watch = new PairWatch({ ...OPTIONS, alarmsPerDay, isWhole });
    const events = [...eventsOf(shiftedPairs(10), 300, watch), ...watch.finish()];
    const begin = events.filter(({ kind }) => kind === "begin");
    assertEquals([watch.alarms.numDepartures, watch.alarms.numAlarms], [10, begin.length]);
    return begin.map(({ alarm: { src }, perDay }) => [src, perDay]);
  };
  const all = begun(true, Infinity).map(([src]) => src);
  assertEquals(all, Array.from({ length: 10 }, (_, i) => `10.0.${i}.1`));
  assertEquals([3, 4, 5].map((rate) => begun(true, rate).length), [3, 4, 5]);
  assertEquals(begun(false, Infinity).length, 10);
  const endless = begun(false, 3);
  assertEquals(endless.slice(0, 3).map(([src]) => src), all.slice(0, 3));
  // Beyond the limit only those stronger than all before.
  assert(endless.length < 10);
  assert(endless.every(([, perDay]) => Number(perDay) >= 1 && Number(perDay) <= 3));
});

Deno.test("a whole input reports alarms as an endless one does", () => {
  const level = (number: number) => number < 40 ? 20 : number < 60 ? 60 : number < 80 ? 45 : 22;
  const told = (isWhole: boolean) => {
    const watch = new PairWatch({ ...OPTIONS, isWhole });
    const lines: unknown[] = [];
    const tell = (events: Iterable<AlarmEvent>) => {
      for (const event of events) {
        const { evidence: _, per_day: _2, ...line } = alarmLine(event);
        lines.push(line);
      }
    };
    for (let number = 0; number < 120; number++) {
      tell(watch.add(measured("10.0.0.1 192.0.2.1", number, level(number))));
    }
    tell(watch.finish());
    return lines;
  };
  assertEquals(told(true).length, 3);
  assertEquals(told(true), told(false));
});

Deno.test("an alarm reported before a restart is reported regardless of its evidence", () => {
  const told = (wasTold: WatchOptions["wasTold"]) =>
    eventsOf(shiftedPairs(4), 200, new PairWatch({ ...OPTIONS, alarmsPerDay: 1, wasTold, isWhole: false }))
      .filter(({ kind }) => kind === "begin").map(({ alarm }) => alarm.src);
  assert(told(() => true).length === 4);
});

Deno.test("future times are left out and do not block their pair", () => {
  const log: string[] = [];
  const nowS = START_S + 40 * INTERVAL_S;
  const watch = new PairWatch({ ...OPTIONS, nowS: () => nowS, log: (line) => log.push(line) });
  const pair = "10.0.0.1 192.0.2.1";
  eventsOf({ [pair]: () => 20 }, 30, watch);
  for (let i = 0; i < 20; i++) watch.add({ ...measured(pair, i, 20), timeS: nowS + 601 });
  assertEquals(watch.add({ ...measured("10.0.0.9 192.0.2.1", 0, 20), timeS: nowS + 1e8 }), []);
  assertEquals([watch.numInFuture, watch.numPairs], [21, 1]);
  // A clock that is slightly ahead.
  watch.add({ ...measured(pair, 30, 20), timeS: nowS + 599 });
  watch.add({ ...measured(pair, 31, 20), timeS: nowS });
  assertEquals([watch.numLate, watch.numUsed], [0, 32]);
  assertEquals(log.length, 5);
  assertEquals(
    log[0],
    "10.0.0.1 192.0.2.1: the time 2016-11-24T17:56:41Z (UTC unless it has a zone) is in the future; left out",
  );
});

Deno.test("wrong clocks hide no alarms and are reported", () => {
  const log: string[] = [];
  const watch = new PairWatch({ ...OPTIONS, log: (line) => log.push(line) });
  const pair = "10.0.0.1 192.0.2.1";
  const level = between(40, 99, 60, 20);
  const events: AlarmEvent[] = [];
  const add = (from: number, to: number, laterS = 0) => {
    for (let number = from; number < to; number++) {
      const measurement = measured(pair, number, level(number));
      events.push(...watch.add({ ...measurement, timeS: measurement.timeS + laterS }));
    }
  };
  add(0, 1, 5e6);
  add(0, 30);
  add(30, 32, 9e6);
  add(30, 40);
  add(40, 45, 9e6);
  add(40, 60);
  assertEquals([watch.numWrongClock, watch.numLate], [8, 0]);
  assertEquals(log.map((line) => /\(\d\)/.exec(line)?.[0]), ["(1)", "(2)", "(5)"]);
  assert(
    log[0].includes(
      "from 2017-01-21T12:00:00Z on are much later than those that followed: a wrong clock, or lines",
    ),
  );
  const [{ kind, timeS, history = [] }, ...more] = events;
  assertEquals([kind, more.length], ["begin", 0]);
  // The change is among the rows with wrong times, so it began when the pair resumed.
  assertEquals(timeS, START_S + 40 * INTERVAL_S);
  assert(history.every((each) => each.timeS <= timeS));
  assertEquals(watch.spanS, 59 * INTERVAL_S);
});

Deno.test("PairWatch takes measurements as text, which must have a time, and has defaults", () => {
  const watch = new PairWatch();
  const measurement = { src: "192.0.2.1", dst: "198.51.100.7", rtt: 12.5 };
  for (let i = 0; i < 3; i++) assertEquals(watch.add({ ...measurement, time: START_S + i + 0.5 }), []);
  assertEquals([watch.numPairs, watch.numUsed + watch.numUndecided > 0], [1, true]);
  assertThrows(() => watch.add(measurement), UserError, "time must be given");
  assertThrows(() => watch.add({ ...measurement, src: "nowhere", time: START_S }), UserError, "found src");
});
