import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { refused, runStageProcess, succeed } from "../../cli/process.ts";
import { compressors } from "hyparquet-compressors";
import { ParquetFile } from "../../../lib/io/parquet/file.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";

const NODES = ["192.0.2.1", "198.51.100.7", "203.0.113.5"];
const PAIRS = NODES.flatMap((src) => NODES.filter((dst) => dst !== src).map((dst) => [src, dst]));

/**
 * Parses a graph as the simulator Shadow does: one attribute per line, ids are whole numbers, a latency is a
 * string of a positive whole number and a unit, a packet loss has a decimal point
 * (https://shadow.github.io/docs/guide/network_graph_spec.html).
 */
function parseShadowGraph(text: string) {
  const node = / {2}node \[\n {4}id (\d+)\n {4}label "([^"]*)"\n {2}\]\n/g;
  const latency = / {4}latency "([1-9]\d*) us"\n {4}packet_loss ([01]\.\d+)\n/.source;
  const edge = new RegExp(`  edge \\[\\n    source (\\d+)\\n    target (\\d+)\\n${latency}  \\]\\n`, "g");
  assertEquals(text.replace(node, "").replace(edge, ""), "graph [\n  directed 1\n]\n");
  return {
    nodes: [...text.matchAll(node)].map(([, id, label]) => ({ id: Number(id), label })),
    edges: [...text.matchAll(edge)].map((found) => {
      const [source, target, latencyUs, packetLoss] = found.slice(1).map(Number);
      return { source, target, latencyMs: latencyUs / 1000, packetLoss };
    }),
  };
}

/** The numbers of `query rtt` for pairs, in order. */
async function answersOf(folder: string, checkpoint: string, pairs: readonly string[][]) {
  const queries = join(folder, "queries.csv");
  Deno.writeTextFileSync(queries, ["src,dst", ...pairs].join("\n"));
  const args = ["query", "rtt", "--checkpoint", checkpoint, "--queries", queries, "--quantiles", "0.1,0.5"];
  const { stdout } = await runStageProcess(args);
  return stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("query matrix writes query rtt's answer for each pair as a Shadow graph", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const nodes = join(folder, "nodes.txt");
    Deno.writeTextFileSync(nodes, NODES.join("\n"));
    const answers = await answersOf(folder, checkpoint, PAIRS);
    const args = ["query", "matrix", "--checkpoint", checkpoint, "--nodes", nodes, "--output"];
    const gml = join(folder, "m.gml");
    const { stdout } = await succeed(...args, gml, "--json");
    assertEquals(JSON.parse(stdout).num_pairs, PAIRS.length);
    const text = Deno.readTextFileSync(gml);
    const { nodes: parsed, edges } = parseShadowGraph(text);
    assertEquals(parsed, NODES.map((label, id) => ({ id, label })));
    const key = ({ source, target }: { source: number; target: number }) =>
      `${NODES[source]} ${NODES[target]}`;
    // One edge per ordered pair, including self-loops, which Shadow needs without shortest paths.
    assertEquals(edges.length, 9);
    assertEquals(new Set(edges.map(key)).size, 9);
    PAIRS.forEach((pair, i) => {
      const { latencyMs = NaN, packetLoss = NaN } = edges.find((edge) => key(edge) === pair.join(" ")) ?? {};
      assertEquals(latencyMs, Math.round(answers[i].quantiles_ms[0.5] * 500) / 1000);
      assert(Math.abs(1 - (1 - packetLoss) ** 2 - answers[i].p_failed) < 1e-5);
    });
  }));

Deno.test("query matrix accepts other destinations and refuses invalid input with a one-line error", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const [nodes, destinations, output] = ["n.txt", "d.csv", "m.csv"].map((name) => join(folder, name));
    Deno.writeTextFileSync(nodes, "192.0.2.1\n198.51.100.7\n");
    Deno.writeTextFileSync(destinations, "dst\n203.0.113.0/24\n192.0.2.1\n");
    const args = ["query", "matrix", "--checkpoint", checkpoint, "--nodes", nodes];
    const other = [...args, "--destinations", destinations, "--draws", "3"];
    await succeed(...other, "--output", output);
    const pairs = Deno.readTextFileSync(output).trimEnd().split("\n").slice(1)
      .map((line) => line.split(",").slice(0, 2).join(" "));
    assertEquals(pairs, [
      "192.0.2.1 203.0.113.0/24",
      "198.51.100.7 203.0.113.0/24",
      "198.51.100.7 192.0.2.1",
    ]);
    const refusals: [string[], number, string][] = [
      [[...other, "--output", join(folder, "m.gml")], 2, "--destinations"],
      [[...args, "--output", join(folder, "m.txt")], 2, "ends with one of .csv, .gml, .json, .parquet"],
      [[...other, "--quantiles", "0.5", "--output", output], 1, "add --overwrite"],
    ];
    for (const [wrong, exitCode, message] of refusals) {
      await refused(runStageProcess(wrong), exitCode, message);
    }
    Deno.writeTextFileSync(nodes, "192.0.2.1\n2001:db8::1\n");
    await refused(
      runStageProcess([...args, "--output", join(folder, "mixed.csv")]),
      1,
      "192.0.2.1 to 2001:db8::1: ",
    );
    Deno.writeTextFileSync(nodes, "192.0.2.1\n192.0.2.1/32\n");
    await refused(
      runStageProcess([...args, "--output", join(folder, "twice.csv")]),
      1,
      "line 2: 192.0.2.1/32 is given twice",
    );
  }));

/** The columns of a Parquet file by name. */
async function columnsOf(path: string): Promise<Map<string, unknown[]>> {
  const { parquetReadObjects, asyncBufferFromFile } = await import("hyparquet");
  using own = await ParquetFile.open(path);
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });
  return new Map(own.columnNames.map((name) => [name, rows.map((row) => row[name])]));
}

Deno.test("query matrix writes the same to Parquet, JSON and CSV, with samples by pair and seed", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const [nodes, fewer] = ["nodes.txt", "fewer.txt"].map((name) => join(folder, name));
    Deno.writeTextFileSync(nodes, NODES.join("\n"));
    Deno.writeTextFileSync(fewer, NODES.slice(1).toReversed().join("\n"));
    const run = async (name: string, list: string, seed: number) => {
      const output = join(folder, name);
      const asked = ["--checkpoint", checkpoint, "--nodes", list, "--quantiles", "0.9"];
      const samples = ["--samples", "40", "--seed", String(seed)];
      await succeed(...["query", "matrix", ...asked, ...samples, "--output", output]);
      return output;
    };
    const csvOf = async (...args: Parameters<typeof run>) => {
      const [head, ...lines] = Deno.readTextFileSync(await run(...args)).trimEnd().split("\n")
        .map((line) => line.split(","));
      return { head, lines };
    };
    const { head, lines } = await csvOf("m.csv", nodes, 7);
    const numbers = ["median_ms", "p_failed", "availability", "jitter_ms", "q0.9_ms"];
    assertEquals(head.slice(0, 9), ["src", "dst", "basis", ...numbers, "sample1_ms"]);
    assertEquals(head.length, 8 + 40);
    const samples = lines.map((line) => line.slice(8));
    // The untrained model gives no reply a third or more, and spreads the rest over many RTTs.
    for (const [i, own] of samples.entries()) {
      const failed = own.filter((text) => text === "").length / own.length;
      assert(Math.abs(failed - Number(lines[i][4])) < 0.3, `${failed} of ${lines[i][4]} failed`);
      assert(new Set(own).size > 3, "samples differ");
    }
    assertEquals(new Set(samples.map(String)).size, samples.length);

    const columns = await columnsOf(await run("m.parquet", nodes, 7));
    assertEquals([...columns.keys()], head);
    const texts = [...columns].map(([name, values]) =>
      values.map((value) =>
        /^(p_failed|availability)$/.test(name)
          ? Number(value).toFixed(6)
          : Number.isNaN(value)
          ? ""
          : String(value)
      )
    );
    assertEquals(lines, lines.map((_, row) => texts.map((column) => column[row])));

    const json = JSON.parse(Deno.readTextFileSync(await run("m.json", nodes, 7)));
    assertEquals([json.destinations, json.quantiles, json.time], [NODES, [0.9], null]);
    const cells = json.rows.flatMap((
      row: Record<string, unknown[]> & { quantiles_ms: Record<string, number[]> },
    ) =>
      NODES.flatMap((dst, i) => {
        if (row.src as unknown === dst) {
          const { basis, median_ms, p_failed, availability, jitter_ms, samples_ms } = row;
          for (const own of [basis, median_ms, p_failed, availability, jitter_ms, samples_ms]) {
            assertEquals(own[i], null);
          }
          return [];
        }
        const samples = (row.samples_ms[i] as (number | null)[]).map((ms) => ms === null ? "" : String(ms));
        const numbers = [
          String(row.basis[i]),
          String(row.median_ms[i]),
          Number(row.p_failed[i]).toFixed(6),
          (1 - Number(row.p_failed[i])).toFixed(6),
          // No pair was measured.
          "",
          String(row.quantiles_ms["0.9"][i]),
        ];
        return [[row.src, dst, ...numbers, ...samples]];
      })
    );
    assertEquals(cells, lines);

    const other = await csvOf("other.csv", fewer, 7);
    const byPair = new Map(lines.map((line) => [line.slice(0, 2).join(), line.slice(8)]));
    for (const line of other.lines) assertEquals(line.slice(8), byPair.get(line.slice(0, 2).join()));
    assert(
      (await csvOf("seed.csv", nodes, 8)).lines.every((line, i) =>
        String(line.slice(8)) !== String(samples[i])
      ),
    );
  }));

Deno.test("query matrix --names writes the names of nodes in every format", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const [nodes, names] = ["nodes.txt", "names.csv"].map((name) => join(folder, name));
    Deno.writeTextFileSync(nodes, NODES.slice(0, 2).join("\n"));
    Deno.writeTextFileSync(names, `198.51.100.0/24,"a, ""b"""\n`);
    const run = async (name: string) => {
      const output = join(folder, name);
      const args = ["--checkpoint", checkpoint, "--nodes", nodes, "--names", names, "--output", output];
      await succeed("query", "matrix", ...args);
      return output;
    };
    const [head, ...lines] = Deno.readTextFileSync(await run("m.csv")).trimEnd().split("\n");
    assert(head.startsWith("src,dst,src_name,dst_name,basis,median_ms,"));
    assert(lines[0].startsWith('192.0.2.1,198.51.100.7,,"a, ""b""",'));
    assert(lines[1].startsWith('198.51.100.7,192.0.2.1,"a, ""b""",,'));
    const columns = await columnsOf(await run("m.parquet"));
    assertEquals([...columns.keys()].slice(0, 5), head.split(",").slice(0, 5));
    assertEquals([columns.get("src_name"), columns.get("dst_name")], [[null, 'a, "b"'], ['a, "b"', null]]);
    const { destination_names, rows } = JSON.parse(Deno.readTextFileSync(await run("m.json")));
    assertEquals(destination_names, [null, 'a, "b"']);
    assertEquals(rows.map(({ src_name }: { src_name?: string }) => src_name), [undefined, 'a, "b"']);
    Deno.writeTextFileSync(names, '192.0.2.1,"=HYPERLINK(""http://example.com"")"\n');
    const [, line] = Deno.readTextFileSync(await run("formula.csv")).split("\n");
    assert(line.startsWith(`192.0.2.1,198.51.100.7,"'=HYPERLINK(""http://example.com"")",,`), line);
    Deno.writeTextFileSync(names, '192.0.2.1,T\u00fcrkiye & \u{1f30d}\n198.51.100.0/24,"a, ""&#b"""\n');
    const text = Deno.readTextFileSync(await run("m.gml"));
    assertMatch(text, /^[ -~\n]*$/);
    const labels = parseShadowGraph(text).nodes.map(({ label }) => label);
    assertEquals(labels, [
      `${NODES[0]} (T&#252;rkiye &amp; &#127757;)`,
      `${NODES[1]} (a, &quot;&amp;#b&quot;)`,
    ]);
  }));

Deno.test("the query matrix examples of lib/query/README.md run", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const page = Deno.readTextFileSync(new URL("../../../lib/query/README.md", import.meta.url));
    const examples = [...page.matchAll(/^deno task (query matrix .*)$/gm)].map(([, command]) => command);
    assertEquals(examples.length, 2);
    Deno.writeTextFileSync(join(folder, "servers.txt"), NODES.join("\n"));
    for (const example of examples) {
      const args = example.split(" ").map((arg) =>
        arg === "runs/first" ? checkpoint : /\.\w+$/.test(arg) ? join(folder, arg) : arg
      );
      const { stdout } = await succeed(...args);
      assertStringIncludes(stdout, "the RTTs of 6 pairs in");
    }
  }));
