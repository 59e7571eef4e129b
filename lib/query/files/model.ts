/** A trained model as programs use it. @module */
import type { QuestionMeasurement, RttQuestion } from "../rtt/rtt_question.ts";
import type { Adaptation, AdaptOptions } from "../adapt/adapt.ts";
import type { PingModel } from "../ping_model.ts";
import { ask } from "../questions/ask.ts";
import type { AskOptions } from "../questions/question.ts";
import type { AnswerOf, QuestionKind, QuestionOf } from "../questions/questions.ts";
import type { RttDistribution } from "../rtt/rtt_distribution.ts";
import { loadModel as loadPingModel, type LoadOptions } from "./load_model.ts";

/** A trained model on a GPU. */
export class Model {
  readonly #model: PingModel;

  /** @internal */
  constructor(model: PingModel) {
    this.#model = model;
  }

  /** Number of training steps. */
  get step(): number {
    return this.#model.step;
  }

  /**
   * Asks a question. Questions and answers are those of the HTTP API (`/openapi.json` of `serve`), with wider
   * bounds. `score` takes `measurements` and returns an answer or an error for each.
   *
   * @param kind The path of the question over HTTP without `/v1/`.
   * @throws {UserError} If the question is invalid, with the error text of the HTTP API.
   */
  async ask<Kind extends QuestionKind>(
    kind: Kind,
    question: QuestionOf<Kind>,
    options: AskOptions = {},
  ): Promise<AnswerOf<Kind>> {
    return await ask(this.#model, kind, question, options) as AnswerOf<Kind>;
  }

  /** The exact distribution of the RTT between two addresses. @throws {UserError} If they are invalid. */
  async rttDistribution(question: RttQuestion): Promise<RttDistribution> {
    return await this.#model.rttDistribution(question);
  }

  /**
   * {@link rttDistribution} for many questions, in order; several times faster than one at a time. A
   * distribution takes 0.5 MB, so split tens of thousands of questions.
   */
  async rttDistributions(questions: readonly RttQuestion[]): Promise<RttDistribution[]> {
    return await this.#model.rttDistributions(questions);
  }

  /**
   * Fits the embeddings and coordinates of addresses to measurements, with everything else frozen. Later
   * answers use them.
   *
   * @throws {UserError} If the model has no address embeddings, or a measurement is invalid.
   */
  async adapt(
    measurements: readonly QuestionMeasurement[],
    options: Omit<AdaptOptions, "adapted"> = {},
  ): Promise<Adaptation> {
    return await this.#model.adapt(measurements, options);
  }

  /** Frees the GPU. */
  close(): void {
    this.#model.close();
  }

  /** {@link close} for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Loads a checkpoint and opens the GPU.
 *
 * @param path A run directory, its `checkpoints`, a `step-…` directory, or an adapted checkpoint.
 * @throws {UserError} If there is no usable checkpoint or no GPU, or a file cannot be read.
 */
export async function loadModel(path: string, options: LoadOptions = {}): Promise<Model> {
  return new Model(await loadPingModel(path, options));
}
