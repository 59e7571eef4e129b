/** `query likelihood`: computes how many bits a measurement, or each row of files, takes. @module */
import { UsageError } from "../lib/base/errors.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { defineStage, serveStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { FAILED_RTT_MS } from "../lib/data/formats/batch.ts";
import { readMeasurements } from "../lib/data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../lib/data/measurement_files/rejects.ts";
import type { Field, TokenMeasurement } from "../lib/data/tokens/vocab_v2.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import { type MeasurementBits, measurementBits } from "../lib/query/score/likelihood.ts";
import { contextThatFits, knownAt, tokenMeasurementAt } from "../lib/query/query_tokens.ts";
import { bitsOf, likelihood } from "../lib/query/questions/likelihood.ts";
import { askedModel, contextOf, logContext, openLines } from "./query_options.ts";
import { askModel, givenQuestion } from "./query_questions.ts";
import { checkInputs } from "./stage_files.ts";
import { queryLikelihoodCommand } from "./query_likelihood.command.ts";

/** Measurements computed at once: 6,144 sequences in all orders. */
const ROWS_PER_PART = 256;

interface Row {
  src: string;
  dst: string;
  rttMs: number;
  measurement: TokenMeasurement;
}

type Options = OptionsOf<typeof queryLikelihoodCommand>;

export const likelihoodStage = defineStage(
  queryLikelihoodCommand,
  async (options, stage) =>
    options.input.length > 0 ? await answerRows(options, stage) : await answerOne(options, stage),
);

async function answerOne(options: Options, stage: StageContext): Promise<StageResult> {
  const missing = (["src", "dst"] as const).find((name) => options[name] === undefined);
  if (missing !== undefined) {
    throw new UsageError(`Cannot run: --${missing} ADDRESS is missing; add it, or --input FILES`);
  }
  const given = await givenQuestion(likelihood, options, stage);
  using model = await askedModel(options, stage);
  // Without --rtt there was no reply.
  const asked = { ...given, fields: { ...given.fields, rtt: options.rtt ?? null } };
  const answer = await askModel(likelihood, asked, model, stage);
  return { text: likelihood.text(answer), json: answer };
}

async function answerRows(options: Options, stage: StageContext): Promise<StageResult> {
  const { output, withoutTime, order } = options;
  await checkInputs(options.input, { verify: false }, stage);
  const paths = listInputs(options.input, {
    extensions: [".parquet"],
    wanted: "a measurements Parquet file",
  });
  const context = await contextOf(options, stage);
  using model = await loadModel(options.checkpoint, {
    anyVocabulary: true,
    noPool: options.noPool,
    geo: options.geo,
    names: options.names,
    onLog: stage.log,
  });
  if (options.context !== undefined && model.config.vocabulary === "v1") {
    throw new UsageError(
      `Cannot use --context ${options.context}: the model has vocabulary v1, in which measurements have ` +
        "no context; leave it out",
    );
  }
  using lines = openLines("query likelihood --output", options, "rows");
  using progress = stage.progress("computing likelihoods", { unit: "rows" });
  const totals = new Totals();
  let numLate = 0;
  for await (const rows of partsOf(paths, withoutTime)) {
    stage.signal.throwIfAborted();
    if (totals.numRows === 0) {
      logContext(
        stage,
        contextThatFits({ ...rows[0].measurement, context }, model.config.sequenceLength).length,
        context,
      );
    }
    const inContexts = rows.map(({ measurement, rttMs }) => ({
      measurement,
      rttMs: rttMs === FAILED_RTT_MS ? null : rttMs,
      context: knownAt(context, measurement.timeS),
    }));
    numLate += inContexts.filter((each) => each.context.length < context.length).length;
    const bits = await measurementBits(model, inContexts, { order });
    bits.forEach((each, i) => {
      totals.add(each);
      const { src, dst, rttMs, measurement: { timeS: time } } = rows[i];
      const rtt = rttMs === FAILED_RTT_MS ? null : rttMs;
      const named = { src, dst, ...model.names.namedEnds({ src, dst }), time, rtt };
      lines.write({ ...named, ...bitsOf(each, options.tokens) });
    });
    progress.update(totals.numRows);
  }
  lines.commit();
  progress.finish();
  if (numLate > 0) {
    stage.log(
      `${numLate} rows are older than some of the context: each was computed without the measurements after it`,
    );
  }
  const means = totals.means();
  const text = describeMeans(means);
  if (output === undefined) stage.log(text);
  return {
    text: output === undefined ? "" : text,
    json: {
      output,
      num_rows: means.numRows,
      mean_bits: means.meanBits,
      spread_bits: means.spreadBits,
      total_bits: means.totalBits,
      bits_per_token: means.bitsPerToken,
      block_bits: means.blockBits,
      step: model.step,
    },
  };
}

async function* partsOf(paths: string[], withoutTime: boolean): AsyncGenerator<Row[]> {
  const rejects = new RejectLog();
  let part: Row[] = [];
  let numRows = 0;
  for await (const batch of readMeasurements(paths, { rejects, columns: [] })) {
    numRows += batch.numRowsRead;
    for (let i = 0; i < batch.numRows; i++) {
      const measurement = tokenMeasurementAt(batch, i);
      if (withoutTime) measurement.timeS = null;
      part.push({ src: batch.srcAddr[i], dst: batch.dstAddr[i], rttMs: batch.rttMs[i], measurement });
      if (part.length < ROWS_PER_PART) continue;
      yield part;
      part = [];
    }
  }
  rejects.check(numRows, 0);
  if (part.length > 0) yield part;
}

class Totals {
  numRows = 0;
  #meanBits = 0;
  #spreadBits = 0;
  #totalBits = 0;
  #numTokens = 0;
  /** Bits of each block, averaged over the orders of a row. */
  readonly #blocks = new Map<Field, number>();

  add({ orders, meanBits, spreadBits, totalBits }: MeasurementBits): void {
    this.numRows++;
    this.#meanBits += meanBits;
    this.#spreadBits += spreadBits;
    this.#totalBits += totalBits;
    for (const { field, bits, tokenBits } of orders.flatMap(({ blocks }) => blocks)) {
      this.#blocks.set(field, (this.#blocks.get(field) ?? 0) + bits / orders.length);
      this.#numTokens += tokenBits.length / orders.length;
    }
  }

  means() {
    const n = Math.max(1, this.numRows);
    return {
      numRows: this.numRows,
      meanBits: this.#meanBits / n,
      spreadBits: this.#spreadBits / n,
      totalBits: this.#totalBits / n,
      bitsPerToken: this.#meanBits / Math.max(1, this.#numTokens),
      blockBits: Object.fromEntries([...this.#blocks].map(([field, bits]) => [field, bits / n])),
    };
  }
}

function describeMeans(means: ReturnType<Totals["means"]>): string {
  const { numRows, meanBits, spreadBits, totalBits, bitsPerToken, blockBits } = means;
  return [
    `${numRows} measurements, means:`,
    `  ${meanBits.toFixed(2)} bits in one order of the fields, ${bitsPerToken.toFixed(3)} per token`,
    `  ${spreadBits.toFixed(2)} bits standard deviation over the orders`,
    `  ${totalBits.toFixed(2)} bits over all computed orders together`,
    ...Object.entries(blockBits).map(([field, bits]) => `  ${field.padEnd(12)}${bits.toFixed(2)} bits`),
  ].join("\n");
}

if (import.meta.main) serveStage(likelihoodStage);
