/**
 * `query matrix`: the RTTs between all pairs of nodes, or from nodes to destinations, as CSV, Parquet, JSON
 * or a graph for a simulator.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { UsageError, UserError } from "../lib/base/errors.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { defineStage, serveStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { openNames } from "../lib/data/addresses/places/open_names.ts";
import { STANDARD_INPUT } from "../lib/io/compression/decompress.ts";
import { fingerprint } from "../lib/io/files/inputs.ts";
import { readCalibration } from "../lib/query/files/load_model.ts";
import { MATRIX_ENDINGS, writeMatrix } from "../lib/query/files/matrix_file.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import { digestOfModel } from "../lib/query/files/score_file.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { QUESTIONS } from "../lib/query/questions/questions.ts";
import { readQueries } from "../lib/query/rtt/query_file.ts";
import { DEFAULT_NUM_DRAWS } from "../lib/query/rtt/prefix_query.ts";
import { type MatrixNode, matrixNodes, RttMatrix } from "../lib/query/rtt/rtt_matrix.ts";
import { loadCheckpoint } from "../lib/train/checkpoint.ts";
import { withGeo } from "../lib/train/run_places.ts";
import { makeOutputFile } from "./stage_files.ts";
import { askedModel, contextOf } from "./query_options.ts";
import { askModel, givenQuestion } from "./query_questions.ts";
import { timeOf } from "../lib/query/rtt/rtt_question.ts";
import { queryMatrixCommand } from "./query_matrix.command.ts";

/** Memory reserved for the runtime, the checkpoint and one block of the matrix. */
const BESIDES_GPU_GB = 0.7;

type Options = OptionsOf<typeof queryMatrixCommand>;

export const matrixStage = defineStage(queryMatrixCommand, async (options, stage) => {
  if (options.output !== undefined) return await writeFile({ ...options, output: options.output }, stage);
  const given = await givenQuestion(QUESTIONS.matrix, options, stage);
  using model = await askedModel(options, stage);
  const answer = await askModel(QUESTIONS.matrix, given, model, stage);
  return { text: QUESTIONS.matrix.text(answer), json: answer };
});

/** Writes a matrix of any size, and continues after a kill. */
async function writeFile(options: Options & { output: string }, stage: StageContext): Promise<StageResult> {
  const { output, draws: numDraws = DEFAULT_NUM_DRAWS, seed, samples: numSamples = 0, overwrite } = options;
  const { quantiles = [0.05, 0.95] } = options;
  const ending = /\.([a-z]+)$/.exec(output)?.[1] ?? "";
  if (!MATRIX_ENDINGS.includes(ending)) {
    const endings = MATRIX_ENDINGS.map((each) => `.${each}`).join(", ");
    throw new UsageError(`Cannot use --output ${output}: expected a name that ends with one of ${endings}`);
  }
  if (options.destinations !== undefined && ending === "gml") {
    throw new UsageError(
      "Cannot use --destinations: a graph contains only --nodes; write another format, or leave it out",
    );
  }
  const timeS = timeOf(options.time);
  const context = await contextOf(options, stage, timeS);
  const checkpoint = await withGeo(
    loadCheckpoint(options.checkpoint, { onNote: stage.log }),
    options.geo,
    stage.log,
  );
  const { noPool } = options;
  const weights = new Map([...checkpoint.weights, ...(!noPool && checkpoint.pool || [])]);
  const calibration = options.calibration === undefined ? undefined : readCalibration(options.calibration);
  const memoryLimitBytes = (options.memoryLimitGb - BESIDES_GPU_GB) * 1e9;
  const names = await openNames(options.names);
  using model = await PingModel.from(checkpoint, { calibration, memoryLimitBytes, noPool, names });
  const nodes = await nodesOf(options.nodes, model, stage.signal);
  const destinations = options.destinations === undefined
    ? nodes
    : await nodesOf(options.destinations, model, stage.signal);
  const asked = { nodes, destinations, timeS, quantiles, numSamples, context, numDraws, seed };
  const onDraws = () => stage.signal.throwIfAborted();
  const matrix = new RttMatrix(model, { ...asked, onDraws });
  const read = [...options.names, options.nodes, options.destinations, options.context, options.calibration]
    .flatMap((path) => path === undefined || path === STANDARD_INPUT ? [] : [path]);
  const named = JSON.stringify([nodes, destinations].map((list) => list.map(({ dst, name }) => [dst, name])));
  const start = {
    stage: "query matrix",
    inputs: read.map((path) => fingerprint(path)),
    options: {
      model: digestOfModel({ config: checkpoint.config.model, weights }),
      nodes: createHash("sha256").update(named).digest("hex"),
      timeS,
      quantiles,
      numSamples,
      numDraws,
      seed,
    },
    overwrite,
    besides: () => [],
  };
  const { manifest, seconds, isDone } = await makeOutputFile(output, start, async ({ path, workPath }) => {
    using phases = new PhaseProgress(stage, "pairs");
    const hooks = { signal: stage.signal, onProgress: phases.update };
    const { cellsResumed } = await writeMatrix(
      matrix,
      { path, ending, table: workPath("matrix.bin") },
      hooks,
    );
    return { counts: { numPairs: matrix.numPairs, cellsResumed, step: model.step }, rows: matrix.numPairs };
  });
  const { numPairs, cellsResumed, step } = manifest.counts;
  return {
    text: `the RTTs of ${numPairs} pairs in ${output}${isDone ? ", which exists already" : ""}`,
    json: {
      output,
      time: timeS,
      num_pairs: numPairs,
      cells_resumed: cellsResumed,
      step,
      seconds,
      done_already: isDone,
    },
  };
}

/** The nodes in a file; places are over IPv4. @throws {UserError} If a line is not a node, or repeats one. */
async function nodesOf(
  path: string,
  model: PingModel,
  signal: AbortSignal,
): Promise<MatrixNode[]> {
  const lines = readQueries(readLines(path, signal), path, { src: "0.0.0.0", time: undefined }, model);
  return await matrixNodes(lines, "nodes", model.names).catch((error) => {
    if (!(error instanceof UserError) || !error.fault?.path) throw error;
    const { path: [, line], ...fault } = error.fault;
    const place = line === undefined ? "" : `: line ${Number(line) + 1}`;
    throw new UserError({ ...fault, action: `read ${path}${place}` });
  });
}

if (import.meta.main) serveStage(matrixStage);
