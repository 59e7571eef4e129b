/** How far an answer is, in words: asking, failed, done. @module */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answer } from "./use_answer.ts";

/**
 * Shows an answer when it is there; before, that it is asked for, with the seconds that pass.
 *
 * @param summary The answer in a sentence, for those who hear the page.
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
        <progress /> {doing} {isBusy ? <Seconds /> : null}
      </p>
      <p class="unseen" role="status">{said}</p>
      <div role="alert">{error === undefined ? null : <p class="fault whole">{error}</p>}</div>
      {value === undefined
        ? null
        : <div class={isBusy ? "old" : ""} aria-busy={isBusy}>{children(value)}</div>}
    </>
  );
}

/** Counts the seconds since it is shown, from the second one on. */
function Seconds() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span>{seconds > 1 ? `${seconds} s` : ""}</span>;
}
