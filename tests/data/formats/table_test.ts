import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { faultText, FormatError, UsageError, UserError } from "../../../lib/base/errors.ts";
import { type ReadingOptions, USUAL_READING } from "../../../lib/data/formats/format.ts";
import { parseColumns } from "../../../lib/data/formats/table.ts";
import { foundIn, foundInChunks, LOST, othersOf, rowsOf, rttsOf, START_S } from "./findings.ts";

const SRC = "192.0.2.1";
const DST = "198.51.100.7";

/** Reads a text that contains its sources. */
function found(text: string, options: Partial<ReadingOptions> = {}) {
  return foundIn(text, { src: undefined, ...options });
}

Deno.test("a table: named columns in any order, quoted or not, among other columns", () => {
  const rows = [
    "note,ms,to,when,from",
    `"a, ""b""\nc",12.5,${DST},2026-01-01T00:00:00Z,${SRC}`,
    `,,${DST},1767225601,${SRC}`,
    `,*,"2001:DB8::1", 1767225602.25 ,2001:db8:0::2`,
    `,-1,${DST},2026-01-01,${SRC}`,
    `,-1.0,${DST},,${SRC}`,
    `,7 ms,${DST},2026/01/01 00:00:01,${SRC}`,
  ];
  const columns = parseColumns("src=from,dst=to,time=when,rtt=ms");
  const result = found(rows.join("\r\n"), { columns });
  assertEquals(rowsOf(result), [
    [DST, START_S, 12.5],
    [DST, START_S + 1, LOST],
    ["2001:db8::1", START_S + 2.25, LOST],
    [DST, START_S, LOST],
    [DST, null, LOST],
    [DST, START_S + 1, 7],
  ]);
  assertEquals(result.map(({ line }) => line), [2, 4, 5, 6, 7, 8]);
});

Deno.test("a table: usual column names, separators, comments above the header and byte order marks", () => {
  const wanted: ReturnType<typeof rowsOf> = [[DST, START_S, 12.5], [DST, START_S + 1, LOST]];
  for (const separator of [",", ";", "\t", "|"]) {
    const marks = [`sep=${separator}\n`, `"sep=${separator}"\n`];
    for (const before of ["", "\ufeff", "# a comment, with a comma\n", "Report of pings\n\n", ...marks]) {
      const rows = [[START_S, SRC, DST, "12.5"], [START_S + 1, SRC, DST, "timeout"]];
      const lines = [["timestamp", "Source", "TARGET", "rtt_ms"], ...rows];
      const text = before + lines.map((fields) => fields.join(separator)).join("\n");
      assertEquals(rowsOf(found(text)), wanted, JSON.stringify(text));
    }
  }
  assertEquals(rttsOf(found(`src;dst;rtt\n${SRC};${DST};12,5\n`)), [12.5]);
  // Only carriage returns, as on old Macs.
  assertEquals(rttsOf(found(`src,dst,rtt\r${SRC},${DST},5\r${SRC},${DST},6\r`)), [5, 6]);
});

Deno.test("a table: units in column names, and the id columns of measurement Parquet", () => {
  const rttOf = (key: string, value: string) => rttsOf(found(`src,dst,${key}\n${SRC},${DST},${value}\n`));
  assertEquals(rttOf("rtt_s", "0.0125"), [12.5]);
  assertEquals(rttOf("rtt_us", "12500"), [12.5]);
  assertEquals(rttOf("rtt_ns", "12500000"), [12.5]);
  const named = found(`src,dst,latency_us_avg\n${SRC},${DST},12500\n`, {
    columns: parseColumns("rtt=latency_us_avg"),
  });
  assertEquals(rttsOf(named), [12.5]);
  const timeOf = (key: string, value: string) =>
    rowsOf(found(`src,dst,rtt,${key}\n${SRC},${DST},1,${value}\n`))[0][1];
  assertEquals(timeOf("time_ms", "1767225600123"), START_S + 0.123);
  assertEquals(timeOf("time_us", "1767225600123456"), START_S + 0.123456);
  assertEquals(timeOf("time_ns", "1767225600123456000"), START_S + 0.123456);
  // A column that is named for one part is not taken for another by its usual name.
  const timed = found(`timestamp,host,time\n${START_S},${DST},12.5\n`, {
    columns: parseColumns("dst=host,rtt=time"),
    src: [SRC],
  });
  assertEquals(rowsOf(timed), [[DST, START_S, 12.5]]);
  // A cell of a table without a header is no name.
  const columns = parseColumns("src=1,dst=2,rtt=3");
  assertEquals(rttsOf(found(`${SRC},${DST},0.5 s\n${SRC},${DST},12\n`, { columns })), [500, 12]);
  const header = "prb_id,event_time,src_addr,dst_addr,rtt,msm_id,size,packet_error_count";
  const [{ finding }] = found(`${header}\n7,1767225600,${SRC},${DST},1,9,48,2\n`);
  assert("srcAddr" in finding);
  const { prbId, msmId, sizeBytes, numLost } = finding;
  assertEquals([prbId, msmId, sizeBytes, numLost], [7, 9, 48, [2]]);
});

Deno.test("a table: constants for missing columns, names as addresses and values that mean no reply", () => {
  assertEquals(rowsOf(found(`dst,rtt\n${DST},5\n`, { src: [SRC] })), [[DST, null, 5]]);
  assertEquals(rowsOf(found(`time,rtt\n${START_S},5\n`, { src: [SRC], dst: [DST] })), [[DST, START_S, 5]]);
  const addresses = new Map([["web.example", DST], ["here", SRC]]);
  assertEquals(rowsOf(found("src,dst,rtt\nhere,Web.Example,5\n", { addresses })), [[DST, null, 5]]);
  const text = `src,dst,rtt\n${SRC},${DST},0\n${SRC},${DST},9999\n${SRC},${DST},gone\n`;
  assertEquals(rttsOf(found(text, { noReply: ["0", "9999", "gone"] })), [LOST, LOST, LOST]);
  assertEquals(othersOf(found(text)), [[2, "zeroRtt"], [4, "invalidRtt"]]);
});

Deno.test("a table: numbers and words as spreadsheets and loggers write them", () => {
  const rttOf = (text: string) => rttsOf(found(`src,dst,rtt\n${SRC},${DST},"${text}"\n`))[0];
  assertEquals(["1034,5 ms", "1.0345 s", "34,1234", "<1", "<1 ms"].map(rttOf), [
    1034.5,
    1034.5,
    34.1234,
    0.5,
    0.5,
  ]);
  assertEquals(["12.3 msec", "0.5 seconds", "PT0.0123S", "NaT"].map(rttOf), [12.3, 500, 12.3, LOST]);
  for (const text of ["1,034.5", "1.034,5", "1'034.5", "1\u202f034,5", "1034,5 ms", "1.0345 s"]) {
    assertEquals(rttOf(text), 1034.5, text);
  }
  for (const text of ["00:00:00.0123", "PT1M0.0123S"]) {
    assertEquals(rttOf(text), undefined, text);
  }
  // With a semicolon between fields, the comma is a decimal one.
  assertEquals(rttsOf(found(`src;dst;rtt\n${SRC};${DST};34,123\n`)), [34.123]);
  const rttsIn = (separator: string, ...texts: string[]) =>
    rttsOf(found(
      [["src", "dst", "rtt"], ...texts.map((text) => [SRC, DST, text])]
        .map((fields) => fields.join(separator)).join("\n"),
    ));
  // A column has one decimal mark: the first number that shows it decides.
  assertEquals(rttsIn(";", "1.034", "34,5", "1.034,5"), [1.034]);
  assertEquals(rttsIn(";", "1,034", "34,5", "1.034,5", "2.034"), [1.034, 34.5, 1034.5]);
  assertEquals(rttsIn("\t", "34,5", "34,123", "34.5"), [34.5, 34.123]);
  assertEquals(rttsIn("\t", "1,034", "34.5", "34.123"), [34.5, 34.123]);
  assertEquals(rttsIn(";", "1.034", "34.5"), [1.034, 34.5]);
  const json = ["1,034", "34,5"].map((rtt) => JSON.stringify({ src: SRC, dst: DST, rtt }));
  assertEquals(rttsOf(found(json.join("\n"))), [34.5]);
  for (const text of ["34,123", "1,03,4.5", "1,034,567", "1.034.5"]) {
    assertEquals(rttOf(text), undefined, text);
  }
  const words = [
    "inf",
    "-Infinity",
    "\\N",
    "TimedOut",
    "Request timed out.",
    "Host Unreachable",
    "--",
    "(null)",
  ];
  const more = ["-1 ms", "-1,0", "NaN ms", "n.a.", "no response", "TTL expired in transit", "unknown", "#NV"];
  for (
    const text of [...words, ...more, "Zeitüberschreitung der Anforderung.", "Zielhost nicht erreichbar."]
  ) {
    assertEquals(rttOf(text), LOST, text);
  }
});

Deno.test("a table: repeated headers, rules and footers are not rows", () => {
  const row = `${SRC},${DST},5`;
  // Concatenated files, rows with trailing separators, and what a database shell adds.
  const text = `src,dst,rtt\n------+------\n${row}\nsrc,dst,rtt\n${row},,\n(2 rows)\n`;
  assertEquals([rttsOf(found(text)), othersOf(found(text))], [[5, 5], []]);
  assertEquals(rttsOf(found("src;dst;rtt\n" + `${row},`.replaceAll(",", ";"))), [5]);
  assertEquals(othersOf(found(`src,dst,rtt\n${row},6\n`)), [[2, "invalidCsv"]]);
  // Concatenated files have their own columns.
  const twice =
    `time,src,dst,rtt\n${START_S},${SRC},${DST},5\nrtt,dst,time,src\n6,${DST},${START_S},${SRC}\n`;
  assertEquals([rowsOf(found(twice)), othersOf(found(twice))], [[[DST, START_S, 5], [DST, START_S, 6]], []]);
  const more = `src,dst,rtt\n${row}\nnote,dst,src,rtt_ms\nx,${DST},${SRC},6\n`;
  assertEquals([rttsOf(found(more)), othersOf(found(more))], [[5, 6], []]);
  const wide = `time,${DST}\n${START_S},5\ntime,203.0.113.1\n${START_S},6\n`;
  assertEquals(rowsOf(found(wide, { src: [SRC] })), [[DST, START_S, 5], ["203.0.113.1", START_S, 6]]);
  // The repeated header does not count as a row with a time.
  const times = rowsOf(found(text, { startS: START_S, intervalS: 60 })).map(([, timeS]) => timeS);
  assertEquals(times, [START_S, START_S + 60]);
});

Deno.test("a table: whitespace between fields, row names and Markdown rules", () => {
  const wanted: ReturnType<typeof rowsOf> = [[DST, START_S, 12.5], [DST, START_S + 1, LOST]];
  const [first, second] = [[START_S, SRC, DST, "12.5"], [START_S + 1, SRC, DST, "NA"]];
  const texts = [
    `time src dst rtt\n${first.join(" ")}\n${second.join(" ")}\n`,
    // R's write.table(), and a printed data frame of pandas.
    `"time" "src" "dst" "rtt"\n"1" ${first.join(" ")}\n"2" ${second.join(" ")}\n`,
    `         time        src           dst   rtt\n0  ${first.join("  ")}\n1  ${second.join("    ")}\n`,
    `| time | src | dst | rtt |\n|---:|:---|---|---|\n| ${first.join(" | ")} |\n| ${second.join(" | ")} |\n`,
  ];
  for (const text of texts) assertEquals([rowsOf(found(text)), othersOf(found(text))], [wanted, []], text);
  const columns = parseColumns("time=1,src=2,dst=3,rtt=4");
  assertEquals(rowsOf(found(`${first.join(" ")}\n${second.join(" ")}\n`, { columns })), wanted);
  // A dash in the first column means no reply; it is not a rule.
  assertEquals(rttsOf(found(`rtt,src,dst\n-,${SRC},${DST}\n`)), [LOST]);
});

Deno.test("a table: the date, the time of day, the hour and the zone in separate columns", () => {
  const row = `,${SRC},${DST},12.5\n`;
  const timesOf = (text: string, options = {}) => rowsOf(found(text, options)).map(([, timeS]) => timeS);
  assertEquals(timesOf(`Date,Time,src,dst,rtt\n2026-01-01,00:00:01.5${row}`), [START_S + 1.5]);
  const german = `date;time;src;dst;rtt\n01.01.2026;0:00:02${row.replaceAll(",", ";")}`;
  assertEquals(timesOf(german), [START_S + 2]);
  assertEquals(timesOf(`date,time,src,dst,rtt\n2026-01-01,${START_S}${row}`), [START_S]);
  assertEquals(timesOf(`date,src,dst,rtt\n2026-01-01 00:00:03${row}`), [START_S + 3]);
  const columns = parseColumns("date=Tag,time=Uhrzeit");
  assertEquals(timesOf(`Tag,Uhrzeit,src,dst,rtt\n2026-01-01,00:00:04${row}`, { columns }), [START_S + 4]);
  assertEquals(othersOf(found(`date,time,src,dst,rtt\n01/02/2026,00:00:01${row}`)), [[2, "invalidTime"]]);
  assertEquals(timesOf(`date,hour,src,dst,rtt\n2026-01-01,3${row}`), [START_S + 3 * 3600]);
  const zoned = (time: string, zone: string) => `time,tz,src,dst,rtt\n${time},${zone}${row}`;
  for (const zone of ["UTC", "", "+00:00"]) {
    assertEquals(timesOf(zoned("2026-01-01 00:00:04", zone)), [START_S + 4]);
  }
  assertEquals(timesOf(zoned("2026-01-01 01:00:05", "+0100")), [START_S + 5]);
  assertEquals(timesOf(zoned("2026-01-01T01:00:06+01:00", "+01:00")), [START_S + 6]);
  assertEquals(timesOf(zoned("2026-01-01 01:00:00", "Europe/Berlin")), [START_S]);
  assertEquals(timesOf(zoned("2026-01-01 01:00:00", "+0100"), { zone: "Asia/Kolkata" }), [START_S]);
  assertEquals(timesOf(zoned("2026-01-01 05:30:00", ""), { zone: "Asia/Kolkata" }), [START_S]);
  assertEquals(othersOf(found(zoned("2026-01-01 00:00:00", "Nowhere/City"))), [[2, "invalidTime"]]);
  for (const zone of ["Etc/UTC", "utc", "UTC+00:00"]) {
    assertEquals(timesOf(zoned("2026-01-01 00:00:07", zone)), [START_S + 7], zone);
  }
  assertEquals(timesOf(zoned("2026-01-01 01:00:07", "CET")), [START_S + 7]);
  assertEquals(othersOf(found(zoned("2026-01-01 00:00:00", "0"))), [[2, "invalidTime"]]);
  for (const time of ["1.767225600000000000e+09", "1.7672256E9"]) {
    assertEquals(timesOf(`time,src,dst,rtt\n${time}${row}`), [START_S], time);
  }
});

Deno.test("a table: statuses without a reply, nothing sent, and metrics other than the RTT", () => {
  // Test-Connection of PowerShell 7 and 5.1, node-ping, Telegraf in InfluxDB.
  const statuses: [string, string, number | undefined][] = [
    ...[["Status", "Success"], ["StatusCode", "0"], ["status", "-"], ["status", "resolved"], [
      "alive",
      "true",
    ]]
      .map(([name, status]): [string, string, number] => [name, status, 12]),
    ...[["Status", "TimedOut"], ["Status", "TtlExpired"], ["Status", "DestinationHostUnreachable"]]
      .map(([name, status]): [string, string, number] => [name, status, LOST]),
    ...[["StatusCode", "11010"], ["Status", "11013"], ["alive", "false"], ["success", "False"]]
      .map(([name, status]): [string, string, number] => [name, status, LOST]),
    ...[["Status", "NoResources"], ["status", "could not resolve"], ["sent", "0"], ["_field", "ttl"]]
      .map(([name, status]): [string, string, undefined] => [name, status, undefined]),
    ["_field", "average_response_ms", 12],
    ["metric", "rtt_mean", 12],
  ];
  for (const [name, status, rttMs] of statuses) {
    const result = found(`src,dst,rtt,${name}\n${SRC},${DST},12,${status}\n`);
    const line = found(JSON.stringify({ src: SRC, dst: DST, rtt: 12, [name]: status }));
    assertEquals([rttsOf(result)[0], rttsOf(line)[0]], [rttMs, rttMs], `${name} ${status}`);
  }
  const skipped = [
    "percent_packet_loss",
    "standard_deviation_ms",
    "minimum_response_ms",
    "rttMax",
    "result_code",
  ];
  const text = `_time,url,_field,_value\n${skipped.map((name) => `${START_S},${DST},${name},12\n`).join("")}`;
  const columns = parseColumns("time=_time,dst=url,rtt=_value");
  assertEquals(
    othersOf(found(text, { src: [SRC], columns })),
    skipped.map((name, i) => [i + 2, `metric ${name}`]),
  );
  assertEquals(rttsOf(found(`src,dst,rtt,Status\n${SRC},${DST},0,TimedOut\n`)), [LOST]);
});

Deno.test("a table of routes: only the last hop belongs to the destination", () => {
  const rows = [`1,192.0.2.254,1`, `2,,`, `3,${DST},12`].map((row) => `${SRC},${DST},${row}\n`).join("");
  const skipped = [[2, "hop of a route"], [3, "hop of a route"]];
  const route = found(`src,dst,hop,hop_ip,rtt\n${rows}`);
  assertEquals([rttsOf(route), othersOf(route)], [[12], skipped]);
  const second = `${SRC},${DST},1,192.0.2.254,1\n${SRC},${DST},2,198.51.100.254,3\n`;
  const timed = (time: number, text: string) => text.replaceAll(/^(?=.)/gm, `${time},`);
  const runs = [timed(START_S, rows), timed(START_S + 60, second), timed(START_S + 120, rows)].join("");
  const routes = found(`time,src,dst,hop,hop_ip,rtt\n${runs}`);
  assertEquals(rowsOf(routes), [[DST, START_S, 12], [DST, START_S + 60, LOST], [DST, START_S + 120, 12]]);
  const last = found(`time,src,dst,hop,hop_ip,rtt\n${timed(START_S, second)}`);
  assertEquals(rowsOf(last), [[DST, START_S, LOST]]);
  const named = found(`time,src,dst,hop,hop_ip,rtt\n${timed(START_S, second).replaceAll(DST, "web")}`);
  assertEquals(othersOf(named).at(-1)?.[1], "incompleteResult");
  const mtr = `Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,Snt, ,Last,Avg,Best,Wrst,StDev,\n` +
    `MTR.0.95,${START_S},OK,${DST},1,192.0.2.254,0.00,10,0,1.1,1.2,1.0,1.3,0.1\n` +
    `MTR.0.95,${START_S},OK,${DST},2,${DST},0.00,10,0,12,12,11,13,0.5\n`;
  const read = (dst: string) =>
    rowsOf(found(mtr, { src: [SRC], columns: parseColumns(`time=Start_Time,dst=${dst},rtt=Avg`) }));
  assertEquals(read("Host"), [[DST, START_S, 12]]);
  assertEquals(read("Ip"), [["192.0.2.254", START_S, 1.2], [DST, START_S, 12]]);
});

Deno.test("a table is recognised by its header, whatever its cells contain", () => {
  const reply = `64 bytes from ${DST}: icmp_seq=1 ttl=57 time=9 ms`;
  const text = `src,dst,rtt,log\n${SRC},${DST},5,${reply}\n${SRC},${DST},,Destination Host Unreachable\n`;
  assertEquals(rttsOf(found(text)), [5, LOST]);
  const columns = parseColumns("src=a,dst=b,rtt=c");
  assertEquals(rttsOf(found(text.replace("src,dst,rtt", "a,b,c"), { columns })), [5, LOST]);
});

Deno.test("a table: column names in any case and with units, and hosts with ports and as URLs", () => {
  const row = `${SRC},${DST},0.0125`;
  assertEquals(rttsOf(found(`SRC,Dst,RTT (s)\n${row}\n`)), [12.5]);
  assertEquals(rttsOf(found(`SRC,Dst,RTT [ms]\n${row}\n`)), [0.0125]);
  const named = { columns: parseColumns("rtt_s=latency") };
  assertEquals(rttsOf(found(`src,dst,Latency\n${row}\n`, named)), [12.5]);
  const ofUnit = (name: string) =>
    rttsOf(found(`src,dst,${name}\n${row}\n`, { columns: parseColumns(`rtt=${name}`) }))[0];
  const seconds = ["latency_s", "Latency (s)", "probe_duration_seconds", "seconds", "durationSec", "RTT/s"];
  assertEquals(seconds.map(ofUnit), seconds.map(() => 12.5));
  assertEquals(["Latency [µs]", "latencyUs", "avg_us"].map(ofUnit), [0.000013, 0.000013, 0.000013]);
  assertEquals(["pings", "latency_ms", "status", "Zeit [ms]"].map(ofUnit), Array(4).fill(0.0125));
  // As Excel saves it in Windows-1252.
  const windows = Uint8Array.from(
    `src,dst,rtt (µs)\n${SRC},${DST},12500\n${SRC},${DST},5 µs\n`,
    (c) => c.charCodeAt(0),
  );
  assertEquals(rttsOf(foundInChunks([windows], "in.csv", USUAL_READING)), [12.5, 0.005]);
  assertEquals(ofUnit("Latency (\ufffds)"), 0.000013);
  const cased = `src,dst,MS,ms\n${SRC},${DST},1,2\n`;
  assertEquals(rttsOf(found(cased, { columns: parseColumns("rtt=ms") })), [2]);
  const unclear = { columns: parseColumns("rtt=Ms") };
  assertThrows(() => found(cased, unclear), FormatError, "expected exactly one called Ms for rtt");
  for (const host of [`${DST}:443`, `https://${DST}/a`, `https://web.example:8443/`]) {
    const addresses = new Map([["web.example", DST]]);
    assertEquals(rowsOf(found(`src,dst,rtt\n${SRC},${host},5\n`, { addresses })), [[DST, null, 5]], host);
  }
  const hosts = [`web.example (${DST})`, `web.example(${DST})`, `${DST} [web.example]`, `::ffff:${DST}`];
  for (const host of hosts) {
    assertEquals(rowsOf(found(`src,dst,rtt\n::ffff:${SRC},${host},5\n`)), [[DST, null, 5]], host);
  }
  for (const host of ["fe80::1%eth0", "[fe80::1%12]:80"]) {
    assertEquals(rowsOf(found(`src,dst,rtt\n2001:db8::2,${host},5\n`)), [["fe80::1", null, 5]], host);
  }
  assertEquals(rowsOf(found(`src,dst,rtt\n${SRC}/32,${DST},5\n`)), [[DST, null, 5]]);
  for (const prefix of ["192.0.2.0/24", "2001:db8::/32"]) {
    const prefixes = found(`src,dst,rtt\n${prefix},${DST},5\n`);
    assertEquals(othersOf(prefixes), [[2, "unparseableAddress"]], prefix);
  }
  const two = found(`src,dst,rtt\n${SRC},${DST} (192.0.2.9),5\n`);
  assertEquals(othersOf(two), [[2, "unparseableAddress"]]);
});

Deno.test("a table without a header: columns by number", () => {
  const replies = ["12", "timeout", "NA", "13", "Request timed out"];
  const lost = found(`host,ms\n${replies.map((reply) => `${DST},${reply}\n`).join("")}`, {
    columns: parseColumns("dst=1,rtt=2"),
    src: [SRC],
  });
  assertEquals([rttsOf(lost), othersOf(lost)], [[12, LOST, LOST, 13, LOST], []]);
  const columns = parseColumns("time=1,src=2,dst=3,rtt=4");
  const text = `${START_S},${SRC},${DST},5\n${START_S + 1},${SRC},${DST},\n`;
  for (const header of ["", "when,a,b,ms\n"]) {
    assertEquals(rowsOf(found(header + text, { columns })), [[DST, START_S, 5], [DST, START_S + 1, LOST]]);
  }
  // Raw lines of PingER: without a reply, they end after the counts.
  const start = `monitor.example ${SRC} host.example ${DST} 100`;
  const pinger = `${start} ${START_S} 10 0\n${start} ${START_S + 1} 10 2  5 6 7 0 9 5 7\n`;
  const byPosition = found(pinger, { columns: parseColumns("src=2,dst=4,time=6,rtt=10") });
  assertEquals(rowsOf(byPosition), [[DST, START_S, LOST], [DST, START_S + 1, 6]]);
  // A first row that cannot be used is no header.
  const zero = found(text.replace(",5", ",0"), { columns });
  assertEquals([rttsOf(zero), othersOf(zero)], [[LOST], [[1, "zeroRtt"]]]);
});

Deno.test("a wide table: each host column is a destination", () => {
  const text = `time,203.0.113.1,web.example,note\n${START_S},5,,x\n${START_S + 1},6,7,y\n`;
  const addresses = new Map([["web.example", DST]]);
  assertEquals(rowsOf(found(text, { src: [SRC], addresses })), [
    ["203.0.113.1", START_S, 5],
    [DST, START_S, LOST],
    ["203.0.113.1", START_S + 1, 6],
    [DST, START_S + 1, 7],
  ]);
});

Deno.test("a wide table needs a time column: a row is not read as its header", () => {
  const text = `when,host,ms\n${START_S},8.8.8.8,5\n${START_S + 1},8.8.4.4,6\n`;
  assertThrows(() => found(text, { src: [SRC] }), FormatError, "found the columns when, host, ms");
});

Deno.test("a table: each unusable row is rejected with its reason and line", () => {
  const bad: [string, string][] = [
    ["invalidTime", `1767225600000,${SRC},${DST},1,9`],
    ["invalidTime", `soon,${SRC},${DST},1,9`],
    ["nullValue", `1767225600,${SRC},,1,9`],
    ["unparseableAddress", `1767225600,192.0.2.${"1".repeat(300)},${DST},1,9`],
    ["unparseableAddress", `1767225600,${SRC},example.org,1,9`],
    ["versionMismatch", `1767225600,${SRC},2001:db8::1,1,9`],
    ["invalidRtt", `1767225600,${SRC},${DST},-2,9`],
    ["invalidRtt", `1767225600,${SRC},${DST},fast,9`],
    ["zeroRtt", `1767225600,${SRC},${DST},0,9`],
    ["invalidInteger", `1767225600,${SRC},${DST},1,9.5`],
    ["invalidCsv", `1767225600,${SRC},${DST},1`],
    ["invalidCsv", `"1767225600"0,${SRC},${DST},1,9`],
  ];
  const text = ["time,src,dst,rtt,msm_id", ...bad.map(([, line]) => line)].join("\n");
  assertEquals(othersOf(found(text)), bad.map(([reason], i) => [i + 2, reason]));
  const details = found(text).flatMap(({ finding }) => "reason" in finding ? [faultText(finding)] : []);
  const advice =
    "it looks like milliseconds, expected Unix seconds, such as 1767225600; name the column with " +
    "--columns time_ms=NAME";
  assertStringIncludes(details[0], advice);
  assertStringIncludes(details[1], "time soon: it is not a time");
  assertEquals(details[2], "dst; give it with --dst ADDRESS");
  assertEquals(details[8], "rtt 0 is not an RTT; add --no-reply 0 if it means no reply");
});

Deno.test("a table whose header lacks a column fails with the columns found and advice", () => {
  const row = `\n${START_S},${SRC},${DST},5\n`;
  const cases: [string, Partial<ReadingOptions>, string][] = [
    [
      `t,a,b,r${row}`,
      {},
      "in.txt at its header: found the columns t, a, b, r, expected src, dst, rtt; name them",
    ],
    [
      `t,a,b,rtt${row}`,
      {},
      "expected src, dst; name them, such as --columns src=SRC,dst=DST, or set one for all rows with",
    ],
    [`time,src,dst,rtt${row}`, { columns: parseColumns("src=a") }, "expected exactly one called a for src"],
    [
      `${START_S},${SRC},${DST},5${row}`,
      {},
      "which look like values, expected column names; if there is no header, refer to columns by number, such as " +
      "--columns src=1,dst=2,time=3,rtt=4",
    ],
    [`rtt,src,dst,rtt${row}`, {}, "expected exactly one called rtt for rtt; correct --columns (a number"],
    [`r,src,dst,r${row}`, { columns: parseColumns("rtt=r") }, "expected exactly one called r for rtt"],
  ];
  for (const [text, options, message] of cases) {
    assertThrows(() => found(text, options), FormatError, message);
  }
  assertThrows(() => found("time,src,dst,rtt\n"), UserError, "it has no rows below its header");
});

Deno.test("JSON objects with named fields, one per line or in lists", () => {
  const lines = [
    { src: SRC, dst: DST, time: "2026-01-01T00:00:00Z", rtt: null },
    { src: SRC, dst: DST, time: START_S + 0.5, rtt: 7, extra: { a: 1 } },
    { src: SRC, dst: DST, rtt: "timeout" },
    { src: SRC, dst: "nowhere", rtt: 3 },
    { src: SRC, dst: DST, time: START_S },
    { rtt: 5, dst: DST },
    { other: 1 },
  ];
  const wanted: ReturnType<typeof rowsOf> = [
    [DST, START_S, LOST],
    [DST, START_S + 0.5, 7],
    [DST, null, LOST],
    // Records before it have an RTT.
    [DST, START_S, LOST],
  ];
  const result = found(lines.map((line) => JSON.stringify(line)).join("\n"));
  assertEquals(rowsOf(result), wanted);
  assertEquals(othersOf(result), [
    [4, "unparseableAddress"],
    [6, "nullValue"],
    [7, "not a result"],
  ]);
  assertEquals(rowsOf(found(JSON.stringify({ data: [lines.slice(0, 3)] }, null, 2))), wanted.slice(0, 3));
  const inside = { source: { ip: SRC, port: 1 }, destination: { ip: DST }, rtt: 5 };
  assertEquals(rowsOf(found(JSON.stringify(inside))), [[DST, null, 5]]);
  const named = { from: SRC, to: DST, "it took": 0.007 };
  const columns = parseColumns("rtt_s=it took");
  assertEquals(rowsOf(found(JSON.stringify(named), { columns })), [[DST, null, 7]]);
});

Deno.test("JSON columns: lists, columns by row, and names beside rows", () => {
  const columns = { src: [SRC, SRC], dst: [DST, DST], time: [START_S, START_S + 1], rtt: [12.5, null] };
  const byRow = Object.fromEntries(
    Object.entries(columns).map(([name, [first, second]]) => [name, { "0": first, "1": second }]),
  );
  const rows = [0, 1].map((row) => Object.values(columns).map((column) => column[row]));
  const names = Object.keys(columns);
  for (
    const object of [columns, byRow, { columns: names, index: [0, 1], data: rows }, {
      labels: names,
      data: rows,
    }]
  ) {
    const result = found(JSON.stringify(object));
    assertEquals(rowsOf(result), [[DST, START_S, 12.5], [DST, START_S + 1, LOST]]);
    assertEquals(othersOf(result), []);
  }
  const short = { columns: Object.keys(columns), data: [[SRC, DST, START_S]] };
  assertEquals(othersOf(found(JSON.stringify(short))), [[1, "invalidJson"]]);
  assertEquals(othersOf(found(JSON.stringify({ ...columns, rtt: [1] }))), [[1, "invalidJson"]]);
});

Deno.test("parseColumns() reads a name for each key and reports invalid input", () => {
  const columns = parseColumns('rtt=a=b,src=x y,dst="d,e",time_us=t,size=s');
  assertEquals(
    Object.fromEntries(columns),
    { rtt: "a=b", src: "x y", dst: "d,e", time_us: "t", size: "s" },
  );
  const faults = {
    "": "unknown key ''",
    "rtt=c,time=d,time_ms=e": "found time and time_ms",
    "rtt=c,rtt_s=d": "found rtt and rtt_s",
    "src=a,src=b": "found src twice",
    "src=": "missing name for src",
    "from=a": "unknown key from",
  };
  for (const [text, fault] of Object.entries(faults)) {
    assertThrows(() => parseColumns(text), UsageError, fault);
  }
});

Deno.test("a table: percentiles of one moment are an error that names their column, packets are not", () => {
  const rowsOfMoments = (name: string, values: (moment: number) => number[]) =>
    [`time,src,dst,${name},rtt_ms`].concat(
      Array.from(
        { length: 12 },
        (_, moment) =>
          values(moment).map((value, i) => `${START_S + 60 * moment},${SRC},${DST},${value},${10 + i}`),
      ).flat(),
    ).join("\n");
  assertThrows(
    () => found(rowsOfMoments("percentile", () => [50, 95])),
    FormatError,
    "they differ in percentile (50, 95)",
  );
  for (
    const [name, values] of [["icmp_seq", () => [1, 2]], [
      "jitter",
      (m: number) => [m + 0.1, m + 0.2],
    ]] as const
  ) {
    assertEquals(rowsOf(found(rowsOfMoments(name, (moment) => [...values(moment)]))).length, 24);
  }
});
