/**
 * Online detection of loss rates that rise, and return.
 *
 * Losses come in bursts, so only losses after a reply count for the rate; losses after another loss show how
 * long the bursts last. A rise begins at one of the last bursts: the one that makes a rate of its own since then
 * most likely, by the ratio of the likelihoods of a free rate and of one that has hardly risen.
 *
 * @module
 */
import { LOSS_PRIOR } from "./change_detector.ts";

/** Bursts that a rise may begin with. A rise from 2 % to 5 % is found after about 60 of them. */
const MAX_BURSTS = 64;
/** Number of rows from which the usual rate is estimated. */
const MEMORY = 5000;
/** A rate that has risen by less than this has hardly risen. */
const MIN_RISE = 0.01;
/** The smallest rate that is told from none. */
const LEAST_RATE = 1e-4;
/** A rise begins with the latest burst that is almost as likely as the likeliest: by this much less, nats. */
const ABOUT_AS_LIKELY = 3;

/** Counts of rows. */
interface Losses {
  rows: number;
  lost: number;
  /** Rows after a reply, and how many of them were lost. */
  trials: number;
  bursts: number;
}

/** A rise of the loss rate. */
export interface LossRise {
  /** When it began, Unix seconds. */
  readonly sinceS: number;
  /** Shares of lost rows before and since. */
  readonly usualRate: number;
  rate: number;
  /** Number of times that losses began since. */
  numBursts: number;
  /** How much less likely the losses since are at the usual rate, less the penalty, nats. */
  evidence: number;
}

interface OpenRise {
  readonly rise: LossRise;
  readonly before: Losses;
  readonly since: Losses;
}

/** Finds rises of the loss rate of one pair. Time and memory per row are bounded. */
export class LossRateDetector {
  /** Counts before the last bursts. */
  readonly #usual: Losses = noLosses();
  /** Counts since each of the last bursts to the next. */
  #bursts: (Losses & { readonly sinceS: number })[] = [];
  #isLost = false;
  /** The open rise, with counts since it began. */
  #open: OpenRise | undefined;
  /** How much likelier the usual rate is than that of the rise since a row, nats, and that row's time. */
  #back = { evidence: 0, sinceS: NaN };

  /** @param penalty Cost of a rise, nats. */
  constructor(readonly penalty: number) {}

  get rise(): LossRise | undefined {
    return this.#open?.rise;
  }

  /** P(a row is lost) after a reply and after a loss, during a rise. */
  get rates(): { first: number; next: number } | undefined {
    const since = this.#open?.since;
    if (!since) return undefined;
    return {
      first: rateOf(since),
      next: (since.lost - since.bursts) / Math.max(1, since.rows - since.trials),
    };
  }

  /** Adds the next row. @returns The time since which the usual rate is back if it ends a rise. */
  add(isLost: boolean, timeS: number): number | undefined {
    const isTrial = !this.#isLost;
    this.#isLost = isLost;
    const row = { rows: 1, lost: Number(isLost), trials: Number(isTrial), bursts: Number(isTrial && isLost) };
    if (this.#open) return this.#addToRise(this.#open, row, timeS);
    if (row.bursts > 0) {
      this.#bursts.push({ ...noLosses(), sinceS: timeS });
      if (this.#bursts.length > MAX_BURSTS) this.#addUsual(this.#bursts.splice(0, 1));
    }
    const newest = this.#bursts.at(-1);
    if (!newest) this.#addUsual([row]);
    else addTo(newest, row);
    if (row.bursts > 0) this.#findRise();
    return undefined;
  }

  /** Makes the rate of the open rise the usual one. */
  accept(): void {
    if (this.#open) this.#reset(this.#open.since);
  }

  #addToRise({ rise, before, since }: OpenRise, row: Losses, timeS: number): number | undefined {
    addTo(since, row);
    rise.rate = since.lost / since.rows;
    rise.numBursts = since.bursts;
    if (row.bursts > 0) rise.evidence = Math.max(rise.evidence, evidenceOf(before, since) - this.penalty);
    if (row.trials === 0) return undefined;
    const [usual, risen] = [rateOf(before) + MIN_RISE, rateOf(since)];
    const back = this.#back;
    if (back.evidence <= 0) this.#back = { evidence: 0, sinceS: timeS };
    this.#back.evidence += row.bursts > 0 ? Math.log(usual / risen) : Math.log((1 - usual) / (1 - risen));
    if (this.#back.evidence <= this.penalty) return undefined;
    const { sinceS: backS } = this.#back;
    this.#reset(before);
    return backS;
  }

  #reset(usual: Losses): void {
    Object.assign(this.#usual, noLosses());
    this.#addUsual([usual]);
    this.#bursts = [];
    this.#open = undefined;
    this.#back = { evidence: 0, sinceS: NaN };
  }

  #addUsual(counts: readonly Losses[]): void {
    const usual = this.#usual;
    for (const each of counts) addTo(usual, each);
    const kept = Math.min(1, MEMORY / usual.rows);
    for (const name of ["rows", "lost", "trials", "bursts"] as const) usual[name] *= kept;
  }

  #findRise(): void {
    const before = { ...this.#usual };
    const since = noLosses();
    for (const burst of this.#bursts) addTo(since, burst);
    const found = this.#bursts.map((burst) => {
      const each = { sinceS: burst.sinceS, before: { ...before }, since: { ...since }, evidence: 0 };
      each.evidence = evidenceOf(each.before, each.since) - this.penalty;
      addTo(before, burst);
      addTo(since, burst, -1);
      return each;
    });
    const most = Math.max(...found.map(({ evidence }) => evidence));
    const open = found.findLast(({ evidence }) => evidence >= most - ABOUT_AS_LIKELY);
    if (!open || most <= 0) return;
    const [usualRate, rate] = [open.before, open.since].map(({ lost, rows }) => lost / Math.max(1, rows));
    const rise = { sinceS: open.sinceS, usualRate, rate, numBursts: open.since.bursts, evidence: most };
    this.#open = { rise, ...open };
    this.#bursts = [];
  }
}

const noLosses = (): Losses => ({ rows: 0, lost: 0, trials: 0, bursts: 0 });

function addTo(sum: Losses, { rows, lost, trials, bursts }: Losses, factor = 1): void {
  sum.rows += factor * rows;
  sum.lost += factor * lost;
  sum.trials += factor * trials;
  sum.bursts += factor * bursts;
}

function rateOf({ trials, bursts }: Losses): number {
  return (bursts + LOSS_PRIOR.lost) / (trials + LOSS_PRIOR.lost + LOSS_PRIOR.received);
}

/** Log ratio of the likelihoods of a rate of its own since, and of one that has hardly risen; 0 if it has not. */
function evidenceOf(before: Losses, since: Losses): number {
  const all = before.trials + since.trials + LOSS_PRIOR.lost + LOSS_PRIOR.received;
  const lost = before.bursts + since.bursts + LOSS_PRIOR.lost;
  const usual = Math.max(LEAST_RATE, (lost - MIN_RISE * since.trials) / all);
  const [own, risen] = [rateOf(before), rateOf(since)];
  if (risen <= usual + MIN_RISE) return 0;
  const likelihood = ({ trials, bursts }: Losses, rate: number) =>
    bursts * Math.log(rate) + (trials - bursts) * Math.log(1 - rate);
  return likelihood(before, own) - likelihood(before, usual) + likelihood(since, risen) -
    likelihood(since, usual + MIN_RISE);
}
