/** The form fields of questions, each with its label, hint and error. @module */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { faultText } from "../../base/errors.ts";
import { faultOfPrefix } from "../../data/addresses/ip_prefix.ts";
import type { ModelAnswer } from "../api/schemas.ts";
import type { AnswerOf } from "../../query/questions/questions.ts";
import { isMeantAsPrefix } from "../../query/rtt/rtt_question.ts";
import { ANY_TIME, inputTime, NOW, periodOf, questionTimeS, timeWarning } from "./texts.ts";
import type { FieldName, Fields } from "./url_state.ts";
import type { OpenedApi } from "./open_api.ts";
import type { Answer } from "./answer_state.tsx";

export type Faults = Partial<Record<FieldName, string>>;

interface FieldProps {
  part: PartProps;
  faults: Faults;
  name: FieldName;
  label: string;
  hint?: string;
  placeholder?: string;
}

/** A fault is shown until the field changes. */
function shownFault({ part, faults, name }: FieldProps): string | undefined {
  return (part.drafts[name] ?? "") === (part.fields[name] ?? "") ? faults[name] : undefined;
}

function Labelled({ field, id, children }: { field: FieldProps; id: string; children: ComponentChildren }) {
  const fault = shownFault(field);
  return (
    <div class={`field ${field.name}`}>
      <label for={id}>{field.label}</label>
      {children}
      {field.hint === undefined ? null : <p class="hint" id={`${id}-hint`}>{field.hint}</p>}
      {fault === undefined ? null : <p class="fault" id={`${id}-fault`}>{fault}</p>}
    </div>
  );
}

function described(field: FieldProps, id: string) {
  const fault = shownFault(field);
  const ids = [field.hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ");
  return {
    id,
    name: field.name,
    autocomplete: "off" as const,
    autocapitalize: "off" as const,
    spellcheck: false,
    ...(ids === "" ? {} : { "aria-describedby": ids }),
    ...(fault === undefined ? {} : { "aria-invalid": "true" as const }),
    ...(field.placeholder === undefined ? {} : { placeholder: field.placeholder }),
    value: field.part.drafts[field.name] ?? "",
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      field.part.setDraft(field.name, currentTarget.value),
  };
}

export function TextField(field: FieldProps & { inputMode?: "decimal" }) {
  const id = useId();
  return (
    <Labelled field={field} id={id}>
      <input type="text" inputMode={field.inputMode ?? "text"} {...described(field, id)} />
    </Labelled>
  );
}

/** Pause in typing before a search starts, ms. */
const SEARCH_DELAY_MS = 120;
const MAX_SEARCHED_LENGTH = 120;

/**
 * A field that searches as the user types: addresses, their names, cities, countries, ASes. The list of
 * results follows the editable combobox pattern (ARIA Authoring Practices Guide): arrow keys choose, Enter
 * accepts, Escape closes.
 *
 * @param field `addressesOnly`: whether to leave out places; `onTaken`: called with the accepted text.
 */
export function SearchField(
  field: FieldProps & { addressesOnly?: boolean; onTaken?: (text: string) => void },
) {
  const { part, name, addressesOnly = false, onTaken } = field;
  const id = useId();
  const text = (part.drafts[name] ?? "").trim();
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const [found, setFound] = useState<FoundPlaces>([]);
  useEffect(() => {
    setActive(-1);
    if (!isOpen || text === "") return setFound([]);
    const abort = new AbortController();
    const { signal } = abort;
    const search = async () => {
      const { places } = await part.opened.api.places({ q: text.slice(0, MAX_SEARCHED_LENGTH) }, signal);
      const taken = places.filter((place) => !addressesOnly || faultOfPrefix(place.text) === undefined);
      if (!signal.aborted) setFound(taken);
    };
    // If the search fails, the text can still be submitted.
    const timer = setTimeout(() => search().catch(() => {}), SEARCH_DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [isOpen, text]);
  const isShown = isOpen && found.length > 0;
  const take = (place: FoundPlaces[number]) => {
    part.setDraft(name, place.text);
    setOpen(false);
    onTaken?.(place.text);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const place = isShown ? found[active] : undefined;
    if (step !== 0) {
      setOpen(true);
      // Cycles through the text and all results.
      if (isShown) setActive((active + 1 + step + found.length + 1) % (found.length + 1) - 1);
    } else if (event.key === "Enter" && place) take(place);
    else if (event.key === "Enter") return setOpen(false);
    else if (event.key === "Escape" && isShown) setOpen(false);
    else return;
    event.preventDefault();
  };
  const { onInput, ...input } = described(field, id);
  return (
    <Labelled field={field} id={id}>
      <div class="search">
        <input
          type="text"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          {...(isShown && active >= 0 ? { "aria-activedescendant": `${id}-${active}` } : {})}
          {...input}
          onInput={(event) => {
            onInput(event);
            setOpen(true);
          }}
          onKeyDown={press}
          onBlur={() => setOpen(false)}
        />
        {isShown && (
          <ul
            role="listbox"
            id={`${id}-list`}
            aria-label="Suggestions"
            // Pressing the list keeps the focus in the field.
            onPointerDown={(event) => event.preventDefault()}
          >
            {found.map((place, i) => (
              <li
                key={place.text}
                id={`${id}-${i}`}
                role="option"
                aria-selected={i === active}
                onClick={() => take(place)}
              >
                {place.text}
                <small>{[place.name, place.place].filter(Boolean).join(" · ")}</small>
              </li>
            ))}
          </ul>
        )}
        <span class="unseen" role="status">{isShown ? `Suggestions: ${found.length}` : ""}</span>
      </div>
    </Labelled>
  );
}

type FoundPlaces = AnswerOf<"places">["places"];

export function LinesField(field: FieldProps & { rows: number }) {
  const id = useId();
  return (
    <Labelled field={field} id={id}>
      <textarea rows={field.rows} wrap="off" {...described(field, id)} />
    </Labelled>
  );
}

export function TimeField({ part, faults }: { part: PartProps; faults: Faults }) {
  const id = useId();
  const text = part.drafts.time ?? "";
  const choice = text === "" ? NOW : text === ANY_TIME || text === NOW ? text : "at";
  const period = periodOf(part.model.value?.data);
  const warning = timeWarning(period, questionTimeS(text, part.askedAtMs), part.askedAtMs);
  const field = { part, faults, name: "time" as const, label: "Time", ...(warning && { hint: warning }) };
  const choose = (value: string) => {
    const hour = inputTime(Math.floor(Date.now() / HOUR_MS) * HOUR_MS / 1000);
    part.setDraft("time", value === "at" ? hour : value);
  };
  const timeS = questionTimeS(text, 0);
  const [date, clock] = typeof timeS === "number" ? inputTime(timeS).split("T") : ["", "00:00"];
  return (
    <Labelled field={field} id={id}>
      <div class="time-choice">
        <select
          id={id}
          value={choice}
          aria-describedby={warning && `${id}-hint`}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          <option value={NOW}>now</option>
          <option value="at">at (UTC)</option>
          <option value={ANY_TIME}>any time</option>
        </select>
        {choice === "at" && (
          <>
            <input
              type="date"
              aria-label="Date in UTC"
              min="1990-01-01"
              max="2099-12-31"
              value={date}
              onInput={({ currentTarget: { value } }) =>
                part.setDraft("time", value ? `${value}T${clock}` : ANY_TIME)}
            />
            <select
              aria-label="Time of day in UTC"
              value={clock}
              onChange={({ currentTarget: { value } }) => part.setDraft("time", `${date}T${value}`)}
            >
              {[...new Set([...HOURS, clock])].sort().map((each) => <option key={each}>{each}</option>)}
            </select>
          </>
        )}
      </div>
    </Labelled>
  );
}

const HOUR_MS = 3_600_000;
const HOURS = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:00`);

/** A form. After submission the first faulty field gets the focus. */
export function Question(
  { part, verb, children }: {
    part: PartProps;
    verb: string;
    children: ComponentChildren;
  },
) {
  const form = useRef<HTMLFormElement>(null);
  const submitted = useRef(false);
  useEffect(() => {
    if (!submitted.current) return;
    submitted.current = false;
    form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  }, [part.askedAtMs]);
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submitted.current = true;
        part.submit();
      }}
    >
      {children}
      <div class="send">
        <button type="submit">{verb}</button>
      </div>
    </form>
  );
}

/**
 * Reads the time of a question, and checks the time and the required addresses.
 *
 * @returns `time`: Unix seconds; null for any time and for an invalid time.
 */
export function readTime(
  fields: Fields,
  addresses: readonly FieldName[],
  nowMs: number,
): { time: number | null; faults: Faults } {
  const faults: Faults = {};
  for (const name of addresses) {
    const text = fields[name]?.trim() ?? "";
    const fault = text === ""
      ? "Enter an IPv4 or IPv6 address or prefix, or a place"
      : isMeantAsPrefix(text)
      ? faultOfEnd(text)
      : undefined;
    if (fault) faults[name] = fault;
  }
  const time = questionTimeS(fields.time, nowMs);
  if (time === null || typeof time === "number") return { time, faults };
  return { time: null, faults: { ...faults, time: `Cannot read ${fields.time}: ${time.fault}` } };
}

/** The error for a text that is neither an address nor a prefix. */
export function faultOfEnd(text: string): string | undefined {
  const fault = faultOfPrefix(text);
  return fault && faultText({ ...fault, action: `read ${text}` });
}

/** Moves an error to the field that it is about, if the part has it. */
export function besideField<T>(answer: Answer<T>): { answer: Answer<T>; faults: Faults } {
  const { error, field } = answer;
  return field === "src" || field === "dst" || field === "time"
    ? { answer: { ...answer, error: undefined }, faults: { [field]: error } }
    : { answer, faults: {} };
}

export interface PartProps {
  opened: OpenedApi;
  model: Answer<ModelAnswer>;
  /** Field values at submission. */
  fields: Fields;
  /** Time of submission, ms since 1970. */
  askedAtMs: number;
  drafts: Fields;
  setDraft: (name: FieldName, text: string) => void;
  /** Submits the drafts after some changes. */
  submit: (changes?: Fields) => void;
}
