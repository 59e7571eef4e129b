/**
 * The options that the kinds of `query` share.
 *
 * @module
 */
import { type commonFlags, flag, type Values } from "../lib/cli/flags.ts";
import type { StageContext } from "../lib/cli/stage.ts";
import { shortened, UsageError } from "../lib/errors.ts";
import { readContext, readMeasurementFiles } from "../lib/query/measurement_files.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { DEFAULT_NUM_DRAWS } from "../lib/query/rtt/prefix_query.ts";
import { checkpointDirectory } from "../lib/train/checkpoint.ts";
import { QuantileCalibration } from "../lib/query/rtt/quantile_calibration.ts";
import { parseTimeS } from "../lib/query/rtt/rtt_question.ts";
import { formatAddress, parseAddress } from "../lib/addresses/ip.ts";
import type { TokenMeasurement } from "../lib/tokens/vocab_v2.ts";
import { noteAdaptation } from "./adapt_text.ts";

/** Options of every kind of query. */
export const queryFlags = {
  checkpoint: flag.requiredText("a run directory or one of its checkpoints", { placeholder: "DIR" }),
  context: flag.optionalText(
    "recent measurements, Parquet or JSON lines; the newest that are not after the asked time and fit are used",
    { placeholder: "FILE" },
  ),
};

/** `--time` of the kinds of query that have one. */
export const timeFlag = flag.optionalText(
  "when, from 1990 to 2099: ISO 8601 (UTC unless it names a zone) or Unix seconds (default: any time)",
  { placeholder: "TIME" },
);

/** Options of `query rtt`. */
export const rttFlags = {
  ...queryFlags,
  src: flag.optionalText(
    "source address, or a prefix in which sources are drawn from the model (required without --queries)",
    { placeholder: "ADDRESS|PREFIX" },
  ),
  dst: flag.optionalText(
    "destination of the same IP version, as --src; drawn given the source (required without --queries)",
    { placeholder: "ADDRESS|PREFIX" },
  ),
  time: timeFlag,
  draws: flag.integer("how many addresses, or pairs of them, to draw from prefixes; 1 kB for each", {
    default: DEFAULT_NUM_DRAWS,
    min: 2,
    max: 2 ** 17,
  }),
  queries: flag.optionalText(
    "JSON lines or CSV with src, dst and perhaps time, in JSON lines also context (an array of {src, dst, time, " +
      "rtt in ms or null}, none after the query's time, in place of --context), answered with a JSON line each, in " +
      "order; a line that cannot be answered gives its number and reason, and exit code 1 at the end",
    { placeholder: "FILE" },
  ),
  keepGoing: flag.boolean(
    "lines of --queries that cannot be answered are no failure: exit code 0 at the end",
  ),
  output: flag.optionalText("where the answers to --queries go (default: standard output)", {
    placeholder: "FILE",
  }),
  adapt: flag.optionalText(
    "measurements, Parquet or JSON lines, that the rows of the asked addresses are fitted to before; with --queries " +
      "those of all addresses that training did not know",
    { placeholder: "FILE" },
  ),
  quantiles: flag.text("quantiles to report, 0 to 1", {
    default: "0.05,0.25,0.5,0.75,0.95",
    placeholder: "Q,Q,…",
  }),
  calibration: flag.optionalText(
    "report.json of an eval: correct the distributions by where its validation split fell in them",
    { placeholder: "FILE" },
  ),
  at: flag.optionalText("RTTs in ms: report P(RTT <= each) and how likely it is itself", {
    placeholder: "MS,MS,…",
  }),
  plot: flag.optionalText("write the density as SVG", { placeholder: "FILE" }),
};

/** What `query rtt` is called with. */
export type RttOptions = Values<typeof rttFlags & typeof commonFlags>;

/** The bytes of an address given as `--option`. @throws {UsageError} If it is none. */
export function addressOf(option: string, text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes) return bytes;
  throw new UsageError(
    `Cannot use --${option} ${shortened(text)}: it is no address, an IPv4 or IPv6 address was wanted`,
  );
}

/** Unix seconds of `--time`, null where it is not given. @throws {UsageError} If it is no time. */
export function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const parsed = parseTimeS(text);
  if ("timeS" in parsed) return parsed.timeS;
  throw new UsageError(`Cannot use --time ${shortened(text)}: ${parsed.fault}`);
}

/**
 * The measurements of `--context`, none where it is not given; says if they had to be sorted, or are after the asked
 * time and left out.
 *
 * @param timeS The asked time; null for any time.
 */
export async function contextOf(
  path: string | undefined,
  stage: StageContext,
  timeS: number | null = null,
): Promise<TokenMeasurement[]> {
  if (path === undefined) return [];
  const { measurements, isSorted, numLater } = await readContext(path, timeS);
  if (!isSorted) stage.log(`${path} is not in order of time: its measurements were sorted`);
  if (numLater > 0) stage.log(`${numLater} measurements of ${path} are after --time and left out`);
  return measurements;
}

/** The files and folders that a query reads, which its output may not replace. */
export function readBy(
  options: {
    checkpoint: string;
    context?: string | undefined;
    calibration?: string | undefined;
    adapt?: string | undefined;
    queries?: string | undefined;
  },
): string[] {
  const { checkpoint, context, calibration, adapt, queries } = options;
  const files = [context, calibration, adapt, queries].filter((path) => path !== undefined);
  return [checkpointDirectory(checkpoint), ...files];
}

/** The model of `--checkpoint`, with the correction of `--calibration` if that is given. */
export async function loadModel(
  { checkpoint, calibration }: { checkpoint: string; calibration: string | undefined },
): Promise<PingModel> {
  const correction = calibration === undefined ? {} : { calibration: QuantileCalibration.read(calibration) };
  return await PingModel.load(checkpoint, correction);
}

/** Most measurements of `--adapt` that are fitted. */
const MAX_ADAPT_MEASUREMENTS = 10_000;

/**
 * Fits the model to the measurements of `--adapt`, if that is given.
 *
 * @param addresses Whose rows may change (default: those that training did not know).
 */
export async function adaptModel(
  model: PingModel,
  { path, addresses }: { path: string | undefined; addresses?: readonly Uint8Array[] },
  stage: StageContext,
): Promise<void> {
  if (path === undefined) return;
  const asked = addresses?.map(formatAddress);
  const { measurements } = await readMeasurementFiles([path], {
    most: MAX_ADAPT_MEASUREMENTS,
    isWanted: ({ source, destination }) =>
      !asked || [source, destination].some((address) => asked.includes(formatAddress(address))),
  });
  const { signal } = stage;
  const adaptation = await model.adapt(measurements, { signal, ...(asked ? { addresses: asked } : {}) });
  noteAdaptation(adaptation, stage.log);
}

/** Says if not all of the context is used. */
export function logContext(stage: StageContext, numUsed: number, context: readonly TokenMeasurement[]): void {
  if (numUsed === context.length) return;
  stage.log(`using the newest ${numUsed} of ${context.length} context measurements: more do not fit`);
}
