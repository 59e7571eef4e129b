/** The fourth part of the page: which destinations an RTT fits. @module */
import type { DestinationsApiAnswer, DestinationsApiQuestion } from "../api/schemas.ts";
import { AnswerState } from "./answer_state.tsx";
import { type Faults, faultsOf, faultsOfError, Question, TextField, TimeField } from "./fields.tsx";
import { formatMs, formatPercent, formatRange } from "./number_text.ts";
import type { PartProps } from "./part_props.ts";
import { type PrefixNode, prefixTree, TREE_LENGTHS } from "./prefix_tree.ts";
import { formatTime, questionTimeS } from "./question_time.ts";
import { CsvButton, CurlButton, curlGet } from "./saved_files.tsx";
import type { Fields } from "./url_state.ts";
import { useAnswer } from "./use_answer.ts";

/** How many prefixes of each length are asked for. */
const TOP = 20;
/** Steps of each search: what a person waits for. */
const MAX_EXPANSIONS = 512;
/** Less probable prefixes are behind a line to open, if there are several. */
const SMALL = 0.001;

function questionOf(fields: Fields, nowMs: number): { question: DestinationsApiQuestion; faults: Faults } {
  const faults = faultsOf(fields, ["src"], nowMs);
  if (!faults.src && fields.src?.includes("/")) faults.src = "Found a prefix, one address was wanted";
  const low = rttOf(fields.low);
  const high = fields.high?.trim() ? rttOf(fields.high) : low;
  if (!(low >= 0)) faults.low = "An RTT in ms was wanted, such as 20";
  if (!(high >= low)) faults.high = "An RTT in ms was wanted, at least the other one, or nothing";
  const timestamp = questionTimeS(fields.time, nowMs) as number | null;
  return {
    question: {
      src_addr: fields.src?.trim() ?? "",
      rtt: [low, high],
      timestamp,
      top: TOP,
      max_expansions: MAX_EXPANSIONS,
    },
    faults,
  };
}

function rttOf(text: string | undefined): number {
  const trimmed = text?.trim().replace(/ ?ms$/, "") ?? "";
  return trimmed === "" ? NaN : Number(trimmed);
}

/** See the module. */
export function FitsPart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer } } = part;
  const isAsked = fields.low !== undefined || fields.high !== undefined;
  const { question, faults } = questionOf(fields, askedAtMs);
  const isRight = isAsked && Object.keys(faults).length === 0;
  const lengths = TREE_LENGTHS[question.src_addr.includes(":") ? 6 : 4];
  const answer = useAnswer<DestinationsApiAnswer[]>(
    isRight ? JSON.stringify(["fits", question]) : null,
    async (signal, report) => {
      const answers: DestinationsApiAnswer[] = [];
      for (const prefix_length of lengths) {
        report([...answers]);
        answers.push(await api.destinations({ ...question, prefix_length }, signal));
      }
      return answers;
    },
  );
  const numDone = answer.isBusy ? answer.value?.length ?? 0 : 0;
  const errorFaults = faultsOfError(answer.error);
  const shown = isAsked ? { ...faults, ...errorFaults } : {};
  return (
    <>
      <Question part={part} verb="Search">
        <div class="row">
          <TextField part={part} faults={shown} name="src" label="Source" placeholder="192.0.2.1" />
          <TextField
            part={part}
            faults={shown}
            name="low"
            label="RTT, ms"
            inputMode="decimal"
            placeholder="20"
          />
          <TextField
            part={part}
            faults={shown}
            name="high"
            label="to, ms (if a range)"
            inputMode="decimal"
            placeholder="25"
          />
          <TimeField part={part} faults={shown} />
        </div>
      </Question>
      <AnswerState
        answer={Object.keys(errorFaults).length > 0 ? { ...answer, error: undefined } : answer}
        doing={`Searching prefixes of ${lengths[Math.min(numDone, lengths.length - 1)]} bits, ${
          numDone + 1
        } of ${lengths.length}`}
        summary={(answers) => summaryOf(answers)}
      >
        {(answers: DestinationsApiAnswer[]) =>
          answers.length === 0 ? null : (
            <>
              <Tree answers={answers} />
              <div class="tools">
                <CsvButton
                  name="destinations"
                  columns={["prefix", "prefix_length", "probability", "standard_error"]}
                  rows={() =>
                    answers.flatMap(({ prefix_length, destinations }) =>
                      destinations.map(({ prefix, probability, standard_error }) =>
                        [prefix, prefix_length, probability, standard_error] as const
                      )
                    )}
                />
                {hasServer
                  ? (
                    <CurlButton
                      command={() =>
                        curlGet("v1/destinations", {
                          src_addr: question.src_addr,
                          rtt: question.rtt.join(".."),
                          timestamp: question.timestamp as number | null,
                        })}
                    />
                  )
                  : null}
              </div>
            </>
          )}
      </AnswerState>
    </>
  );
}
FitsPart.heading = "Which destinations fit an RTT?";

function summaryOf(answers: readonly DestinationsApiAnswer[]): string {
  const best = answers.map(({ destinations }) => destinations[0]).filter((first) => first !== undefined);
  const texts = best.map(({ prefix, probability }) => `${prefix} with ${formatPercent(probability)}`);
  return `The most probable: ${texts.join(", ")}.`;
}

function Tree({ answers }: { answers: readonly DestinationsApiAnswer[] }) {
  const tree = prefixTree(answers.map(({ destinations }) => destinations));
  const [{ src_addr, rtt: [low, high], timestamp, unlisted_probability }] = answers;
  return (
    <section aria-labelledby="fitting">
      <h2 id="fitting">Destinations at {formatRange(low, high)} from {src_addr}</h2>
      <p>
        {formatTime(timestamp)}. Probabilities are shares of all destinations that the model thinks of for
        {" "}
        {low === high ? `an RTT of ${formatMs(low)}` : "these RTTs"}; {TOP} of each length at most.
      </p>
      <Branches
        nodes={tree}
        rest={{ name: "all other prefixes", probability: unlisted_probability }}
      />
      <Proof answers={answers} />
    </section>
  );
}

function Branches(
  { nodes, rest }: {
    nodes: readonly PrefixNode[];
    rest: { name: string; probability: number };
  },
) {
  const large = nodes.filter(({ probability }) => probability >= SMALL);
  const small = nodes.slice(large.length);
  const isFolded = large.length > 0 && small.length > 1;
  const together = small.reduce((sum, { probability }) => sum + probability, 0);
  return (
    <ul class="tree">
      {(isFolded ? large : nodes).map((node, i) => (
        <li key={node.prefix}>
          <Node node={node} isOpen={i === 0} />
        </li>
      ))}
      {isFolded
        ? (
          <li>
            <details>
              <summary class="branch rest">
                <Branch prefix={`${small.length} less probable ones`} probability={together} />
              </summary>
              <ul class="tree">
                {small.map((node) => (
                  <li key={node.prefix}>
                    <Node node={node} isOpen={false} />
                  </li>
                ))}
              </ul>
            </details>
          </li>
        )
        : null}
      <li>
        <div class="branch rest">
          <Branch prefix={rest.name} probability={rest.probability} />
        </div>
      </li>
    </ul>
  );
}

function Node({ node, isOpen }: { node: PrefixNode; isOpen: boolean }) {
  const { prefix, children, restProbability } = node;
  if (children.length === 0) {
    return (
      <div class="branch">
        <Branch {...node} />
      </div>
    );
  }
  return (
    <details open={isOpen}>
      <summary class="branch">
        <Branch {...node} />
      </summary>
      <Branches
        nodes={children}
        rest={{ name: `elsewhere in ${prefix}`, probability: restProbability }}
      />
    </details>
  );
}

function Branch({ prefix, probability, standard_error = 0 }: {
  prefix: string;
  probability: number;
  standard_error?: number;
}) {
  // Small errors are left out: they change the last digit at most by some.
  const isSure = standard_error < probability / 20;
  return (
    <>
      <span class="prefix">{prefix}</span>
      <meter min={0} max={1} value={probability} aria-hidden="true" />
      <span class="share">
        {formatPercent(probability)}
        {isSure ? null : <small>± {formatPercent(standard_error)}</small>}
      </span>
    </>
  );
}

/** What is not listed, and whether something of it could be more probable. */
function Proof({ answers }: { answers: readonly DestinationsApiAnswer[] }) {
  const unproven = answers.filter(({ is_proven }) => is_proven === false);
  return (
    <>
      {unproven.length === 0 ? null : (
        <p class="notes">
          The search ended before it was sure for{" "}
          {unproven.map(({ prefix_length }) => `/${prefix_length}`).join(", ")}:{" "}
          prefixes that are not listed may be more probable than some that are.
        </p>
      )}
      <details>
        <summary>What the lists leave out</summary>
        <ul>
          {answers.map(({ prefix_length, destinations, unlisted_probability, unlisted_at_most }) => (
            <li key={prefix_length}>
              /{prefix_length}: {destinations.length} listed, {formatPercent(unlisted_probability)} not listed
              {unlisted_at_most === undefined ? "" : `, none of it above ${formatPercent(unlisted_at_most)}`}.
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}
