/** Scores how surprising it is that several replies of a pair are lost in a row. @module */

/** Maximum number of losses that count. In pairs without replies, small errors of P(no reply) add up. */
const MAX_LOSSES = 10;
/** Maximum number of remembered pairs whose last reply was lost; the least recently seen is dropped first. */
const MAX_PAIRS = 2 ** 16;

/** Runs of lost replies, by pair. */
export class LossRuns {
  /** ln P(no reply) for the newest losses since the last reply, oldest first. */
  readonly #logs = new Map<string, number[]>();

  /** @param maxPairs Overridden by tests. */
  constructor(readonly maxPairs: number = MAX_PAIRS) {}

  /** Adds a pair's next result. @returns P(its last replies, at most ten, are all lost); 1 for a reply. */
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
