/**
 * `query`: queries a trained model; each `query_KIND.ts` has one kind of query.
 *
 * @module
 */
import { defineStageGroup, serveStage, type Stage } from "../lib/cli/stage.ts";
import { destinationsStage } from "./query_destinations.ts";
import { likelihoodStage } from "./query_likelihood.ts";
import { rttStage } from "./query_rtt.ts";
import { sampleStage } from "./query_sample.ts";

/** The `query` stage. */
export const queryStage: Stage = defineStageGroup("query", "ask a trained model", [
  rttStage,
  destinationsStage,
  sampleStage,
  likelihoodStage,
]);

if (import.meta.main) serveStage(queryStage);
