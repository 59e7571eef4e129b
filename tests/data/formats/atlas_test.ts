import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { convertPing, resultType } from "../../../lib/data/formats/atlas.ts";
import type { JsonObject, PingRow } from "../../../lib/data/formats/format.ts";
import { END_RTT_MS } from "../../../lib/data/tokens/rtt_code.ts";

const RESULT: JsonObject = {
  type: "ping",
  af: 4,
  msm_id: 1001,
  prb_id: 7,
  timestamp: 1_600_000_000,
  from: "193.0.14.1",
  src_addr: "192.168.1.5",
  dst_addr: "193.0.14.129",
  size: 64,
  sent: 3,
  rcvd: 3,
  result: [{ rtt: 30 }, { rtt: 10 }, { rtt: 14 }],
};

type Options = Parameters<typeof convertPing>[1];

function convert(changes: JsonObject, options: Partial<Options> = {}) {
  const result = { ...RESULT, ...changes };
  for (const [name, value] of Object.entries(result)) if (value === undefined) delete result[name];
  return convertPing(result, { source: "auto", rtt: "mean", ...options });
}

function row(changes: JsonObject, options: Partial<Options> = {}): PingRow {
  const converted = convert(changes, options);
  assert("srcAddr" in converted, JSON.stringify(converted));
  return converted;
}

function reason(changes: JsonObject, options: Partial<Options> = {}): string {
  const converted = convert(changes, options);
  return "reason" in converted ? converted.reason : "none";
}

Deno.test("convertPing() converts a result to a row", () => {
  assertEquals(row({}), {
    msmId: 1001,
    prbId: 7,
    eventTimeUs: 1_600_000_000e6,
    srcAddr: "193.0.14.1",
    dstAddr: "193.0.14.129",
    ipVersion: 4,
    rttsMs: [18],
    sizeBytes: 64,
    numLost: [0],
  });
});

Deno.test("convertPing() uses the public address as the source, or the requested one", () => {
  assertEquals(row({}, { source: "src_addr" }).srcAddr, "192.168.1.5");
  assertEquals(row({ from: "10.0.0.1", src_addr: "193.0.0.9" }).srcAddr, "193.0.0.9");
  assertEquals(row({ from: "10.0.0.1" }).srcAddr, "192.168.1.5");
  assertEquals(row({ from: "10.0.0.1" }, { source: "from" }).srcAddr, "10.0.0.1");
  for (const missing of [undefined, "", null]) {
    assertEquals(row({ from: missing }).srcAddr, "192.168.1.5");
    assertEquals(row({ src_addr: missing }).srcAddr, "193.0.14.1");
    assertEquals(reason({ from: missing, src_addr: missing }), "nullValue");
    assertEquals(reason({ src_addr: missing }, { source: "src_addr" }), "nullValue");
  }
});

Deno.test("convertPing() uses the source of the destination's IP version", () => {
  const v6 = { af: 6, dst_addr: "2001:7FD:0::1", src_addr: "2001:67c::5" };
  assertEquals(row(v6).srcAddr, "2001:67c::5");
  assertEquals(row(v6).dstAddr, "2001:7fd::1");
  assertEquals(row(v6).ipVersion, 6);
  assertEquals(reason({ ...v6, src_addr: "192.168.1.5" }), "versionMismatch");
  assertEquals(reason({ ...v6, af: 4 }), "versionMismatch");
  assertEquals(row({ ...v6, af: undefined }).ipVersion, 6);
});

Deno.test("convertPing() reads addr for dst_addr and rejects a missing or wrong target", () => {
  assertEquals(row({ dst_addr: undefined, addr: "62.2.16.12" }).dstAddr, "62.2.16.12");
  assertEquals(reason({ dst_addr: undefined }), "nullValue");
  assertEquals(reason({ dst_addr: "example.net" }), "unparseableAddress");
});

Deno.test("convertPing() summarises the replies that are neither duplicates nor late", () => {
  const result = [{ x: "*" }, { rtt: "10.5", ttl: 5 }, { dup: 1, rtt: 900 }, { late: 2, rtt: 800 }, {
    rtt: 20,
  }, { error: "e" }];
  const changes = { result, sent: 4, rcvd: "2" };
  assertAlmostEquals(row(changes).rttsMs[0], 15.25);
  assertEquals(row(changes).numLost, [2]);
  assertEquals(row(changes, { rtt: "min" }).rttsMs, [10.5]);
  assertEquals(row({}, { rtt: "median" }).rttsMs, [14]);
  assertAlmostEquals(row(changes, { rtt: "median" }).rttsMs[0], 15.25);
  const each = row(changes, { rtt: "each" });
  assertEquals(each.rttsMs, [-1, 10.5, 20, -1]);
  assertEquals(each.numLost, [1, 0, 0, 1]);
});

Deno.test("convertPing() returns -1 when nothing was received, even with late replies", () => {
  const lost = { rcvd: 0, result: [{ x: "*" }, { dup: 1, rtt: 1635 }], sent: 1 };
  assertEquals([row(lost).rttsMs, row(lost).numLost], [[-1], [1]]);
  const error = { rcvd: 0, sent: 0, size: 0, result: [{ error: "connect failed: Network is unreachable" }] };
  assertEquals(convert(error), { skipped: "nothing sent" });
  assertEquals(convert({ ...error, sent: 1 }), { skipped: "error of the probe" });
  assertEquals(row({ rcvd: 0, result: [] }, { rtt: "each" }).rttsMs, [-1]);
});

Deno.test("convertPing() reads the oldest firmware: numbers as text and no list of replies", () => {
  const old = { result: undefined, avg: "58.042", min: "57.876", rcvd: "3", sent: "3", size: undefined };
  assertEquals(row(old).rttsMs, [58.042]);
  assertEquals(row(old, { rtt: "min" }).rttsMs, [57.876]);
  assertEquals(row(old, { rtt: "each" }).rttsMs, [58.042]);
  assertEquals(row(old).sizeBytes, NaN);
  assertEquals(row({ sent: undefined }).numLost, [0]);
});

Deno.test("convertPing() reads null for optional fields, and times as text", () => {
  const nulls = { x: null, dup: null, late: null, error: null };
  const result = [{ rtt: 12, ...nulls }, { ...nulls, rtt: null, x: "*" }, { rtt: 14, ...nulls, dup: 0 }];
  const changes = { result, rcvd: 2, dnserr: null, lts: null };
  assertEquals([row(changes).rttsMs, row(changes).numLost], [[13], [1]]);
  const error = { ...nulls, rtt: null, error: "sendto failed: Network is unreachable" };
  assertEquals(convert({ result: [error], rcvd: 0, sent: 1 }), { skipped: "error of the probe" });
  assertEquals(row({ timestamp: "2020-09-13T12:26:40Z" }).eventTimeUs, 1_600_000_000e6);
  const fault = convert({ timestamp: 1_600_000_000_000 });
  assert("reason" in fault && fault.found.includes("it looks like milliseconds"));
});

Deno.test("convertPing() rejects incomplete and invalid results", () => {
  assertEquals(reason({ timestamp: undefined }), "nullValue");
  assertEquals(reason({ timestamp: 86_400 }), "invalidTime");
  assertEquals(reason({ result: undefined, rcvd: undefined }), "incompleteResult");
  assertEquals(reason({ result: [], rcvd: 3 }), "incompleteResult");
  assertEquals(reason({ result: [{ rtt: "fast" }] }), "invalidRtt");
  assertEquals(reason({ result: [{ rtt: -3 }] }), "invalidRtt");
});

Deno.test("convertPing() reads RTT values that mean no reply", () => {
  for (const rtt of [null, -1, "NaN"]) {
    assertEquals(row({ result: [{ rtt }], sent: 1, rcvd: 0 }).rttsMs, [-1], `${rtt}`);
    assertEquals(row({ result: [{ rtt }, { rtt: 5 }], sent: 2, rcvd: 1 }).rttsMs, [5], `${rtt}`);
  }
  assertEquals(reason({ result: [{ rtt: 0 }] }), "zeroRtt");
  const noReply = ["0"];
  for (const rcvd of [0, 1]) {
    const lost = row({ result: [{ rtt: 0 }], sent: 1, rcvd }, { noReply });
    assertEquals([lost.rttsMs, lost.numLost], [[-1], [1]]);
  }
  const half = row({ result: [{ rtt: 0 }, { rtt: 5 }], sent: 2, rcvd: 2 }, { noReply });
  assertEquals([half.rttsMs, half.numLost], [[5], [1]]);
  assertEquals(row({ result: [{ rtt: 0 }, { rtt: 5 }] }, { noReply, rtt: "each" }).rttsMs, [-1, 5]);
  const stated = row({ result: undefined, avg: 0, sent: 3, rcvd: 3 }, { noReply });
  assertEquals([stated.rttsMs, stated.numLost], [[-1], [3]]);
});

Deno.test("convertPing() rejects numbers that a measurement cannot hold", () => {
  assertEquals(reason({ result: [{ rtt: 1e39 }] }), "invalidRtt");
  assertEquals(reason({ result: [{ rtt: END_RTT_MS }] }), "invalidRtt");
  assertEquals(row({ result: [{ rtt: END_RTT_MS / 2 }] }).rttsMs, [END_RTT_MS / 2]);
  assertEquals(reason({ result: undefined, avg: 1e39 }), "invalidRtt");
  for (const id of ["msm_id", "prb_id"]) {
    for (const value of [2 ** 53, 1.5, -1, "9007199254740993", 1e300]) {
      assertEquals(convert({ [id]: value }), { reason: "invalidInteger", found: `${id} ${Number(value)}` });
    }
  }
  assertEquals(row({ sent: 1e300 }).numLost, [NaN]);
});

Deno.test("convertPing() truncates long values in the details of a reject", () => {
  const long = "x".repeat(1e6);
  for (
    const changes of [{ dst_addr: long }, { from: long, src_addr: "2001:db8::1" }, {
      from: long,
      src_addr: long,
    }]
  ) {
    const converted = convert(changes);
    assert("reason" in converted && converted.found.length < 200, JSON.stringify(converted).slice(0, 300));
  }
});

Deno.test("resultType() distinguishes pings, other results and objects that are not results", () => {
  assertEquals(resultType(RESULT), "ping");
  assertEquals(resultType({ ...RESULT, type: "traceroute" }), "traceroute");
  const { type: _type, ...untyped } = RESULT;
  // `--columns rtt=result.rtt` reads it.
  assertEquals(resultType(untyped), undefined);
  assertEquals(resultType({ count: 2, results: [RESULT] }), undefined);
  assertEquals(resultType({ source: "x", type: "list", result: RESULT }), undefined);
});
