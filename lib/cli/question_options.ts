/**
 * The options of a command that asks a question: one per field of the question, in kebab case, with its
 * description and bounds. Lists of endpoints and measurements are read from files.
 *
 * @module
 */
import * as z from "zod";
import { faultText } from "../base/errors.ts";
import { checked } from "../base/schema_fault.ts";
import type { Question } from "../query/questions/question.ts";
import { normalized, queryFormOf, unwrapped } from "../query/questions/read_fields.ts";
import { type Option, option } from "./options.ts";
import * as uses from "./path_uses.ts";

type Camel<S> = S extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : S;

/** The value of an option for a field: a path if a list is in a file. */
type OptionValue<T> = [NonNullable<T>] extends [boolean] ? boolean
  : [NonNullable<T>] extends [readonly (infer Item)[]]
    ? [Item] extends [number] ? T : string extends Item ? Path<T> : [Item] extends [string] ? T : Path<T>
  : T;
type Path<T> = undefined extends T ? string | undefined : string;

/** The options for the fields of a question, except `seed`, which all stages have. */
type QuestionOptions<Q extends Question> = {
  [K in Exclude<keyof Q["question"]["shape"], "seed"> as Camel<K> & string]: Option<
    OptionValue<z.output<Q["question"]["shape"][K]>>
  >;
};

/** @param isOptional Whether fields that the question requires are optional for the command. */
export function questionOptions<Q extends Question>(
  { question: { shape } }: Q,
  isOptional = false,
): QuestionOptions<Q> {
  const options = Object.entries(shape).filter(([name]) => name !== "seed").map(([name, field]) => {
    const isRequired = !isOptional && !z.safeParse(field, undefined).success;
    return [camel(name), fieldOption(name, field as z.ZodType, isRequired)];
  });
  return Object.fromEntries(options);
}

/** The name of the option for a field of a question. */
export function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/**
 * How to read a list from a file: as measurements, or as lines with one endpoint each; undefined if the field
 * is not read from a file.
 */
export function fileFormOf(optional: z.core.$ZodType): "measurements" | "ends" | undefined {
  const field = unwrapped(optional);
  if (!(field instanceof z.ZodArray)) return undefined;
  if (field.element instanceof z.ZodObject) return "measurements";
  return field.element instanceof z.ZodString || field.element instanceof z.ZodUnion ? "ends" : undefined;
}

/** The CSV columns of a list of sources, which come first, with more; undefined for destinations. */
export function sourceColumns(field: z.core.$ZodType): readonly string[] | undefined {
  const list = unwrapped(field);
  const element = list instanceof z.ZodArray ? list.element : undefined;
  const object = element instanceof z.ZodUnion
    ? element.options.find((each) => each instanceof z.ZodObject)
    : undefined;
  return object && !Object.hasOwn(object.shape, "dst") ? Object.keys(object.shape) : undefined;
}

const FILES = {
  measurements: () =>
    "a file of any format that import reads; --src is the source of measurements that do not name theirs",
  ends: (field: z.ZodType) =>
    `a file with one per line, CSV with ${sourceColumns(field) ?? "dst"}, or JSON lines; # begins a comment`,
};

function fieldOption(name: string, field: z.ZodType, isRequired: boolean): Option<unknown> {
  const help = field.description ?? z.globalRegistry.get(unwrapped(field))?.description ?? "";
  const required = isRequired ? { required: true } as const : {};
  const file = fileFormOf(field);
  if (file) return option.path(uses.input, `${help}; ${FILES[file](field)}`, required) as Option<unknown>;
  if (unwrapped(field) instanceof z.ZodBoolean) return option.switch(help) as Option<unknown>;
  const read = (text: string) => {
    const result = checked(field, normalized(field, text));
    if ("data" in result) return result.data;
    const { path: _, value: __, ...fault } = result.fault;
    throw new RangeError(faultText(fault));
  };
  return option.value(read, help, { value: valueName(name, field), ...choicesOf(field), ...required });
}

function choicesOf(field: z.ZodType): { choices?: readonly string[] } {
  const of = unwrapped(field);
  return of instanceof z.ZodEnum ? { choices: of.options.map(String) } : {};
}

function valueName(name: string, field: z.ZodType): string {
  const of = unwrapped(field);
  if (of instanceof z.ZodEnum) return of.options.join("|");
  if (name === "src" || name === "dst" || name === "within") return "ADDRESS|PREFIX|PLACE";
  if (name === "time") return "TIME";
  const form = queryFormOf(field);
  if (form === "range") return "MS[..MS]";
  if (form === "list" || form === "texts") return "X,X,…";
  return form === "number" ? (of instanceof z.ZodNumber && of.isInt ? "N" : "X") : "TEXT";
}
