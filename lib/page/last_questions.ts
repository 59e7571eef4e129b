/** The last questions of this browser, as examples to ask again. @module */
import type { Fields } from "./url_state.ts";

/** Where the browser keeps them. */
const KEY = "ping-llm last questions";
const MAX_QUESTIONS = 5;

/** A source and a destination. */
export type LastQuestion = Readonly<Pick<Required<Fields>, "src" | "dst">>;

/** The last ones first; none where the browser keeps nothing. */
export function lastQuestions(): LastQuestion[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(value) ? value.filter(isQuestion) : [];
  } catch {
    return []; // Storage is switched off, or holds something else.
  }
}

/** Keeps a question that was answered. */
export function rememberQuestion({ src, dst }: LastQuestion): void {
  const others = lastQuestions().filter((other) => other.src !== src || other.dst !== dst);
  try {
    localStorage.setItem(KEY, JSON.stringify([{ src, dst }, ...others].slice(0, MAX_QUESTIONS)));
  } catch {
    // Storage is full or switched off: examples are no reason to fail.
  }
}

function isQuestion(value: unknown): value is LastQuestion {
  return typeof value === "object" && value !== null && "src" in value && "dst" in value &&
    typeof value.src === "string" && typeof value.dst === "string";
}
