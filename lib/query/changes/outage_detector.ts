/** Online detection of outages: more losses in a row than a pair's usual loss rate explains. @module */
import { LOSS_PRIOR } from "./change_detector.ts";

/**
 * Lower bound on the probability that a loss is followed by another without an outage: losses come in bursts.
 * In menog-2019-05 of `tests/data`, a quarter of the single losses of pairs that lose less than 2 % are
 * followed by another one, including outages.
 */
const BURST_SHARE = 0.2;
/** Replies in a row that end an outage. One is not enough: it may be a straggler. */
export const REPLIES_BACK = 2;
/**
 * Number of rows from which the usual loss rate is estimated. At the default penalty of 11 nats, two losses
 * are then never an outage, however long the pair has been without a loss.
 */
const MEMORY = 200;

/** Finds the outages of one pair. Time and memory per row are bounded. */
export class OutageDetector {
  /** Losses since the last reply; during an outage, since it began. */
  numLost = 0;
  /** How much less likely these losses are without an outage, less the penalty, nats. */
  evidence: number;
  isOut = false;
  /** Counts outside outages. */
  readonly #usual = { lost: 0, rows: 0 };
  #numBack = 0;

  /** @param penalty Cost of an outage, nats. */
  constructor(readonly penalty: number) {
    this.evidence = -penalty;
  }

  /** A pair that has never replied has no outages. */
  get hasReplied(): boolean {
    return this.#usual.rows > 0;
  }

  /**
   * Adds the next row.
   *
   * @param rates P(a row is lost) after a reply and after a loss (default: from the rows so far).
   * @returns Whether it reveals an outage or ends one.
   */
  add(isLost: boolean, rates?: { first: number; next: number }): "found" | "over" | undefined {
    return isLost ? this.#addLoss(rates) : this.#addReply();
  }

  #addLoss(rates?: { first: number; next: number }): "found" | undefined {
    const { lost, received } = LOSS_PRIOR;
    const { numLost } = this;
    const pLost = (lost + this.#usual.lost + numLost) / (lost + received + this.#usual.rows + numLost);
    const { first, next } = rates ?? { first: pLost, next: pLost };
    this.evidence -= Math.log(numLost > 0 ? Math.max(BURST_SHARE, next) : first);
    this.numLost++;
    this.#numBack = 0;
    if (this.isOut || this.evidence <= 0 || !this.hasReplied) return undefined;
    this.isOut = true;
    return "found";
  }

  #addReply(): "over" | undefined {
    if (this.isOut && ++this.#numBack < REPLIES_BACK) return undefined;
    const isOver = this.isOut;
    this.#addUsual(isOver ? { lost: 0, rows: REPLIES_BACK } : { lost: this.numLost, rows: this.numLost + 1 });
    this.isOut = false;
    this.numLost = 0;
    this.evidence = -this.penalty;
    return isOver ? "over" : undefined;
  }

  #addUsual({ lost, rows }: { lost: number; rows: number }): void {
    const usual = this.#usual;
    const kept = Math.min(1, MEMORY / (usual.rows + rows));
    usual.lost = kept * (usual.lost + lost);
    usual.rows = kept * (usual.rows + rows);
  }
}
