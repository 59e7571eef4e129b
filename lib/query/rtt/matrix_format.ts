/**
 * A matrix of RTTs as text, written row by row: CSV, JSON, or a network graph in GML as the simulator Shadow reads it
 * (https://shadow.github.io/docs/guide/network_graph_spec.html).
 *
 * @module
 */
import { csvField } from "../../base/text.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { destinationNames, type MatrixOptions, type MatrixRow, matrixRowJson } from "./rtt_matrix.ts";

/** How a matrix is written. */
export interface MatrixFormat {
  /** The text before the rows. */
  head(asked: MatrixOptions): string;
  /** The text of a row. */
  row(row: MatrixRow, asked: MatrixOptions): string;
  /** The text after the rows. */
  readonly end: string;
}

/** The columns of texts: those of names only if a node has one. */
export function endColumns({ nodes, destinations }: MatrixOptions): string[] {
  const hasNames = [...nodes, ...destinations].some(({ name }) => name !== undefined);
  return ["src", "dst", ...(hasNames ? ["src_name", "dst_name"] : [])];
}

/** The columns of numbers, in the order in which a pair has them. */
export function numberColumns({ quantiles, numSamples }: MatrixOptions): string[] {
  const samples = Array.from({ length: numSamples }, (_, i) => `sample${i + 1}_ms`);
  return ["median_ms", "p_failed", ...quantiles.map((q) => `q${q}_ms`), ...samples];
}

/** A sample without a reply is an empty field. */
const CSV: MatrixFormat = {
  head: (asked) => [...endColumns(asked), ...numberColumns(asked)].join(",") + "\n",
  row: ({ src, srcName, pairs }, asked) => {
    const { length } = endColumns(asked);
    return pairs.map((pair, column) => {
      if (!pair) return "";
      const { medianMs, pFailed, quantilesMs, samplesMs } = pair;
      const { dst, name } = asked.destinations[column];
      const ends = [src, dst, srcName ?? "", name ?? ""].slice(0, length).map(csvField);
      const samples = samplesMs.map((ms) => Number.isNaN(ms) ? "" : ms);
      return [...ends, medianMs, pFailed.toFixed(6), ...quantilesMs, ...samples].join(",") + "\n";
    }).join("");
  },
  end: "",
};

/** An object with a line for each row. */
const JSON_ROWS: MatrixFormat = {
  head: ({ destinations, timeS, quantiles }) => {
    const asked = destinations.map(({ dst }) => dst);
    const shared = { destinations: asked, ...destinationNames(destinations), timeS, quantiles };
    return `${JSON.stringify(shared).slice(0, -1)},"rows":[\n`;
  },
  row: (row, { quantiles }) => (row.index > 0 ? ",\n" : "") + JSON.stringify(matrixRowJson(row, quantiles)),
  end: "\n]}\n",
};

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
  head: ({ nodes }) => {
    const texts = nodes.map(({ dst, name }, id) =>
      `  node [\n    id ${id}\n    label "${withName(dst, name).replaceAll('"', "&quot;")}"\n  ]\n`
    );
    return ["graph [\n  directed 1\n", ...texts].join("");
  },
  row: ({ index, pairs }) =>
    pairs.map((pair, column) => {
      if (!pair) return edge(index, column, { latencyUs: SELF_LATENCY_US, loss: 0 });
      const latencyUs = Math.max(1, Math.round(pair.medianMs * 1000 / 2));
      return edge(index, column, { latencyUs, loss: 1 - Math.sqrt(1 - pair.pFailed) });
    }).join(""),
  end: "]\n",
};

function edge(source: number, target: number, { latencyUs, loss }: { latencyUs: number; loss: number }) {
  const attributes = `latency "${latencyUs} us"\n    packet_loss ${loss.toFixed(6)}`;
  return `  edge [\n    source ${source}\n    target ${target}\n    ${attributes}\n  ]\n`;
}

/** The formats, by the ends of files' names. */
export const MATRIX_FORMATS: ReadonlyMap<string, MatrixFormat> = new Map([
  ["csv", CSV],
  ["gml", GML],
  ["json", JSON_ROWS],
]);
