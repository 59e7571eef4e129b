/** Questions for destinations: searched, or ranked among candidates. @module */
import { formatPrefix } from "../addresses/ip_prefix.ts";
import { measuredBy, seenJson } from "../addresses/known_addresses.ts";
import { codesOf, type DestinationQuery } from "../query/destinations/destination_prompt.ts";
import { rankDestinations } from "../query/destinations/destination_ranking.ts";
import {
  type LikelyDestinations,
  likelyDestinations,
  prefixLengthOf,
} from "../query/destinations/destinations.ts";
import type { PingModel } from "../query/ping_model.ts";
import { contextThatFits } from "../query/query_tokens.ts";
import { readFields, readSource } from "./read_question.ts";
import { type DestinationsApiAnswer, destinationsQuestionSchema } from "./schemas.ts";
import { snakeKeys } from "./snake_case.ts";

/** What `query destinations` has where nothing else is said. */
const [DEFAULT_TOP, DEFAULT_CODES, DEFAULT_EXPANSIONS] = [20, 32, 4096];

/**
 * Reads a question for destinations.
 *
 * @returns What answers it; it ends soon after the signal.
 * @throws {UserError} If it is none.
 */
export function readDestinationsQuestion(
  model: PingModel,
  value: unknown,
): (signal?: AbortSignal) => Promise<DestinationsApiAnswer> {
  const { rtt, prefix_length, candidates, ...question } = readFields(destinationsQuestionSchema, value);
  const { src_addr, timestamp, context } = question;
  const query: DestinationQuery = { ...readSource({ src_addr, timestamp, context }), rttMs: rtt };
  codesOf(query);
  const prefixLength = prefixLengthOf(query, prefix_length);
  const fitting = contextThatFits({ ...query, destination: query.source }, model.config.sequenceLength);
  const asked = {
    src_addr,
    rtt,
    timestamp: query.timeS,
    prefix_length: prefixLength,
    context_measurements: fitting.length,
  };
  const {
    top = DEFAULT_TOP,
    max_codes: maxCodes = DEFAULT_CODES,
    max_expansions: maxExpansions = DEFAULT_EXPANSIONS,
  } = question;
  return async (signal) => {
    const options = { top, maxExpansions, signal };
    const { trainingData } = model;
    const listOf = (found: Pick<LikelyDestinations, "destinations" | "unlistedProbability">) => ({
      destinations: found.destinations.map(({ prefix, ...numbers }) => ({
        prefix: formatPrefix(prefix),
        ...snakeKeys(numbers),
        measured: trainingData ? seenJson(measuredBy(trainingData, query.source, prefix)) : null,
      })),
      unlisted_probability: found.unlistedProbability,
    });
    if (candidates !== undefined) {
      const [ranked] = await rankDestinations(model, [query], {
        ...options,
        numCandidates: candidates,
        prefixLength,
      });
      return { ...asked, ...listOf(ranked), step: model.step };
    }
    const found = await likelyDestinations(model, query, { ...options, maxCodes, prefixLength });
    const { unlistedAtMost, isProven } = found;
    return { ...asked, ...listOf(found), ...snakeKeys({ unlistedAtMost, isProven }), step: model.step };
  };
}
