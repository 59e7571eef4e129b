/**
 * `query`: asks a trained model; one kind of question in each `query_KIND.ts`.
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
