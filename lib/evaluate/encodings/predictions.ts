/**
 * What a model of an encoding says of cases, on the common scale of rtt_scheme.ts.
 *
 * Along the bytes of four codes (the first and the last of the measured RTT code, that of the very RTT, and the mark for
 * no reply) the model is asked for the next byte, then along those of the median: 5 rows of at most 7 tokens a case.
 *
 * @module
 */
import type { KernelRegistry } from "../../gpu/registry.ts";
import { type ModelConfig, vocabSize } from "../../model/config.ts";
import { Decoder } from "../../model/decoder.ts";
import { decoderSizeBytes } from "../../model/decoder_buffers.ts";
import { groupsOf } from "../../query/decoder_extent.ts";
import { rowOf } from "../../query/token_rows.ts";
import { BYTE_BASE, FAILED, RTT_START } from "../../tokens/vocab_v2.ts";
import {
  type BytePath,
  bytesOf,
  codeMass,
  nextOfQuantile,
  type QuantileSearch,
  rangeMass,
} from "./code_mass.ts";
import { commonCode, type RttScheme } from "./rtt_scheme.ts";
import { promptOf, type SchemeCase } from "./scheme_cases.ts";

/** What is said of one case. */
export interface SchemePrediction {
  /** -log2 P(the result): of the RTT code on the common scale and that there was a reply, or of no reply. */
  resultBits: number;
  /** -log2 P(RTT code | reply); null where there was no reply. */
  rttBits: number | null;
  /** -log2 of the encoding's own code for the RTT or for no reply: what training lowers. */
  codeBits: number;
  /** The median RTT given a reply, milliseconds. */
  medianMs: number;
}

/** What is computed at once: as for queries, see `promptExtent`. */
const MAX_ROWS = 512;
const MAX_PROMPT_TOKENS = 8192;

/** A model in memory. */
export interface SchemeModel {
  config: ModelConfig;
  registry: KernelRegistry;
  weights: Map<string, Float32Array>;
}

/**
 * Predicts cases.
 *
 * @param model The model, trained on batches of the scheme.
 * @param scheme The encoding.
 * @param cases What to predict, of at most the model's sequence in this encoding.
 * @param options `onProgress`: called with the number of cases done; it may throw to end the work.
 */
export async function predictCases(
  model: SchemeModel,
  { scheme, cases }: { scheme: RttScheme; cases: readonly SchemeCase[] },
  options: { onProgress?: (done: number) => void } = {},
): Promise<SchemePrediction[]> {
  const { config, registry, weights } = model;
  const extent = {
    maxPromptTokens: Math.max(MAX_PROMPT_TOKENS, config.sequenceLength),
    maxRows: MAX_ROWS,
    maxSteps: scheme.numBytes - 1,
  };
  const memoryLimitBytes = decoderSizeBytes(config, extent);
  const decoder = await Decoder.create(registry, { config, weights }, { ...extent, memoryLimitBytes });
  const prompts = cases.map((one) => promptOf(one, scheme));
  const results: SchemePrediction[] = [];
  for (const group of groupsOf(prompts, extent, NUM_PATHS)) {
    const part = cases.slice(results.length, results.length + group.length);
    results.push(...await new GroupPrediction(decoder, scheme, group).predict(part));
    options.onProgress?.(results.length);
  }
  return results;
}

/** First and last code of the range, own code, mark for no reply. */
const NUM_PATHS = 4;

/** The prediction of prompts that a decoder holds at once. */
class GroupPrediction {
  constructor(
    readonly decoder: Decoder,
    readonly scheme: RttScheme,
    readonly prompts: readonly Uint16Array[],
  ) {}

  async predict(cases: readonly SchemeCase[]): Promise<SchemePrediction[]> {
    const V = vocabSize(this.decoder.config);
    const ends = await this.decoder.prefill(this.prompts, { numLast: 2 });
    const rowAt = (i: number) => rowOf(ends, i, V);
    const firsts = cases.map((_, i) => rowAt(2 * i + 1));
    const codes = cases.map((one) => this.#codesOf(one));
    const paths = await this.#follow(firsts, codes);
    const failedPaths = this.scheme.failedCode === null ? undefined : paths.map(([, , , failed]) => failed);
    const mediansMs = await this.#medians(firsts, failedPaths);
    return cases.map((one, i) => ({
      ...this.#bitsOf(one, { paths: paths[i], outcome: rowAt(2 * i), code: codes[i][2] }),
      medianMs: mediansMs[i],
    }));
  }

  /** The codes whose paths are followed; where there is no RTT or no mark, that of 0 ms stands in. */
  #codesOf({ rttMs }: SchemeCase): bigint[] {
    const { scheme } = this;
    const range = scheme.rangeOf(commonCode(rttMs ?? 0));
    const own = rttMs === null ? scheme.failedCode : scheme.encode(rttMs);
    return [range.first, range.last, own ?? range.first, scheme.failedCode ?? range.first];
  }

  /** log P of the next byte along the codes of each prompt. */
  async #follow(firsts: Float32Array[], codes: readonly bigint[][]): Promise<BytePath[][]> {
    const { decoder, scheme: { numBytes } } = this;
    const V = vocabSize(decoder.config);
    const paths = codes.map((ofCase, i) => ofCase.map(() => [firsts[i]]));
    const bytes = codes.map((ofCase) => ofCase.map((code) => bytesOf(code, numBytes)));
    decoder.fork(codes.map(() => NUM_PATHS));
    for (let k = 0; k + 1 < numBytes; k++) {
      const rows = await decoder.step(bytes.flatMap((ofCase) => ofCase.map((code) => BYTE_BASE + code[k])));
      paths.flat().forEach((path, row) => path.push(rows.slice(row * V, (row + 1) * V)));
    }
    return paths;
  }

  async #medians(
    firsts: readonly Float32Array[],
    failedPaths: readonly BytePath[] | undefined,
  ): Promise<number[]> {
    const { decoder, scheme } = this;
    const V = vocabSize(decoder.config);
    const next = (search: QuantileSearch, logP: Float32Array, i: number) =>
      nextOfQuantile(search, logP, { scheme, failedPath: failedPaths?.[i] });
    let searches = firsts.map((first, i) => next({ prefix: 0n, numBytes: 0, rest: 0.5 }, first, i));
    decoder.fork(firsts.map(() => 1));
    for (let k = 0; k + 1 < scheme.numBytes; k++) {
      const rows = await decoder.step(searches.map(({ prefix }) => BYTE_BASE + Number(prefix & 255n)));
      searches = searches.map((search, i) => next(search, rowOf(rows, i, V), i));
    }
    return searches.map(({ prefix }) => scheme.decodeMs(prefix));
  }

  #bitsOf(
    { rttMs }: SchemeCase,
    { paths: [first, last, own, failed], outcome, code }: {
      paths: BytePath[];
      outcome: Float32Array;
      code: bigint;
    },
  ): Omit<SchemePrediction, "medianMs"> {
    const { failedCode } = this.scheme;
    // With a code for no reply, `RttStart` says nothing of the result; without, `Failed` is its alternative.
    const pFailed = failedCode === null
      ? logistic(outcome[FAILED] - outcome[RTT_START])
      : codeMass(failedCode, failed);
    if (rttMs === null) {
      return { resultBits: bits(pFailed), rttBits: null, codeBits: bits(pFailed) };
    }
    const mass = rangeMass(this.scheme.rangeOf(commonCode(rttMs)), { first, last });
    const ownMass = codeMass(code, own);
    if (failedCode === null) {
      const pReply = logistic(outcome[RTT_START] - outcome[FAILED]);
      return { resultBits: bits(pReply * mass), rttBits: bits(mass), codeBits: bits(pReply * ownMass) };
    }
    // At least the mass itself: the difference is inexact where no reply is all but certain.
    const pReply = Math.max(1 - pFailed, mass);
    return { resultBits: bits(mass), rttBits: bits(mass / pReply), codeBits: bits(ownMass) };
  }
}

function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function bits(probability: number): number {
  return -Math.log2(probability);
}
