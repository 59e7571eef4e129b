/** Following the advice that `import` prints on an input makes that input readable. @module */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { UserError } from "../../lib/base/errors.ts";
import { convertArguments, splitArguments } from "../../lib/cli/options.ts";
import { readingOf } from "../../tasks/reading.ts";
import { STAGES } from "../../tasks/stages.ts";
import { importInto } from "../data/import/imported.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

const HOST = "198.51.100.7";
const SRC = ["--src", "192.0.2.10"];
const REPLY = `64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=34.1 ms\n`;
const row = (values: string) => `src,dst,time,rtt\n192.0.2.10,${HOST},1767225600,34.1\n${values}\n`;

interface Case {
  text: string;
  given?: string[];
  advice: RegExp;
  /** The arguments after following the advice; rows and lost rows that they read. */
  then: string[];
  reads: [rows: number, lost: number];
}

const CASES: Record<string, Case> = {
  "a source that is missing from a table": {
    text: `dst,time,rtt\n${HOST},1767225600,34.1\n`,
    advice: /--src ADDRESS/,
    then: SRC,
    reads: [1, 0],
  },
  "a source that is missing from ping": {
    text: `[1767225600.1] ${REPLY}`,
    advice: /give it with --src ADDRESS/,
    then: SRC,
    reads: [1, 0],
  },
  "a destination that is missing from a text": {
    text: "[1767225600.1] Request timeout for icmp_seq 0\n",
    given: SRC,
    advice: /give it with --dst ADDRESS/,
    then: [...SRC, "--dst", HOST],
    reads: [1, 1],
  },
  "times that are missing from ping": {
    text: REPLY,
    given: SRC,
    advice: /--start TIME and --interval SECONDS/,
    then: [...SRC, "--start", "2026-01-01"],
    reads: [1, 0],
  },
  "an unknown name of a column": {
    text: `from,to,time,ms_avg\n192.0.2.10,${HOST},1767225600,34.1\n`,
    advice: /such as --columns .*rtt=RTT/,
    then: ["--columns", "src=from,dst=to,rtt=ms_avg"],
    reads: [1, 0],
  },
  "zeros": {
    text: row(`192.0.2.10,${HOST},1767225660,0`),
    advice: /--no-reply 0/,
    then: ["--no-reply", "0"],
    reads: [2, 1],
  },
  "a word instead of an RTT": {
    text: row(`192.0.2.10,${HOST},1767225660,unavailable`),
    advice: /--no-reply unavailable/,
    then: ["--no-reply", "unavailable"],
    reads: [2, 1],
  },
  "a name instead of an address": {
    text: row(`192.0.2.10,web.example,1767225660,34.2`),
    advice: /--names FILES/,
    then: ["--names", "names.csv"],
    reads: [2, 0],
  },
  "times in milliseconds": {
    text: `src,dst,when,rtt\n192.0.2.10,${HOST},1767225600000,34.1\n`,
    given: ["--columns", "time=when"],
    advice: /--columns time_ms=NAME/,
    then: ["--columns", "time_ms=when"],
    reads: [1, 0],
  },
  "a zone with several meanings": {
    text: `2026-01-01 05:30:00 IST 64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=34.1 ms\n`,
    given: SRC,
    advice: /--zone Asia\/Kolkata/,
    then: [...SRC, "--zone", "Asia/Kolkata"],
    reads: [1, 0],
  },
  "a destination of one IP version for both": {
    text: `src,time,rtt\n192.0.2.10,1767225600,34.1\n2001:db8::1,1767225660,34.2\n`,
    given: ["--dst", HOST],
    advice: /--dst one address of each IP version/,
    then: ["--dst", `${HOST},2001:db8::7`],
    reads: [2, 0],
  },
};

async function imported(folder: TemporaryFolder, args: readonly string[]) {
  const given = args.map((word) => word === "names.csv" ? folder.at(word) : word);
  const all = ["--input", folder.at("in.txt"), "--output", folder.at("out.parquet"), ...given];
  const options = convertArguments(splitArguments(all, STAGES.import.options), STAGES.import.options);
  return await importInto(folder.path, [folder.at("in.txt")], await readingOf(options));
}

for (const [name, { text, given = [], advice, then, reads }] of Object.entries(CASES)) {
  Deno.test(`following the advice reads ${name}`, async () => {
    using folder = new TemporaryFolder();
    Deno.writeTextFileSync(folder.at("in.txt"), text);
    Deno.writeTextFileSync(folder.at("names.csv"), `${HOST},web.example\n`);
    const { message } = await assertRejects(() => imported(folder, given), UserError);
    assertMatch(message, advice);
    const { rows, failed, rejected } = await imported(folder, then);
    assertEquals([rows, failed, rejected], [...reads, {}]);
  });
}

Deno.test("an option that was given is not advised", async () => {
  using folder = new TemporaryFolder();
  const cases: [text: string, given: string[], advice: RegExp][] = [
    [JSON.stringify({ a: 1 }), ["--columns", "rtt=a,time=b"], /name the fields with --columns/],
    [`dst,time,rtt\nweb,1767225600,34.1\n`, SRC, /--src ADDRESS/],
    [row(`192.0.2.10,${HOST},1767225660,0`), ["--no-reply", "9"], /--no-reply 9/],
  ];
  for (const [text, given, advice] of cases) {
    Deno.writeTextFileSync(folder.at("in.txt"), text);
    const { message } = await assertRejects(() => imported(folder, given), UserError);
    assert(!advice.test(message), message);
  }
});
