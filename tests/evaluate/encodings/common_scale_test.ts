import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  codeMass,
  nextOfQuantile,
  type QuantileSearch,
  rangeMass,
} from "../../../lib/evaluate/encodings/code_mass.ts";
import {
  COMMON_CODES,
  commonCode,
  type RttScheme,
  rttSchemes,
} from "../../../lib/evaluate/encodings/rtt_scheme.ts";
import { RandomStream } from "../../../lib/random/philox.ts";
import { rttCodeBounds } from "../../../lib/tokens/rtt_code.ts";
import { LOG_MAX_RELATIVE_ERROR } from "../../../lib/tokens/rtt_encoding.ts";
import { EmpiricalBytes } from "./empirical_bytes.ts";

const CLIP_US = 300_000;
const SCHEMES = rttSchemes(CLIP_US);

function schemeOf(name: string): RttScheme {
  const scheme = SCHEMES.find((one) => one.name === name);
  assert(scheme);
  return scheme;
}

/** RTTs in all parts of the scale: below 2 ms, between, on edges of RTT codes, above the clip. */
function sampleRttsMs(count: number): number[] {
  const random = new RandomStream(3, "test/encodings");
  return Array.from({ length: count }, (_, i) => {
    if (i % 3 === 0) return rttCodeBounds(COMMON_CODES[random.below(COMMON_CODES.length)]).lowMs;
    return Math.fround(Math.exp(random.float64() * Math.log(5e5)) * 0.002);
  });
}

function commonMass(scheme: RttScheme, bytes: EmpiricalBytes, rttCode: number): number {
  const range = scheme.rangeOf(rttCode);
  return rangeMass(range, { first: bytes.path(range.first), last: bytes.path(range.last) });
}

Deno.test("rangeOf() cuts the codes of every encoding into pieces without gap or overlap", () => {
  for (const scheme of SCHEMES) {
    const ranges = Array.from(COMMON_CODES, (code) => scheme.rangeOf(code));
    if (scheme.name === "v2") {
      assertEquals(ranges.map(({ first }) => Number(first)), [...COMMON_CODES]);
      continue;
    }
    assertEquals([ranges[0].first, ranges[0].firstShare], [0n, 1]);
    // What of the last code seen so far is given away.
    let [code, share] = [0n, 0];
    for (const { first, last, firstShare, lastShare } of ranges) {
      if (first === code) share += firstShare;
      else {
        assertAlmostEquals(share, 1, 1e-9, `${scheme.name}: code ${code} is not given away whole`);
        assertEquals(first, code + 1n);
        [code, share] = [first, firstShare];
      }
      if (last === first) assertEquals(lastShare, firstShare);
      else {
        assertAlmostEquals(share, 1, 1e-9, `${scheme.name}: code ${code} is not given away whole`);
        [code, share] = [last, lastShare];
      }
    }
    const isAllGiven = scheme.name === "log" || scheme.name === "clipped";
    if (isAllGiven) assertAlmostEquals(share, 1, 1e-9, `${scheme.name}: its last code`);
  }
});

Deno.test("rangeMass() of all RTT codes and the mass of no reply add up to 1 in every encoding", () => {
  const rttsMs = sampleRttsMs(400);
  for (const scheme of SCHEMES) {
    const { failedCode } = scheme;
    const codes = rttsMs.map((rttMs) => scheme.encode(rttMs));
    if (failedCode !== null) codes.push(...Array<bigint>(100).fill(failedCode));
    const bytes = new EmpiricalBytes(codes, scheme.numBytes);
    let total = failedCode === null ? 0 : codeMass(failedCode, bytes.path(failedCode));
    for (const code of COMMON_CODES) total += commonMass(scheme, bytes, code);
    assertAlmostEquals(total, 1, 1e-5, scheme.name);
  }
});

Deno.test("rangeMass() is the share of a sample that has the RTT code, as exactly as the encoding tells", () => {
  const rttsMs = sampleRttsMs(600);
  for (const scheme of SCHEMES) {
    const bytes = new EmpiricalBytes(rttsMs.map((rttMs) => scheme.encode(rttMs)), scheme.numBytes);
    for (const code of new Set(rttsMs.slice(0, 200).map(commonCode))) {
      const share = (from: number, to: number) =>
        rttsMs.filter((rttMs) => commonCode(rttMs) >= from && commonCode(rttMs) <= to).length / rttsMs.length;
      const mass = commonMass(scheme, bytes, code);
      const isExact = scheme.name === "float64" || scheme.name === "v2";
      if (isExact) assertAlmostEquals(mass, share(code, code), 1e-6, `${scheme.name}, code ${code}`);
      else if (rttCodeBounds(code).highMs * 1000 < CLIP_US) {
        // A code of another encoding may lie in the RTT codes on both sides, but in no further ones.
        const at = COMMON_CODES.indexOf(code);
        const around = share(COMMON_CODES[Math.max(0, at - 1)], COMMON_CODES[at + 1]);
        assert(mass > 0 && mass <= around + 1e-6, `${scheme.name}, code ${code}: ${mass} of ${around}`);
      }
    }
  }
});

Deno.test("rangeMass() shares codes that lie in several RTT codes evenly", () => {
  // 1.5 to 2.5 µs is half in the RTT code of 0 to 2 µs and half in that of 2 to 3 µs.
  const fixed = schemeOf("fixed");
  const twoUs = new EmpiricalBytes([fixed.encode(0.002)], 8);
  assertEquals([1, 2, 3].map((code) => commonMass(fixed, twoUs, code)), [0.5, 0.5, 0]);
  // A bucket of `log` around 1 ms is 0.32 µs wide: the RTT code of 1 to 1.001 ms has the mass of three of them and a bit.
  const log = schemeOf("log");
  const code = commonCode(1.0003);
  const one = new EmpiricalBytes([log.encode(1.0005)], 8);
  assertAlmostEquals(commonMass(log, one, code), 1, 1e-6);
  const { first, last } = log.rangeOf(code);
  assertAlmostEquals(Number(last - first) + 1, 0.001 / (2 * LOG_MAX_RELATIVE_ERROR), 2);
  // What is clipped is spread evenly over log RTT from the clip to 1000 s.
  const clipped = schemeOf("clipped");
  const longer = new EmpiricalBytes([clipped.encode(900)], 8);
  const from = (rttMs: number) =>
    [...COMMON_CODES].filter((code) => rttCodeBounds(code).lowMs >= rttMs)
      .reduce((sum, code) => sum + commonMass(clipped, longer, code), 0);
  assertAlmostEquals(from(290), 1, 1e-6);
  assertAlmostEquals(from(Math.sqrt(300 * 1e6)), 0.5, 1e-3);
});

Deno.test("nextOfQuantile() finds the median of a sample among its replies", () => {
  const rttsMs = sampleRttsMs(301).sort((a, b) => a - b);
  for (const scheme of SCHEMES) {
    const { failedCode, numBytes } = scheme;
    const codes = rttsMs.map((rttMs) => scheme.encode(rttMs));
    // Half as many again have no reply, which must not move the median.
    if (failedCode !== null) codes.push(...Array<bigint>(150).fill(failedCode));
    const bytes = new EmpiricalBytes(codes, numBytes);
    const failedPath = failedCode === null ? undefined : bytes.path(failedCode);
    for (const q of [0.25, 0.5, 0.75]) {
      let search: QuantileSearch = { prefix: 0n, numBytes: 0, rest: q };
      for (let i = 0; i < numBytes; i++) {
        const code = search.prefix << BigInt(8 * (numBytes - i));
        search = nextOfQuantile(search, bytes.path(code)[i], { scheme, failedPath });
      }
      const at = Math.floor(q * rttsMs.length);
      // Off by one place of the sample where rounding decides.
      const places = [at - 1, at, at + 1].map((i) => scheme.encode(rttsMs[i]));
      assert(places.includes(search.prefix), `${scheme.name}, ${q}: ${search.prefix}, not of ${places}`);
    }
  }
});
