/** Asks a model a question as programs do. @module */
import { faultText, InterruptedError, shown, UserError } from "../../base/errors.ts";
import type { PingModel } from "../ping_model.ts";
import { withAddresses } from "../rtt/rtt_question.ts";
import { alone, type AskOptions, type Question } from "./question.ts";
import { ASKED } from "./questions.ts";
import { readFields } from "./read_fields.ts";

/** Answers a question. @throws {UserError} If it is invalid, with the error text of the HTTP API. */
export async function ask(
  model: PingModel,
  kind: string,
  question: unknown,
  options: AskOptions,
): Promise<unknown> {
  try {
    const kinds: Readonly<Record<string, Pick<Question, "question" | "ask">>> = ASKED;
    if (!Object.hasOwn(kinds, kind)) {
      const expected = Object.keys(kinds).join(", ");
      throw new UserError({ found: `found the question ${shown(kind)}`, expected });
    }
    const { [kind]: asked } = kinds;
    const read = withAddresses(readFields(asked.question, question), model.names);
    return await asked.ask(alone(model, options), read);
  } catch (error) {
    if (!(error instanceof UserError) || error instanceof InterruptedError) throw error;
    const { fault } = error;
    const isWhole = fault === undefined || fault.action !== undefined;
    throw isWhole ? error : new UserError({ ...fault, action: "answer" }, { cause: error });
  }
}

/** Makes a fault such as `found no src, …` a full sentence. */
export function sentenceOf({ fault, message }: UserError): string {
  return fault && fault.action === undefined ? faultText({ ...fault, action: "answer" }) : message;
}
