/**
 * The decoders that answer a model's queries: tokens in, log-probabilities out.
 *
 * A decoder processes one group of prompts at a time; work waits for all earlier work on the same decoder.
 * There are separate decoders so that a question between two addresses is answered during a search for
 * destinations.
 *
 * @module
 */
import type { TensorArray } from "../base/safetensors_header.ts";
import { type ModelConfig, modelShapes, rttEncodingChoice } from "../model/model_config.ts";
import { Decoder } from "../model/decoder.ts";
import { type DecoderExtent, decoderFits, type DecoderMemory } from "../model/decoder_buffers.ts";
import { branchRows, NO_TOKEN, rowOf } from "./decoder_rows.ts";
import type { KernelRegistry } from "../tensor/registry.ts";
import { bufferLimitBytes } from "../model/allocation.ts";
import { FIRST_BYTES, restrictedLogProbability } from "./rtt/rtt_bytes.ts";
import { contextForm } from "../data/tokens/context_form.ts";

export interface ContinuedPrompt {
  /** At least one token. */
  readonly prompt: Uint16Array;
  /** At least one token each. */
  readonly continuations: readonly Uint16Array[];
}

/** Returns the possible tokens at each index of a continuation. */
type AllowedTokens = (
  tokens: Uint16Array,
  prompt: Uint16Array,
) => readonly (readonly number[])[];

/** Receives log P(next token) before a token of a continuation, (V) nats; valid until it returns. */
type VisitRow = (logP: Float32Array, continuation: number, depth: number) => void;

interface Continued {
  /** Number of rows that continue each prompt, by one token. */
  readonly numChildren: number;
  /** How many tokens at the end of each prompt are steps, so that prompts share their beginnings (0). */
  readonly numTail?: number;
}

/** The parts of a model that a decoder needs. */
interface DecodedModel {
  readonly config: ModelConfig;
  readonly registry: KernelRegistry;
  readonly weights: Map<string, TensorArray>;
}

/**
 * Work on a group of prompts, in parts. Each part submits commands and yields what they read back, which the
 * next part receives. Parts run while the device computes for other groups, so a part should submit commands
 * before any slow work of its own. The first two parts may use the decoder, which then moves on to another
 * group.
 *
 * @param first Number of prompts in earlier groups.
 */
type PromptWork = (
  decoder: Decoder,
  group: readonly Uint16Array[],
  first: number,
) => Generator<Promise<Float32Array[]>, void, Float32Array[]>;

/** The decoders of a model: two alternating ones for prompts and one step, and one for many steps. */
export class ModelDecoders {
  readonly #model: DecodedModel;
  readonly #memory: DecoderMemory;
  #prompterExtent: DecoderExtent;
  /** One decoder for few prompts, two for many. */
  #prompters: Shared<Decoder[]>;
  readonly #continuer: Shared<Decoder>;

  /** @param memoryLimitBytes GPU memory except weights, for both prompt decoders, and again for the other. */
  constructor(model: DecodedModel, memoryLimitBytes: number) {
    this.#model = model;
    this.#memory = {
      limitBytes: memoryLimitBytes,
      bufferBytes: bufferLimitBytes(model.registry.gpu.device),
    };
    this.#prompterExtent = this.#promptExtent(FEW_ROWS);
    this.#prompters = new Shared(() => Promise.resolve([]));
    this.#continuer = new Shared(() => this.#create(this.continuationExtent));
  }

  async #create(extent: DecoderExtent): Promise<Decoder> {
    const { limitBytes: memoryLimitBytes } = this.#memory;
    return await Decoder.create(this.#model.registry, this.#model, { ...extent, memoryLimitBytes });
  }

  /** Extent of the decoder that {@link continuePrompts} uses. */
  get continuationExtent(): DecoderExtent {
    return continuationExtent(this.#model.config, this.#memory);
  }

  /** Runs work on groups of prompts; its parts run in the order of the groups. */
  async withPrompts(
    prompts: readonly Uint16Array[],
    continued: number | Continued,
    work: PromptWork,
  ): Promise<void> {
    const by = typeof continued === "number" ? { numChildren: continued } : continued;
    this.#growFor(prompts, by);
    const [prompters, extent] = [this.#prompters, this.#prompterExtent];
    const groups = [...groupsOf(prompts, extent, by)];
    let numBegun = 0;
    let numPrompts = 0;
    // Other work that is waiting runs between two groups.
    while (numBegun < groups.length) {
      await prompters.run(async (decoders) => {
        let running: RunningWork[] = [];
        do {
          const begun: Promise<RunningWork>[] = [];
          if (numBegun < groups.length && !(running.length > 0 && prompters.isWaitedFor)) {
            const group = groups[numBegun];
            const decoder = decoders[numBegun % 2] ??= await this.#create(extent);
            begun.push(...nextPart({ parts: work(decoder, group, numPrompts), read: [] }));
            numBegun++;
            numPrompts += group.length;
          }
          running = await Promise.all([...running.flatMap(nextPart), ...begun]);
        } while (running.length > 0);
      });
    }
  }

  #promptExtent(mostRows: number, maxSteps?: number): DecoderExtent {
    const { limitBytes, bufferBytes } = this.#memory;
    const memory = { limitBytes: limitBytes / 2, bufferBytes };
    return promptExtent(this.#model.config, memory, mostRows, maxSteps);
  }

  /** Replaces the small prompt decoders by the largest possible if the prompts do not fit in one group. */
  #growFor(prompts: readonly Uint16Array[], by: Continued): void {
    const { maxRows, maxSteps } = this.#prompterExtent;
    const { numTail = 0 } = by;
    const [, second] = groupsOf(prompts, this.#prompterExtent, by);
    if (numTail < maxSteps && second === undefined) return;
    const largest = this.#promptExtent(MAX_ROWS, Math.max(maxSteps, 1 + numTail));
    if (largest.maxRows === maxRows && largest.maxSteps === maxSteps) return;
    this.#prompterExtent = largest;
    this.#prompters = new Shared(() => Promise.resolve([]));
  }

  /**
   * Reads prompts once and lets rows continue them, in any number of forks.
   *
   * @param prompts Must fit in {@link continuationExtent}.
   * @param work Forks and steps. Receives log P after each prompt, (prompts, V) nats, valid until it ends.
   */
  async continuePrompts<T>(
    prompts: readonly Uint16Array[],
    work: (decoder: Decoder, ends: Float32Array) => Promise<T>,
  ): Promise<T> {
    return await this.#continuer.run(async (decoder) => {
      const ends = await decoder.prefill(prompts);
      const result = await work(decoder, ends);
      decoder.registry.gpu.recycle(ends);
      return result;
    });
  }

  /**
   * log P of the last tokens of each sequence given all tokens before, nats.
   *
   * @param numTokens How many last tokens, fewer than any sequence has; Infinity for all after the first.
   */
  async tokenLogProbabilities(sequences: readonly Uint16Array[], numTokens: number): Promise<Float32Array[]> {
    const V = modelShapes(this.#model.config).vocabSize;
    const results: Float32Array[] = [];
    const prompts = sequences.map((sequence) => sequence.subarray(0, -1));
    await this.withPrompts(prompts, 1, function* (decoder, group) {
      const [rows] = yield Promise.all([decoder.prefill(group, { numLast: numTokens })]);
      let row = 0;
      for (const { length } of group) {
        const tokens = sequences[results.length].subarray(-Math.min(numTokens, length));
        results.push(Float32Array.from(tokens, (token) => rows[row++ * V + token]));
      }
      decoder.registry.gpu.recycle(rows);
    });
    return results;
  }

  /**
   * Visits the distribution of each token of continuations of prompts, given all tokens before it.
   *
   * @param prompts A prompt with its continuation may be at most one token longer than the model's sequence.
   * @param visit Receives the index of the continuation, counted over all prompts; a continuation's tokens
   *   come in order.
   */
  async visitContinuations(prompts: readonly ContinuedPrompt[], visit: VisitRow): Promise<void> {
    let first = 0;
    for (const group of groupsOfContinuations(prompts, this.continuationExtent)) {
      const before = first;
      await this.#continuer.run((decoder) =>
        walkContinuations(decoder, group, (logP, i, depth) => visit(logP, before + i, depth))
      );
      for (const { continuations } of group) first += continuations.length;
    }
  }

  /**
   * log P of the tokens of continuations of prompts, nats, one array per continuation.
   *
   * @param prompts See {@link visitContinuations}.
   * @param allowed Normalises each token over the tokens possible at its index (default: over all tokens).
   * @param visit Also visits the distributions.
   */
  async continuationLogProbabilities(
    prompts: readonly ContinuedPrompt[],
    allowed?: AllowedTokens,
    visit?: VisitRow,
  ): Promise<Float32Array[]> {
    const all = prompts.flatMap(({ prompt, continuations }) =>
      continuations.map((tokens) => ({ tokens, places: allowed?.(tokens, prompt) }))
    );
    const results = all.map(({ tokens }) => new Float32Array(tokens.length));
    await this.visitContinuations(prompts, (logP, i, depth) => {
      visit?.(logP, i, depth);
      const { tokens, places } = all[i];
      const among = places?.[depth];
      results[i][depth] = among ? restrictedLogProbability(logP, tokens[depth], among) : logP[tokens[depth]];
    });
    return results;
  }

  /** Reloads the model's weights once all earlier work is done. */
  async reload(): Promise<void> {
    const { weights } = this.#model;
    await Promise.all([
      this.#prompters.reload((decoders) => decoders.forEach((decoder) => decoder.load(weights))),
      this.#continuer.reload((decoder) => decoder.load(weights)),
    ]);
  }
}

/**
 * Maximum number of prompt tokens, and of rows that continue prompts, per pass; fewer if memory is short.
 *
 * Measured with the demo model on 2 cores of lavapipe (Mesa 25.0, 2026-11-21), distributions of prompts of 20
 * tokens per 2 s of processor time: 144 to 175 with 512 to 8,192 rows, differences within noise; 100 one at a
 * time, since 132 rows take the time of 160. More rows are for GPUs; ASSUMPTION, tested by `bench:gpu`.
 */
const MAX_ROWS = 8192;

/** Maximum number of rows that continue prompts at once; more are no faster, see MAX_ROWS. */
const MAX_CONTINUATIONS = 1024;

/** Maximum number of tokens appended to a prompt: those of the longest measurement after its first token. */
function maxContinuationTokens(config: ModelConfig): number {
  return contextForm(rttEncodingChoice(config)).maxMeasurementTokens - 1;
}

/** Enough for a few questions; few, since the first one waits until the decoder's memory is cleared. */
export const FEW_ROWS = 1024;

/** Extent for prompts with steps such as `RttStart` and byte 1: the largest that fits, at least one query. */
export function promptExtent(
  config: ModelConfig,
  memory: DecoderMemory,
  mostRows: number = MAX_ROWS,
  maxSteps: number = 2,
): DecoderExtent {
  for (let rows = mostRows;; rows /= 2) {
    const extent = {
      maxPromptTokens: Math.max(rows, config.sequenceLength),
      maxRows: Math.max(rows, FIRST_BYTES.length),
      maxSteps,
    };
    const isSmallest = rows < FIRST_BYTES.length;
    if (isSmallest || decoderFits(config, extent, memory)) return extent;
  }
}

/** Prompt tokens per row that continues a prompt: 20 measurements for 24 orders of another. */
export const PROMPT_TOKENS_PER_CONTINUATION = 8;

/** Extent for continuing prompts by whole measurements: the largest that fits, at least a few rows. */
export function continuationExtent(config: ModelConfig, memory: DecoderMemory): DecoderExtent {
  for (let maxRows = MAX_CONTINUATIONS;; maxRows /= 2) {
    const maxPromptTokens = Math.max(config.sequenceLength, PROMPT_TOKENS_PER_CONTINUATION * maxRows);
    const extent = { maxPromptTokens, maxRows, maxSteps: maxContinuationTokens(config) };
    const isSmallest = maxRows <= 32;
    if (isSmallest || decoderFits(config, extent, memory)) return extent;
  }
}

/** Splits prompts into groups whose tokens and rows fit the extent. */
export function* groupsOf(
  prompts: readonly Uint16Array[],
  { maxPromptTokens, maxRows }: DecoderExtent,
  { numChildren, numTail = 0 }: Continued,
): Generator<Uint16Array[]> {
  let group: Uint16Array[] = [];
  let numTokens = 0;
  for (const prompt of prompts) {
    const length = prompt.length - numTail;
    const isFull = numTokens + length > maxPromptTokens || (group.length + 1) * numChildren > maxRows;
    if (isFull && group.length > 0) {
      yield group;
      group = [];
      numTokens = 0;
    }
    group.push(prompt);
    numTokens += length;
  }
  if (group.length > 0) yield group;
}

/**
 * Visits the distributions of continuations that a decoder holds at once. Shared beginnings are computed
 * once: the prompt is read into the cache, then its continuations are traversed as a tree, one step of the
 * decoder per depth.
 *
 * Measured with 4 blocks of width 128 on busy cores of lavapipe (Mesa 25.0, 2026-11-22), IPv4 measurements in
 * all orders per second of processor time, compared with whole sequences per order: 24 orders without context
 * 20 (whole: 12), after 20 measurements shared by all 19 (0.8), after 20 different ones each 9 (0.6); 6
 * orders without times or context 140 (100).
 *
 * @param visit Receives the rows of each depth in turn.
 */
async function walkContinuations(
  decoder: Decoder,
  prompts: readonly ContinuedPrompt[],
  visit: VisitRow,
): Promise<void> {
  const V = decoder.shapes.vocabSize;
  const all = prompts.flatMap(({ continuations }) => [...continuations]);
  let rows: Uint32Array = Uint32Array.from(
    prompts.flatMap(({ continuations }, i) => continuations.map(() => i)),
  );
  const visitAll = (depth: number, rows: Uint32Array) => (logP: Float32Array) => {
    all.forEach((tokens, i) => {
      if (depth < tokens.length) visit(rowOf(logP, rows[i], V), i, depth);
    });
    decoder.registry.gpu.recycle(logP);
  };
  // All steps are submitted before the first is awaited, so that the GPU never waits.
  const done = [decoder.prefill(prompts.map(({ prompt }) => prompt)).then(visitAll(0, rows))];
  decoder.fork(prompts.map(() => 1));
  for (let depth = 1;; depth++) {
    const next = branchRows(
      rows,
      all.map((tokens) => depth < tokens.length ? tokens[depth - 1] : NO_TOKEN),
    );
    if (next.tokens.length === 0) break;
    rows = next.rows;
    done.push(decoder.step(next.tokens, next.parents).then(visitAll(depth, rows)));
  }
  await Promise.all(done);
}

/** Splits prompts and continuations into groups that fit an extent. A prompt may be in several groups. */
function* groupsOfContinuations(
  prompts: readonly ContinuedPrompt[],
  { maxPromptTokens, maxRows }: DecoderExtent,
): Generator<ContinuedPrompt[]> {
  let group: ContinuedPrompt[] = [];
  let numTokens = 0;
  let numRows = 0;
  for (const { prompt, continuations } of prompts) {
    for (let start = 0; start < continuations.length;) {
      const fits = numTokens + prompt.length <= maxPromptTokens && numRows < maxRows;
      if (!fits && group.length > 0) {
        yield group;
        group = [];
        numTokens = 0;
        numRows = 0;
      }
      const part = continuations.slice(start, start + maxRows - numRows);
      group.push({ prompt, continuations: part });
      numTokens += prompt.length;
      numRows += part.length;
      start += part.length;
    }
  }
  if (group.length > 0) yield group;
}

/** Work with parts left to run. */
interface RunningWork {
  readonly parts: ReturnType<PromptWork>;
  /** What the previous part read. */
  readonly read: Float32Array[];
}

/** Runs the next part of work. @returns The remaining work with the data read; empty after the last part. */
function nextPart({ parts, read }: RunningWork): Promise<RunningWork>[] {
  const { done, value } = parts.next(read);
  if (done) return [];
  const next = value.then((read) => ({ parts, read }));
  // The error is thrown where `next` is awaited, unless another one comes first.
  next.catch(() => {});
  return [next];
}

/** A lazily created resource with one user at a time. */
class Shared<T> {
  #made: Promise<T> | undefined;
  /** Settles when all work requested so far is done; never rejects. */
  #idle: Promise<unknown> = Promise.resolve();
  #numAsked = 0;

  constructor(readonly create: () => Promise<T>) {}

  /** Whether other work is waiting for the current one. */
  get isWaitedFor(): boolean {
    return this.#numAsked > 1;
  }

  async run<R>(work: (made: T) => Promise<R>): Promise<R> {
    return await this.#exclusively(async () => await work(await (this.#made ??= this.create())));
  }

  async reload(load: (made: T) => void): Promise<void> {
    await this.#exclusively(async () => {
      if (this.#made) load(await this.#made);
    });
  }

  async #exclusively<R>(work: () => Promise<R>): Promise<R> {
    this.#numAsked++;
    const done = this.#idle.then(work).finally(() => this.#numAsked--);
    this.#idle = done.catch(() => {});
    return await done;
  }
}
