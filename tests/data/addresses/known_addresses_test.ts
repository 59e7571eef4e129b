import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import { parsePrefix } from "../../../lib/data/addresses/ip_prefix.ts";
import {
  AddressCounts,
  basisJson,
  basisOf,
  dataJson,
  measuredBy,
  momentOf,
  NO_DATA,
} from "../../../lib/data/addresses/known_addresses.ts";

const DAY_S = Date.UTC(2019, 5, 1) / 1000;

function counted(
  measurements: readonly (readonly [src: string, dst: string, timeS: number | null])[],
): AddressCounts {
  const counts = new AddressCounts();
  for (const [src, dst, timeS] of measurements) {
    counts.add(counts.id(addressBytes(src)), counts.id(addressBytes(dst)), timeS);
  }
  return counts;
}

const MEASURED = [
  ["198.51.100.9", "203.0.113.7", DAY_S - 100],
  ["198.51.100.9", "203.0.113.7", DAY_S],
  ["198.51.100.9", "203.0.113.7", DAY_S - 50],
  ["198.51.100.9", "10.0.0.1", DAY_S - 10],
  ["203.0.113.7", "200.1.2.3", DAY_S - 20],
  ["2001:db8::1", "2001:db8:1::2", DAY_S - 30],
  ["2001:db8::1", "::a00:1", DAY_S - 30],
] as const;
const COUNTS = counted(MEASURED);
const DATA = {
  known: COUNTS.table(),
  summary: COUNTS.summary({ origin: "a.parquet", isSynthetic: false }),
};

function basis(src: string, dst: string, data: Parameters<typeof basisOf>[0] = DATA) {
  return basisJson(basisOf(data, parsePrefix(src), parsePrefix(dst)));
}

Deno.test("a table counts addresses by role and pairs by direction, and records when each was last measured", () => {
  const { known } = DATA;
  assertEquals(known.address(addressBytes("203.0.113.7")), {
    bytes: addressBytes("203.0.113.7"),
    asSource: { measurements: 1, lastS: DAY_S - 20 },
    asDestination: { measurements: 3, lastS: DAY_S },
  });
  const [a, b] = ["198.51.100.9", "203.0.113.7"].map(addressBytes);
  assertEquals(known.pair(a, b), { measurements: 3, lastS: DAY_S });
  assertEquals(known.pair(b, a), { measurements: 0, lastS: null });
  assertEquals(known.address(addressBytes("203.0.113.8")), undefined);
  const destinations = Array.from(
    known.destinationsOf(a),
    ({ address: { bytes }, seen }) => [formatAddress(bytes), seen.measurements],
  );
  assertEquals(destinations, [["10.0.0.1", 1], ["203.0.113.7", 3]]);
  assertEquals(known.destinationsOf(addressBytes("10.0.0.1")), []);
  assertEquals(
    [...known.destinations()].map(({ bytes }) => formatAddress(bytes)),
    ["10.0.0.1", "200.1.2.3", "203.0.113.7", "::a00:1", "2001:db8:1::2"],
  );
  assertEquals(DATA.summary, {
    origin: "a.parquet",
    isSynthetic: false,
    startS: DAY_S - 100,
    endS: DAY_S,
    measurements: 7,
    sources: 3,
    destinations: 5,
  });
});

Deno.test("a table sums a source's measurements to a destination prefix", () => {
  const { known } = DATA;
  const measured = (src: string, prefix: string) => {
    const { measurements, lastS } = known.measuredIn(addressBytes(src), parsePrefix(prefix));
    return [measurements, lastS];
  };
  assertEquals(measured("198.51.100.9", "203.0.113.7"), [3, DAY_S]);
  assertEquals(measured("198.51.100.9", "203.0.113.0/24"), [3, DAY_S]);
  assertEquals(measured("198.51.100.9", "10.0.0.0/8"), [1, DAY_S - 10]);
  assertEquals(measured("198.51.100.9", "0.0.0.0/0"), [4, DAY_S]);
  assertEquals(measured("198.51.100.9", "200.0.0.0/8"), [0, null], "of another source");
  assertEquals(measured("198.51.100.8", "0.0.0.0/0"), [0, null], "an unknown source");
  assertEquals(measured("2001:db8::1", "2001:db8::/32"), [1, DAY_S - 30]);
  assertEquals(measured("2001:db8::1", "::/0"), [2, DAY_S - 30]);
});

Deno.test("a table counts the addresses in an IPv4 or IPv6 prefix", () => {
  const { known } = DATA;
  const prefixes = "0.0.0.0/0 200.0.0.0/6 203.0.113.0/24 203.0.113.7 ::/0 2001:db8::/32 9.0.0.0/8".split(" ");
  assertEquals(prefixes.map((prefix) => known.countIn(parsePrefix(prefix))), [4, 2, 1, 1, 3, 2, 0]);
});

Deno.test("basisOf() reports whether the pair was measured, both ends were, or the answer is a guess", () => {
  assertEquals(basis("198.51.100.9", "203.0.113.7"), {
    kind: "measured",
    text: "Pair measured 3 times, last on 2019-06-01.",
    src: { measurements: 4, in_adaptation: 0, last_seen: "2019-06-01T00:00:00.000Z" },
    dst: { measurements: 4, in_adaptation: 0, last_seen: "2019-06-01T00:00:00.000Z" },
    pair: { measurements: 3, in_adaptation: 0, last_seen: "2019-06-01T00:00:00.000Z" },
  });
  assertEquals(
    basis("203.0.113.7", "198.51.100.9").text,
    "Pair measured 3 times, last on 2019-06-01, in the other direction only.",
  );
  assertEquals(basis("10.0.0.1", "200.1.2.3").kind, "estimate");
  const half = basis("198.51.100.9", "203.0.113.200");
  assertEquals(half.kind, "guess");
  assertEquals(
    half.text,
    "Source measured 4 times, last on 2019-06-01, destination never: a guess from 203.0.113.0/24 (1 known address). " +
      "203.0.113.200 is not a public address (RFC 6890).",
  );
  assertEquals(half.dst, { measurements: 0, in_adaptation: 0, last_seen: null });
  // 10.0.0.1 was measured.
  const known = basis("8.8.8.8", "10.0.0.1");
  assertEquals([known.kind, known.text.includes("RFC 6890")], ["guess", false]);
  const special =
    "10.9.0.1 100.64.0.1 127.0.0.1 169.254.1.1 224.0.0.1 255.255.255.255 192.0.2.1 0.0.0.0 fe80::1 ff02::1 ::";
  for (const address of special.split(" ")) {
    const { text } = basis("8.8.8.8", address);
    assert(text.endsWith(` ${address} is not a public address (RFC 6890).`), text);
    assertEquals(basis(address, address).text.split("RFC 6890").length, 2);
  }
  assert(!basis("8.8.8.8", "1.1.1.1").text.includes("RFC 6890"));
  const none = basis("8.8.8.8", "10.0.9.9");
  assertEquals(none.kind, "guess");
  assertStringIncludes(none.text, "Neither address is in the training data");
  assertStringIncludes(none.text, "10.0.0.0/16 (1 known address)");
  assertStringIncludes(none.text, "nothing is known near 8.8.8.8");
  const prefix = basis("203.0.113.0/24", "10.0.0.1");
  assertEquals(prefix.kind, "estimate");
  assertStringIncludes(
    prefix.text,
    "source not a single address: an estimate from 203.0.113.0/24 (1 known address)",
  );
  assertEquals(basis("203.0.112.0/24", "10.0.0.1").kind, "guess");
});

Deno.test("basisOf() reports a synthetic Internet, and answers without measurements", () => {
  const synthetic = { ...DATA, summary: { ...DATA.summary, isSynthetic: true } };
  assertStringIncludes(basis("8.8.8.8", "1.1.1.1", synthetic).text, "synthetic Internet, not the real one");
  assert(!basis("8.8.8.8", "1.1.1.1").text.includes("synthetic"));
  assertEquals(
    basisOf(NO_DATA, parsePrefix("8.8.8.8"), parsePrefix("1.1.1.0/24")).text,
    "Neither endpoint is a single measured address: a guess from the whole network (nothing is known near " +
      "8.8.8.8) and 1.1.1.0/24 (0 known addresses).",
  );
});

/** {@link DATA} with an adaptation. */
function adaptedData(counts: AddressCounts) {
  const summary = counts.summary({ origin: "", isSynthetic: null });
  return { ...DATA, adaptation: { known: counts.table(), summary } };
}

Deno.test("basisOf() counts the measurements of an adaptation and labels them", () => {
  const later = DAY_S + 86_400;
  const adapted = adaptedData(counted([
    ...Array.from({ length: 24 }, () => ["203.0.113.77", "198.51.100.9", later] as const),
    ["203.0.113.7", "203.0.113.77", null],
  ]));
  const asked = (src: string, dst: string) => basis(src, dst, adapted);
  assertEquals(asked("203.0.113.77", "198.51.100.9"), {
    kind: "measured",
    text: "Pair in 24 measurements of the adaptation, last on 2019-06-02.",
    src: { measurements: 25, in_adaptation: 25, last_seen: "2019-06-02T00:00:00.000Z" },
    dst: { measurements: 28, in_adaptation: 24, last_seen: "2019-06-02T00:00:00.000Z" },
    pair: { measurements: 24, in_adaptation: 24, last_seen: "2019-06-02T00:00:00.000Z" },
  });
  assertEquals(asked("203.0.113.7", "203.0.113.77").text, "Pair in 1 measurement of the adaptation.");
  assertEquals(
    asked("203.0.113.77", "10.0.0.1").text,
    "Source in 25 measurements of the adaptation, last on 2019-06-02, destination measured once, last on 2019-05-31, " +
      "the pair never: an estimate from each.",
  );
  assertEquals(
    asked("198.51.100.9", "8.8.8.8").text.split(", destination")[0],
    "Source measured 28 times, 24 of them in the adaptation, last on 2019-06-02",
  );
  const near = asked("203.0.113.78", "8.8.8.8").text;
  assertStringIncludes(near, "203.0.113.0/24 (1 known address)", "an adaptation tells nothing of neighbours");
  const prefix = parsePrefix("198.51.100.0/24");
  assertEquals(measuredBy(adapted, addressBytes("203.0.113.77"), prefix), {
    measurements: 24,
    inAdaptation: 24,
    lastS: later,
  });
  assertEquals(dataJson(adapted).adaptation, {
    start: "2019-06-02T00:00:00.000Z",
    end: "2019-06-02T00:00:00.000Z",
    measurements: 25,
    sources: 2,
    destinations: 2,
  });
  assertEquals(dataJson(DATA).adaptation, null);
});

Deno.test("AddressCounts.of() continues the counts of a table", () => {
  const more = ["198.51.100.9", "2001:db8:1::2", null] as const;
  const whole = counted([...MEASURED, more]);
  const first = AddressCounts.of(DATA);
  first.add(first.id(addressBytes(more[0])), first.id(addressBytes(more[1])), more[2]);
  assertEquals(first.table().columns, whole.table().columns);
  const origin = { origin: "b", isSynthetic: null };
  assertEquals(first.summary(origin), whole.summary(origin));
  const none = AddressCounts.of({
    known: new AddressCounts().table(),
    summary: new AddressCounts().summary(origin),
  });
  assertEquals(none.summary(origin), new AddressCounts().summary(origin));
});

Deno.test("a table that is too small keeps the most measured addresses and pairs, and reports it", () => {
  assert(!COUNTS.table().isTruncated);
  const small = COUNTS.table(3, 1);
  assert(small.isTruncated);
  assertEquals(small.numPairs, 1);
  assertEquals(small.pair(addressBytes("198.51.100.9"), addressBytes("203.0.113.7")).measurements, 3);
  assertEquals(small.address(addressBytes("200.1.2.3")), undefined);
  const text = basisOf({ ...DATA, known: small }, parsePrefix("200.1.2.3"), parsePrefix("10.0.0.1")).text;
  assertStringIncludes(text, "Only the most measured addresses and pairs are listed.");
});

Deno.test("basisOf() names the place of an unmeasured address, and reports a misplaced one", () => {
  const known = new AddressCounts();
  const [a, b] = ["192.0.2.1", "192.0.2.2"].map((text) => known.id(parsePrefix(text).bytes));
  known.add(a, b, null);
  const data = { known: known.table(), summary: known.summary({ origin: "", isSynthetic: null }) };
  const where = {
    placeOf: () => "Frankfurt am Main, DE, AS3320",
    isMisplaced: (address: Uint8Array) => address[0] === 8,
  };
  const { text, places } = basisOf(data, parsePrefix("192.0.2.1"), parsePrefix("203.0.113.5"), where);
  assertStringIncludes(
    text,
    "the place of 203.0.113.5: Frankfurt am Main, DE, AS3320 (no measurement of this network)",
  );
  assertEquals(places, { src: "Frankfurt am Main, DE, AS3320", dst: "Frankfurt am Main, DE, AS3320" });
  const wrong = basisOf(data, parsePrefix("192.0.2.1"), parsePrefix("8.8.8.8"), where).text;
  assertStringIncludes(wrong, "8.8.8.8 is not where the database says");
});

Deno.test("momentOf() reports whether an answer is for any time, and how long after its data", () => {
  const [startS, endS] = ["2019-05-12T01:00Z", "2019-06-02T20:00Z"].map((time) => Date.parse(time) / 1000);
  const of = [{ startS, endS }, undefined];
  const anyTime = { kind: "any", text: "any time from 2019-05-12 to 2019-06-02", ageS: null } as const;
  assertEquals(momentOf(null, { of, pairS: endS }), anyTime);
  assertEquals(momentOf(null, { of: [], pairS: null }).text, "any time of the data");
  const asked = (timeS: number, pairS: number | null) => momentOf(timeS, { of, pairS });
  assertEquals(asked(endS - 60, endS), { kind: "asked", text: "2019-06-02 19:59 UTC", ageS: null });
  const pairText = "2019-06-04 19:00 UTC, 47 hours after the pair was last measured";
  assertEquals(asked(endS + 169_200, endS), { kind: "asked", text: pairText, ageS: 169_200 });
  const dataText = "2019-06-04 20:00 UTC, 2 days after the newest data";
  assertEquals(asked(endS + 172_800, null), { kind: "asked", text: dataText, ageS: 172_800 });
  assertEquals(momentOf(endS, { of: [], pairS: null }).ageS, null);
});
