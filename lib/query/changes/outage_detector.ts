/** Finds outages of one pair as they come: more losses in a row than its usual share explains. @module */
import { LOSS_PRIOR } from "./change_detector.ts";

/**
 * The least chance that a loss follows a loss without an outage: losses come in bursts. On menog-2019-05 of `tests/data`
 * another one follows a quarter of the single losses of pairs that lose less than 2 %, outages among them.
 */
const BURST_SHARE = 0.2;
/** Replies in a row that end an outage: a single one may be a straggler. */
export const REPLIES_BACK = 2;
/**
 * The number of rows from which the usual share of losses is estimated. With the usual penalty of 11 nats two
 * losses are no outage then, however long none was lost.
 */
const MEMORY = 200;

/** Finds the outages of one pair. Memory and time per row do not grow. */
export class OutageDetector {
  /** The losses since the last reply; in an outage, since it began. */
  numLost = 0;
  /** How much less likely these losses are without an outage, less the penalty, nats. */
  evidence: number;
  isOut = false;
  /** The losses and rows outside of outages. */
  readonly #usual = { lost: 0, rows: 0 };
  #numBack = 0;

  /** @param penalty The cost of an outage, nats. */
  constructor(readonly penalty: number) {
    this.evidence = -penalty;
  }

  /** Adds the next row. @returns Whether an outage is found, or is over, with it. */
  add(isLost: boolean): "found" | "over" | undefined {
    return isLost ? this.#addLoss() : this.#addReply();
  }

  #addLoss(): "found" | undefined {
    const { lost, received } = LOSS_PRIOR;
    const { numLost } = this;
    const pLost = (lost + this.#usual.lost + numLost) / (lost + received + this.#usual.rows + numLost);
    this.evidence -= Math.log(numLost > 0 ? Math.max(BURST_SHARE, pLost) : pLost);
    this.numLost++;
    this.#numBack = 0;
    if (this.isOut || this.evidence <= 0) return undefined;
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
