/** How surprising it is that replies of a pair are lost one after the other. @module */

/** The most lost replies that count. In pairs that never reply, small errors of P(no reply) would add up. */
const MAX_LOSSES = 10;
/** The most pairs that are remembered, of those whose last reply was lost; the least recently seen goes first. */
const MAX_PAIRS = 2 ** 16;

/** Runs of lost replies, by pair. */
export class LossRuns {
  /** ln P(no reply) of the newest lost replies since the last reply, oldest first. */
  readonly #logs = new Map<string, number[]>();

  /** @param maxPairs For tests. */
  constructor(readonly maxPairs: number = MAX_PAIRS) {}

  /** Adds a pair's next result. @returns P(its last replies, at most ten, are all lost); 1 at a reply. */
  add(pair: string, isLost: boolean, logLikelihood: number): number {
    const before = this.#logs.get(pair) ?? [];
    this.#logs.delete(pair);
    if (!isLost) return 1;
    const logs = [...before, logLikelihood].slice(-MAX_LOSSES);
    this.#logs.set(pair, logs);
    if (this.#logs.size > this.maxPairs) this.#logs.delete(this.#logs.keys().next().value as string);
    return Math.exp(logs.reduce((sum, log) => sum + log, 0));
  }
}
