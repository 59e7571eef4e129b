/**
 * Walks down the tree of an address's bytes, many at once on the GPU: whoever walks says which nodes to look into
 * and is told the probabilities of the next byte.
 *
 * The walks of a round all begin after their prompt and take one byte a step, those that lead to the node in
 * question first; so nodes of any depth are looked into together, and a walk goes on below its node as far as it
 * wants within the same steps. Walks may be of mixtures: a path for each way to go on from the prompt to the address.
 * What several paths begin with is computed once.
 *
 * @module
 */
import { rowOf } from "./token_rows.ts";
import type { ModelConfig } from "../model/model_config.ts";
import { vocabSize } from "../model/model_config.ts";
import { BYTE_BASE } from "../tokens/vocab_v2.ts";
import { byteMass } from "./byte_mass.ts";
import { branchRows, NO_TOKEN } from "./row_branches.ts";

const NUM_BYTES = 256;
const ANY_BYTE = { first: 0, last: NUM_BYTES - 1 };

/** A place in the tree: the bytes that lead there, none for the root. */
export interface TreeNode {
  /** They, the first of the address first. */
  readonly bytes: readonly number[];
}

/** Who walks. */
export interface ByteTree {
  /** Takes nodes to look into, at most `count`; none if all is done. */
  take(count: number): readonly TreeNode[];
  /**
   * Is told what follows a node, and says which child to look into next, if any.
   *
   * @param probabilities P(next byte | component, bytes), (K, 256); each row sums to 1.
   */
  expand(node: TreeNode, probabilities: Float64Array): TreeNode | undefined;
}

/** A tree behind a prompt. */
export interface Walk {
  readonly tree: ByteTree;
  /** Tokens between the prompt and the address, of each component: K lists, as long as those of all other walks. */
  readonly tails: readonly (readonly number[])[];
}

/** What lets rows continue the prompts that were read: see `Decoder`. */
export interface Continuation {
  /** Gives every prompt so many new rows, with nothing appended yet. */
  fork(numChildren: readonly number[]): void;
  /** Appends a token to every row, or to those that continue `parents`; returns log P(next token), nats, (rows, V). */
  step(tokens: ArrayLike<number>, parents?: Uint32Array): Promise<Float32Array>;
}

/** Prompts that were read, and what walks behind each of them. */
export interface WalkedPrompts {
  readonly decoder: Continuation;
  readonly config: ModelConfig;
  /** log P after each prompt, (prompts, V) nats. */
  readonly ends: Float32Array;
  /** The walks behind each prompt. */
  readonly walks: readonly (readonly Walk[])[];
}

/**
 * Looks into the next nodes of all walks, and on below them.
 *
 * @param nodesPerWalk How many nodes each walk may take; with its components they make rows of the decoder.
 * @returns How many nodes were taken: 0 when all walks are done.
 */
export async function walkOn(prompts: WalkedPrompts, nodesPerWalk: number): Promise<number> {
  const { decoder, config, ends, walks } = prompts;
  const V = vocabSize(config);
  const walkers = walks.flatMap((ofPrompt, prompt) =>
    ofPrompt.flatMap(({ tree, tails }) =>
      tree.take(nodesPerWalk).map((node) => ({ tree, tails, prompt, at: node }))
    )
  ).map((start) => new Walker(start));
  if (walkers.length === 0) return 0;
  decoder.fork(walks.map(() => 1));
  const tailLength = walkers[0].tails[0].length;
  let logP = ends;
  let rows: Uint32Array = Uint32Array.from(walkers.flatMap(({ prompt, tails }) => tails.map(() => prompt)));
  for (let numRead = 0;; numRead++) {
    const depth = numRead - tailLength;
    let first = 0;
    for (const walker of walkers) {
      const ofWalker = rows.subarray(first, first += walker.tails.length);
      if (depth >= 0) walker.look(depth, Array.from(ofWalker, (row) => rowOf(logP, row, V)));
    }
    const next = branchRows(rows, walkers.flatMap((walker) => walker.tokens(numRead)));
    if (next.tokens.length === 0) return walkers.length;
    logP = await decoder.step(next.tokens, next.parents);
    rows = next.rows;
  }
}

/** One node on its way down. */
class Walker {
  readonly prompt: number;
  readonly tails: readonly (readonly number[])[];
  readonly #tree: ByteTree;
  #at: TreeNode;
  #isDone = false;

  constructor({ tree, tails, prompt, at }: Walk & { prompt: number; at: TreeNode }) {
    this.#tree = tree;
    this.tails = tails;
    this.prompt = prompt;
    this.#at = at;
  }

  /** Reads what follows the bytes read so far, if the walk has come to its node. @param rows log P, K of (V). */
  look(depth: number, rows: readonly Float32Array[]): void {
    if (this.#isDone || this.#at.bytes.length !== depth) return;
    const probabilities = new Float64Array(rows.length * NUM_BYTES);
    rows.forEach((logP, component) => addByteProbabilities(probabilities, component, logP));
    const next = this.#tree.expand(this.#at, probabilities);
    if (next) this.#at = next;
    else this.#isDone = true;
  }

  /** The next token of each of its paths; none when it is done. */
  tokens(numRead: number): number[] {
    return this.tails.map((tail) =>
      this.#isDone ? NO_TOKEN : tail[numRead] ?? BYTE_BASE + this.#at.bytes[numRead - tail.length]
    );
  }
}

/** P(byte) among the bytes alone: what the model gives to other tokens is left out. */
function addByteProbabilities(out: Float64Array, component: number, logP: Float32Array): void {
  const mass = byteMass(logP, ANY_BYTE);
  for (let byte = 0; byte < NUM_BYTES; byte++) {
    out[component * NUM_BYTES + byte] = Math.exp(logP[BYTE_BASE + byte]) / mass;
  }
}
