import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { faultText, FormatError } from "../../../lib/base/errors.ts";
import { type ReadingOptions, USUAL_READING } from "../../../lib/data/formats/format.ts";
import type { Found } from "../../../lib/data/formats/reader.ts";
import type { Reading } from "../../../lib/data/formats/reading.ts";
import { parseColumns } from "../../../lib/data/formats/table.ts";
import { foundIn, foundInChunks, LOST, othersOf, rowsOf, rttsOf, START_S } from "./findings.ts";

const SRC = "192.0.2.1";
const DST = "198.51.100.7";

/** The RTT of one row with a further column, as CSV and as JSON; the kind of another finding. */
function rttBeside(name: string, value: string, rtt = "12"): (number | string)[] {
  const shown = (found: Found[]) => rttsOf(found)[0] ?? othersOf(found)[0]?.[1];
  const row = { src: SRC, dst: DST, rtt: rtt === "" ? null : Number(rtt), [name]: value };
  return [
    shown(foundIn(`src,dst,rtt,${name}\n${SRC},${DST},${rtt},${value}\n`, { src: undefined })),
    shown(foundIn(JSON.stringify(row), { src: undefined })),
  ];
}

function adviceIn(found: Found[]): string[] {
  return found.flatMap(({ finding }) => "reason" in finding ? [faultText(finding)] : []);
}

Deno.test("a loss told beside the RTT is a loss, whatever its column is called", () => {
  const lost = ["success,0", "up,0", "Alive,no", "is_reachable,0.0", "online,False", "ok,false"];
  lost.push("status,0", "State,down", "result,timeout", "error,Destination Host Unreachable", "type,timeout");
  lost.push("packet_loss,100", "Loss%,100.0", "percent_packet_loss,100", "pktloss,1", "loss,100%");
  lost.push(
    "rcv,0",
    "packets_received,0",
    "monitor.status,down",
    "lost,true",
    "isTimeout,yes",
    "timed_out,True",
  );
  const replies = ["success,1", "up,true", "status,1", "statuscode,0", "percent_packet_loss,1", "loss,0.33"];
  replies.push("rcvd,3", "msg,64 bytes", "error,", "type,IPv4", "error,0", "error,false", "type,0");
  replies.push("lost,false", "lost,1", "timeout,1");
  const skipped = ["status,maintenance", "state,PENDING", "status,paused", "sent,0"];
  skipped.push("error,lookup web.example: no such host", "error,Name or service not known");
  const rejected = ["loss,300", "packet_loss,-1"];
  const cases: [string[], (rtt: number | string) => boolean][] = [
    [lost, (rtt) => rtt === LOST],
    [replies, (rtt) => rtt === 12],
    [skipped, (rtt) => /^(?:status |nothing sent)/.test(String(rtt))],
    [rejected, (rtt) => rtt === "invalidInteger"],
  ];
  for (const [texts, isRight] of cases) {
    for (const text of texts) {
      const [name, value] = text.split(",");
      for (const rtt of rttBeside(name, value)) assert(isRight(rtt), `${text}: ${rtt}`);
    }
  }
  // Numbers of Uptime Kuma, which has no RTT beside them.
  assertEquals(["0", "1", "2", "3"].map((status) => rttBeside("status", status, "")[0]), [
    ...[LOST, LOST],
    ...["status 2", "status 3"],
  ]);
  const lostOf = (lost: number) => rttsOf(foundIn(`dst,rtt,sent,lost\n${DST},5,3,${lost}\n`));
  assertEquals([2, 3].map(lostOf), [[5], [LOST]]);
  const counts = `src,dst,rtt,sent,rcvd\n${SRC},${DST},5,3,3\n${SRC},${DST},5,3,0\n${SRC},${DST},5,3,4\n`;
  const found = foundIn(counts, { src: undefined });
  assertEquals([rttsOf(found), othersOf(found)], [[5, LOST], [[4, "invalidInteger"]]]);
});

Deno.test("a column of losses has one unit: fractions and percent are not mixed", () => {
  const rows = (...losses: number[]) =>
    foundIn(`src,dst,rtt,loss\n${losses.map((loss) => `${SRC},${DST},9,${loss}\n`).join("")}`, {
      src: undefined,
    });
  assertEquals(rttsOf(rows(0, 0.5, 1)), [9, 9, LOST]);
  assertEquals(rttsOf(rows(0, 33, 1, 100)), [9, 9, 9, LOST]);
  assertStringIncludes(adviceIn(rows(1, 33))[0], "name the column loss_percent if its numbers are percent");
});

Deno.test("a long table: a series of losses tells those of moments without an RTT, once", () => {
  const rows = [
    [0, "average_response_ms", 35],
    [0, "percent_packet_loss", 0],
    [0, "packets_received", 1],
    [60, "percent_packet_loss", 100],
    [60, "packets_received", 0],
    [60, "result_code", 2],
    [120, "average_response_ms", ""],
    [120, "percent_packet_loss", 100],
  ].map(([s, field, value]) => `${START_S + Number(s)},${DST},${field},${value}\n`);
  const columns = parseColumns("dst=url,rtt=_value");
  for (const order of [rows, rows.toSorted()]) {
    const found = foundIn(`_time,url,_field,_value\n${order.join("")}`, { columns });
    const sorted = rowsOf(found).toSorted((a, b) => Number(a[1]) - Number(b[1]));
    assertEquals(sorted, [[DST, START_S, 35], [DST, START_S + 60, LOST], [DST, START_S + 120, LOST]]);
    assertEquals(othersOf(found).length, 5);
  }
});

Deno.test("rows of one moment with different RTTs are an error that names what tells them apart", () => {
  const table = (names: string[], numMoments: number, isBlocks = false) => {
    const rows = Array.from(
      { length: numMoments },
      (_, moment) =>
        names.map((name, i) => ({
          i,
          line: `${START_S + 60 * moment},${DST},${name},${30 + i + moment / 1e4}\n`,
        })),
    );
    const all = rows.flat();
    if (isBlocks) all.sort((a, b) => a.i - b.i);
    return `time,dst,kind,rtt\n${all.map(({ line }) => line).join("")}`;
  };
  for (const [numMoments, isBlocks] of [[2, false], [200, false], [200, true], [5000, true]] as const) {
    const text = table(["avg", "max"], numMoments, isBlocks);
    const error = assertThrows(() => foundIn(text), FormatError, "they differ in kind (avg, max)");
    assertStringIncludes(error.message, "keep all with --rtt each");
    assertEquals(rttsOf(foundIn(text, { rtt: "each" })).length, 2 * numMoments);
    assertEquals(rttsOf(foundIn(text.replaceAll("max", "avg"))).length, 2 * numMoments);
  }
  // Sequence numbers do not tell series apart.
  const pings = Array.from({ length: 400 }, (_, i) => `${START_S + (i >> 2)},${DST},${i},${30 + i / 100}\n`);
  assertEquals(rttsOf(foundIn(`time,dst,icmp_seq,rtt\n${pings.join("")}`)).length, 400);
  assertEquals(rttsOf(foundIn(`time,dst,request,rtt\n${pings.join("")}`)).length, 400);
  const lines = Array.from(
    { length: 60 },
    (_, i) => JSON.stringify({ dst: DST, time: START_S + (i >> 1), rtt: 30 + i, entity: i % 2 ? "a" : "b" }),
  );
  for (const count of [4, 60]) {
    const text = lines.slice(0, count).join("\n");
    assertThrows(() => foundIn(text), FormatError, "they differ in entity (b, a)");
    assertEquals(rttsOf(foundIn(text, { rtt: "each" })).length, count);
  }
});

Deno.test("numbers in --columns are positions, whatever the cells contain", () => {
  const rows = `${START_S},${SRC},${DST},35.5,4\n${START_S + 1},${SRC},${DST},,4\n`;
  const wanted: ReturnType<typeof rowsOf> = [[DST, START_S, 35.5], [DST, START_S + 1, LOST]];
  const columns = parseColumns("time=1,src=2,dst=3,rtt=4");
  for (const header of ["", "when,from,to,ms,sent\n", "1,2,3,rtt,4\n"]) {
    assertEquals(rowsOf(foundIn(header + rows, { columns })), wanted, header);
  }
  const mixed = parseColumns("time=when,src=2,dst=to,rtt=4");
  assertEquals(rowsOf(foundIn(`when,from,to,ms,5\n${rows}`, { columns: mixed })), wanted);
  const named = parseColumns("time=when,src=2,dst=to,rtt_s=5");
  assertEquals(rttsOf(foundIn(`when,from,to,5,ms\n${rows}`, { columns: named })), [35_500, LOST]);
  const fetched = `          median     loss\n\n${START_S}: 3.5e-02 0.0e+00\n${START_S + 60}: -nan 1.0e+00\n`;
  const options = { columns: parseColumns("time=1,rtt_s=2"), dst: [DST] };
  assertEquals(rowsOf(foundIn(fetched, options)), [[DST, START_S, 35], [DST, START_S + 60, LOST]]);
});

Deno.test("JSON: paths select nested fields, and win over recognition", () => {
  const nested = (rttUs: number | undefined, second: number) => ({
    "@timestamp": START_S + second,
    type: "ping",
    timestamp: 1,
    monitor: { ip: DST },
    icmp: { rtt: { us: rttUs } },
  });
  const columns = parseColumns("time=@timestamp,dst=monitor.ip,rtt_us=icmp.rtt.us");
  // Heartbeat writes the time of its timeout as the duration.
  const heartbeat = (status: string, us: number) =>
    JSON.stringify({ "@timestamp": START_S + us, monitor: { ip: DST, status, duration: { us } } });
  const durations = foundIn(`${heartbeat("up", 35_000)}\n${heartbeat("down", 16_000_000)}`, {
    columns: parseColumns("time=@timestamp,dst=monitor.ip,rtt_us=monitor.duration.us"),
  });
  assertEquals(rttsOf(durations), [35, LOST]);
  const lines = [nested(35_000, 0), nested(undefined, 1)];
  const wanted: ReturnType<typeof rowsOf> = [[DST, START_S, 35], [DST, START_S + 1, LOST]];
  for (const text of [lines.map((line) => JSON.stringify(line)).join("\n"), JSON.stringify(lines)]) {
    assertEquals(rowsOf(foundIn(text, { columns })), wanted);
  }
  const read = (value: unknown, names: string) =>
    rowsOf(foundIn(JSON.stringify(value), { columns: parseColumns(names), dst: [DST] }));
  const pings = { t: START_S, pings: [{ rtt: 30 }, { rtt: null }, { rtt: 34 }] };
  assertEquals(read(pings, "time=t,rtt=pings.rtt"), [[DST, START_S, 32]]);
  const points = { name: "x", datapoints: [[35, START_S], [null, START_S + 1]] };
  assertEquals(read([points], "time=datapoints.2,rtt=datapoints.1"), wanted);
  const columnar = { metric: { url: DST }, values: [35, null], timestamps: [START_S, START_S + 1] };
  assertEquals(read(columnar, "time=timestamps,dst=metric.url,rtt=values"), wanted);
  const series = {
    results: [{ series: [{ columns: ["time", "ms"], values: [[START_S, 35], [START_S + 1, null]] }] }],
  };
  assertEquals(read(series, "time=time,rtt=ms"), wanted);
  // Fields beside the lists of a series hold for all of its rows.
  const tagged = [DST, "203.0.113.9"].map((url, i) => (
    {
      tags: { url },
      columns: ["time", "ms"],
      values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((s) => [s + START_S, i + 9]),
    }
  ));
  assertEquals(new Set(read(tagged, "dst=tags.url,rtt=ms").map(([dst, , rtt]) => `${dst} ${rtt}`)).size, 2);
  const one = { columns: parseColumns("rtt=ms"), dst: [DST] };
  assertThrows(() => foundIn(JSON.stringify(tagged), one), FormatError, "they differ in tags");
});

Deno.test("JSON: a field that others have is a loss; an unknown one is rejected with the form of a path", () => {
  const line = (second: number, rtt?: number) => JSON.stringify({ time: START_S + second, dst: DST, rtt });
  const found = foundIn([line(0, 5), line(1), line(2, 6)].join("\n"));
  assertEquals([rttsOf(found), othersOf(found)], [[5, LOST, 6], []]);
  const never = foundIn([line(0), line(1)].join("\n"));
  assertEquals(othersOf(never), [[1, "nullValue"], [2, "nullValue"]]);
  const columnar = { columns: ["src", "rtt"], data: [[SRC, 5]] };
  assertStringIncludes(
    adviceIn(foundIn(JSON.stringify(columnar)))[0],
    "found src, rtt, expected dst; name them",
  );
  const started = foundIn(`[{"rtt":5,"ip":"x"},{"error":"timed out"},{"rtt":6}]`, {
    dst: [DST],
    startS: START_S,
  });
  assertEquals(rowsOf(started), [[DST, START_S, 5], [DST, START_S + 1, LOST], [DST, START_S + 2, 6]]);
  const statistics = JSON.stringify({ time: START_S, val: { median: 34, n: 1 } });
  for (const columns of [undefined, parseColumns("time=time,rtt=median")]) {
    const [advice] = adviceIn(foundIn(statistics, { columns, dst: [DST] }));
    assertStringIncludes(advice, "a.b is field b inside field a");
  }
  const path = parseColumns("time=time,rtt=val.median");
  assertEquals(rttsOf(foundIn(statistics, { columns: path, dst: [DST] })), [34]);
  const [advice] = adviceIn(
    foundIn(JSON.stringify({ time: START_S, pings: [{ rtt: 3 }] }), {
      columns: parseColumns("rtt=pings"),
      dst: [DST],
    }),
  );
  assertStringIncludes(advice, "name a field inside it with --columns, such as pings.FIELD");
});

Deno.test("a reading names each role with its unit and zone, and the fields that are not used", () => {
  const readings = (text: string, options: Partial<ReadingOptions>) => {
    const said = new Set<Reading>();
    foundIn(text, { ...options, onReading: (reading) => said.add(reading) });
    return [...said];
  };
  const [reading, ...others] = readings(`when,host,ms,up,ttl\n2026-01-01 00:00,${DST},5,1,9\n`, {
    columns: parseColumns("time=when,dst=host,rtt_us=ms"),
    zone: "Asia/Kolkata",
  });
  assertEquals(others, []);
  assertEquals(reading, {
    format: "csv",
    time: "when (numbers: Unix seconds; other times: Asia/Kolkata (--zone))",
    source: "192.0.2.77 (--src)",
    destination: "host",
    rtt: "ms (us, unless stated)",
    noReply: "an empty field or a word such as timeout, or up 0 or false",
    notUsed: ["ttl"],
  });
  const json = readings(`${JSON.stringify({ time: 1, dst: DST, rtt: 5, x: 1 })}\n`.repeat(3), {});
  assertEquals(json.map(({ notUsed }) => notUsed), [["x"]]);
});

Deno.test("a table is read the same however its text arrives", () => {
  const lines = ["34", "34,6"].map((rtt, i) => `2026-01-01T00:00:0${i}Z ${DST} ${rtt}\n`).join("");
  const title = "Pings of a host that others watch\n";
  const texts: [text: string, numbers?: string][] = [
    [`time                 dst          rtt\n${lines}`],
    [lines, "time=1,dst=2,rtt=3"],
    [title + lines.replace(",", ".").replaceAll(" ", ","), "time=1,dst=2,rtt=3"],
  ];
  texts.push(...[
    `time,dst,rtt,loss\n${START_S},${DST},5,0\n${START_S + 1},${DST},7,100\n`,
    `# note; with; marks\ntime,dst,rtt\n${START_S},${DST},"1,034.5"\n${START_S + 1},${DST},"34,123"\n`,
    `time;dst;rtt\n${START_S};${DST};1,034\n${START_S + 1};${DST};1.034,5\n`,
  ].map((text): [string] => [text]));
  for (const [text, numbers] of texts) {
    const columns = numbers === undefined ? undefined : parseColumns(numbers);
    const bytes = new TextEncoder().encode(text);
    const read = (size: number) => {
      const chunks = Array.from(
        { length: Math.ceil(bytes.length / size) },
        (_, i) => bytes.subarray(i * size, (i + 1) * size),
      );
      const found = foundInChunks(chunks, "in.csv", { ...USUAL_READING, src: [SRC], columns });
      return [rowsOf(found), othersOf(found)];
    };
    assertEquals(read(bytes.length)[0].length + read(bytes.length)[1].length, 2, text);
    for (const size of [1, 7, 100]) assertEquals(read(size), read(bytes.length), `${size}`);
  }
});
