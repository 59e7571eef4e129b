/**
 * An exact predictive distribution of the RTT: a probability for every canonical RTT code, and of failure.
 *
 * The two RTT bytes have 33,791 canonical codes, so nothing is sampled: the model gives P(byte 1)
 * and P(byte 2 | byte 1).
 *
 * @module
 */
import { lowerBound } from "../../base/collections.ts";
import { ensure } from "../../base/errors.ts";
import { requirePossible } from "../possible.ts";
import {
  CANONICAL_RTT_CODES,
  decodeRttCode,
  encodeRttCode,
  rttCodeBounds,
} from "../../data/tokens/rtt_code.ts";

/** The RTT of each of `CANONICAL_RTT_CODES`, ms. */
export const RTTS_MS: Float64Array = Float64Array.from(CANONICAL_RTT_CODES, decodeRttCode);

/**
 * The longest RTT that a ping tool can report, ms; codes reach 51 days. ASSUMPTION: none waits longer than a
 * minute. Linux ping waits 10 s for the last reply (MAXWAIT of iputils), RIPE Atlas 60 s at most
 * (`response_timeout`).
 */
export const MAX_PING_RTT_MS = 60_000;

const NUM_PING_RTTS = RTTS_MS.findIndex((rttMs) => rttMs > MAX_PING_RTT_MS);

/** A bar of a histogram: the probability that the RTT lies in [lowMs, highMs). */
export interface HistogramBar {
  /** Left edge, ms; inside the bar. */
  lowMs: number;
  /** Right edge, ms; outside the bar. */
  highMs: number;
  /** Mass of the whole bar given a reply, 0 to 1; no density. */
  probability: number;
}

/** The width of the intervals among which the likeliest is looked for. */
const INTERVAL_WIDTH = 0.01;

/** The RTT that more replies are near than any other. */
export interface LikeliestRtt {
  /** The RTT, ms. */
  readonly rttMs: number;
  /** P(the interval a hundredth wide in which it lies | a reply came). */
  readonly probability: number;
}

/** The memory of a distribution, 0.5 MB, which one after the other may use. */
export class RttArrays {
  /** P(RTT code | a reply came), by the code's index. */
  readonly probabilities: Float64Array = new Float64Array(CANONICAL_RTT_CODES.length);
  /** Sums of {@link probabilities} up to each code. */
  readonly cumulative: Float64Array = new Float64Array(CANONICAL_RTT_CODES.length);
}

/** The distribution of one measurement's result. */
export class RttDistribution {
  /** Sums of the probabilities up to each code. */
  readonly cumulative: Float64Array;
  /** The mass that is spread evenly within first bytes whose second bytes were not asked for. */
  readonly spreadMass: number;
  /** What light needs between the places of both ends, ms; null if that is not known. There is no mass below. */
  readonly floorMs: number | null;

  /**
   * Takes the probabilities as they are; the arrays are kept, not copied.
   *
   * @param probabilities P(code | a reply came), one for each of `CANONICAL_RTT_CODES`; sums to 1.
   * @param canonicalMass The mass that the model itself gave to canonical codes; near 1 for a trained model.
   * @param options `spreadMass` (0) and `floorMs` (null): see the fields; `cumulative`: is overwritten.
   * @throws {UserError} If the probabilities are not possible.
   */
  constructor(
    readonly pFailed: number,
    readonly probabilities: Float64Array,
    readonly canonicalMass: number,
    { spreadMass = 0, floorMs = null, cumulative = new Float64Array(probabilities.length) }: {
      spreadMass?: number;
      floorMs?: number | null;
      cumulative?: Float64Array;
    } = {},
  ) {
    this.spreadMass = spreadMass;
    this.floorMs = floorMs;
    ensure(probabilities.length === CANONICAL_RTT_CODES.length, "one probability per canonical code");
    this.cumulative = cumulative;
    let sum = 0;
    let least = 0;
    for (let i = 0; i < probabilities.length; i++) {
      const probability = probabilities[i];
      if (probability < least) least = probability;
      cumulative[i] = sum += probability;
    }
    requirePossible("P(no reply)", pFailed);
    requirePossible("the least P(RTT)", least);
    requirePossible("the sum of P(RTT)", sum, 1);
  }

  /** The same in memory of its own, 0.5 MB. */
  copy(): RttDistribution {
    const { pFailed, probabilities, canonicalMass, spreadMass, floorMs } = this;
    return new RttDistribution(pFailed, probabilities.slice(), canonicalMass, { spreadMass, floorMs });
  }

  /** The mean RTT of the replies up to {@link MAX_PING_RTT_MS}; that limit if there are none. */
  get meanMs(): number {
    const within = this.withinPingLimit;
    if (within === 0) return MAX_PING_RTT_MS;
    let sum = 0;
    for (let i = 0; i < NUM_PING_RTTS; i++) sum += this.probabilities[i] * RTTS_MS[i];
    return sum / within;
  }

  /** P(RTT <= MAX_PING_RTT_MS | a reply came). */
  get withinPingLimit(): number {
    return this.cumulative[NUM_PING_RTTS - 1];
  }

  /** P(the RTT has the code of `rttMs` | a reply came). */
  probabilityOf(rttMs: number): number {
    return this.probabilities[this.indexOf(rttMs)];
  }

  /** P(RTT <= rttMs | a reply came), with the whole bucket that holds `rttMs`. */
  cdf(rttMs: number): number {
    return this.cumulative[this.indexOf(rttMs)];
  }

  /** The index in `probabilities` of the bucket that holds `rttMs`. */
  indexOf(rttMs: number): number {
    return lowerBound(CANONICAL_RTT_CODES, encodeRttCode(rttMs));
  }

  /**
   * The smallest RTT, ms, that is reached with probability `q` given a reply. @throws {RangeError} If q is not
   * in [0, 1].
   */
  quantileMs(q: number): number {
    if (!(q >= 0 && q <= 1)) throw new RangeError(`Cannot take quantile ${q}: expected 0 to 1`);
    return this.#rttReaching(q * this.cumulative[this.cumulative.length - 1]);
  }

  /**
   * The RTT that more replies are near than any other: the median of the likeliest interval a hundredth wide.
   *
   * {@link quantileMs} of 0.5 is the guess with the least mean absolute error. The middle of that interval is
   * right to half a percent most often (Gneiting, Making and Evaluating Point Forecasts, JASA 106 (2011), on
   * the zero-one score and modal intervals); its median is close to the middle, and is the value itself if a
   * single one has the mass.
   */
  likeliest(): LikeliestRtt {
    let best = 0;
    let bestLow = 0;
    let low = 0;
    let mass = 0;
    for (let high = 0; high < RTTS_MS.length; high++) {
      mass += this.probabilities[high];
      while (RTTS_MS[high] > RTTS_MS[low] * (1 + INTERVAL_WIDTH)) mass -= this.probabilities[low++];
      if (mass > best) {
        best = mass;
        bestLow = low;
      }
    }
    const below = bestLow === 0 ? 0 : this.cumulative[bestLow - 1];
    return { rttMs: this.#rttReaching(below + best / 2), probability: best };
  }

  /**
   * The distribution as bars of equal width on a logarithmic axis, from its 0.5 % to its 99.5 % quantile. A bar
   * shares a code's mass in proportion to their overlap.
   */
  histogram(numBars: number): HistogramBar[] {
    const low = Math.log(this.quantileMs(0.005) * 0.999);
    const high = Math.log(this.quantileMs(0.995) * 1.001);
    const edge = (i: number) => Math.exp(low + (high - low) * i / numBars);
    const bars = Array.from({ length: numBars }, (_, i) => ({
      lowMs: edge(i),
      highMs: edge(i + 1),
      probability: 0,
    }));
    for (let i = 0; i < this.probabilities.length; i++) {
      if (this.probabilities[i] > 0) spread(bars, CANONICAL_RTT_CODES[i], this.probabilities[i]);
    }
    return bars;
  }

  /** The smallest RTT, ms, with at least a mass up to it. */
  #rttReaching(mass: number): number {
    const least = Math.max(mass, Number.MIN_VALUE);
    return RTTS_MS[Math.min(lowerBound(this.cumulative, least), RTTS_MS.length - 1)];
  }
}

function spread(bars: HistogramBar[], code: number, probability: number): void {
  const bounds = rttCodeBounds(code);
  if (bounds.highMs <= bars[0].lowMs || bounds.lowMs >= bars[bars.length - 1].highMs) return;
  const width = bounds.highMs - bounds.lowMs;
  const ratio = Math.log(bars[0].highMs / bars[0].lowMs);
  const first = Math.floor(Math.log(Math.max(bounds.lowMs, bars[0].lowMs) / bars[0].lowMs) / ratio);
  for (let i = Math.max(0, first - 1); i < bars.length && bars[i].lowMs < bounds.highMs; i++) {
    const overlap = Math.min(bounds.highMs, bars[i].highMs) - Math.max(bounds.lowMs, bars[i].lowMs);
    if (overlap > 0) bars[i].probability += probability * overlap / width;
  }
}
