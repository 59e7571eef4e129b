/**
 * `query`: asks a trained model. So far `query rtt`.
 *
 * @module
 */
import { UsageError } from "../lib/errors.ts";
import { flag } from "../lib/cli/flags.ts";
import { drawHistogram, formatMs } from "../lib/cli/histogram.ts";
import { defineStage, defineStageGroup, runStage, type Stage } from "../lib/cli/stage.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { readContext } from "../lib/query/context.ts";
import type { RttDistribution } from "../lib/query/rtt_distribution.ts";
import { parseAddress } from "../lib/tokens/ip.ts";

const JSON_BARS = 64;
const TEXT_BARS = 16;

const rttStage = defineStage({
  name: "query rtt",
  purpose: "the exact distribution of the RTT between two addresses",
  example: "--checkpoint runs/demo/train --src 192.0.2.1 --dst 198.51.100.7",
  flags: {
    checkpoint: flag.requiredText("a run directory or one of its checkpoints", { placeholder: "DIR" }),
    src: flag.requiredText("source address", { placeholder: "ADDRESS" }),
    dst: flag.requiredText("destination address, of the same IP version", { placeholder: "ADDRESS" }),
    time: flag.optionalText("when: ISO 8601 or Unix seconds (default: any time)", { placeholder: "TIME" }),
    context: flag.optionalText("measurements Parquet of recent measurements; the newest that fit are used", {
      placeholder: "FILE",
    }),
    quantiles: flag.text("quantiles to report, 0 to 1", {
      default: "0.05,0.25,0.5,0.75,0.95",
      placeholder: "Q,Q,…",
    }),
  },
  async run(options, context) {
    const source = addressOf("src", options.src);
    const destination = addressOf("dst", options.dst);
    const timeS = options.time === undefined ? null : timeOf(options.time);
    const quantiles = quantilesOf(options.quantiles);
    const measurements = options.context === undefined ? [] : await readContext(options.context);
    using model = await PingModel.load(options.checkpoint);
    const query = { source, destination, timeS, context: measurements };
    const numUsed = model.contextThatFits(query).length;
    if (numUsed < measurements.length) {
      context.log(
        `using the newest ${numUsed} of ${measurements.length} context measurements: more do not fit`,
      );
    }
    const distribution = await model.rttDistribution(query);
    return {
      text: describe(distribution, quantiles, `${options.src} -> ${options.dst}`),
      json: {
        stage: "query rtt",
        src: options.src,
        dst: options.dst,
        timeS,
        contextMeasurements: numUsed,
        pFailed: distribution.pFailed,
        meanMs: distribution.meanMs,
        quantilesMs: Object.fromEntries(quantiles.map((q) => [q, distribution.quantileMs(q)])),
        histogram: distribution.histogram(JSON_BARS),
        canonicalMass: distribution.canonicalMass,
        step: model.step,
      },
    };
  },
});

function describe(distribution: RttDistribution, quantiles: number[], pair: string): string {
  return [
    `RTT ${pair}`,
    `  no reply   ${(distribution.pFailed * 100).toFixed(2)} %`,
    `  mean       ${formatMs(distribution.meanMs)} ms`,
    ...quantiles.map((q) =>
      `  ${`${+(q * 100).toFixed(4)} %`.padEnd(9)}  ${formatMs(distribution.quantileMs(q))} ms`
    ),
    ...(Deno.stdout.isTerminal() ? ["", ...drawHistogram(distribution.histogram(TEXT_BARS), 40)] : []),
  ].join("\n");
}

function addressOf(option: string, text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (!bytes) {
    throw new UsageError(
      `Cannot use --${option} ${text}: it is no address, an IPv4 or IPv6 address was wanted`,
    );
  }
  return bytes;
}

function timeOf(text: string): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.floor(Date.parse(text) / 1000);
  if (Number.isSafeInteger(seconds) && seconds >= 0) return seconds;
  throw new UsageError(`Cannot use --time ${text}: a time since 1970 as ISO 8601 or Unix seconds was wanted`);
}

function quantilesOf(text: string): number[] {
  const quantiles = text.split(",").map(Number);
  if (quantiles.every((q) => q >= 0 && q <= 1)) return quantiles;
  throw new UsageError(`Cannot use --quantiles ${text}: numbers from 0 to 1 separated by commas were wanted`);
}

/** The `query` stage. */
export const queryStage: Stage = defineStageGroup("query", "ask a trained model", [rttStage]);

if (import.meta.main) await runStage(queryStage, Deno.args);
