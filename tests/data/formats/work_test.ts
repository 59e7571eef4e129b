// deno-lint-ignore-file no-explicit-any
/**
 * Reading takes work in proportion to the text, however its bytes arrive. Work is counted as the characters and
 * bytes that are given to string methods, regular expressions, decoders and copies, not as time.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { type ReadingOptions, USUAL_READING } from "../../../lib/data/formats/format.ts";
import { type Found, MeasurementReader } from "../../../lib/data/formats/reader.ts";

const SOURCE = "192.0.2.77";
const OPTIONS: ReadingOptions = { ...USUAL_READING, src: [SOURCE], dst: ["198.51.100.7"] };

let work = 0;

type Method = (this: unknown, ...values: unknown[]) => unknown;

/** Counts the work of a method until the returned function is called. */
function count(
  owner: any,
  name: PropertyKey,
  size: (self: any, values: any[], result: any) => number,
): () => void {
  const original: Method = owner[name];
  const counted: Method = function (...values) {
    const from = this instanceof RegExp && (this.global || this.sticky) ? this.lastIndex : 0;
    const result = original.apply(this, values);
    work += Math.max(1, size(this, values, result) - from);
    return result;
  };
  Object.defineProperty(owner, name, { value: counted, configurable: true, writable: true });
  return () => Object.defineProperty(owner, name, { value: original, configurable: true, writable: true });
}

/** Runs a function and returns its result with the work that it took. */
function workOf<Result>(run: () => Result): { result: Result; work: number } {
  const bytesPrototype = Object.getPrototypeOf(Uint8Array.prototype);
  // A search ends at what it finds.
  const searched = (self: { length: number }, [, from = 0]: [unknown, number?], at: number) =>
    (at < 0 ? self.length : at + 1) - Math.min(self.length, from);
  const undo = [
    count(RegExp.prototype, "exec", ({ lastIndex, global, sticky }, [text], match) => {
      if (global || sticky) return match ? lastIndex : sticky ? 1 : String(text).length;
      return String(text).length;
    }),
    count(RegExp.prototype, "test", (_, [text]) => String(text).length),
    ...["split", "replace", "replaceAll", "match", "matchAll", "search", "trim", "trimStart", "toLowerCase"]
      .map((name) => count(String.prototype, name, (self) => self.length)),
    count(String.prototype, "indexOf", (self, values, at) => searched(self, values as [unknown], at)),
    count(String.prototype, "includes", (self, _, isFound) => isFound ? 0 : self.length),
    count(bytesPrototype, "indexOf", (self, values, at) => searched(self, values as [unknown], at)),
    count(TextDecoder.prototype, "decode", (_, [bytes]) => bytes?.byteLength ?? 0),
    count(TextEncoder.prototype, "encode", (_, [text]) => text?.length ?? 0),
    count(bytesPrototype, "set", (_, [bytes]) => bytes.length),
    count(bytesPrototype, "slice", (self, [from = 0, to = self.length]) => to - from),
    count(JSON, "parse", (_, [text]) => text.length),
  ];
  work = 0;
  try {
    return { result: run(), work };
  } finally {
    for (const each of undo) each();
  }
}

/** The findings, or the error that ended the reading. */
function read(bytes: Uint8Array, size: number): Found[] | string {
  const found: Found[] = [];
  const reader = new MeasurementReader("in", OPTIONS, (finding, line) => found.push({ finding, line }));
  try {
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    reader.end();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    // The excerpt in an error shows the bytes that have arrived.
    return error.message.replace(/ \(found ".*"\)/, "");
  }
  return found;
}

const ATLAS = '{"type":"ping","msm_id":1,"prb_id":2,"timestamp":1767225600,"from":"193.0.0.1",' +
  '"dst_addr":"198.51.100.7","sent":1,"rcvd":1,"result":[{"rtt":5}]}\n';
const HEADER = "src,dst,time,rtt\n";
const ROW = "192.0.2.1,198.51.100.7,1767225600,5\n";
const PING = "PING 198.51.100.7 (198.51.100.7) 56(84) bytes of data.\n";

/** A text that grows with n, by name. */
const TEXTS: Record<string, (n: number) => string> = {
  "newlines": (n) => "\n".repeat(n),
  "newlines before a table": (n) => "\n".repeat(n) + HEADER + ROW,
  "blanks before JSON": (n) => " \n".repeat(n / 2) + ATLAS,
  "Atlas lines": (n) => ATLAS.repeat(n / ATLAS.length),
  "an Atlas list without newlines": (n) =>
    `[${ATLAS.trim()},`.slice(0, 1) + Array(Math.ceil(n / ATLAS.length)).fill(ATLAS.trim()).join(",") + "]",
  "one long object": (n) => `{"type":"ping","note":"${"x".repeat(n)}"}`,
  "an object that does not end": (n) => `{"a":[${"1,".repeat(n / 2)}`,
  "quotes in an object": (n) => `{"a":${'"'.repeat(n)}}\n`,
  "escaped quotes and NaN": (n) => `{"a":NaN,"b":"${'\\"'.repeat(n / 2)}"}\n`,
  "nested lists in an object": (n) => `{"a":${"[".repeat(n / 2)}${"]".repeat(n / 2)}}\n`,
  "lines of braces": (n) => "{\n".repeat(n / 2),
  "damaged lines": (n) => '{"a":\n'.repeat(n / 6),
  "table rows": (n) => HEADER + ROW.repeat(n / ROW.length),
  "ping lines": (n) =>
    PING +
    Array.from({ length: n / 60 }, (_, i) =>
      `64 bytes from 198.51.100.7: icmp_seq=${i + 1} ttl=57 time=5.0 ms\n`).join(""),
  "unknown lines": (n) => "hello world\n".repeat(n / 12),
  "one line of letters": (n) => "a".repeat(n),
  ...Object.fromEntries(
    [":", "%a", "[", "(", '"', "1", " ", ",", "-", "a.", "/", "=", "\t", "\r"].flatMap((part) => [
      [`a line of ${JSON.stringify(part)}`, (n: number) => `x:${part.repeat(n / part.length)}\n`],
      [
        `a cell of ${JSON.stringify(part)}`,
        (n: number) =>
          `${HEADER}192.0.2.1,"x:${part === '"' ? "" : part.repeat(n / part.length)}",1767225600,5\n`,
      ],
      [
        `a header of ${JSON.stringify(part)}`,
        (n: number) => `src,dst,time,"rtt${part === '"' ? "" : part.repeat(n / part.length)}"\n${ROW}`,
      ],
      [
        `a line of ping with ${JSON.stringify(part)}`,
        (n: number) => `${PING}64 bytes ${part.repeat(n / part.length)}\n`,
      ],
    ]),
  ),
};

/** Characters of the smaller text: above all heads and lines that are examined as a whole. */
const LENGTH = 1 << 18;

Deno.test("twice the text takes at most twice the work", () => {
  for (const [name, make] of Object.entries(TEXTS)) {
    const encoder = new TextEncoder();
    for (const size of [4096, 1 << 16]) {
      const [once, twice] = [LENGTH, 2 * LENGTH].map((n) => {
        const bytes = encoder.encode(make(n));
        return workOf(() => read(bytes, size)).work;
      });
      assert(twice <= 2.2 * once + 1000, `${name} in chunks of ${size}: ${once} steps, then ${twice}`);
      assert(once < 200 * LENGTH, `${name} in chunks of ${size}: ${once} steps for ${LENGTH} characters`);
    }
  }
});

Deno.test("twice the text takes at most twice the work if its bytes arrive one by one", () => {
  const encoder = new TextEncoder();
  for (const [name, make] of Object.entries(TEXTS)) {
    const [once, twice] = [1 << 13, 1 << 14].map((n) => {
      const bytes = encoder.encode(make(n));
      return workOf(() => read(bytes, 1)).work;
    });
    assert(twice <= 2.2 * once + 1000, `${name}: ${once} steps, then ${twice}`);
  }
});

/** How often one match may go back: less than once for each character of the longest line. */
const MAX_BACKTRACKS = 1 << 14;

Deno.test("no regular expression backtracks without bound", async () => {
  // V8 reports matches that it gives to its linear engine after so many backtracks.
  const flags = [
    "--enable-experimental-regexp-engine-on-excessive-backtracks",
    `--regexp-backtracks-before-fallback=${MAX_BACKTRACKS}`,
    "--trace-experimental-regexp-engine",
  ];
  const run = async (command: string, ...args: string[]) => {
    const options = { args: [command, `--v8-flags=${flags.join(",")}`, ...args] };
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), options).output();
    return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  };
  const reported = "Experimental execution";
  const bad = 'console.log(/^(a+)+$/.test("a".repeat(40) + "b"))';
  assertStringIncludes(await run("eval", bad), reported);
  const path = new URL(import.meta.url).pathname;
  const text = await run("test", "--no-check", "--no-prompt", "--allow-read", "--filter=/^twice /", path);
  assertMatch(text, /3 passed/);
  assert(!text.includes(reported), text);
});

Deno.test("findings do not depend on how the bytes arrive", () => {
  const greeting = "Pinging 3 hosts every 60 s, see the manual\n";
  const texts = { ...TEXTS, "a greeting before a table": (_: number) => greeting + HEADER + ROW.repeat(20) };
  for (const [name, make] of Object.entries(texts)) {
    const bytes = new TextEncoder().encode(make(3000));
    const whole = read(bytes, bytes.length || 1);
    for (const size of [1, 7, 4096]) assertEquals(read(bytes, size), whole, `${name} by ${size}`);
  }
  assertEquals(read(new TextEncoder().encode(greeting + HEADER + ROW.repeat(20)), 1).length, 20);
});

/** Changes bytes of a sample at random. */
function* mutated(sample: Uint8Array<ArrayBuffer>, random: () => number): Generator<Uint8Array> {
  const odd = new TextEncoder().encode(':\n"[]{}(), %-\\\t\r0');
  for (let i = 0; i < 4; i++) {
    const bytes = sample.slice(0, 4000);
    for (let at = 0; at < bytes.length; at++) {
      if (random() < 0.01) bytes[at] = odd[Math.floor(random() * odd.length)];
    }
    yield bytes;
  }
}

/** Mutated samples of each format, with the names of their files. */
function* mutatedSamples(): Generator<{ name: string; bytes: Uint8Array }> {
  let seed = 54;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const folder = new URL("./", import.meta.url);
  for (const { name } of Deno.readDirSync(folder)) {
    if (/\.(?:ts|md)$/.test(name)) continue;
    for (const bytes of mutated(Deno.readFileSync(new URL(name, folder)), random)) yield { name, bytes };
  }
}

Deno.test("mutated samples of each format have the same findings however they arrive", () => {
  for (const { name, bytes } of mutatedSamples()) {
    const whole = read(bytes, bytes.length);
    for (const size of [1, 7]) {
      assertEquals(read(bytes, size), whole, `${name} by ${size}: ${new TextDecoder().decode(bytes)}`);
    }
  }
});

Deno.test("twice a mutated sample of each format takes at most twice the work", () => {
  for (const { name, bytes } of mutatedSamples()) {
    const [once, twice] = [1 << 16, 1 << 17].map((length) => {
      const repeated = new Uint8Array(length).map((_, at) => bytes[at % bytes.length]);
      return workOf(() => read(repeated, 4096)).work;
    });
    assert(twice <= 2.2 * once + 1000, `${name}: ${once} steps, then ${twice}`);
  }
});
