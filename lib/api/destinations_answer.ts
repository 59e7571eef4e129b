/** Questions for destinations. @module */
import { formatPrefix } from "../addresses/ip_prefix.ts";
import { measuredBy, seenJson } from "../addresses/known_addresses.ts";
import {
  codeRangeOf,
  type DestinationQuery,
  prefixLengthOf,
} from "../query/destinations/destination_query.ts";
import { rankDestinations } from "../query/destinations/destination_ranking.ts";
import type { PingModel } from "../query/ping_model.ts";
import { contextThatFits } from "../query/query_tokens.ts";
import { readFields, readSource } from "./read_question.ts";
import { type DestinationsApiAnswer, destinationsQuestionSchema } from "./schemas.ts";

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
  const { rtt, prefix_length, ...question } = readFields(destinationsQuestionSchema, value);
  const { src_addr, timestamp, context, top, candidates, max_expansions } = question;
  const query: DestinationQuery = { ...readSource({ src_addr, timestamp, context }), rttMs: rtt };
  codeRangeOf(rtt);
  const prefixLength = prefixLengthOf(query, prefix_length);
  const fitting = contextThatFits({ ...query, destination: query.source }, model.config.sequenceLength);
  const asked = {
    src_addr,
    rtt,
    timestamp: query.timeS,
    prefix_length: prefixLength,
    context_measurements: fitting.length,
  };
  return async (signal) => {
    const [ranked] = await rankDestinations(model, [query], {
      ...(top !== undefined && { top }),
      ...(candidates !== undefined && { numCandidates: candidates }),
      ...(max_expansions !== undefined && { maxExpansions: max_expansions }),
      prefixLength,
      signal,
    });
    const { trainingData } = model;
    return {
      ...asked,
      destinations: ranked.destinations.map(({ prefix, probability }) => ({
        prefix: formatPrefix(prefix),
        probability,
        measured: trainingData ? seenJson(measuredBy(trainingData, query.source, prefix)) : null,
      })),
      unlisted_probability: ranked.unlistedProbability,
      candidates: ranked.candidates,
      prior_mass: ranked.priorMass,
      step: model.step,
    };
  };
}
