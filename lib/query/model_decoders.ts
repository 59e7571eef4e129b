/**
 * The decoders that answer a model's queries, and whose turn it is.
 *
 * A decoder holds one group of prompts at a time, whoever asks: work waits for all that was asked for before.
 *
 * @module
 */
import type { KernelRegistry } from "../gpu/registry.ts";
import type { ModelConfig } from "../model/model_config.ts";
import { Decoder } from "../model/decoder.ts";
import type { DecoderExtent } from "../model/decoder_buffers.ts";
import { continuationExtent, groupsOf, promptExtent } from "./decoder_extent.ts";

/** What decoders need of a model. */
export interface DecodedModel {
  readonly config: ModelConfig;
  readonly registry: KernelRegistry;
  readonly weights: Map<string, Float32Array>;
}

/** Two decoders of one model, made when they are first needed: for prompts and one step, and for many steps. */
export class ModelDecoders {
  readonly #model: DecodedModel;
  readonly #memoryLimitBytes: number;
  #prompter: Promise<Decoder> | undefined;
  #continuer: Promise<Decoder> | undefined;
  /** Settles when all work asked for so far is done; never rejects. */
  #idle: Promise<unknown> = Promise.resolve();

  /** @param memoryLimitBytes What each of them may take of the GPU's memory besides weights. */
  constructor(model: DecodedModel, memoryLimitBytes: number) {
    this.#model = model;
    this.#memoryLimitBytes = memoryLimitBytes;
  }

  /** How many tokens of prompts and rows {@link withContinuer} can hold. */
  get continuationExtent(): DecoderExtent {
    return continuationExtent(this.#model.config, this.#memoryLimitBytes);
  }

  /**
   * Runs work on groups of prompts, in order.
   *
   * @param prompts Token sequences of at most the model's length.
   * @param numChildren How many rows continue each of them, by one token.
   * @param work Gets a decoder, the next group that it can hold with its rows, and how many prompts were before.
   */
  async withPrompts(
    prompts: readonly Uint16Array[],
    numChildren: number,
    work: (decoder: Decoder, group: readonly Uint16Array[], first: number) => Promise<void>,
  ): Promise<void> {
    const extent = promptExtent(this.#model.config, this.#memoryLimitBytes);
    let first = 0;
    for (const group of groupsOf(prompts, extent, numChildren)) {
      await this.#exclusively(async () => {
        this.#prompter ??= this.#create(extent);
        await work(await this.#prompter, group, first);
      });
      first += group.length;
    }
  }

  /** Runs work on the decoder for many steps. @throws {UserError} If memory does not suffice. */
  async withContinuer(work: (decoder: Decoder) => Promise<void>): Promise<void> {
    await this.#exclusively(async () => {
      this.#continuer ??= this.#create(this.continuationExtent);
      await work(await this.#continuer);
    });
  }

  /** Gives the decoders the model's weights anew, after all work that was asked for before. */
  async reload(): Promise<void> {
    await this.#exclusively(async () => {
      for (const decoder of [this.#prompter, this.#continuer]) (await decoder)?.load(this.#model.weights);
    });
  }

  async #exclusively(work: () => Promise<void>): Promise<void> {
    const done = this.#idle.then(work);
    this.#idle = done.catch(() => {});
    await done;
  }

  #create(extent: DecoderExtent): Promise<Decoder> {
    const memoryLimitBytes = this.#memoryLimitBytes;
    return Decoder.create(this.#model.registry, this.#model, { ...extent, memoryLimitBytes });
  }
}
