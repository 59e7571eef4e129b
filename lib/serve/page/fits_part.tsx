/** The fourth part of the page: which destinations an RTT fits. @module */
import {
  formatPrefix,
  type IpPrefix,
  parsePrefix,
  prefixContains,
  prefixOfAddress,
  withName,
} from "../../data/addresses/ip_prefix.ts";
import type { AnswerOf, QuestionOf } from "../../query/questions/questions.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import {
  type Faults,
  faultsOf,
  faultsOfError,
  type PartProps,
  Question,
  SearchField,
  TextField,
  TimeField,
} from "./fields.tsx";
import { formatPercent, formatRange, formatTime, questionTimeS } from "./texts.ts";
import { CsvButton, CurlButton, curlGet } from "./saved_files.tsx";
import type { Fields } from "./url_state.ts";

// Listed prefixes of several lengths as one tree.

/** A prefix and how probable it is that the destination lies in it. */
interface ListedPrefix {
  prefix: string;
  probability: number;
}

/** A prefix with the listed ones inside it, the most probable first. */
interface PrefixNode extends ListedPrefix {
  children: PrefixNode[];
  /** The probability of what lies in it and in no child, not below 0. */
  restProbability: number;
}

/** The lengths of prefixes that a tree has: of IPv4 down to whole addresses, of IPv6 down to one network. */
const TREE_LENGTHS = { 4: [8, 16, 24, 32], 6: [16, 32, 48, 64] } as const;

/** Adds up listed prefixes by a shorter length, the most probable first. */
export function prefixSums(listed: readonly ListedPrefix[], length: number): ListedPrefix[] {
  const sums = new Map<string, number>();
  for (const { prefix, probability } of listed) {
    const shorter = formatPrefix(prefixOfAddress(parsePrefix(prefix).bytes, length));
    sums.set(shorter, (sums.get(shorter) ?? 0) + probability);
  }
  return Array.from(sums, ([prefix, probability]) => ({ prefix, probability }))
    .sort((a, b) => b.probability - a.probability);
}

/**
 * Makes the tree. A prefix lies below the longest listed one that holds it, at the top if there is none.
 *
 * @param lists The listed prefixes of each length, the shortest first.
 */
export function prefixTree(lists: readonly (readonly ListedPrefix[])[]): PrefixNode[] {
  const top: PrefixNode[] = [];
  const parsed: { node: PrefixNode; prefix: IpPrefix }[] = [];
  for (const listed of lists.flat()) {
    const prefix = parsePrefix(listed.prefix);
    const node = { ...listed, children: [], restProbability: listed.probability };
    const parent = parsed.findLast((other) =>
      other.prefix.length < prefix.length && prefixContains(other.prefix, prefix.bytes)
    );
    (parent?.node.children ?? top).push(node);
    if (parent) {
      parent.node.restProbability = Math.max(0, parent.node.restProbability - listed.probability);
    }
    parsed.push({ node, prefix });
  }
  const sort = (nodes: PrefixNode[]) => {
    nodes.sort((a, b) => b.probability - a.probability);
    for (const { children } of nodes) sort(children);
  };
  sort(top);
  return top;
}

/** How many prefixes are asked for: all that are ranked, so that shorter ones are sums of them. */
const TOP = 1000;
/** Less probable prefixes are behind a line to open, if there are several. */
const SMALL = 0.001;

function questionOf(fields: Fields, nowMs: number): { question: QuestionOf<"destinations">; faults: Faults } {
  const faults = faultsOf(fields, ["src"], nowMs);
  const low = rttOf(fields.low);
  const high = fields.high?.trim() ? rttOf(fields.high) : low;
  if (!(low >= 0)) faults.low = "Expected an RTT in ms, such as 20";
  if (!(high >= low)) faults.high = "Expected an RTT in ms, at least the other one, or nothing";
  const time = questionTimeS(fields.time, nowMs) as number | null;
  return {
    question: {
      src: fields.src?.trim() ?? "",
      rtt: [low, high],
      time,
      top: TOP,
      prefix_length: lengthsOf(fields.src ?? "").at(-1) as number,
    },
    faults,
  };
}

/** The lengths of prefixes that the tree of a source has. */
function lengthsOf(source: string): readonly number[] {
  return TREE_LENGTHS[source.includes(":") ? 6 : 4];
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
  const answer = useAnswer<AnswerOf<"destinations">>(
    isRight ? JSON.stringify(["fits", question]) : null,
    (signal) => api.destinations(question, signal),
  );
  const errorFaults = faultsOfError(answer.error);
  const shown = isAsked ? { ...faults, ...errorFaults } : {};
  return (
    <>
      <Question part={part} verb="Search">
        <div class="row">
          <SearchField
            part={part}
            faults={shown}
            name="src"
            label="Source"
            placeholder="192.0.2.1"
            addressesOnly
          />
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
        doing="Ranking destinations"
        summary={({ destinations }) =>
          `The most probable: ${destinations[0].prefix} with ${formatPercent(destinations[0].probability)}.`}
      >
        {(answered: AnswerOf<"destinations">) => (
          <>
            <Tree answer={answered} />
            <div class="tools">
              <CsvButton
                name="destinations"
                columns={["prefix", "probability"]}
                rows={() =>
                  answered.destinations.map(({ prefix, probability }) => [prefix, probability] as const)}
              />
              {hasServer
                ? (
                  <CurlButton
                    command={() =>
                      curlGet("v1/destinations", {
                        src: question.src,
                        rtt: question.rtt.join(".."),
                        time: question.time as number | null,
                        prefix_length: question.prefix_length as number,
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

function Tree({ answer }: { answer: AnswerOf<"destinations"> }) {
  const { src, rtt: [low, high], time, destinations, prior_mass } = answer;
  const tree = prefixTree(lengthsOf(src).map((length) => prefixSums(destinations, length)));
  return (
    <section aria-labelledby="fitting">
      <h2 id="fitting">
        Destinations at {formatRange(low, high)} from {withName(src, answer.src_name)}
      </h2>
      <p>
        {formatTime(time)}. Probabilities are shares among {answer.candidates}{" "}
        destinations: those that this source is known to measure, and likely ones. Before the RTT was known,
        they had {formatPercent(prior_mass)} together; others cannot be listed.
      </p>
      <Branches
        nodes={tree}
        rest={{ name: "all other prefixes", probability: answer.unlisted_probability }}
      />
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

function Branch({ prefix, probability }: { prefix: string; probability: number }) {
  return (
    <>
      <span class="prefix">{prefix}</span>
      <meter min={0} max={1} value={probability} aria-hidden="true" />
      <span class="share">{formatPercent(probability)}</span>
    </>
  );
}
