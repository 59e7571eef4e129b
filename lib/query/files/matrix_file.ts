/**
 * A matrix of RTTs as a file: computed block by block into a table of numbers, then written row by row as text or as
 * Parquet. A run that was killed goes on after its last saved block and writes the same bytes.
 *
 * @module
 */
import type { SchemaElement } from "hyparquet";
import { AtomicFile } from "../../io/files/atomic.ts";
import { DictionaryColumn, encodeChunks, ParquetOutput } from "../../io/parquet/writer.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { destinationNames, matrixRow } from "../questions/matrix.ts";
import type { MatrixOptions, MatrixRow, RttMatrix } from "../rtt/rtt_matrix.ts";
import { NumberTable } from "./number_table.ts";
import { csvField } from "../../base/text.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";

// A matrix of RTTs as text, written row by row: CSV, JSON, or a network graph in GML as the simulator Shadow reads it
// (https://shadow.github.io/docs/guide/network_graph_spec.html).

/** How a matrix is written. */
interface MatrixFormat {
  /** The text before the rows. */
  head(asked: MatrixOptions): string;
  /** The text of a row. */
  row(row: MatrixRow, asked: MatrixOptions): string;
  /** The text after the rows. */
  readonly end: string;
}

/** The columns of texts: those of names only if a node has one. */
function textColumns({ nodes, destinations }: MatrixOptions): string[] {
  const hasNames = [...nodes, ...destinations].some(({ name }) => name !== undefined);
  return ["src", "dst", ...(hasNames ? ["src_name", "dst_name"] : []), "basis"];
}

/** The columns of numbers, in the order in which a pair has them. */
function numberColumns({ quantiles, numSamples }: MatrixOptions): string[] {
  const samples = Array.from({ length: numSamples }, (_, i) => `sample${i + 1}_ms`);
  return ["median_ms", "p_failed", ...quantiles.map((q) => `q${q}_ms`), ...samples];
}

/** A sample without a reply is an empty field. */
const CSV: MatrixFormat = {
  head: (asked) => [...textColumns(asked), ...numberColumns(asked)].join(",") + "\n",
  row: ({ src, srcName, pairs }, asked) => {
    const hasNames = textColumns(asked).length > 3;
    return pairs.map((pair, column) => {
      if (!pair) return "";
      const { basis, medianMs, pFailed, quantilesMs, samplesMs } = pair;
      const { dst, name } = asked.destinations[column];
      const texts = [src, dst, ...(hasNames ? [srcName ?? "", name ?? ""] : []), basis].map(csvField);
      const samples = samplesMs.map((ms) => Number.isNaN(ms) ? "" : ms);
      return [...texts, medianMs, pFailed.toFixed(6), ...quantilesMs, ...samples].join(",") + "\n";
    }).join("");
  },
  end: "",
};

/** An object with a line for each row. */
const JSON_ROWS: MatrixFormat = {
  head: ({ destinations, timeS, quantiles }) => {
    const asked = destinations.map(({ dst }) => dst);
    const shared = { destinations: asked, ...destinationNames(destinations), time: timeS, quantiles };
    return `${JSON.stringify(shared).slice(0, -1)},"rows":[\n`;
  },
  row: (row, { quantiles }) => (row.index > 0 ? ",\n" : "") + JSON.stringify(matrixRow(row, quantiles)),
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
      `  node [\n    id ${id}\n    label "${gmlText(withName(dst, name))}"\n  ]\n`
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

/** Text in the 7-bit ASCII of GML, in which networkx reads entities of HTML. */
function gmlText(text: string): string {
  return text.replace(/[^ -~]|[&"]/gu, (character) => {
    if (character === "&") return "&amp;";
    return character === '"' ? "&quot;" : `&#${character.codePointAt(0)};`;
  });
}

function edge(source: number, target: number, { latencyUs, loss }: { latencyUs: number; loss: number }) {
  const attributes = `latency "${latencyUs} us"\n    packet_loss ${loss.toFixed(6)}`;
  return `  edge [\n    source ${source}\n    target ${target}\n    ${attributes}\n  ]\n`;
}

/** The formats of text, by the ends of files' names. */
const MATRIX_FORMATS: ReadonlyMap<string, MatrixFormat> = new Map([
  ["csv", CSV],
  ["gml", GML],
  ["json", JSON_ROWS],
]);

/** The ends of the names of files that a matrix can be written to. */
export const MATRIX_ENDINGS: readonly string[] = [...MATRIX_FORMATS.keys(), "parquet"];

// The matrix as a file.

/** Numbers of a row group of Parquet. */
const GROUP_NUMBERS = 2 ** 20;

/**
 * Computes a matrix and writes it.
 *
 * @param files `path`: the file; `ending`: one of {@link MATRIX_ENDINGS}; `table`: the file of unfinished work of the same
 *   matrix.
 * @returns How many cells an earlier, interrupted run computed.
 * @throws {UserError} If the model cannot answer a pair, or the disk is full.
 */
export async function writeMatrix(
  matrix: RttMatrix,
  { path, ending, table: tablePath }: Record<"path" | "ending" | "table", string>,
  hooks: StageHooks = {},
): Promise<{ cellsResumed: number }> {
  const { numCells, width, options } = matrix;
  using table = new NumberTable(tablePath, width);
  const cellsResumed = table.numDone;
  for (let first = cellsResumed; first < numCells;) {
    hooks.onProgress?.("answering", first, numCells);
    const numbers = await matrix.block(first);
    table.write(first, numbers);
    first += numbers.length / width;
    table.commit(first);
    hooks.signal?.throwIfAborted();
  }
  using writer = ending === "parquet" ? new ParquetRows(path, options) : new TextRows(path, ending, options);
  const pacer = new EventLoopPacer(hooks);
  const { length } = options.destinations;
  for (let index = 0; index < options.nodes.length; index++) {
    writer.write(matrix.row(index, table.read(index * length, length)));
    hooks.onProgress?.("writing", (index + 1) * length, numCells);
    await pacer.yieldToEventLoop();
  }
  writer.close();
  return { cellsResumed };
}

/** Writes a matrix as text. */
class TextRows implements Disposable {
  readonly #file: AtomicFile;
  readonly #format;
  readonly #encoder = new TextEncoder();

  constructor(path: string, ending: string, readonly options: MatrixOptions) {
    const format = MATRIX_FORMATS.get(ending);
    if (!format) throw new RangeError(`Cannot write a matrix as ${ending}`);
    this.#format = format;
    this.#file = AtomicFile.create(path);
    this.#write(format.head(options));
  }

  write(row: MatrixRow): void {
    this.#write(this.#format.row(row, this.options));
  }

  close(): void {
    this.#write(this.#format.end);
    this.#file.commit();
  }

  #write(text: string): void {
    this.#file.writeSync(this.#encoder.encode(text));
  }

  [Symbol.dispose](): void {
    this.#file.abort();
  }
}

/** Whether a column has names, which not all nodes have. */
const isName = (column: string) => column.endsWith("_name");

/** Writes a matrix as Parquet with a row for each pair. A sample without a reply is NaN. */
class ParquetRows implements Disposable {
  readonly #output: ParquetOutput;
  readonly #names: readonly string[];
  readonly #maxRows: number;
  readonly #texts: { name: string; data: DictionaryColumn<string> }[];
  readonly #numbers: readonly Float64Array[];
  #numRows = 0;

  constructor(path: string, readonly options: MatrixOptions) {
    this.#names = numberColumns(options);
    this.#maxRows = Math.ceil(GROUP_NUMBERS / this.#names.length);
    this.#texts = textColumns(options).map((name) => ({ name, data: new DictionaryColumn(this.#maxRows) }));
    this.#numbers = this.#names.map(() => new Float64Array(this.#maxRows));
    this.#output = new ParquetOutput(path);
  }

  write({ src, srcName, pairs }: MatrixRow): void {
    pairs.forEach((pair, column) => {
      if (!pair) return;
      const { basis, medianMs, pFailed, quantilesMs, samplesMs } = pair;
      const at = this.#numRows++;
      const { dst, name } = this.options.destinations[column];
      const texts: Record<string, string | undefined> = {
        src,
        dst,
        src_name: srcName,
        dst_name: name,
        basis,
      };
      for (const column of this.#texts) column.data.set([texts[column.name]], { from: 0, end: 1, at });
      [medianMs, pFailed, ...quantilesMs, ...samplesMs].forEach((value, i) => this.#numbers[i][at] = value);
      if (this.#numRows === this.#maxRows) this.#flush();
    });
  }

  close(): void {
    this.#flush();
    const text = { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } } as const;
    const columns: SchemaElement[] = [
      ...this.#texts.map(({ name }) => (
        { name, repetition_type: isName(name) ? "OPTIONAL" : "REQUIRED", ...text } as const
      )),
      ...this.#names.map((name) => ({ name, repetition_type: "REQUIRED", type: "DOUBLE" } as const)),
    ];
    this.#output.close([{ name: "schema", num_children: columns.length }, ...columns]);
  }

  #flush(): void {
    if (this.#numRows === 0) return;
    const texts = this.#texts.map((each) => (
      { ...each, type: "BYTE_ARRAY" as const, isOptional: isName(each.name) }
    ));
    const numbers = this.#names.map((name, i) => (
      { name, data: this.#numbers[i], type: "DOUBLE" as const, isOptional: false }
    ));
    this.#output.write(encodeChunks([...texts, ...numbers], this.#numRows));
    for (const { data } of this.#texts) data.clear();
    this.#numRows = 0;
  }

  [Symbol.dispose](): void {
    this.#output.abort();
  }
}
