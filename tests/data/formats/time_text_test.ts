import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { faultText } from "../../../lib/base/errors.ts";
import { isZone, parseTimeUs, type TimeUnit } from "../../../lib/data/formats/time_text.ts";

Deno.test("parseTimeUs() reads ISO 8601 and Unix time to the microsecond", () => {
  const expected: [text: string, timeUs: number, unit?: TimeUnit][] = [
    ["2023-11-14T22:13:20.1234569Z", 1_700_000_000_123_456],
    ["2023-11-14 23:13:20.5+01:00", 1_700_000_000_500_000],
    ["2023-11-14 22:13:20+00", 1_700_000_000_000_000],
    ["2023-11-14T20:43:20-0130", 1_700_000_000_000_000],
    ["1700000000.123456", 1_700_000_000_123_456],
    ["1700000000", 1_700_000_000_000_000],
    ["1700000000123", 1_700_000_000_123_000, "milliseconds"],
    ["1700000000123.5", 1_700_000_000_123_500, "milliseconds"],
    ["1700000000123456", 1_700_000_000_123_456, "microseconds"],
    ["2023-11-14", 1_699_920_000_000_000, "milliseconds"],
    ["Tue Nov 14 22:13:20 UTC 2023", 1_700_000_000_000_000],
    ["Tue Nov 14 10:13:20 PM UTC 2023", 1_700_000_000_000_000],
    ["Tue, 14 Nov 2023 23:13:20 +0100", 1_700_000_000_000_000],
    ["Tue, 14 Nov 2023 22:13:20 GMT", 1_700_000_000_000_000],
    ["14.11.2023 22:13:20", 1_700_000_000_000_000],
    ["2023/11/14 22:13:20", 1_700_000_000_000_000],
    ["2023-11-14 10:13:20 PM", 1_700_000_000_000_000],
    ["2023/1/4 2:13", Date.UTC(2023, 0, 4, 2, 13) * 1000],
    ["4.1.2023 2:13", Date.UTC(2023, 0, 4, 2, 13) * 1000],
  ];
  for (const [text, timeUs, unit] of expected) assertEquals(parseTimeUs(text, unit), { timeUs }, text);
});

Deno.test("parseTimeUs() rejects nonexistent dates, whatever it parsed before", () => {
  for (const [text, isDate] of [["2024-02-29", true], ["2023-02-29", false], ["2024-02-29", true]] as const) {
    assertEquals("timeUs" in parseTimeUs(`${text}T00:00`), isDate, text);
  }
});

Deno.test("parseTimeUs() reports the unit of a number in another unit, and other faults", () => {
  const faults: [text: string, unit: TimeUnit, fault: string][] = [
    [
      "1700000000",
      "milliseconds",
      "it looks like seconds, expected Unix milliseconds, such as 1700000000000",
    ],
    ["1700000000123", "seconds", "it looks like milliseconds, expected Unix seconds, such as 1700000000"],
    ["yesterday", "microseconds", "it is not a time, expected a time as ISO 8601 or Unix microseconds"],
    ["1700000000.", "seconds", "it is not a time"],
    ["2023-11-14 22:13:20 IST", "seconds", "zone IST is ambiguous, expected UTC or an offset such as +01:00"],
    ["Tue Nov 14 22:13:20 2023", "seconds", "the zone is missing, expected UTC or an offset"],
    ["Nov 14 22:13:20", "seconds", "the year is missing"],
    ["31.02.2023 22:13:20", "seconds", "this date or time does not exist"],
    ["2023-11-14 13:00:00 PM", "seconds", "this date or time does not exist"],
    ["2023-11-14 0:00 PM", "seconds", "this date or time does not exist"],
    ["2023-11-14 25:00", "seconds", "this date or time does not exist"],
    ["2023-11-14T22:13:20+25:00", "seconds", "invalid offset +25:00"],
    ["1e400", "seconds", "it is not a time"],
    ["0x655355A0", "seconds", "it is not a time"],
    [
      "11/14/2023 22:13:20",
      "seconds",
      "the order of day and month is ambiguous, expected a time as ISO 8601",
    ],
    ["1.7E+09", "seconds", "it is not a time, expected a time as ISO 8601"],
    ["45244.9259", "seconds", "expected a time from 1990 to 2099"],
  ];
  for (const [text, unit, fault] of faults) {
    const parsed = parseTimeUs(text, unit);
    assert("fault" in parsed, text);
    assertStringIncludes(faultText(parsed.fault), fault);
  }
});

Deno.test("parseTimeUs() takes the zone of times without one, and their own zone where they have it", () => {
  const expected: [text: string, zone: string | undefined, time: string][] = [
    ["2026-01-01 05:30:00", "Asia/Kolkata", "2026-01-01T00:00:00.000Z"],
    ["2026-01-01 05:30:00", "+05:30", "2026-01-01T00:00:00.000Z"],
    ["Thu Jan  1 05:30:00 IST 2026", "Asia/Kolkata", "2026-01-01T00:00:00.000Z"],
    ["Thu Jan  1 05:30:00 2026", "Asia/Kolkata", "2026-01-01T00:00:00.000Z"],
    ["Thu Jan  1 02:00:00 CEST 2026", "Asia/Kolkata", "2026-01-01T00:00:00.000Z"],
    ["2026-01-01T01:00:00+01:00", "Asia/Kolkata", "2026-01-01T00:00:00.000Z"],
    ["2026-01-01T00:00:00", undefined, "2026-01-01T00:00:00.000Z"],
    ["2026-03-29 01:59:59", "Europe/Berlin", "2026-03-29T00:59:59.000Z"],
    ["2026-03-29 03:00:00", "Europe/Berlin", "2026-03-29T01:00:00.000Z"],
    ["2026-10-25 01:59:59", "Europe/Berlin", "2026-10-24T23:59:59.000Z"],
    ["2026-10-25 03:00:00", "Europe/Berlin", "2026-10-25T02:00:00.000Z"],
  ];
  for (const [text, zone, time] of expected) {
    assertEquals(parseTimeUs(text, "seconds", zone), { timeUs: Date.parse(time) * 1000 }, text);
  }
  for (const text of ["2026-03-29 02:30:00", "2026-10-25 02:30:00"]) {
    const parsed = parseTimeUs(text, "seconds", "Europe/Berlin");
    const found = "this time does not exist or exists twice in the zone Europe/Berlin";
    assertEquals("fault" in parsed && parsed.fault.found, found);
  }
  assertEquals(["Asia/Kolkata", "-03:30", "UTC", "Mars/Base", "+25:00", ""].map(isZone), [
    ...[true, true, true, false, false, false],
  ]);
});
