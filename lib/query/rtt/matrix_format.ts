/**
 * A matrix of RTTs as text, written pair by pair: CSV, or a network graph in GML as the simulator Shadow reads it
 * (https://shadow.github.io/docs/guide/network_graph_spec.html).
 *
 * @module
 */

/** The RTT between two nodes. */
export interface MatrixPair {
  /** The source's place among the nodes, from 0. */
  readonly row: number;
  /** The destination's. */
  readonly column: number;
  /** The source as it was given. */
  readonly src: string;
  /** The destination as it was given. */
  readonly dst: string;
  /** The median RTT, ms. */
  readonly medianMs: number;
  /** P(no reply). */
  readonly pFailed: number;
  /** The RTTs of the quantiles asked for, ms. */
  readonly quantilesMs: readonly number[];
}

/** How a matrix is written. */
export interface MatrixFormat {
  /** The text before the pairs. @param nodes All nodes. @param quantiles From 0 to 1. */
  head(nodes: readonly string[], quantiles: readonly number[]): string;
  /** The text of a pair. */
  pair(pair: MatrixPair): string;
  /** The text after the pairs. */
  readonly end: string;
}

const CSV: MatrixFormat = {
  head: (_, quantiles) =>
    ["src", "dst", "median_ms", "p_failed", ...quantiles.map((q) => `q${q}_ms`)].join(",") + "\n",
  pair: ({ src, dst, medianMs, pFailed, quantilesMs }) =>
    [quoted(src), quoted(dst), medianMs, pFailed.toFixed(6), ...quantilesMs].join(",") + "\n",
  end: "",
};

/** A name as CSV has it: that of a place has commas. */
function quoted(name: string): string {
  return /[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

/**
 * The latency between two hosts at one node. ASSUMPTION: they are in one network; the model knows no such RTT, and Shadow
 * wants exactly one edge from each node to itself.
 */
const SELF_LATENCY_US = 100;

/**
 * The latency of an edge is that of one direction: half of the median RTT. Its packet loss is that of one direction too, so
 * that 1 - (1 - loss)^2 is the probability of no reply. Latencies are whole numbers for Shadow, and at least 1.
 */
const GML: MatrixFormat = {
  head: (nodes) => {
    const texts = nodes.map((label, id) =>
      `  node [\n    id ${id}\n    label "${label.replaceAll('"', "&quot;")}"\n  ]\n`
    );
    const selves = nodes.map((_, id) => edge(id, id, { latencyUs: SELF_LATENCY_US, loss: 0 }));
    return ["graph [\n  directed 1\n", ...texts, ...selves].join("");
  },
  pair: ({ row, column, medianMs, pFailed }) => {
    const latencyUs = Math.max(1, Math.round(medianMs * 1000 / 2));
    return edge(row, column, { latencyUs, loss: 1 - Math.sqrt(1 - pFailed) });
  },
  end: "]\n",
};

function edge(source: number, target: number, { latencyUs, loss }: { latencyUs: number; loss: number }) {
  const attributes = `latency "${latencyUs} us"\n    packet_loss ${loss.toFixed(6)}`;
  return `  edge [\n    source ${source}\n    target ${target}\n    ${attributes}\n  ]\n`;
}

/** The formats, by the ends of files' names. */
export const MATRIX_FORMATS = new Map([["csv", CSV], ["gml", GML]]);
