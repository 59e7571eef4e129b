/**
 * The commands that ask a model a question. Each prints the answer as text, or, with `--json`, as HTTP
 * returns it.
 *
 * @module
 */
import type * as z from "zod";
import type { OptionsOf } from "../lib/cli/command.ts";
import { camel, fileFormOf, sourceColumns } from "../lib/cli/question_options.ts";
import { kebab } from "../lib/cli/options.ts";
import { defineStage, serveStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { shortened, UsageError, UserError } from "../lib/base/errors.ts";
import { formatAddress } from "../lib/data/addresses/ip.ts";
import { decodeRttCode } from "../lib/data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../lib/data/tokens/vocab_v2.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { alone, type Question } from "../lib/query/questions/question.ts";
import { QUESTIONS } from "../lib/query/questions/questions.ts";
import { readFields } from "../lib/query/questions/read_fields.ts";
import { readValues } from "../lib/query/rtt/query_file.ts";
import { timeOf, withAddresses } from "../lib/query/rtt/rtt_question.ts";
import { openOwn, signed } from "./own_outputs.ts";
import { askedModel, contextOf, type ContextReading, writeRows } from "./query_options.ts";
import {
  queryAdviseCommand,
  queryDestinationsCommand,
  queryNearestCommand,
  queryPlaceCommand,
  querySampleCommand,
} from "./query_questions.command.ts";

type CommonOptions = Pick<
  OptionsOf<typeof queryNearestCommand>,
  "checkpoint" | "geo" | "names" | "seed"
>;

interface GivenQuestion {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The file of each list, and the line number of each of its items. */
  readonly files: ReadonlyMap<string, { readonly path: string; readonly lines: readonly number[] }>;
}

export async function givenQuestion(
  kind: Question,
  options: Readonly<Record<string, unknown>>,
  stage: StageContext,
): Promise<GivenQuestion> {
  const fields: Record<string, unknown> = {};
  const files = new Map<string, { path: string; lines: number[] }>();
  for (const [name, field] of Object.entries(kind.question.shape)) {
    const value = options[camel(name)];
    if (value === undefined) continue;
    const form = fileFormOf(field);
    if (form === "measurements") {
      const asked: ContextReading = options;
      const measurements = await contextOf({ ...asked, context: String(value) }, stage, timeOf(options.time));
      fields[name] = measurements.map(asContext);
    } else if (form === "ends") {
      const path = String(value);
      const [items, lines]: [unknown[], number[]] = [[], []];
      const columns = sourceColumns(field);
      const [end] = columns ?? ["dst"];
      for await (const { line, read } of readValues(readLines(path, stage.signal), path, { columns })) {
        try {
          const { [end]: own, ...others } = read();
          items.push(Object.keys(others).length === 0 ? own : { [end]: own, ...others });
          lines.push(line);
        } catch (error) {
          if (!(error instanceof UserError)) throw error;
          throw new UserError({ found: error.message, ...error.fault, action: `read ${path}: line ${line}` });
        }
      }
      if (items.length === 0) {
        throw new UserError(`Cannot read ${path}: it contains no ${name}, expected one per line`);
      }
      fields[name] = items;
      files.set(name, { path, lines });
    } else fields[name] = value;
  }
  return { fields, files };
}

function asContext({ source, destination, timeS, rttCode }: TokenMeasurement) {
  const rtt = rttCode === null ? null : decodeRttCode(rttCode);
  return { src: formatAddress(source), dst: formatAddress(destination), time: timeS, rtt };
}

/** Asks a model a question and logs the notes of the answer. */
export async function askModel<Q extends Question>(
  kind: Q,
  { fields, files }: GivenQuestion,
  model: PingModel,
  stage: StageContext,
): Promise<Awaited<ReturnType<Q["ask"]>>> {
  using progress = stage.progress("asking the model", { unit: "steps" });
  const asking = alone(model, { signal: stage.signal, onProgress: (done) => progress.update(done) });
  try {
    const answer = await kind.ask(asking, withAddresses(readFields(kind.question, fields), model.names));
    progress.finish();
    for (const note of (answer.notes ?? []) as string[]) stage.log(note);
    return answer as Awaited<ReturnType<Q["ask"]>>;
  } catch (error) {
    throw namedFault(error, { fields, files });
  }
}

/** Adds the option or the line that a faulty field came from to an error. */
function namedFault(error: unknown, { fields, files }: GivenQuestion): unknown {
  if (!(error instanceof UserError) || !error.fault?.path) return error;
  const { path: [field, item, ...path], ...fault } = error.fault;
  const name = String(field);
  const file = files.get(name);
  if (file) {
    const place = item === undefined ? "" : `: line ${file.lines[Number(item)]}`;
    return new UserError({ ...fault, path, action: `read ${file.path}${place}` });
  }
  const given = fields[name];
  if (typeof given !== "string") return error;
  return new UsageError({
    ...fault,
    value: undefined,
    action: `use --${kebab(camel(name))} ${shortened(given)}`,
  });
}

/**
 * @param rows The field of the answer that becomes the lines of `--output`.
 * @param formatOf The text of a file with another ending.
 */
function questionStage<Q extends Question>(
  kind: Q,
  command: Parameters<typeof defineStage>[0],
  rows: keyof Awaited<ReturnType<Q["ask"]>> & string,
  formatOf?: (
    ending: string,
  ) => Promise<((answer: Awaited<ReturnType<Q["ask"]>>) => string | Promise<string>) | undefined>,
) {
  return defineStage(command, async (values, stage): Promise<StageResult> => {
    const options = values as unknown as CommonOptions & {
      output?: string;
      overwrite: boolean;
      calibration?: string;
      noPool?: boolean;
    };
    const given = await givenQuestion(kind, options as unknown as Record<string, unknown>, stage);
    const name = `query ${kind.name} --output` as const;
    using file = openOwn(name as Parameters<typeof openOwn>[0], options.output, options.overwrite);
    using model = await askedModel({ noPool: false, ...options }, stage);
    const answer = await askModel(kind, given, model, stage);
    const format = await formatOf?.(/\.([a-z]+)$/.exec(options.output ?? "")?.[1] ?? "");
    const { element } = kind.answer.shape[rows] as z.ZodArray<z.ZodObject>;
    if (format) file?.finish(signed(await format(answer), `query ${kind.name}`));
    else {
      const columns = { path: options.output, columns: Object.keys(element.shape) };
      writeRows(file, columns, answer[rows] as Record<string, unknown>[]);
    }
    return { text: kind.text(answer), json: answer };
  });
}

const stages = [
  questionStage(QUESTIONS.destinations, queryDestinationsCommand, "destinations"),
  questionStage(QUESTIONS.nearest, queryNearestCommand, "nearest", async (ending) => {
    const { NEAREST_FORMATS } = await import("../lib/query/destinations/nearest_format.ts");
    return NEAREST_FORMATS.get(ending);
  }),
  questionStage(QUESTIONS.advise, queryAdviseCommand, "advice"),
  questionStage(QUESTIONS.place, queryPlaceCommand, "contradicted"),
  questionStage(QUESTIONS.sample, querySampleCommand, "measurements"),
];
export const [destinationsStage, nearestStage, adviseStage, placeStage, sampleStage] = stages;

if (import.meta.main) serveStage(...stages);
