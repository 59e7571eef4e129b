import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { csvField, csvText } from "../../../lib/base/text.ts";
import { readCsv } from "../../../lib/io/text/csv.ts";
import { AddressNames, namesCsv } from "../../../lib/data/addresses/address_names.ts";
import { formatAddress } from "../../../lib/data/addresses/ip.ts";
import {
  formatPrefix,
  parsePrefix,
  prefixContains,
  prefixOfAddress,
} from "../../../lib/data/addresses/ip_prefix.ts";
import { FormatError } from "../../../lib/base/errors.ts";

function namesOf(...files: string[]): AddressNames {
  const names = new AddressNames();
  for (const text of files) names.add(new TextEncoder().encode(text), "names.csv");
  return names;
}

const CSV = `address,name
8.8.8.8,dns.google
8.8.8.0/24,"Google, public DNS"
10.2.3.4/8,lab
2001:DB8::/32,documentation
`;

Deno.test("an address is named by its longest matching prefix", () => {
  const names = namesOf(CSV);
  assertEquals(names.size, 4);
  for (
    const [text, name] of [
      ["8.8.8.8", "dns.google"],
      ["8.8.8.8/32", "dns.google"],
      ["8.8.8.9", "Google, public DNS"],
      ["8.8.8.0/25", "Google, public DNS"],
      ["8.8.0.0/16", undefined],
      ["10.9.9.9", "lab"],
      ["2001:db8::7", "documentation"],
      ["2001:db9::7", undefined],
      ["Berlin, DE", undefined],
    ]
  ) assertEquals(names.of(String(text)), name, text);
  assertEquals(names.shown("8.8.8.8"), "8.8.8.8 (dns.google)");
  assertEquals(names.shown("Berlin, DE"), "Berlin, DE");
});

Deno.test("longest-prefix matching agrees with a comparison of all prefixes", () => {
  const bytes = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((all) => all.map((byte) => byte & 3));
  const prefixes = fc.array(fc.tuple(bytes, fc.integer({ min: 0, max: 32 })), { maxLength: 30 });
  fc.assert(fc.property(prefixes, bytes, (given, address) => {
    const all = [...new Set(given.map(([bytes, length]) => formatPrefix(prefixOfAddress(bytes, length))))];
    const names = namesOf(all.map((text, i) => `${text},n${i}\n`).join(""));
    const around = all.map((text, i) => ({ prefix: parsePrefix(text), name: `n${i}` }))
      .filter(({ prefix }) => prefixContains(prefix, address))
      .sort((a, b) => b.prefix.length - a.prefix.length);
    assertEquals(names.of(formatAddress(address)), around[0]?.name);
  }));
});

Deno.test("later files and lines override earlier ones, and a header is optional", () => {
  const names = namesOf(
    "192.0.2.1,old\n192.0.2.2,kept",
    "\ufeffPrefix,Label\n192.0.2.1,new\n192.0.2.1,newest\n",
  );
  assertEquals([...names.entries()], [["192.0.2.1", "newest"], ["192.0.2.2", "kept"]]);
});

Deno.test("a file of names allows commas, semicolons or tabs, an optional header, comments and a UTF-8 byte order mark", () => {
  const expected: [string, string][] = [
    ["192.0.2.1", "Lab, Z\u00fcrich; rack #3"],
    ["2001:db8::/32", "host alias"],
  ];
  const quoted = '"Lab, Z\u00fcrich; rack #3"';
  for (const separator of [",", ";", "\t", " ; "]) {
    const name = separator === "," ? quoted : separator === "\t" ? quoted.slice(1, -1) : quoted;
    const lines = [`192.0.2.1${separator}${name}`, `"2001:DB8::/32"${separator}host alias`];
    for (const header of [[], [`address${separator}name`]]) {
      const text = ["# don't, \"", "", ...header, lines[0], '  # "a;b\tc', " ", lines[1], "#end"];
      for (const end of ["\n", "\r\n"]) {
        assertEquals([...namesOf(`\ufeff${text.join(end)}`).entries()], expected, text.join(end));
      }
    }
  }
});

Deno.test("a hosts file names addresses, and its aliases resolve to them", () => {
  const hosts = `\ufeff# Static names, "as usual"
127.0.0.1 localhost
::1       localhost ip6-localhost # loopback; both
fe80::1%lo0 link
192.0.2.1 router # edge, old
192.0.2.7  Web.example.org   web www#alias
`;
  const expected: [string, string][] = [
    ["127.0.0.1", "localhost"],
    ["::1", "localhost"],
    ["fe80::1", "link"],
    ["192.0.2.1", "router"],
    ["192.0.2.7", "Web.example.org"],
  ];
  for (const text of [hosts, hosts.replaceAll(/^(\S+) +/gm, "$1\t").replaceAll(/ {2,}/g, "\t")]) {
    const names = namesOf(text.replaceAll("#\t", "# "));
    assertEquals([...names.entries()], expected);
    const found = ["WWW", "web", "web.example.org", "ip6-localhost", "localhost", "alias", "old"]
      .map((name) => names.addressOf(name));
    assertEquals(found, ["192.0.2.7", "192.0.2.7", "192.0.2.7", "::1", "127.0.0.1", undefined, undefined]);
  }
  assertEquals([...namesOf("192.0.2.1 name alias # comment").entries()], [["192.0.2.1", "name"]]);
  const tabs = namesOf("192.0.2.1\tweb.example.org web\n192.0.2.2\tdb\n");
  assertEquals([tabs.of("192.0.2.1"), tabs.addressOf("web")], ["web.example.org", "192.0.2.1"]);
  assertThrows(() => namesOf("192.0.2.1 a\n\nhost 192.0.2.2\n"), FormatError, 'at line 3: found "host"');
});

Deno.test("addressOf() finds the first address of a name in any letter case, and none for a prefix", () => {
  const names = namesOf(
    "2001:DB8:0::1,Host.Example\n192.0.2.1,host.example\n192.0.2.0/24,lab\n192.0.2.2/32,old",
    "192.0.2.2,new",
  );
  assertEquals(names.addressOf("HOST.example"), "2001:db8::1");
  assertEquals(names.addressOf("lab"), undefined);
  assertEquals(names.addressOf("unknown"), undefined);
  assertEquals(
    structuredClone(names.addressesByName()),
    new Map([["host.example", "2001:db8::1"], ["old", "192.0.2.2"], ["new", "192.0.2.2"]]),
  );
});

Deno.test("search() finds names by their start, by a word and despite a typo", () => {
  const names = namesOf("8.8.8.8,dns.google\n8.8.4.4,dns.google\n1.1.1.1,one.one.one.one\n9.9.9.9,Quad9\n");
  assertEquals(names.search("dns", 5).map(({ prefix }) => prefix), ["8.8.8.8", "8.8.4.4"]);
  assertEquals(names.search("GOOGLE", 1), [{ prefix: "8.8.8.8", name: "dns.google" }]);
  assertEquals(names.search("qaud9", 5), [{ prefix: "9.9.9.9", name: "Quad9" }]);
  assertEquals(names.search(" ", 5), []);
});

Deno.test("an invalid line is a one-line error with its file and line number", () => {
  for (
    const [line, found] of [
      ["8.8.8.300,dns", '"8.8.8.300"'],
      ["dns.google,8.8.8.8", '"dns.google"'],
      ["8.8.8.8", "1 value;"],
      ["8.8.8.8,dns,google", "3 values;"],
      ["8.8.8.8,", "the name is missing"],
      ["8.8.8.8,a\u001b[2Jb", "a name with control characters"],
      [`8.8.8.8,${"x".repeat(256)}`, "a name of 256 characters"],
      [`8.8.8.8,"x`, "an unclosed quote"],
    ]
  ) {
    const error = assertThrows(() => namesOf(`address,name\n9.9.9.9,first\n\n${line}\n`), FormatError, found);
    assertEquals(error.message.split("\n").length, 1);
    assertEquals(error.message.startsWith("Cannot read names.csv at line 4: "), true, error.message);
  }
});

Deno.test("names that a spreadsheet would evaluate are written as text and read back", () => {
  const formulas = ["=1+1", "+1", "-1", "@a", '=HYPERLINK("http://example.com","x")', "=a, b"];
  const texts = [...formulas, "'=1", "''@", "'a", "a=b"];
  const names = texts.map((name, i) => [`192.0.2.${i}`, name] as const);
  const text = namesCsv(names);
  assertEquals(text.split("\n")[1], "192.0.2.0,'=1+1");
  assertEquals(text.match(/,"?[=+\-@]/g), null);
  const read = namesOf(text);
  for (const [address, name] of names) assertEquals(read.of(address), name);
  for (const field of ["\t=1", "\r=1"]) {
    const [{ fields }] = readCsv(`"${csvField(field).replaceAll('"', "")}"`) as { fields: string[] }[];
    assertEquals([fields[0][0], csvText(fields[0])], ["'", field]);
  }
});
