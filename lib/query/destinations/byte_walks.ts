/**
 * Walks down the tree of an address's bytes, many at once on the GPU.
 *
 * All walks of a round begin after their prompt and read one byte at each step: first the bytes of the chosen node, then
 * those below it. So nodes of any depth are expanded together. Bytes that several paths begin with are computed once.
 *
 * @module
 */
import type { Decoder } from "../../model/decoder.ts";
import { BYTE_BASE } from "../../data/tokens/vocab_v2.ts";
import { branchRows, NO_TOKEN, rowOf } from "../decoder_rows.ts";
import { restricted } from "../rtt/rtt_bytes.ts";
import type { PrefixSearch } from "./prefix_tree.ts";

const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte);

/**
 * Expands the next nodes of all searches, and nodes below them.
 *
 * @param read Prompts that were read: their decoder, and log P after each of them, (prompts, V) nats.
 * @param searches One behind each prompt. A byte's probability is that among all bytes.
 * @param nodesPerSearch How many nodes each search may take, which are rows of the decoder.
 * @returns How many nodes were taken: 0 when all searches are done.
 */
export async function walkOn(
  { decoder, ends }: { decoder: Decoder; ends: Float32Array },
  searches: readonly PrefixSearch[],
  nodesPerSearch: number,
): Promise<number> {
  const walkers = searches.flatMap((search, prompt) =>
    search.take(nodesPerSearch).map((at) => ({ search, prompt, at, isDone: false }))
  );
  if (walkers.length === 0) return 0;
  decoder.fork(searches.map(() => 1));
  let logP = ends;
  let rows = Uint32Array.from(walkers, ({ prompt }) => prompt);
  for (let depth = 0;; depth++) {
    walkers.forEach((walker, i) => {
      if (walker.isDone || walker.at.bytes.length !== depth) return;
      const next = walker.search.expand(walker.at, restricted(rowOf(logP, rows[i]), ALL_BYTES).probabilities);
      if (next) walker.at = next;
      else walker.isDone = true;
    });
    const tokens = walkers.map(({ at, isDone }) => isDone ? NO_TOKEN : BYTE_BASE + at.bytes[depth]);
    const next = branchRows(rows, tokens);
    if (logP !== ends) decoder.registry.gpu.recycle(logP);
    if (next.tokens.length === 0) return walkers.length;
    logP = await decoder.step(next.tokens, next.parents);
    rows = next.rows as typeof rows;
  }
}
