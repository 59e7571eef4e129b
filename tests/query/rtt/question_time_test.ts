import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseTimeS } from "../../../lib/query/rtt/rtt_question.ts";

Deno.test("parseTimeS() takes ISO 8601 and Unix seconds of the years of measurements", () => {
  const expected = {
    "631152000": 631_152_000,
    "4102444799": 4_102_444_799,
    "1990-01-01": 631_152_000,
    "2099-12-31T23:59:59.9Z": 4_102_444_799,
    "1990-01-01 01:00:10+01:00": 631_152_010,
    "2024-02-29T12:30": 1_709_209_800,
    "2023-12-31T24:00Z": 1_704_067_200,
    "1700000000.9": 1_700_000_000,
  };
  for (const [text, timeS] of Object.entries(expected)) assertEquals(parseTimeS(text), { timeS }, text);
});

Deno.test("parseTimeS() says what is wrong: no time, no date, another year, another unit", () => {
  const faults = {
    "": "it is not a time, expected a time as ISO 8601 or Unix seconds",
    x: "it is not a time",
    "-1": "it is not a time",
    "2025-02-30": "there is no such date",
    "2023-02-29T12:00Z": "there is no such date",
    "2025-13-01": "there is no such date",
    "2025-01-01T25:00": "no such date or time",
    "0": "expected a time from 1990 to 2099",
    "631151999": "from 1990 to 2099",
    "4102444800": "from 1990 to 2099",
    "1989-12-31T23:59:59Z": "from 1990 to 2099",
    "9999-01-01": "from 1990 to 2099",
    "1990-01-01T00:59:59+01:00": "from 1990 to 2099",
    ["9".repeat(400)]: "from 1990 to 2099",
    "1700000000123": "look like milliseconds, expected Unix seconds, such as 1700000000",
    "1700000000123456": "look like microseconds",
    "1700000000123456789": "look like nanoseconds",
  };
  for (const [text, fault] of Object.entries(faults)) {
    const parsed = parseTimeS(text);
    assert("fault" in parsed, text);
    assertStringIncludes(parsed.fault, fault, text);
  }
});
