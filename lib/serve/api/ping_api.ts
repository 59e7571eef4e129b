/**
 * The API of a model, over HTTP or in a worker of the browser.
 *
 * @module
 */
import type {
  ApiMeasurement,
  DestinationsApiAnswer,
  DestinationsApiQuestion,
  LikelihoodApiAnswer,
  LikelihoodApiQuestion,
  LineError,
  MapApiAnswer,
  MapApiQuestion,
  ModelApiAnswer,
  PlacesApiAnswer,
  PlacesApiQuestion,
  RttApiAnswer,
  RttApiQuestion,
  ScoreApiAnswer,
  ScoreApiOptions,
} from "./schemas.ts";

/** The operations. Each throws an error whose message is for people. */
export interface PingApi {
  /** The distribution of an RTT. */
  rtt(question: RttApiQuestion, signal?: AbortSignal): Promise<RttApiAnswer>;
  /** The distributions of many RTTs, one answer or error for each question, in order. */
  rttBatch(questions: readonly RttApiQuestion[], signal?: AbortSignal): Promise<(RttApiAnswer | LineError)[]>;
  /** The most probable destinations for an RTT. */
  destinations(question: DestinationsApiQuestion, signal?: AbortSignal): Promise<DestinationsApiAnswer>;
  /** A part of a map: the RTTs from one source to some places. */
  map(question: MapApiQuestion, signal?: AbortSignal): Promise<MapApiAnswer>;
  /** Meanings of a text: addresses, names, places, ASes. */
  places(question: PlacesApiQuestion, signal?: AbortSignal): Promise<PlacesApiAnswer>;
  /** How probable a measurement is. */
  likelihood(question: LikelihoodApiQuestion, signal?: AbortSignal): Promise<LikelihoodApiAnswer>;
  /** How surprising each measurement is, given those before it; one answer or error for each, in order. */
  score(
    measurements: readonly ApiMeasurement[],
    options?: ScoreApiOptions,
    signal?: AbortSignal,
  ): Promise<(ScoreApiAnswer | LineError)[]>;
  /** The description of the model. */
  model(signal?: AbortSignal): Promise<ModelApiAnswer>;
}
