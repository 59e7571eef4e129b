/**
 * The page: heading, navigation, the current part, and the state that all parts share.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Fields, formatHash, type PageState, parseHash, type PartName, PARTS } from "./url_state.ts";
import type { ModelAnswer } from "../api/schemas.ts";
import { placeCredits } from "../../data/addresses/place_credits.ts";
import { formatBytes, formatCount } from "../../base/text.ts";
import { type Answer, useAnswer } from "./answer_state.tsx";
import { type ModelStatus, openApi, type OpenedApi } from "./open_api.ts";
import { AskPart } from "./ask_part.tsx";
import { ComparePart } from "./compare_part.tsx";
import { FitsPart } from "./fits_part.tsx";
import { MapPart, sourcesOfPlaces } from "./map_part.tsx";
import { ModelPart } from "./model_part.tsx";
import type { PartProps } from "./fields.tsx";
import { PingsPart } from "./pings_part.tsx";
import { useCopy } from "./saved_files.tsx";
import { periodOf, startTime } from "./texts.ts";
import { render } from "preact";

function CopyLink({ state }: { state: PageState }) {
  const { said, text, copy } = useCopy("Link", state.part);
  const copyLink = async () => {
    const { hash, isWhole } = await formatHash(state);
    const note = isWhole ? "" : " The pasted pings are too long for a link and are left out.";
    await copy(new URL(hash, location.href).href, note);
  };
  return (
    <div class="copy">
      <span role="status">{said}</span>
      {text === undefined ? null : <input aria-label="Link" readOnly value={text} />}
      <button type="button" class="quiet" onClick={copyLink}>Copy link</button>
    </div>
  );
}

function describeData(data: ModelAnswer["data"]): string {
  const { origin, start, end, measurements, sources, destinations, adaptation } = data;
  const days = [start, end].flatMap((time) => time === null ? [] : [time.slice(0, 10)]);
  const text = [
    `${formatCount(measurements)} measurements`,
    `between ${formatCount(sources)} sources and ${formatCount(destinations)} destinations`,
    ...(days.length > 0 ? [`made ${[...new Set(days)].join(" to ")}`] : []),
  ].join(" ");
  const later = adaptation ? ` Adapted to ${formatCount(adaptation.measurements)} more measurements.` : "";
  return `Trained on ${text}.${origin === "" ? "" : ` Origin: ${origin}.`}${later}`;
}

function DataBanner({ model: { value, isBusy } }: { model: Answer<ModelAnswer> }) {
  if (!value) {
    return isBusy ? <p class="busy">Reading the model's description</p> : null;
  }
  const { data } = value;
  return (
    <p class={`banner ${data.is_synthetic ? "synthetic" : ""}`.trim()}>
      {data.is_synthetic && <strong>Synthetic data: the answers describe no real network.</strong>}{" "}
      {describeData(data)}
      <PlaceCredits sources={sourcesOfPlaces(value.config)} />
    </p>
  );
}

function PlaceCredits({ sources }: { sources: readonly string[] }) {
  return (
    <>
      {placeCredits(sources).map(({ text, url }) => (
        <span key={url}>
          {" "}
          <a href={url}>{text}</a>.
        </span>
      ))}
    </>
  );
}

/** Shows the loading state of a model in this browser, and nothing for a model on the server. */
function StatusArea({ opened }: { opened: OpenedApi }) {
  const [status, setStatus] = useState<ModelStatus>({ state: "remote" });
  useEffect(() => opened.watchStatus(setStatus), [opened]);
  if (status.state === "remote") return null;
  return <div class={`status ${status.state}`} role="status">{contentOf(status)}</div>;
}

function contentOf(status: Exclude<ModelStatus, { state: "remote" }>) {
  if (status.state === "failed") return <p>{status.message}</p>;
  if (status.state === "starting") return <p>Model loaded; preparing the GPU…</p>;
  if (status.state === "ready") {
    const { cachedBytes, deleteCached } = status;
    if (cachedBytes === 0) return <p>The model runs in this browser.</p>;
    return (
      <p>
        The model runs in this browser, which has cached {formatBytes(cachedBytes)} of it.{" "}
        <button type="button" class="quiet" onClick={() => deleteCached()}>Delete the cached model</button>
      </p>
    );
  }
  const { loadedBytes, totalBytes } = status;
  return (
    <p>
      <label>
        Loading the model: {formatBytes(loadedBytes)} of {formatBytes(totalBytes)}{" "}
        <progress value={loadedBytes} max={totalBytes} />
      </label>
    </p>
  );
}

const VIEWS = {
  map: { View: MapPart, title: "Map", heading: "How far is everywhere?" },
  ask: { View: AskPart, title: "Ask", heading: "How long does a ping take?" },
  compare: { View: ComparePart, title: "Compare", heading: "Compare sources and destinations" },
  pings: { View: PingsPart, title: "Check pings", heading: "Are your pings unusual?" },
  fits: { View: FitsPart, title: "Find destination", heading: "Which destinations fit an RTT?" },
  model: { View: ModelPart, title: "About the model", heading: "About the model" },
} satisfies Record<PartName, object>;

/** The last question and when it was asked, which is the time that `now` refers to. */
interface Asked extends PageState {
  atMs: number;
  /** True if the address names no part. The page then opens with the map, if the model has one. */
  isOpen: boolean;
}

function App({ opened }: { opened: OpenedApi }) {
  const [asked, setAsked] = useState<Asked>();
  const [drafts, setDrafts] = useState<Fields>({});
  const model = useAnswer("model", () => opened.api.model());
  const heading = useRef<HTMLHeadingElement>(null);

  const show = (state: PageState, isOpen = false) => {
    setAsked({ ...state, atMs: Date.now(), isOpen });
    setDrafts(state.fields);
  };
  useEffect(() => {
    const read = async () => {
      const state = stateOf(history.state);
      if (state) show(state);
      else show(await parseHash(location.hash), location.hash.length < 2);
    };
    read();
    addEventListener("popstate", read);
    return () => removeEventListener("popstate", read);
  }, []);
  const hasMap = model.value !== undefined && sourcesOfPlaces(model.value.config).length > 0;
  // Until it is known whether the model has a map, nothing is shown that would change later.
  const isKnown = model.value !== undefined || model.error !== undefined;
  const opening = !asked?.isOpen ? asked?.part : !isKnown ? undefined : hasMap ? "map" : "ask";
  // The age of the data determines the default time of a question.
  const part = isKnown || asked?.fields.time || !opened.hasServer ? opening : undefined;
  useEffect(() => {
    if (part) document.title = `${VIEWS[part].title} · ping-llm`;
  }, [part]);

  const go = async (state: PageState) => {
    const { hash } = await formatHash(state);
    // Asking the same question again adds no history entry.
    if (hash === location.hash) history.replaceState(state, "", hash);
    else history.pushState(state, "", hash);
    show(state);
  };
  if (!asked) return null;
  const open = async (name: PartName) => {
    await go({ part: name, fields: drafts });
    heading.current?.focus();
  };
  // Pasted pings have their own times.
  const usual = model.value && part !== "pings"
    ? { time: startTime(periodOf(model.value.data), asked.atMs) }
    : {};
  const props: PartProps = {
    opened,
    model,
    fields: { ...usual, ...asked.fields },
    askedAtMs: asked.atMs,
    drafts: { ...usual, ...drafts },
    setDraft: (name, text) => setDrafts((fields) => ({ ...fields, [name]: text })),
    submit: (changes = {}) => go({ part: part ?? "ask", fields: { ...drafts, ...changes } }),
  };
  const shown = part && VIEWS[part];
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          heading.current?.focus();
        }}
      >
        Skip to the question
      </a>
      <header>
        <p class="name">ping-llm</p>
        <nav aria-label="Parts">
          <ul>
            {PARTS.filter((name) => name !== "map" || hasMap || part === "map").map((name) => (
              <li key={name}>
                <PartLink name={name} isShown={name === part} open={open} />
              </li>
            ))}
          </ul>
        </nav>
        {opened.hasServer && <a class="docs" href="docs">API</a>}
        <CopyLink state={{ part: part ?? "ask", fields: drafts }} />
      </header>
      <main id="main">
        {shown && <h1 tabIndex={-1} ref={heading}>{shown.heading}</h1>}
        <p class="lead">
          A language model of the Internet: trained on ping measurements, it answers with the whole
          distribution of a round-trip time (RTT).
        </p>
        <DataBanner model={model} />
        <StatusArea opened={opened} />
        {shown && <shown.View key={part} {...props} />}
      </main>
    </>
  );
}

/** A link that can be opened in another tab; a plain click keeps the field values. */
function PartLink(
  { name, isShown, open }: { name: PartName; isShown: boolean; open: (name: PartName) => void },
) {
  return (
    <a
      href={`#${name}`}
      aria-current={isShown ? "page" : undefined}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        open(name);
      }}
    >
      {VIEWS[name].title}
    </a>
  );
}

function stateOf(value: unknown): PageState | undefined {
  const isState = typeof value === "object" && value !== null && "part" in value && "fields" in value;
  return isState ? value as PageState : undefined;
}

const root = document.getElementById("app");
if (!root) throw new Error("the page has no element app");
render(<App opened={openApi(document)} />, root);
