/**
 * Online detection of level changes in a series of RTTs.
 *
 * The series is modelled as a sequence of segments. Within a segment, RTTs have a Student t distribution
 * around a slowly drifting level, a few are outliers, and a share is lost. The detector maintains the most
 * likely segmentation of the rows so far, with a penalty for each change. A clear change is reported `delay`
 * rows later; for every other row it is decided `maxDelay` rows later whether a segment begins there.
 *
 * The method is optimal partitioning (Jackson et al., IEEE Signal Processing Letters 12, 2005). It maximises
 * over the predictive probabilities of Bayesian online change-point detection (Adams and MacKay,
 * arXiv:0710.3742; Fearnhead and Liu, JRSS B 69, 2007) instead of summing them, and treats outliers as in
 * Fearnhead and Rigaill (JASA 114, 2019). Since rows are decided after at most `maxDelay` further rows, at
 * most `maxDelay` + 1 segmentations are compared at each row, so time and memory per row are bounded.
 *
 * @module
 */
import { quantileOfSorted } from "../../base/sample_statistics.ts";

/** @internal Chosen by cross-validation over labelled series: see `lib/query/changes/RESULTS.md`. */
export interface ChangeOptions {
  /** Number of rows after a clear change before it is reported. */
  readonly delay: number;
  /** Rows after which every row is decided; at least `delay`. */
  readonly maxDelay: number;
  /** A change is clear if segmentations without one within {@link NEARBY_ROWS} cost this much more, nats. */
  readonly clearMargin: number;
  /** Cost of each change, nats. */
  readonly penalty: number;
  /** Share of outliers within a segment. */
  readonly outlierShare: number;
  /** Number of rows that the level and spread of a segment are estimated from; older rows are forgotten. */
  readonly memory: number;
  /** Prior standard deviation within a segment, ms. */
  readonly spreadMs: number;
  /** Smallest reported difference between the medians before and after, ms. */
  readonly minShiftMs: number;
  /** As `minShiftMs`, for levels that last less than the delay, ms. */
  readonly minBriefShiftMs: number;
  /** Smallest reported difference between the medians, in interquartile ranges of the calmer side. */
  readonly minShiftSpreads: number;
}

/** The defaults, which best match the changes that people mark. */
export const DEFAULT_CHANGE_OPTIONS: ChangeOptions = {
  delay: 5,
  maxDelay: 20,
  clearMargin: 8,
  penalty: 11,
  outlierShare: 0.005,
  memory: 15,
  spreadMs: 0.5,
  minShiftMs: 0.5,
  minBriefShiftMs: 2,
  minShiftSpreads: 1,
};

/** Outliers and the first RTT of a segment are uniform over this width, ms. */
const BROAD_MS = 50;
/** Segment starts within this many rows count as one change, as people mark them (Shao et al., ITC 29). */
const NEARBY_ROWS = 2;
/** Prior of the loss rate within a segment, as pseudo-counts of losses and replies. */
export const LOSS_PRIOR = { lost: 0.02, received: 1 };
/** Half the prior degrees of freedom of the spread. */
const SPREAD_PRIOR_SHAPE = 1;
/** Loss rates that differ by more than this are reported whatever the RTTs. */
const MIN_LOSS_SHIFT = 0.5;

/** Level of a series on one side of a change. */
export interface Level {
  /** Median RTT, ms; NaN if all rows are lost. */
  readonly medianMs: number;
  /** Interquartile range of the RTTs, ms; NaN if all rows are lost. */
  readonly spreadMs: number;
  /** Share of lost rows. */
  readonly lossRate: number;
}

/** @param rttsMs NaN for a loss. */
export function levelOf(rttsMs: readonly number[]): Level {
  const sorted = Float64Array.from(rttsMs.filter((rttMs) => !Number.isNaN(rttMs))).sort();
  return {
    medianMs: quantileOfSorted(sorted, 0.5),
    spreadMs: quantileOfSorted(sorted, 0.75) - quantileOfSorted(sorted, 0.25),
    lossRate: (rttsMs.length - sorted.length) / rttsMs.length,
  };
}

export interface Change {
  /** First row of the new level, from 0. */
  readonly row: number;
  readonly before: Level;
  readonly after: Level;
  /**
   * How much less likely the `delay` + 1 rows since are without this and later changes, nats. If more rows
   * were seen, it is scaled to that number, so that a late report does not gain evidence.
   */
  readonly evidence: number;
}

/** A candidate for the newest segment, preceded by the most likely segmentation of the rows before it. */
class Segment {
  /** Negative log-likelihood of the whole segmentation including penalties, nats. */
  cost: number;
  readonly start: number;
  readonly previousStart: number;
  #level = 0;
  #weight = 0;
  #shape = SPREAD_PRIOR_SHAPE;
  #scale: number;
  #numLost = 0;
  #numRows = 0;

  constructor(start: number, { cost, previousStart, spreadMs }: {
    cost: number;
    previousStart: number;
    spreadMs: number;
  }) {
    this.start = start;
    this.cost = cost;
    this.previousStart = previousStart;
    this.#scale = SPREAD_PRIOR_SHAPE * spreadMs ** 2;
  }

  /** Adds a row. @param rttMs NaN for a loss. */
  add(rttMs: number, { outlierShare, memory }: ChangeOptions): void {
    const { lost, received } = LOSS_PRIOR;
    const pLost = (lost + this.#numLost) / (lost + received + this.#numRows);
    this.#numRows++;
    if (Number.isNaN(rttMs)) {
      this.#numLost++;
      this.cost -= Math.log(pLost);
    } else if (this.#weight === 0) {
      this.#level = rttMs;
      this.#weight = 1;
      this.cost -= Math.log((1 - pLost) / BROAD_MS);
    } else {
      const inlier = (1 - outlierShare) * this.#density(rttMs);
      const density = inlier + outlierShare / BROAD_MS;
      this.cost -= Math.log((1 - pLost) * density);
      this.#update(rttMs, inlier / density, memory);
    }
  }

  /** Density of the next RTT unless it is an outlier, 1/ms. */
  #density(rttMs: number): number {
    const shape = this.#shape;
    const squaredWidth = 2 * this.#scale * (1 + 1 / this.#weight);
    // (gamma(shape + 1/2) / gamma(shape))^2, accurate to 0.1 % for shapes of at least 1.
    const gammaRatio = shape - 0.25 + 1 / (32 * shape - 4);
    const relative = 1 + (rttMs - this.#level) ** 2 / squaredWidth;
    return Math.sqrt(gammaRatio / (Math.PI * squaredWidth)) * relative ** -(shape + 0.5);
  }

  /** Updates the normal-gamma posterior. @param probability P(the RTT belongs to the segment). */
  #update(rttMs: number, probability: number, memory: number): void {
    const difference = rttMs - this.#level;
    const weight = this.#weight;
    this.#scale += probability * 0.5 * difference ** 2 * weight / (weight + 1);
    this.#shape += probability * 0.5;
    this.#level += probability * difference / (weight + 1);
    this.#weight = Math.min(memory, weight + probability);
    if (this.#shape > memory) {
      this.#scale *= memory / this.#shape;
      this.#shape = memory;
    }
  }
}

/** Finds the changes of one series. Memory: about 100 bytes per row of the delay. */
export class ChangeDetector {
  readonly #options: ChangeOptions;
  /** Ascending by start. The first one began at the last decided change. */
  #segments: Segment[] = [];
  /** Start of the segment before each one that begins at an undecided row, at its start modulo the length. */
  readonly #previousStarts: Int32Array;
  /** The newest RTTs, ms; indexed by row modulo the length. */
  readonly #recent: Float64Array;
  numRows = 0;
  /** Start of the newest decided segment. */
  #lastStart = 0;
  /** The level before the changes since the last reported one, which were all too small to report. */
  #told: Level | undefined;

  constructor(options: Partial<ChangeOptions> = {}) {
    const merged = { ...DEFAULT_CHANGE_OPTIONS, ...options };
    this.#options = { ...merged, maxDelay: Math.max(merged.delay, merged.maxDelay) };
    const { maxDelay } = this.#options;
    this.#previousStarts = new Int32Array(maxDelay + 1);
    this.#recent = new Float64Array(2 * (maxDelay + 1)).fill(NaN);
  }

  /** Adds the next row. @param rttMs NaN for a loss. @returns The change to report now, if any. */
  add(rttMs: number): Change | undefined {
    const row = this.numRows++;
    this.#recent[row % this.#recent.length] = rttMs;
    const { penalty, spreadMs } = this.#options;
    const before = row === 0 ? { start: 0, cost: -penalty } : this.#best();
    this.#previousStarts[row % this.#previousStarts.length] = before.start;
    this.#segments.push(
      new Segment(row, { cost: before.cost + penalty, previousStart: before.start, spreadMs }),
    );
    for (const segment of this.#segments) segment.add(rttMs, this.#options);
    const clear = this.#clearChange();
    return clear === undefined ? this.#decide(row - this.#options.maxDelay) : this.#decide(clear);
  }

  /** The changes in the rows still undecided at the end of the series. */
  *finish(): Generator<Change> {
    for (let row = this.numRows - this.#options.maxDelay; row < this.numRows; row++) {
      const change = this.#decide(row);
      if (change) yield change;
    }
  }

  #best(): Segment {
    return this.#segments.reduce((best, segment) => segment.cost < best.cost ? segment : best);
  }

  /** First row of the oldest undecided change if it is clear and large enough even for a brief change. */
  #clearChange(): number | undefined {
    const { delay, clearMargin } = this.#options;
    const best = this.#best();
    const row = this.#startsOf(best).reduce((_, start) => start, Infinity);
    if (row > this.numRows - 1 - delay) return undefined;
    const isElsewhere = (segment: Segment) =>
      this.#startsOf(segment).every((start) => Math.abs(start - row) > NEARBY_ROWS);
    const isRival = (segment: Segment) => segment.cost < best.cost + clearMargin && isElsewhere(segment);
    if (this.#segments.some(isRival)) return undefined;
    const { told, after } = this.#levelsAt(row, this.#segmentAt(row, best).end);
    return this.#isReported(told, after, { isBrief: true }) ? row : undefined;
  }

  /** Undecided segment starts of a segmentation, newest first. */
  *#startsOf({ start, previousStart }: Segment): Generator<number> {
    while (start > this.#lastStart) {
      yield start;
      [start, previousStart] = [
        previousStart,
        this.#previousStarts[previousStart % this.#previousStarts.length],
      ];
    }
  }

  /** Decides whether a segment begins at a row. */
  #decide(row: number): Change | undefined {
    if (row <= this.#lastStart) return undefined;
    const best = this.#best();
    const { start, end } = this.#segmentAt(row, best);
    const isChange = start === row;
    const unchanged = this.#segments[0];
    this.#segments = this.#segments.filter((segment) =>
      (this.#segmentAt(row, segment).start === row) === isChange
    );
    if (!isChange) return undefined;
    const { newest, told, after } = this.#levelsAt(row, end);
    this.#lastStart = row;
    const isReported = this.#isReported(told, after, { isBrief: end < this.numRows });
    this.#told = isReported ? undefined : told;
    if (!isReported) return undefined;
    const before = this.#isReported(told, newest, { isBrief: false }) ? told : newest;
    const compared = Math.min(1, (this.#options.delay + 1) / (this.numRows - row));
    return { row, before, after, evidence: compared * (unchanged.cost - best.cost) };
  }

  /** Levels from `row` to before `end`, and before `row` since the last change and the last reported one. */
  #levelsAt(row: number, end: number): { newest: Level; told: Level; after: Level } {
    const newest = this.#levelOf(Math.max(this.#lastStart, row - this.#options.maxDelay - 1), row);
    return { newest, told: this.#told ?? newest, after: this.#levelOf(row, end) };
  }

  /** The rows of the segment that contains a row. @param last The newest segment of the segmentation. */
  #segmentAt(row: number, last: Segment): { start: number; end: number } {
    let { start, previousStart } = last;
    let end = this.numRows;
    while (start > row) {
      end = start;
      start = previousStart;
      previousStart = this.#previousStarts[start % this.#previousStarts.length];
    }
    return { start, end };
  }

  #levelOf(start: number, end: number): Level {
    return levelOf(
      Array.from({ length: end - start }, (_, i) => this.#recent[(start + i) % this.#recent.length]),
    );
  }

  /** Whether people would mark the change. @param isBrief The level changes again within the delay. */
  #isReported(before: Level, after: Level, { isBrief }: { isBrief: boolean }): boolean {
    if (Math.abs(before.lossRate - after.lossRate) > MIN_LOSS_SHIFT) return true;
    return isShift({ before, after }, this.#options, { isBrief });
  }
}

/** Whether the medians differ enough to be reported. @param isBrief The level changes again within the delay. */
export function isShift(
  { before, after }: Pick<Change, "before" | "after">,
  { minShiftMs, minBriefShiftMs, minShiftSpreads, spreadMs }: ChangeOptions,
  { isBrief = false } = {},
): boolean {
  const calmMs = Math.max(spreadMs, Math.min(before.spreadMs, after.spreadMs));
  const leastMs = Math.max(minShiftMs, minShiftSpreads * calmMs, isBrief ? minBriefShiftMs : 0);
  return Math.abs(after.medianMs - before.medianMs) >= leastMs;
}
