import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { type JsonObject, USUAL_READING } from "../../../lib/data/formats/format.ts";
import { formatOf, FORMATS, recognise } from "../../../lib/data/formats/registry.ts";
import { finishedPing, globalpingMeasurement, globalpingProbe } from "../import/globalping_measurement.ts";
import { foundIn, foundInChunks, foundInFile, othersOf, rowsOf, rttsOf, SOURCE, utf16 } from "./findings.ts";

const FOLDER = new URL("./", import.meta.url);
const SAMPLES = [...Deno.readDirSync(FOLDER)].map(({ name }) => name)
  .filter((name) => !/\.(?:md|ts)$/.test(name)).sort();
/** Formats of samples whose names do not begin with the format. */
const BY_NAME: Record<string, string> = { macos: "ping", windows: "ping", rrdtool: "smokeping" };

const EXAMPLES: Record<string, string> = {
  atlas: JSON.stringify({
    ...{ type: "ping", msm_id: 1, prb_id: 2, af: 4, timestamp: 1767225600, from: "193.0.0.1" },
    ...{ dst_addr: "198.51.100.7", src_addr: "192.0.2.1", sent: 1, rcvd: 1, size: 48, result: [{ rtt: 5 }] },
  }),
  globalping: JSON.stringify(globalpingMeasurement([
    [globalpingProbe({ asn: 3320, country: "DE", city: "Berlin" }), finishedPing("198.51.100.7", [10])],
  ])),
  csv: JSON.stringify({ src: "192.0.2.1", dst: "198.51.100.7", time: 1767225600, rtt: 5 }),
};

/** The format of a text or, in JSON, of its first result. */
function formatNameOf(text: string): string | undefined {
  const found = recognise(text, true, USUAL_READING, "in");
  if (found !== undefined && found !== "json") return found.name;
  for (const part of [text, ...text.split("\n")]) {
    try {
      return formatOf(JSON.parse(part), USUAL_READING)?.name;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}

function decode(bytes: Uint8Array): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8").decode(bytes);
}

Deno.test("each sample is recognised as its own format", () => {
  const names = FORMATS.map(({ name }) => name);
  for (const sample of SAMPLES) {
    const text = decode(Deno.readFileSync(new URL(sample, FOLDER)));
    const first = sample.replace(/^documented_/, "").split("_")[0];
    const format = BY_NAME[first] ?? first;
    assert(names.includes(format), sample);
    assertEquals(formatNameOf(text), format, sample);
  }
  for (const [format, text] of Object.entries(EXAMPLES)) assertEquals(formatNameOf(text), format);
});

Deno.test("an object matches exactly one format, not counting tables", () => {
  const samples = SAMPLES.filter((name) => /^(?:scamper|prometheus|rrdtool).*\.jsonl?$/.test(name))
    .map((name) => Deno.readTextFileSync(new URL(name, FOLDER)));
  for (const text of [...samples, EXAMPLES.atlas, EXAMPLES.globalping]) {
    for (const line of text.startsWith('{ "about"') ? [text] : text.trim().split("\n")) {
      const object: JsonObject = JSON.parse(line);
      const others = FORMATS.filter(({ name, json }) =>
        name !== "csv" && json?.isResult(object, USUAL_READING)
      );
      assertEquals(others.length, 1, line.slice(0, 80));
    }
  }
});

Deno.test("results of several formats in one JSON file are all read", () => {
  const text = [EXAMPLES.atlas, EXAMPLES.csv].join("\n");
  assertEquals(rttsOf(foundIn(text)), [5, 5]);
  assertEquals(rttsOf(foundIn(text, { format: "csv" })), [5]);
  const rows = [JSON.parse(EXAMPLES.csv), { time: 1767225600, host: "198.51.100.7", latency: 5 }];
  const found = foundIn(JSON.stringify({ meta: { time: "now" }, rows }));
  assertEquals([rttsOf(found), othersOf(found)], [[5], [[1, "nullValue"]]]);
});

Deno.test("findings do not depend on how the bytes are chunked", () => {
  const options = { ...USUAL_READING, src: ["192.0.2.77"], dst: ["198.51.100.7"] };
  for (const sample of SAMPLES.filter((name) => name !== "prometheus_error.json")) {
    const whole = foundInFile(sample, options);
    assert(whole.length > 0, sample);
    const bytes = Deno.readFileSync(new URL(sample, FOLDER));
    for (const size of [1, 37]) {
      const chunks = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
      assertEquals(foundInChunks(chunks, sample, options), whole, `${sample} by ${size}`);
    }
  }
});

const TABLE = "src,dst,time,rtt\r\n192.0.2.1,198.51.100.7,1767225600,5\r\n";

/** Reads the bytes one at a time. */
function foundInBytes(bytes: Uint8Array) {
  return foundInChunks(Array.from(bytes, (byte) => Uint8Array.of(byte)), "in", USUAL_READING);
}

Deno.test("text in UTF-8 and UTF-16 with a byte order mark is read", () => {
  for (
    const bytes of [
      new TextEncoder().encode("\ufeff" + TABLE),
      utf16("\ufeff" + TABLE),
      utf16("\ufeff" + TABLE, false),
    ]
  ) assertEquals(rowsOf(foundInBytes(bytes)), [["198.51.100.7", 1767225600, 5]]);
});

Deno.test("input without measurements is described by what it looks like", () => {
  const texts: [string, string][] = [
    ["PK\x03\x04\x14\0\x06\0", "it looks like a zip archive or a spreadsheet (unpack it, or save it as CSV)"],
    ["<!DOCTYPE html>\n<p>Log in, please</p>\n", "it looks like HTML"],
    ["<html>\n<body style='a: b;'>\n", "it looks like HTML"],
    ['<?xml version="1.0"?>\n<rrd>1, 2</rrd>\n', "it looks like XML"],
    ["RRD\x000003\0", "it looks like an RRD (rrdtool xport --json)"],
    ["\x12\x05\0\x01\0\0", "it looks like warts of scamper"],
    ["PAR1\x15\x04", "it looks like Parquet"],
    ["traceroute to a (192.0.2.1), 30 hops max\n 1  b  5 ms\n", "it looks like the output of traceroute"],
    [
      "\n\nTracing route to a [192.0.2.1]\n\n  1    <1 ms    <1 ms    <1 ms  b\n",
      "it looks like the output of traceroute",
    ],
    ["traceroute [(192.0.2.1:1) -> (192.0.2.2:2)], protocol udp\n", "it looks like the output of traceroute"],
    ["Start: 2026-01-01T00:00:00+0000\nHOST: a  Loss%   Snt\n", "it looks like the output of mtr"],
    [
      "HPING 192.0.2.1 (eth0 192.0.2.1): S set\nlen=46 ip=192.0.2.1 seq=0 rtt=5.1 ms\n",
      "it looks like the output of hping3",
    ],
    [
      "PING a:80 (/):\nconnected to 192.0.2.1:80 (320 bytes), seq=0 time=12.34 ms\n",
      "it looks like the output of hping3",
    ],
    ["Probing 192.0.2.1:80/tcp - No response - time=2000.1ms\n", "it looks like the output of hping3"],
    [
      "PING OK - Packet loss = 0%, RTA = 12.30 ms|rta=12.3ms;100;500;0 pl=0%;20;60;0\n",
      "it looks like the output of check_ping",
    ],
    [
      "Type escape sequence to abort.\nSending 5, 100-byte ICMP Echos to 192.0.2.1, timeout is 2 seconds:\n!!!!!\n",
      "it looks like the output of ping of a router",
    ],
    [
      "  SEQ HOST            SIZE TTL TIME       STATUS\n    0 192.0.2.1  56  57 12ms345us\n",
      "it looks like the output of ping of a router",
    ],
    [
      "# HELP probe_success Success, or not\n# TYPE probe_success gauge\nprobe_success 1\n",
      "it looks like metrics of an exporter",
    ],
    [
      "ping,host=h,url=192.0.2.1 ttl=57i,average_response_ms=12.3 1764241200000000000\n",
      "it looks like lines of InfluxDB or Telegraf",
    ],
    ['2026-01-01T00:00:00Z {"dst":"198.51.100.7","rtt":5}\n', "it looks like JSON lines with a prefix"],
    ["SQLite format 3\0\x10\0", "it looks like binary data"],
    ["\x7fELF\x02\x01", "it looks like binary data"],
    ["\x01\x02\x03", "it looks like binary data"],
    ["hello\nworld\n", String.raw`it begins with "hello\nworld\n"`],
    ["5\n", String.raw`it begins with "5\n"`],
  ];
  for (const [text, looks] of texts) {
    for (const read of [() => foundIn(text), () => foundInBytes(new TextEncoder().encode(text))]) {
      const { message } = assertThrows(read, UserError);
      assertStringIncludes(message, `: ${looks}`);
      assertStringIncludes(
        message,
        "expected measurements as atlas, globalping, scamper, prometheus, smokeping, fping, ping, csv or parquet",
      );
      assertEquals(message.split("\n").length, 1);
    }
  }
  for (const isLittle of [true, false]) {
    assertThrows(() => foundInBytes(utf16(TABLE, isLittle)), UserError, "UTF-16 without a byte order mark");
  }
});

Deno.test("a blank file contains no measurements and is not an error", () => {
  for (const text of ["", "\n \n"]) {
    assertEquals([foundIn(text), foundIn(text, { format: "ping" })], [[], []]);
  }
});

Deno.test("an mtr report is rejected under its name", () => {
  const found = foundIn(
    '{ "report": { "mtr": { "src": "a", "dst": "b" }, "hubs": [{ "count": 1, "Avg": 5 }] } }',
  );
  assertEquals([rttsOf(found), othersOf(found)], [[], [[1, "incompleteResult"]]]);
});

Deno.test("JSON lines are read after a line that is not JSON", () => {
  const found = foundIn(`hello, world\n${EXAMPLES.csv}\n`);
  assertEquals([rttsOf(found), othersOf(found)], [[5], [[1, "invalidJson"]]]);
});

Deno.test("a first line with a comma does not decide the format before the next lines arrive", () => {
  const greeting = "Connected to the broker, waiting for messages\n";
  const ping = "64 bytes from 198.51.100.7: icmp_seq=1 ttl=57 time=5 ms\n";
  const options = { ...USUAL_READING, src: [SOURCE] };
  for (const text of [EXAMPLES.csv + "\n", `PING 198.51.100.7 (198.51.100.7): 56 data bytes\n${ping}`]) {
    const lines = [greeting, ...text.split(/(?<=\n)/)].map((line) => new TextEncoder().encode(line));
    assertEquals(rttsOf(foundInChunks(lines, "in", options)), [5]);
  }
});

Deno.test("only the requested format is read, even where it would not be recognised", () => {
  const text = "5;6\n7;8\n";
  assertEquals(othersOf(foundIn(text, { format: "ping" })), [[1, "unknownLine"], [2, "unknownLine"]]);
  const addresses = new Map([["web", "198.51.100.7"]]);
  assertThrows(() => foundIn("web : 5 -\n", { addresses }), UserError);
  assertEquals(rttsOf(foundIn("web : 5 -\n", { format: "fping", addresses })), [5, -1]);
});
