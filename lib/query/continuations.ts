/**
 * log P of given continuations of prompts, with what several of them begin with computed once: the prompt is read
 * into the cache, then its continuations are walked as a tree, a step of the decoder for each depth of it.
 *
 * Measured with 4 blocks of width 128 on busy cores of lavapipe (Mesa 25.0, 2026-11-22), IPv4 measurements in all orders
 * per second of processor time, beside whole sequences for each order: 24 orders without context 20 (whole: 12), after
 * 20 measurements shared by all 19 (0.8), after 20 of each one's own 9 (0.6); 6 orders without times or context 140
 * (100).
 *
 * @module
 */
import { vocabSize } from "../model/model_config.ts";
import type { Decoder } from "../model/decoder.ts";
import type { DecoderExtent } from "../model/decoder_buffers.ts";
import { branchRows, NO_TOKEN, rowOf } from "./decoder_rows.ts";

/** A prompt and what may follow it. */
export interface ContinuedPrompt {
  /** At least one token. */
  readonly prompt: Uint16Array;
  /** At least one token each. */
  readonly continuations: readonly Uint16Array[];
}

/** For each token of a continuation the tokens that can stand in its place. */
export type AllowedTokens = (
  tokens: Uint16Array,
  prompt: Uint16Array,
) => readonly (readonly number[])[];

/**
 * Gets log P(next token) before a token of a continuation, (V) nats.
 *
 * @param continuation Its number among those of all prompts.
 * @param depth Which of its tokens comes next.
 */
export type VisitRow = (logP: Float32Array, continuation: number, depth: number) => void;

/**
 * Visits the distribution of each token of the continuations, given all tokens before it.
 *
 * @param decoder Holds them all at once, see {@link groupsOfContinuations}; as many steps as the longest has tokens.
 * @param visit Gets the rows of one depth after those of the depth before.
 * @throws {UserError} If a prompt and a continuation have more tokens than the model's sequence and one.
 */
export async function visitContinuations(
  decoder: Decoder,
  prompts: readonly ContinuedPrompt[],
  visit: VisitRow,
): Promise<void> {
  const V = vocabSize(decoder.config);
  const all = prompts.flatMap(({ continuations }) => [...continuations]);
  let rows: Uint32Array = Uint32Array.from(
    prompts.flatMap(({ continuations }, i) => continuations.map(() => i)),
  );
  const visitAll = (depth: number, rows: Uint32Array) => (logP: Float32Array) => {
    all.forEach((tokens, i) => {
      if (depth < tokens.length) visit(rowOf(logP, rows[i], V), i, depth);
    });
  };
  // All steps are submitted before the first is awaited, so that the GPU waits for nothing.
  const done = [decoder.prefill(prompts.map(({ prompt }) => prompt)).then(visitAll(0, rows))];
  decoder.fork(prompts.map(() => 1));
  for (let depth = 1;; depth++) {
    // A token is continued where more follow it.
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

/**
 * Cuts prompts and their continuations into groups that a decoder of the extent holds at once. The continuations of
 * one prompt may go to several groups.
 */
export function* groupsOfContinuations(
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
