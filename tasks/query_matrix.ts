/**
 * `query matrix`: the RTTs between all of some nodes, or from them to others, as CSV or as a graph for a simulator.
 *
 * @module
 */
import { UsageError, UserError } from "../lib/base/errors.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { formatPrefix } from "../lib/data/addresses/ip_prefix.ts";
import type { PlaceIndex } from "../lib/data/addresses/place_index.ts";
import { OutputFile } from "../lib/io/files/output_file.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import { MATRIX_FORMATS } from "../lib/query/rtt/matrix_format.ts";
import { answerQueries } from "../lib/query/rtt/answer_queries.ts";
import { type FileQuery, readQueries } from "../lib/query/rtt/query_file.ts";
import { askedModel, contextOf, numbersOf, readBy, timeOf } from "./query_options.ts";
import { STAGES } from "./stages.ts";

export const matrixStage = defineStage(STAGES.query.kinds.matrix, async (options, stage) => {
  const { output, draws: numDraws, seed } = options;
  const ending = /\.([a-z]+)$/.exec(output)?.[1] ?? "";
  const format = MATRIX_FORMATS.get(ending);
  if (!format) {
    throw new UsageError(`Cannot use --output ${output}: expected a name that ends with .csv or .gml`);
  }
  if (options.destinations !== undefined && ending === "gml") {
    throw new UsageError(
      "Cannot use --destinations: a graph is of --nodes alone; write CSV, or leave it out",
    );
  }
  const quantiles = numbersOf("quantiles", options.quantiles, [0, 1]);
  const timeS = timeOf(options.time);
  const context = await contextOf(options.context, stage, timeS);
  const read = [options.nodes, ...(options.destinations === undefined ? [] : [options.destinations])];
  using file = new OutputFile(output, {
    stage: "query matrix",
    inputs: readBy({ ...options, input: read }),
  });
  using model = await askedModel(options, stage);
  const nodes = await nodesOf(options.nodes, model.places);
  const destinations = options.destinations === undefined
    ? nodes
    : await nodesOf(options.destinations, model.places);
  // The `line` of a query is the place of its pair in the matrix, row by row.
  const ends = (line: number) => ({
    row: Math.floor(line / destinations.length),
    column: line % destinations.length,
  });
  const isSelf = (line: number) => keyOf(nodes[ends(line).row]) === keyOf(destinations[ends(line).column]);
  async function* queries(): AsyncGenerator<FileQuery> {
    for (let line = 0; line < nodes.length * destinations.length; line++) {
      if (isSelf(line)) continue;
      const { dst: src, destination: source } = nodes[ends(line).row];
      yield await Promise.resolve({ ...destinations[ends(line).column], line, src, source, timeS });
    }
  }
  const own = new Set(nodes.map(keyOf));
  const total = nodes.length * destinations.length -
    destinations.filter((each) => own.has(keyOf(each))).length;
  using progress = stage.progress("answering", { unit: "pairs", total });
  const encoder = new TextEncoder();
  const write = (text: string) => file.writeSync(encoder.encode(text));
  write(format.head(nodes.map(({ dst }) => dst), quantiles));
  const onDraws = () => stage.signal.throwIfAborted();
  let numPairs = 0;
  const levels = [0.5, ...quantiles];
  const asked = { context, numDraws, seed, onDraws, quantiles: levels };
  const texts = answerQueries(model, queries(), asked, ({ query: { line, src, dst }, answer }) => {
    const { distribution } = answer.mixture;
    const [medianMs, ...quantilesMs] = levels.map((q) => distribution.quantileMs(q));
    const { pFailed } = distribution;
    return format.pair({ ...ends(line), src, dst, medianMs, pFailed, quantilesMs });
  });
  for await (const text of texts) {
    stage.signal.throwIfAborted();
    if (typeof text !== "string") {
      const { row, column } = ends(text.line);
      throw new UserError(`Cannot answer ${nodes[row].dst} to ${destinations[column].dst}: ${text.error}`);
    }
    write(text);
    progress.update(++numPairs);
  }
  write(format.end);
  file.commit();
  progress.finish();
  return {
    text: `the RTTs of ${numPairs} pairs in ${output}`,
    json: { stage: "query matrix", output, timeS, numPairs, step: model.step },
  };
});

const keyOf = ({ destination }: FileQuery) => formatPrefix(destination);

/** The nodes of a file, as destinations whose source is not said; places are those of IPv4. @throws {UserError} If a line names no node, or one again. */
async function nodesOf(path: string, places: PlaceIndex | undefined): Promise<FileQuery[]> {
  const nodes = new Map<string, FileQuery>();
  for await (const line of readQueries(readLines(path), path, { src: "0.0.0.0", time: undefined }, places)) {
    const isTwice = !("error" in line) && nodes.has(keyOf(line));
    const fault = "error" in line
      ? line.error
      : isTwice
      ? `found ${line.dst} twice, expected it once`
      : undefined;
    if (fault !== undefined) throw new UserError(`Cannot read ${path}: line ${line.line}: ${fault}`);
    if (!("error" in line)) nodes.set(keyOf(line), line);
  }
  if (nodes.size === 0) throw new UserError(`Cannot read ${path}: found no nodes, expected one a line`);
  return [...nodes.values()];
}

if (import.meta.main) serveStage(matrixStage);
