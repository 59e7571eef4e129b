/**
 * `query likelihood`: how probable given measurements are, in bits. `query sample`: whole measurements drawn from the
 * model.
 *
 * @module
 */
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { FAILED_RTT_MS } from "../lib/data/formats/batch.ts";
import { readMeasurements } from "../lib/data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../lib/data/measurement_files/rejects.ts";
import { contextThatFits, knownAt, tokenMeasurementAt } from "../lib/query/query_tokens.ts";
import { bitsJson, type MeasurementBits, measurementBits } from "../lib/query/likelihood/likelihood.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import type { Field, TokenMeasurement } from "../lib/data/tokens/vocab_v2.ts";
import { checkInputs } from "./stage_files.ts";
import { askedModel, contextOf, endsOf, logContext, openLines, requireEnd, timeOf } from "./query_options.ts";
import { STAGES } from "./stages.ts";
import { type Sample, sampleContextThatFits, sampleMeasurements } from "../lib/query/likelihood/sample.ts";
import { formatAddress } from "../lib/data/addresses/ip.ts";
import { decodeRttCode } from "../lib/data/tokens/rtt_code.ts";

const FIELDS: readonly Field[] = ["source", "destination", "time", "result"];
/** Number of measurements computed at once: 6,144 sequences in all orders. */
const ROWS_PER_PART = 256;

interface Row {
  src: string;
  dst: string;
  rttMs: number;
  measurement: TokenMeasurement;
}

export const likelihoodStage = defineStage(STAGES.query.kinds.likelihood, async (options, stage) => {
  const { output, withoutTime } = options;
  const order = options.order === undefined ? undefined : orderOf(options.order);
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
      const { src, dst, ...rest } = lineOf(rows[i], each, options.tokens);
      lines.write({ src, dst, ...model.names.namedEnds({ src, dst }), ...rest });
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
    json: { stage: "query likelihood", output, ...means, step: model.step },
  };
});

/** Rows of Parquet files in parts. */
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

function lineOf({ src, dst, rttMs, measurement }: Row, bits: MeasurementBits, withTokens: boolean) {
  const { orders, ...sums } = bitsJson(bits);
  const withBlocks = orders.map((order, i) => ({
    ...order,
    ...(withTokens && {
      tokenBits: Object.fromEntries(bits.orders[i].blocks.map(({ field, tokenBits }) => [field, tokenBits])),
    }),
  }));
  return { src, dst, timeS: measurement.timeS, rttMs, ...sums, orders: withBlocks };
}

/** Sums over rows. */
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
    `  ${meanBits.toFixed(2)} bits in one order of the fields, ${bitsPerToken.toFixed(3)} a token`,
    `  ${spreadBits.toFixed(2)} bits standard deviation over the orders`,
    `  ${totalBits.toFixed(2)} bits whatever the order, of those computed`,
    ...Object.entries(blockBits).map(([field, bits]) => `  ${field.padEnd(12)}${bits.toFixed(2)} bits`),
  ].join("\n");
}

function orderOf(text: string): readonly Field[] {
  const names = text.split(",").map((name) => name.trim());
  const order = FIELDS.filter((field) => names.includes(field)).toSorted((a, b) =>
    names.indexOf(a) - names.indexOf(b)
  );
  if (names.length === FIELDS.length && order.length === FIELDS.length) return order;
  throw new UsageError(`Cannot use --order ${text}: expected ${FIELDS.join()} in any order`);
}

// `query sample`

export const sampleStage = defineStage(STAGES.query.kinds.sample, async (options, stage) => {
  const { output, count } = options;
  const { src, dst } = options;
  if (src !== undefined) requireEnd("src", src);
  if (dst !== undefined) requireEnd("dst", dst);
  const timeS = timeOf(options.time);
  using lines = openLines("query sample --output", options, "measurements");
  const context = await contextOf(options, stage, timeS);
  using model = await askedModel(options, stage);
  const known = src ?? dst;
  const ends = known === undefined ? undefined : endsOf({ src: src ?? known, dst: dst ?? known }, model);
  const source = src === undefined ? undefined : ends?.source;
  const destination = dst === undefined ? undefined : ends?.destination;
  for (const note of new Set(ends?.notes)) stage.log(note);
  const query = { source, destination, timeS, context };
  logContext(stage, sampleContextThatFits(query, model.config.sequenceLength).length, context);
  using progress = stage.progress("sampling", { total: count, unit: "measurements" });
  let numDrawn = 0;
  for await (const measurement of sampleMeasurements(model, query, options)) {
    stage.signal.throwIfAborted();
    const { src, dst, ...rest } = sampleLine(measurement);
    lines.write({ src, dst, ...model.names.namedEnds({ src, dst }), ...rest });
    progress.update(++numDrawn);
  }
  lines.commit();
  return {
    text: output === undefined ? "" : `${numDrawn} measurements in ${output}`,
    json: { stage: "query sample", output, numMeasurements: numDrawn, step: model.step },
  };
});

/** `rttMs` is null without a reply; `order` is the order in which the fields were drawn. */
function sampleLine({ source, destination, timeS, rttCode, order }: Sample) {
  const rttMs = rttCode === null ? null : decodeRttCode(rttCode);
  return { src: formatAddress(source), dst: formatAddress(destination), timeS, rttMs, order: order.join() };
}

if (import.meta.main) serveStage(likelihoodStage, sampleStage);
