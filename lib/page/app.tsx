/**
 * The page: its heading, the links to its parts, the part that is shown, and the state that all of them share.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { AskPart } from "./ask_part.tsx";
import { ComparePart } from "./compare_part.tsx";
import { CopyLink } from "./copy_link.tsx";
import { FitsPart } from "./fits_part.tsx";
import { DataBanner } from "./data_banner.tsx";
import type { OpenedApi } from "./model_status.ts";
import { ModelPart } from "./model_part.tsx";
import type { PartProps } from "./part_props.ts";
import { PingsPart } from "./pings_part.tsx";
import { StatusArea } from "./status_area.tsx";
import { type Fields, formatHash, type PageState, parseHash, type PartName, PARTS } from "./url_state.ts";
import { useAnswer } from "./use_answer.ts";

const TITLES: Record<PartName, string> = {
  ask: "Ask",
  compare: "Compare",
  pings: "Check pings",
  fits: "Find destination",
  model: "About the model",
};
const VIEWS = { ask: AskPart, compare: ComparePart, pings: PingsPart, fits: FitsPart, model: ModelPart };

/** What was asked, and when: a question of now is one of that moment. */
interface Asked extends PageState {
  atMs: number;
}

/** The whole page. */
export function App({ opened }: { opened: OpenedApi }) {
  const [asked, setAsked] = useState<Asked>();
  const [drafts, setDrafts] = useState<Fields>({});
  const model = useAnswer("model", (signal) => opened.api.model(signal));
  const heading = useRef<HTMLHeadingElement>(null);

  const show = (state: PageState) => {
    setAsked({ ...state, atMs: Date.now() });
    setDrafts(state.fields);
  };
  useEffect(() => {
    const read = async () => show(stateOf(history.state) ?? await parseHash(location.hash));
    read();
    addEventListener("popstate", read);
    return () => removeEventListener("popstate", read);
  }, []);
  const part = asked?.part;
  useEffect(() => {
    if (part) document.title = `${TITLES[part]} · ping-llm`;
  }, [part]);

  const go = async (state: PageState) => {
    const { hash } = await formatHash(state);
    // Asking the same again is no new page to go back from.
    if (hash === location.hash) history.replaceState(state, "", hash);
    else history.pushState(state, "", hash);
    show(state);
  };
  if (!asked) return null;
  const open = async (name: PartName) => {
    await go({ part: name, fields: drafts });
    heading.current?.focus();
  };
  const props: PartProps = {
    opened,
    model,
    fields: asked.fields,
    askedAtMs: asked.atMs,
    drafts,
    setDraft: (name, text) => setDrafts((fields) => ({ ...fields, [name]: text })),
    submit: (changes = {}) => go({ part: asked.part, fields: { ...drafts, ...changes } }),
  };
  const View = VIEWS[asked.part];
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
            {PARTS.map((name) => (
              <li key={name}>
                <PartLink name={name} isShown={name === asked.part} open={open} />
              </li>
            ))}
          </ul>
        </nav>
        {opened.hasServer ? <a class="docs" href="docs">API</a> : null}
        <CopyLink state={{ part: asked.part, fields: drafts }} />
      </header>
      <main id="main">
        <h1 tabIndex={-1} ref={heading}>{View.heading}</h1>
        <p class="lead">
          A language model of the Internet: it has read ping measurements and answers with the whole
          distribution of a round-trip time (RTT).
        </p>
        <DataBanner model={model} />
        <StatusArea opened={opened} />
        <View key={asked.part} {...props} />
      </main>
    </>
  );
}

/** A link, so that it can be opened in another tab; a plain click keeps what stands in the fields. */
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
      {TITLES[name]}
    </a>
  );
}

/** The state that an entry of the history has; undefined if it has none. */
function stateOf(value: unknown): PageState | undefined {
  const isState = typeof value === "object" && value !== null && "part" in value && "fields" in value;
  return isState ? value as PageState : undefined;
}
