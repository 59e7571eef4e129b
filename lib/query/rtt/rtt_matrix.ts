/**
 * The RTTs from some nodes to others, computed block by block: exact quantiles, P(no reply) and samples of
 * each pair.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { AddressNames } from "../../data/addresses/address_names.ts";
import { formatPrefix, isAddress } from "../../data/addresses/ip_prefix.ts";
import type { BasisKind } from "../../data/addresses/known_addresses.ts";
import type { PingModel } from "../ping_model.ts";
import { type AnsweredQuery, type AnswerOptions, answerQueries, prepareQuery } from "./answer_queries.ts";
import { jitterMs } from "./measured_history.ts";
import type { BadLine, FileQuery } from "./query_file.ts";
import { faultIn, type ParsedQuestion } from "./rtt_question.ts";

/** A node of a matrix, in the form of a query with the node as destination. */
export interface MatrixNode extends FileQuery {
  /** The name to show next to it. */
  readonly name?: string | undefined;
}

export interface MatrixOptions extends Omit<AnswerOptions, "quantiles"> {
  /** Distinct sources. */
  readonly nodes: readonly MatrixNode[];
  /** Distinct destinations. The RTT from a node to itself is not computed. */
  readonly destinations: readonly MatrixNode[];
  /** Unix seconds; null for any time. */
  readonly timeS: number | null;
  /** Quantiles in addition to the median, in [0, 1]. */
  readonly quantiles: readonly number[];
  /** Number of RTTs to draw for each pair. They depend only on the pair and the seed. */
  readonly numSamples: number;
}

/** The RTTs from one node to each destination, in order; null for the node itself. */
export interface MatrixRow {
  /** The node as given. */
  src: string;
  src_name?: string | undefined;
  /** Whether the pair was measured or, if not, both endpoints. */
  basis: (BasisKind | null)[];
  median_ms: (number | null)[];
  /** P(no reply), to six decimals. */
  p_failed: (number | null)[];
  /** 1 - P(no reply), to six decimals. */
  availability: (number | null)[];
  /** The pair's jitter, see {@link jitterMs}; null if it was not measured often enough. */
  jitter_ms: (number | null)[];
  /** RTTs at the requested quantiles, by quantile. */
  quantiles_ms: Record<string, (number | null)[]>;
  /** Drawn RTTs, if requested; null for no reply. */
  samples_ms?: ((number | null)[] | null)[] | undefined;
}

/** Pairs per block: pairs of addresses are computed together, others one at a time. */
const BLOCK_PAIRS = { exact: 2048, drawn: 64 };

/** A matrix of a model's RTTs. Cells are numbered row by row. */
export class RttMatrix {
  /** Number of cells, including those of a node with itself. */
  readonly numCells: number;
  /** Number of cells of two different nodes. */
  readonly numPairs: number;
  /** Number of cells in a block, wherever it begins. */
  readonly blockCells: number;
  /** Numbers per cell: median, P(no reply), quantiles, samples; all NaN for a node with itself. */
  readonly width: number;

  /** Validates the options. @throws {UserError} If a pair in the first row or column cannot be answered. */
  constructor(readonly model: PingModel, readonly options: MatrixOptions) {
    const { nodes, destinations, quantiles, numSamples } = options;
    this.numCells = nodes.length * destinations.length;
    const sources = new Set(nodes.map(keyOf));
    this.numPairs = this.numCells - destinations.filter((each) => sources.has(keyOf(each))).length;
    const areExact = [...nodes, ...destinations].every(({ destination }) => isAddress(destination));
    this.blockCells = areExact ? BLOCK_PAIRS.exact : BLOCK_PAIRS.drawn;
    this.width = 2 + quantiles.length + numSamples;
    const firstRow = destinations.map((_, column) => column);
    const firstColumn = nodes.map((_, row) => row * destinations.length);
    for (const cell of [...firstRow, ...firstColumn]) this.#requireAnswerable(cell);
  }

  /** Computes the numbers of a block, (cells, width). @throws {UserError} If a pair cannot be answered. */
  async block(first: number): Promise<Float64Array> {
    const { options, width } = this;
    const end = Math.min(this.numCells, first + this.blockCells);
    const numbers = new Float64Array((end - first) * width).fill(NaN);
    const levels = [0.5, ...options.quantiles];
    const asked = {
      ...options,
      quantiles: (query: ParsedQuestion) => [...levels, ...this.#drawsOf(query).map(({ level }) => level)],
    };
    const use = ({ query, answer }: AnsweredQuery) => {
      const { distribution } = answer.mixture;
      const [medianMs, ...quantilesMs] = levels.map((level) => distribution.quantileMs(level));
      const { pFailed } = distribution;
      const samplesMs = this.#drawsOf(query).map(({ reply, level }) =>
        reply < pFailed ? NaN : distribution.quantileMs(level)
      );
      const cell = [medianMs, Math.round(pFailed * 1e6) / 1e6, ...quantilesMs, ...samplesMs];
      numbers.set(cell, (query.line - first) * width);
    };
    for await (const answer of answerQueries(this.model, this.#queries(first, end), asked, use)) {
      if (answer) throw this.#faultOf(answer);
    }
    return numbers;
  }

  /**
   * Two random numbers in [0, 1) for each sample: no reply if `reply` is below P(no reply), else the RTT at
   * quantile `level`.
   */
  #drawsOf({ source, destination }: ParsedQuestion): { reply: number; level: number }[] {
    const { numSamples, seed = 0 } = this.options;
    if (numSamples === 0) return [];
    const name = `query/matrix ${formatPrefix(source)} ${formatPrefix(destination)}`;
    const random = new RandomStream(seed, name);
    return Array.from({ length: numSamples }, () => ({ reply: random.float64(), level: random.float64() }));
  }

  /** A row of the matrix. @param numbers The row's cells, (destinations, width). */
  row(index: number, numbers: Float64Array): MatrixRow {
    const { nodes, destinations, quantiles, numSamples } = this.options;
    const { dst: src, destination: source, name } = nodes[index];
    const numberAt = (column: number, place: number) => numberOf(numbers[column * this.width + place]);
    const column = (place: number) => destinations.map((_, i) => numberAt(i, place));
    const median_ms = column(0);
    const p_failed = column(1);
    const samplesTo = (i: number) =>
      Array.from({ length: numSamples }, (_, sample) => numberAt(i, 2 + quantiles.length + sample));
    return {
      src,
      ...(name !== undefined && { src_name: name }),
      basis: destinations.map(({ destination }, i) =>
        median_ms[i] === null ? null : this.model.basisKindOf({ source, destination })
      ),
      median_ms,
      p_failed,
      availability: p_failed.map((p) => p === null ? null : Math.round((1 - p) * 1e6) / 1e6),
      jitter_ms: destinations.map(({ destination }, i) => {
        const measured = median_ms[i] === null ? undefined : this.model.measured({ source, destination });
        return measured ? jitterMs(measured) : null;
      }),
      quantiles_ms: Object.fromEntries(quantiles.map((q, i) => [q, column(2 + i)])),
      ...(numSamples > 0 && median_ms.some((ms) => ms !== null) && {
        samples_ms: median_ms.map((ms, i) => ms === null ? null : samplesTo(i)),
      }),
    };
  }

  /** The `line` of a query is its cell number. */
  *#queries(first: number, end: number): Generator<FileQuery> {
    for (let line = first; line < end; line++) {
      const { source, destination } = this.#endsOf(line);
      if (keyOf(source) !== keyOf(destination)) yield this.#queryOf(line);
    }
  }

  #queryOf(line: number): FileQuery {
    const { source, destination } = this.#endsOf(line);
    return {
      ...destination,
      line,
      src: source.dst,
      source: source.destination,
      timeS: this.options.timeS,
    };
  }

  #requireAnswerable(cell: number): void {
    try {
      prepareQuery(this.model, this.#queryOf(cell), this.options.context);
    } catch (error) {
      throw error instanceof UserError ? this.#faultOf({ line: cell, error: error.message }) : error;
    }
  }

  #endsOf(cell: number): { source: MatrixNode; destination: MatrixNode } {
    const { nodes, destinations } = this.options;
    const { length } = destinations;
    return { source: nodes[Math.floor(cell / length)], destination: destinations[cell % length] };
  }

  #faultOf({ line, error }: BadLine): UserError {
    const { source, destination } = this.#endsOf(line);
    return new UserError(`Cannot answer ${source.dst} to ${destination.dst}: ${error}`);
  }
}

/** Converts NaN to null. */
function numberOf(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function keyOf({ destination }: MatrixNode): string {
  return formatPrefix(destination);
}

/**
 * Reads the nodes of a matrix.
 *
 * @param field The list that the nodes are from, for errors; a node's `line` counts from 1.
 * @throws {UserError} If a node is invalid or repeated, or there are none.
 */
export async function matrixNodes(
  lines: Iterable<FileQuery | BadLine> | AsyncIterable<FileQuery | BadLine>,
  field: "nodes" | "destinations",
  names: AddressNames,
): Promise<MatrixNode[]> {
  const nodes = new Map<string, MatrixNode>();
  for await (const line of lines) {
    const path = [field, line.line - 1];
    if ("error" in line) throw new UserError(faultIn(path, line.error));
    if (nodes.has(keyOf(line))) {
      throw new UserError({ path, found: `${line.dst} is given twice`, expected: "once" });
    }
    nodes.set(keyOf(line), { ...line, name: names.ofPrefix(line.destination) });
  }
  if (nodes.size === 0) {
    throw new UserError({ path: [field], value: null, expected: "at least one" });
  }
  return [...nodes.values()];
}
