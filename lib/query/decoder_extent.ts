/**
 * How many prompts and rows a decoder of queries holds at once, within the memory of the GPU.
 *
 * @module
 */
import { contextForm } from "../data/tokens/context_form.ts";
import { type ModelConfig, rttEncodingChoice } from "../model/model_config.ts";
import { type DecoderExtent, decoderFits, type DecoderMemory } from "../model/decoder_buffers.ts";
import { FIRST_BYTES } from "./rtt/rtt_bytes.ts";

/**
 * Tokens of prompts, and rows that continue them, that are computed at once; less where memory does not suffice.
 *
 * Measured with the demo model on 2 cores of lavapipe (Mesa 25.0, 2026-11-21), distributions of prompts of 20 tokens
 * per 2 s of processor time: 512 to 8,192 rows 144 to 175, the differences within noise; one at a time 100, since
 * 132 rows take the time of 160. More rows are for GPUs; ASSUMPTION, which `bench gpu` tests.
 */
export const MAX_ROWS = 8192;

/** Rows that continue a prompt at once; more are no faster, see MAX_ROWS. */
export const MAX_CONTINUATIONS = 1024;

/** Tokens that may be appended to a prompt: those of the longest measurement after its first. */
export function maxContinuationTokens(config: ModelConfig): number {
  return contextForm(rttEncodingChoice(config)).maxMeasurementTokens - 1;
}

/** Enough for a few questions: the memory of a decoder is cleared before its first use, which a lone question waits for. */
export const FEW_ROWS = 1024;

/** For prompts and steps after them, such as `RttStart` and byte 1: the largest that fits, down to one query. */
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

/** Tokens of prompts for each row that continues them: those of 20 measurements for 24 orders of another. */
export const PROMPT_TOKENS_PER_CONTINUATION = 8;

/** For rows that continue prompts by whole measurements: the largest that fits, down to a few rows. */
export function continuationExtent(config: ModelConfig, memory: DecoderMemory): DecoderExtent {
  for (let maxRows = MAX_CONTINUATIONS;; maxRows /= 2) {
    const maxPromptTokens = Math.max(config.sequenceLength, PROMPT_TOKENS_PER_CONTINUATION * maxRows);
    const extent = { maxPromptTokens, maxRows, maxSteps: maxContinuationTokens(config) };
    const isSmallest = maxRows <= 32;
    if (isSmallest || decoderFits(config, extent, memory)) return extent;
  }
}

/** Rows that continue prompts. */
export interface Continued {
  /** How many rows continue each of them, by one token. */
  readonly numChildren: number;
  /** The number of each prompt's last tokens that are steps, so that prompts share what they begin with (0). */
  readonly numTail?: number;
}

/** Whether an extent holds all of some prompts at once. */
export function holdsAll(
  { maxPromptTokens, maxRows, maxSteps }: DecoderExtent,
  prompts: readonly Uint16Array[],
  { numChildren, numTail = 0 }: Continued,
): boolean {
  const numTokens = prompts.reduce((sum, { length }) => sum + length - numTail, 0);
  return numTail < maxSteps && numTokens <= maxPromptTokens && prompts.length * numChildren <= maxRows;
}

/** Cuts prompts into groups whose tokens and rows fit the extent. */
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
