/**
 * Walks down the tree of an address's bytes, many at once on the GPU. A `ByteTree` chooses nodes and gets the
 * probabilities of their next bytes.
 *
 * All walks of a round begin after their prompt and read one byte at each step: first the bytes of the chosen node, then
 * those below it. So nodes of any depth are expanded together. A mixture has one path for each of its components. Bytes
 * that several paths begin with are computed once.
 *
 * @module
 */
import { BYTE_BASE } from "../../tokens/vocab_v2.ts";
import { branchRows, NO_TOKEN, rowOf } from "../decoder_rows.ts";
import { byteMass } from "../draws.ts";
import type { ReadPrompts } from "./destination_prompt.ts";

const NUM_BYTES = 256;
const ANY_BYTE = { first: 0, last: NUM_BYTES - 1 };

/** A node of the tree. */
export interface TreeNode {
  /** The bytes that lead there, the first of the address first; none for the root. */
  readonly bytes: readonly number[];
}

/** Chooses the nodes of a walk. */
export interface ByteTree {
  /** The next nodes to expand, at most `count`; none if all is done. */
  take(count: number): readonly TreeNode[];
  /**
   * Takes the probabilities after a node, and chooses the child to expand next, if any.
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

/** Prompts that were read, and what walks behind each of them. */
export interface WalkedPrompts extends ReadPrompts {
  /** The walks behind each prompt. */
  readonly walks: readonly (readonly Walk[])[];
}

/**
 * Expands the next nodes of all walks, and nodes below them.
 *
 * @param nodesPerWalk How many nodes each walk may take; with its components they make rows of the decoder.
 * @returns How many nodes were taken: 0 when all walks are done.
 */
export async function walkOn(prompts: WalkedPrompts, nodesPerWalk: number): Promise<number> {
  const { decoder, ends, walks } = prompts;
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
      if (depth >= 0) walker.look(depth, Array.from(ofWalker, (row) => rowOf(logP, row)));
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
