/** Names next to addresses in the answers of stages. Runs the commands of lib/query/README.md as written. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { refused, runStageProcess, succeed } from "../cli/process.ts";
import { withRowCheckpoint } from "./adapt/row_checkpoint.ts";
import { tinyPlacedModel } from "./adapt/tiny_rows.ts";
import { withCheckpoint } from "./tiny_checkpoint.ts";

const SECTION = Deno.readTextFileSync(new URL("../../lib/query/README.md", import.meta.url))
  .split("\n## Names\n")[1].split("\n## ")[0];
const [, NAMES] = /```csv\n([^]*?)```/.exec(SECTION) ?? [];
const [, COMMANDS] = /```sh\n([^]*?)```/.exec(SECTION) ?? [];
const CANDIDATES = "198.51.100.7\n203.0.113.5\n";

Deno.test("the example of lib/query/README.md shows names in text and in JSON", () =>
  withCheckpoint(async (folder, checkpoint) => {
    Deno.writeTextFileSync(join(folder, "names.csv"), NAMES);
    Deno.writeTextFileSync(join(folder, "servers.txt"), CANDIDATES);
    const commands = COMMANDS.trim().split("\n").map((line) =>
      line.replace("runs/first", checkpoint).replace(/\w+\.(csv|txt)/g, (name) => join(folder, name))
        .split(" ").slice(2)
    );
    assertEquals(commands.map(([stage, kind]) => `${stage} ${kind}`), ["query nearest", "query rtt"]);
    for (const [number, args] of commands.entries()) {
      const { stdout } = await succeed(...args);
      assertStringIncludes(stdout, "198.51.100.7 (Example, Frankfurt)");
      assert(number === 0 || stdout.startsWith("RTT 192.0.2.1 (probe 6001) -> 198.51"), stdout);
      const answer = JSON.parse((await succeed(...args, "--json")).stdout);
      assertEquals(answer.src_name, "probe 6001");
      if (number === 1) assertEquals(answer.dst_name, "Example, Frankfurt");
      else {
        const names = answer.nearest.map(({ candidate, name }: Record<string, string>) => [candidate, name]);
        assertEquals(names.sort(), [["198.51.100.7", "Example, Frankfurt"], ["203.0.113.5", undefined]]);
      }
    }
  }));

Deno.test("query destinations, rtt --queries, sample and map show names, and a bad names file is refused", async () =>
  await withRowCheckpoint(async (at) => {
    Deno.writeTextFileSync(at("names.csv"), `${NAMES}0.0.0.0/0,all`);
    Deno.writeTextFileSync(at("queries.csv"), "src,dst\nProbe 6001,198.51.100.7\n");
    Deno.writeTextFileSync(at("nodes.txt"), "probe 6001\n198.51.100.7\n");
    Deno.writeTextFileSync(at("context.csv"), "src,dst,rtt\nprobe 6001,198.51.100.7,40\n");
    const run = async (kind: string, ...more: string[]) => {
      const args = ["--checkpoint", at("run"), "--names", at("names.csv"), ...more];
      return (await succeed("query", kind, ...args)).stdout;
    };
    Deno.writeTextFileSync(at("clients.csv"), "src,weight\nprobe 6001,3\n198.51.100.9,1\n");
    const sites = [
      "--sources",
      at("clients.csv"),
      "--candidates",
      at("nodes.txt"),
      "--best",
      "2",
      "--output",
    ];
    const found = JSON.parse(await run("nearest", ...sites, at("s.csv"), "--json"));
    assertEquals([found.sources, found.candidates, found.best.length], [2, 2, 2]);
    const [own] = found.nearest;
    assertEquals([own.candidate, own.name], ["192.0.2.1", "probe 6001"]);
    const [, { candidates, shares }] = found.best;
    assert(shares[candidates.indexOf("192.0.2.1")] >= 0.75, "a client uses its own address, by its weight");
    const [head, first] = Deno.readTextFileSync(at("s.csv")).split("\n");
    assert(head.startsWith("candidate,name,median_ms,") && head.endsWith(",basis,choice"), head);
    assert(first.startsWith(`192.0.2.1,probe 6001,${own.median_ms},`), first);
    await run("nearest", ...sites, at("s.svg"));
    const text = await run("nearest", ...sites, at("s.svg"));
    assertMatch(text, /^192\.0\.2\.1 \(probe 6001\) .* 1 of 2 measured$/m);
    assertMatch(text, /^ +1 {2}192\.0\.2\.1 \(probe 6001\) .* from .* 0 ms$/m);
    const picture = Deno.readTextFileSync(at("s.svg"));
    assert(picture.startsWith("<svg") && picture.includes("number of candidates"));
    const asked = ["--src", "probe 6001", "--rtt", "1..900", "--max-expansions", "4", "--prefix-length", "2"];
    const { src, src_name, destinations } = JSON.parse(await run("destinations", ...asked, "--json"));
    assertEquals([src, src_name, destinations[0].name], ["192.0.2.1", "probe 6001", "all"]);
    assertMatch(await run("destinations", ...asked), /^\d+\.0\.0\.0\/2 \(all\) /m);
    const line = JSON.parse(await run("rtt", "--queries", at("queries.csv")));
    assertEquals([line.src, line.src_name, line.dst_name], ["192.0.2.1", "probe 6001", "Example, Frankfurt"]);
    const question = [
      "--src",
      "probe 6001",
      "--dst",
      "198.51.100.7",
      "--context",
      at("context.csv"),
      "--json",
    ];
    const answer = JSON.parse(await run("rtt", ...question));
    assertEquals([answer.src, answer.src_name, answer.context_measurements], ["192.0.2.1", "probe 6001", 1]);
    await run("matrix", "--nodes", at("nodes.txt"), "--output", at("matrix.csv"));
    assertMatch(Deno.readTextFileSync(at("matrix.csv")), /^192\.0\.2\.1,198\.51\.100\.7,probe 6001,/m);
    const drawn = JSON.parse(await run("sample", "--count", "1", "--src", "probe 6001"));
    assertEquals([drawn.src_name, drawn.dst_name], ["probe 6001", "all"]);
    await run("map", "--src", "probe 6001", "--output", at("map.svg"));
    assertStringIncludes(Deno.readTextFileSync(at("map.svg")), "Median RTT from 192.0.2.1 (probe 6001)");

    Deno.writeTextFileSync(at("names.csv"), "address,name\n192.0.2.1;probe\n");
    const args = ["query", "rtt", "--checkpoint", at("run"), "--src", "192.0.2.1", "--dst", "198.51.100.7"];
    const fault = `Cannot read ${at("names.csv")} at line 2: found 1 value; expected an address or prefix`;
    await refused(runStageProcess([...args, "--names", at("names.csv")]), 1, fault);
  }, await tinyPlacedModel()));
