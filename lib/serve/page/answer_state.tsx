/** Shows the state of an answer: pending, failed or complete. @module */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { AskError } from "./open_api.ts";

export interface Answer<T> {
  /** The answer, possibly partial; while a new question is being asked, the previous answer. */
  value: T | undefined;
  /** Why there is no answer, for people. */
  error: string | undefined;
  /** The field of the question that the error is about, if known. */
  field?: string | undefined;
  isBusy: boolean;
}

/** Recent answers by key, so that going back shows them immediately. */
const KEPT = new Map<string, unknown>();
const MAX_KEPT = 32;

/**
 * Asks a question whenever it changes, and aborts the previous one.
 *
 * @param key Everything that the answer depends on; null asks nothing.
 * @param ask May report partial answers.
 */
export function useAnswer<T>(
  key: string | null,
  ask: (signal: AbortSignal, report: (part: T) => void) => Promise<T>,
): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ value: undefined, error: undefined, isBusy: false });
  useEffect(() => {
    if (key === null) return setAnswer({ value: undefined, error: undefined, isBusy: false });
    if (KEPT.has(key)) return setAnswer({ value: KEPT.get(key) as T, error: undefined, isBusy: false });
    const abort = new AbortController();
    const { signal } = abort;
    const set = (next: Answer<T>) => {
      if (!signal.aborted) setAnswer(next);
    };
    setAnswer(({ value }) => ({ value, error: undefined, isBusy: true }));
    ask(signal, (value) => set({ value, error: undefined, isBusy: true })).then((value) => {
      if (!signal.aborted) keep(key, value);
      set({ value, error: undefined, isBusy: false });
    }).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      const field = error instanceof AskError ? error.problem.field : undefined;
      set({ value: undefined, error: message, field, isBusy: false });
    });
    return () => abort.abort();
  }, [key]);
  return answer;
}

function keep(key: string, value: unknown): void {
  KEPT.set(key, value);
  const [oldest] = KEPT.keys();
  if (KEPT.size > MAX_KEPT) KEPT.delete(oldest);
}

/**
 * Shows an answer, or the elapsed seconds while there is none.
 *
 * @param summary One sentence for screen readers.
 */
export function AnswerState<T>({ answer, doing, summary, children }: {
  answer: Answer<T>;
  doing: string;
  summary?: (value: T) => string;
  children: (value: T) => ComponentChildren;
}) {
  const { value, error, isBusy } = answer;
  const said = isBusy ? doing : value !== undefined && summary ? summary(value) : "";
  return (
    <>
      <p class="busy" hidden={!isBusy} aria-hidden="true">
        <progress /> {doing} {isBusy && <Seconds />}
      </p>
      <p class="unseen" role="status">{said}</p>
      <div role="alert">{error === undefined ? null : <p class="fault whole">{error}</p>}</div>
      {value === undefined
        ? null
        : <div class={isBusy ? "old" : ""} aria-busy={isBusy}>{children(value)}</div>}
    </>
  );
}

/** The seconds since it appeared, shown from 2 s on. */
function Seconds() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span>{seconds > 1 ? `${seconds} s` : ""}</span>;
}
