/**
 * Writes a matrix of RTTs to a file. Blocks are computed into a table of numbers, which is then written row
 * by row as text or Parquet. An interrupted run resumes after its last saved block and writes the same bytes.
 *
 * @module
 */
import type { SchemaElement } from "hyparquet";
import { AtomicFile } from "../../io/files/atomic.ts";
import { DictionaryColumn, encodeChunks, ParquetOutput } from "../../io/parquet/writer.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { destinationNames } from "../questions/matrix.ts";
import type { MatrixOptions, MatrixRow, RttMatrix } from "../rtt/rtt_matrix.ts";
import { NumberTable } from "./number_table.ts";
import { csvField } from "../../base/text.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";

/** Extensions of the files that a matrix can be written to. */
export const MATRIX_ENDINGS: readonly string[] = ["csv", "gml", "json", "parquet"];

/** Numbers per row group of Parquet. */
const GROUP_NUMBERS = 2 ** 20;

/**
 * Computes a matrix and writes it.
 *
 * @param files `ending`: one of {@link MATRIX_ENDINGS}; `table`: file for unfinished work on this matrix.
 * @returns The number of cells computed by an earlier, interrupted run.
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

interface MatrixText {
  readonly head: string;
  row(row: MatrixRow, index: number): string;
  readonly end: string;
}

class TextRows implements Disposable {
  readonly #file: AtomicFile;
  readonly #text: MatrixText;
  readonly #encoder = new TextEncoder();
  #numRows = 0;

  constructor(path: string, ending: string, options: MatrixOptions) {
    const textOf = MATRIX_TEXTS[ending];
    if (!textOf) throw new RangeError(`Cannot write a matrix as ${ending}`);
    this.#text = textOf(options);
    this.#file = AtomicFile.create(path);
    this.#write(this.#text.head);
  }

  write(row: MatrixRow): void {
    this.#write(this.#text.row(row, this.#numRows++));
  }

  close(): void {
    this.#write(this.#text.end);
    this.#file.commit();
  }

  #write(text: string): void {
    this.#file.writeSync(this.#encoder.encode(text));
  }

  [Symbol.dispose](): void {
    this.#file.abort();
  }
}

const MATRIX_TEXTS: Partial<Record<string, (asked: MatrixOptions) => MatrixText>> = {
  csv: csvText,
  gml: gmlGraph,
  json: jsonText,
};

/** The text columns. Those for names exist only if a node has a name. */
function textColumns({ nodes, destinations }: MatrixOptions) {
  const hasNames = [...nodes, ...destinations].some(({ name }) => name !== undefined);
  return ["src", "dst", ...(hasNames ? ["src_name", "dst_name"] as const : []), "basis"] as const;
}

/** The number columns, in the order of a pair's numbers. */
function numberColumns({ quantiles, numSamples }: MatrixOptions): string[] {
  const samples = Array.from({ length: numSamples }, (_, i) => `sample${i + 1}_ms`);
  return [
    "median_ms",
    "p_failed",
    "availability",
    "jitter_ms",
    ...quantiles.map((q) => `q${q}_ms`),
    ...samples,
  ];
}

/** The pairs of a row as table columns, without the pair of a node with itself. */
function* pairsOf(row: MatrixRow, { destinations, quantiles }: MatrixOptions) {
  const { src, src_name, median_ms, p_failed, availability, jitter_ms, quantiles_ms, samples_ms } = row;
  const numbers = [median_ms, p_failed, availability, jitter_ms, ...quantiles.map((q) => quantiles_ms[q])];
  for (const [i, { dst, name: dst_name }] of destinations.entries()) {
    const basis = row.basis[i];
    if (basis === null) continue;
    const texts = { src, dst, src_name, dst_name, basis };
    yield { texts, numbers: [...numbers.map((each) => each[i]), ...samples_ms?.[i] ?? []] };
  }
}

/** Samples without a reply and unknown jitter are empty fields. */
function csvText(asked: MatrixOptions): MatrixText {
  const columns = textColumns(asked);
  return {
    head: [...columns, ...numberColumns(asked)].join() + "\n",
    row: (row) =>
      Array.from(pairsOf(row, asked), ({ texts, numbers: [medianMs, pFailed, availability, ...others] }) => {
        const cells = columns.map((column) => csvField(texts[column] ?? ""));
        return [...cells, medianMs, pFailed?.toFixed(6), availability?.toFixed(6), ...others].join() + "\n";
      }).join(""),
    end: "",
  };
}

function jsonText({ destinations, timeS, quantiles }: MatrixOptions): MatrixText {
  const asked = destinations.map(({ dst }) => dst);
  const shared = { destinations: asked, ...destinationNames(destinations), time: timeS, quantiles };
  return {
    head: `${JSON.stringify(shared).slice(0, -1)},"rows":[\n`,
    row: (row, index) => (index > 0 ? ",\n" : "") + JSON.stringify(row),
    end: "\n]}\n",
  };
}

/**
 * Latency between two hosts at one node. ASSUMPTION: they are in the same network; the model knows no such
 * RTT, and Shadow requires exactly one edge from each node to itself.
 */
const SELF_LATENCY_US = 100;

/**
 * A graph for the network simulator Shadow (https://shadow.github.io/docs/guide/network_graph_spec.html).
 * Latency, jitter and packet loss are one-way: half of the median RTT, in whole microseconds and at least 1; the
 * jitter of the RTT divided by sqrt(2), if it is known; and the loss for which 1 - (1 - loss)^2 is the probability
 * of no reply. ASSUMPTION: both directions vary alike and independently. Shadow's specification reserves
 * `jitter` for future use.
 */
function gmlGraph({ nodes }: MatrixOptions): MatrixText {
  const texts = nodes.map(({ dst, name }, id) =>
    `  node [\n    id ${id}\n    label "${gmlText(withName(dst, name))}"\n  ]\n`
  );
  return {
    head: ["graph [\n  directed 1\n", ...texts].join(""),
    row: ({ median_ms, p_failed, jitter_ms }, source) =>
      median_ms.map((medianMs, target) => {
        const latencyUs = medianMs === null ? SELF_LATENCY_US : Math.max(1, Math.round(medianMs * 1000 / 2));
        const loss = 1 - Math.sqrt(1 - (p_failed[target] ?? 0));
        const { [target]: jitterMs } = jitter_ms;
        const attributes = [
          `latency "${latencyUs} us"`,
          ...(jitterMs === null ? [] : [`jitter "${Math.round(jitterMs * 1000 / Math.SQRT2)} us"`]),
          `packet_loss ${loss.toFixed(6)}`,
        ].join("\n    ");
        return `  edge [\n    source ${source}\n    target ${target}\n    ${attributes}\n  ]\n`;
      }).join(""),
    end: "]\n",
  };
}

/** Escapes text for GML, which is 7-bit ASCII; networkx decodes HTML entities in it. */
function gmlText(text: string): string {
  return text.replace(/[^ -~]|[&"]/gu, (character) => {
    if (character === "&") return "&amp;";
    return character === '"' ? "&quot;" : `&#${character.codePointAt(0)};`;
  });
}

/** Whether a column contains names, which are optional. */
const isName = (column: string) => column.endsWith("_name");

/** Writes a matrix as Parquet, a row per pair. Samples without a reply and unknown jitter are NaN. */
class ParquetRows implements Disposable {
  readonly #output: ParquetOutput;
  readonly #names: readonly string[];
  readonly #maxRows: number;
  readonly #texts: { name: ReturnType<typeof textColumns>[number]; data: DictionaryColumn<string> }[];
  readonly #numbers: readonly Float64Array[];
  #numRows = 0;

  constructor(path: string, readonly options: MatrixOptions) {
    this.#names = numberColumns(options);
    this.#maxRows = Math.ceil(GROUP_NUMBERS / this.#names.length);
    this.#texts = textColumns(options).map((name) => ({ name, data: new DictionaryColumn(this.#maxRows) }));
    this.#numbers = this.#names.map(() => new Float64Array(this.#maxRows));
    this.#output = new ParquetOutput(path);
  }

  write(row: MatrixRow): void {
    for (const { texts, numbers } of pairsOf(row, this.options)) {
      const at = this.#numRows++;
      for (const { name, data } of this.#texts) data.set([texts[name]], { from: 0, end: 1, at });
      numbers.forEach((value, i) => this.#numbers[i][at] = value ?? NaN);
      if (this.#numRows === this.#maxRows) this.#flush();
    }
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
