import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { runStageProcess } from "../../cli/process.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";

const NODES = ["192.0.2.1", "198.51.100.7", "203.0.113.5"];
const PAIRS = NODES.flatMap((src) => NODES.filter((dst) => dst !== src).map((dst) => [src, dst]));

/** The numbers of `query rtt` for pairs, in order. */
async function answersOf(folder: string, checkpoint: string, pairs: readonly string[][]) {
  const queries = join(folder, "queries.csv");
  Deno.writeTextFileSync(queries, ["src,dst", ...pairs].join("\n"));
  const args = ["query", "rtt", "--checkpoint", checkpoint, "--queries", queries, "--quantiles", "0.1,0.5"];
  const { stdout } = await runStageProcess(args);
  return stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("query matrix writes what query rtt says of each pair as CSV, and as a graph that Shadow reads", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const nodes = join(folder, "nodes.txt");
    Deno.writeTextFileSync(nodes, NODES.join("\n"));
    const answers = await answersOf(folder, checkpoint, PAIRS);
    const args = ["query", "matrix", "--checkpoint", checkpoint, "--nodes", nodes, "--output"];
    const csv = join(folder, "m.csv");
    const { code, stdout, stderr } = await runStageProcess([
      ...args,
      csv,
      "--quantiles",
      "0.1,0.5",
      "--json",
    ]);
    assertEquals(code, 0, stderr);
    assertEquals(JSON.parse(stdout).numPairs, PAIRS.length);
    const [head, ...lines] = Deno.readTextFileSync(csv).trimEnd().split("\n");
    assertEquals(head, "src,dst,median_ms,p_failed,q0.1_ms,q0.5_ms");
    lines.forEach((line, i) => {
      const { quantilesMs, pFailed } = answers[i];
      const [src, dst, median, failed, ...quantiles] = line.split(",");
      assertEquals([src, dst], PAIRS[i]);
      assertEquals([median, ...quantiles].map(Number), [0.5, 0.1, 0.5].map((q) => quantilesMs[q]));
      assert(Math.abs(Number(failed) - pFailed) < 1e-5);
    });
    assertEquals(lines.length, PAIRS.length);

    const gml = join(folder, "m.gml");
    const graph = await runStageProcess([...args, gml]);
    assertEquals(graph.code, 0, graph.stderr);
    const text = Deno.readTextFileSync(gml);
    assertMatch(text, /^graph \[\n {2}directed 1\n {2}node \[\n {4}id 0\n {4}label "192\.0\.2\.1"\n {2}\]\n/);
    const edges = [...text.matchAll(
      /edge \[\n {4}source (\d+)\n {4}target (\d+)\n {4}latency "(\d+) us"\n {4}packet_loss (\d\.\d+)\n {2}\]/g,
    )].map(([, ...cells]) => cells.map(Number));
    assertEquals(text.match(/edge \[/g)?.length, edges.length);
    const key = ([source, target]: number[]) => `${NODES[source]} ${NODES[target]}`;
    // One edge for every ordered pair, of a node with itself too.
    assertEquals(new Set(edges.map(key)).size, 9);
    PAIRS.forEach((pair, i) => {
      const [, , latencyUs, loss] = edges.find((edge) => key(edge) === pair.join(" ")) ?? [];
      assertEquals(latencyUs, Math.round(answers[i].quantilesMs[0.5] * 500));
      assert(Math.abs(1 - (1 - loss) ** 2 - answers[i].pFailed) < 1e-5);
    });
  }));

Deno.test("query matrix takes other destinations, and refuses what it cannot write in one line", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const [nodes, destinations, output] = ["n.txt", "d.csv", "m.csv"].map((name) => join(folder, name));
    Deno.writeTextFileSync(nodes, "192.0.2.1\n198.51.100.7\n");
    Deno.writeTextFileSync(destinations, "dst\n203.0.113.0/24\n192.0.2.1\n");
    const args = ["query", "matrix", "--checkpoint", checkpoint, "--nodes", nodes];
    const other = [...args, "--destinations", destinations, "--draws", "3"];
    const { code, stderr } = await runStageProcess([...other, "--output", output]);
    assertEquals(code, 0, stderr);
    const pairs = Deno.readTextFileSync(output).trimEnd().split("\n").slice(1)
      .map((line) => line.split(",").slice(0, 2).join(" "));
    assertEquals(pairs, [
      "192.0.2.1 203.0.113.0/24",
      "198.51.100.7 203.0.113.0/24",
      "198.51.100.7 192.0.2.1",
    ]);
    const refusals: [string[], number, string][] = [
      [[...other, "--output", join(folder, "m.gml")], 2, "--destinations"],
      [[...args, "--output", join(folder, "m.txt")], 2, "expected a name that ends with .csv or .gml"],
    ];
    for (const [wrong, exitCode, message] of refusals) {
      const refused = await runStageProcess(wrong);
      assertEquals([refused.code, refused.stderr.trim().split("\n").length], [exitCode, 1], refused.stderr);
      assertStringIncludes(refused.stderr, message);
    }
    Deno.writeTextFileSync(nodes, "192.0.2.1\n2001:db8::1\n");
    const mixed = await runStageProcess([...args, "--output", join(folder, "mixed.csv")]);
    assertEquals(mixed.code, 1, mixed.stderr);
    assertStringIncludes(mixed.stderr, "192.0.2.1 to 2001:db8::1: ");
    Deno.writeTextFileSync(nodes, "192.0.2.1\n192.0.2.1/32\n");
    const twice = await runStageProcess([...args, "--output", join(folder, "twice.csv")]);
    assertEquals(twice.code, 1, twice.stderr);
    assertStringIncludes(twice.stderr, "line 2: found 192.0.2.1/32 twice");
  }));
