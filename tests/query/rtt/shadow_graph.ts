/**
 * A network graph as the simulator Shadow reads it, following its specification
 * (https://shadow.github.io/docs/guide/network_graph_spec.html) and the rules of its parser: one attribute
 * per line, none repeated; ids are whole numbers; a latency is a string of a positive whole number and a
 * unit; a packet loss has a decimal point.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";

type Value = { kind: "int" | "float"; value: number } | { kind: "text"; value: string };
type Attributes = Map<string, Value>;

export interface ShadowGraph {
  readonly directed: boolean;
  readonly nodes: readonly { id: number; label: string | undefined }[];
  readonly edges: readonly { source: number; target: number; latencyMs: number; packetLoss: number }[];
}

const UNITS_MS: Readonly<Record<string, number>> = { ns: 1e6, us: 1000, ms: 1, s: 1e-3 };

/** Parses a graph; fails on input that Shadow would reject. */
export function parseShadowGraph(text: string): ShadowGraph {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  assertEquals([lines[0], lines.at(-1)], ["graph [", "]"]);
  const graph: Attributes = new Map();
  const parts: { kind: string; attributes: Attributes }[] = [];
  let open: Attributes | undefined;
  for (const line of lines.slice(1, -1)) {
    const begun = /^(node|edge) ?\[$/.exec(line);
    if (begun) {
      assert(!open, `${line} within another`);
      open = new Map();
      parts.push({ kind: begun[1], attributes: open });
    } else if (line === "]") {
      assert(open, "an end without a beginning");
      open = undefined;
    } else setAttribute(open ?? graph, line);
  }
  assert(!open, "a part without an end");
  const nodes = parts.filter(({ kind }) => kind === "node").map(({ attributes }) => ({
    id: numberOf(attributes, "id", "int"),
    label: attributes.has("label") ? textOf(attributes, "label") : undefined,
  }));
  const ids = new Set(nodes.map(({ id }) => id));
  assertEquals(ids.size, nodes.length, "ids are unique");
  const edges = parts.filter(({ kind }) => kind === "edge").map(({ attributes }) => {
    const [source, target] = ["source", "target"].map((name) => numberOf(attributes, name, "int"));
    assert(ids.has(source) && ids.has(target), `an edge from ${source} to ${target}`);
    const packetLoss = numberOf(attributes, "packet_loss", "float");
    assert(packetLoss >= 0 && packetLoss <= 1, `packet_loss ${packetLoss}`);
    return { source, target, latencyMs: latencyOf(attributes), packetLoss };
  });
  const directed = graph.has("directed") ? numberOf(graph, "directed", "int") : 0;
  assert(directed === 0 || directed === 1, `directed ${directed}`);
  return { directed: directed === 1, nodes, edges };
}

function setAttribute(attributes: Attributes, line: string): void {
  const [, name, written] = /^([A-Za-z_]\w*) (.*)$/.exec(line) ?? [];
  assert(name, `an attribute, found ${line}`);
  assert(!attributes.has(name), `${name} once`);
  const quoted = /^"([^"]*)"$/.exec(written);
  if (quoted) attributes.set(name, { kind: "text", value: quoted[1] });
  else {
    assert(/^\d+(\.\d+)?$/.test(written), `a value, found ${line}`);
    attributes.set(name, { kind: written.includes(".") ? "float" : "int", value: Number(written) });
  }
}

function numberOf(attributes: Attributes, name: string, kind: "int" | "float"): number {
  const found = attributes.get(name);
  assert(found?.kind === kind, `${name} of kind ${kind}`);
  return Number(found.value);
}

function textOf(attributes: Attributes, name: string): string {
  const found = attributes.get(name);
  assert(found?.kind === "text", `${name} is a text`);
  return found.value;
}

function latencyOf(attributes: Attributes): number {
  const text = textOf(attributes, "latency");
  const [, number, unit] = /^(\d+) ?([a-z]+)$/.exec(text) ?? [];
  assert(Number(number) > 0 && unit in UNITS_MS, `latency ${text}`);
  return Number(number) / UNITS_MS[unit];
}
