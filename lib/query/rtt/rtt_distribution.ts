/**
 * The exact predictive distribution of an RTT: a probability for every canonical RTT code, and for no reply.
 *
 * The two RTT bytes have 33,791 canonical codes, so nothing is sampled: the model returns P(byte 1) and
 * P(byte 2 | byte 1).
 *
 * @module
 */
import { lowerBound } from "../../base/collections.ts";
import { ensure } from "../../base/errors.ts";
import { formatMs } from "../../base/text.ts";
import { requirePossible } from "../possible.ts";
import {
  CANONICAL_RTT_CODES,
  decodeRttCode,
  encodeRttCode,
  rttCodeBounds,
} from "../../data/tokens/rtt_code.ts";

/** RTT of each of `CANONICAL_RTT_CODES`, ms. */
export const RTTS_MS: Float64Array = Float64Array.from(CANONICAL_RTT_CODES, decodeRttCode);

/**
 * The longest RTT that a ping tool can report, ms; codes reach 51 days. ASSUMPTION: no tool waits longer than
 * a minute. Linux ping waits 10 s for the last reply (MAXWAIT of iputils), RIPE Atlas at most 60 s
 * (`response_timeout`).
 */
export const MAX_PING_RTT_MS = 60_000;

const NUM_PING_RTTS = RTTS_MS.findIndex((rttMs) => rttMs > MAX_PING_RTT_MS);

/** @internal A histogram bar: the probability that the RTT is in [lowMs, highMs). */
interface HistogramBar {
  /** Left edge, ms, inclusive. */
  lowMs: number;
  /** Right edge, ms, exclusive. */
  highMs: number;
  /** Probability of the whole bar given a reply, in [0, 1]; not a density. */
  probability: number;
}

/** Relative width of the interval around the likeliest RTT. */
const INTERVAL_WIDTH = 0.01;

/** @internal The RTT with the most replies near it. */
interface LikeliestRtt {
  readonly rttMs: number;
  /** P(RTT in the surrounding interval, a hundredth wide | reply). */
  readonly probability: number;
}

/** The memory of a distribution, 0.5 MB, which can be reused. */
export class RttArrays {
  /** P(RTT code | reply), by index of the code. */
  readonly probabilities: Float64Array = new Float64Array(CANONICAL_RTT_CODES.length);
  /** Cumulative sums of {@link probabilities}. */
  readonly cumulative: Float64Array = new Float64Array(CANONICAL_RTT_CODES.length);
}

/** The distribution of a measurement's result. */
export class RttDistribution {
  /** Cumulative sums of the probabilities. */
  readonly cumulative: Float64Array;
  /** Probability spread evenly within first bytes whose second bytes were not computed. */
  readonly spreadMass: number;
  /** The RTT of light between the places of the endpoints, ms; null if unknown. There is no mass below it. */
  readonly floorMs: number | null;

  /**
   * Keeps the arrays without copying them.
   *
   * @param probabilities P(code | reply) for each of `CANONICAL_RTT_CODES`; sums to 1.
   * @param canonicalMass Probability that the model itself assigned to canonical codes; near 1 for a trained
   *   model.
   * @param options `spreadMass` (0) and `floorMs` (null): see the fields; `cumulative`: is overwritten.
   * @throws {UserError} If the probabilities are invalid.
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

  /** Copies the distribution into its own memory, 0.5 MB. */
  copy(): RttDistribution {
    const { pFailed, probabilities, canonicalMass, spreadMass, floorMs } = this;
    return new RttDistribution(pFailed, probabilities.slice(), canonicalMass, { spreadMass, floorMs });
  }

  /** Mean RTT of the replies up to {@link MAX_PING_RTT_MS}; that limit if there are none. */
  get meanMs(): number {
    const within = this.withinPingLimit;
    if (within === 0) return MAX_PING_RTT_MS;
    let sum = 0;
    for (let i = 0; i < NUM_PING_RTTS; i++) sum += this.probabilities[i] * RTTS_MS[i];
    return sum / within;
  }

  /** P(RTT <= MAX_PING_RTT_MS | reply). */
  get withinPingLimit(): number {
    return this.cumulative[NUM_PING_RTTS - 1];
  }

  /** P(the RTT has the code of `rttMs` | reply). */
  probabilityOf(rttMs: number): number {
    return this.probabilities[this.indexOf(rttMs)];
  }

  /** P(RTT <= rttMs | reply), including the whole bucket of `rttMs`. */
  cdf(rttMs: number): number {
    return this.cumulative[this.indexOf(rttMs)];
  }

  /** Index in `probabilities` of the bucket of `rttMs`. */
  indexOf(rttMs: number): number {
    return lowerBound(CANONICAL_RTT_CODES, encodeRttCode(rttMs));
  }

  /**
   * The smallest RTT, ms, for which P(RTT or less | reply) is at least `q`. @throws {RangeError} If q is not
   * in [0, 1].
   */
  quantileMs(q: number): number {
    if (!(q >= 0 && q <= 1)) throw new RangeError(`Cannot take quantile ${q}: expected 0 to 1`);
    return this.#rttReaching(q * this.cumulative[this.cumulative.length - 1]);
  }

  /**
   * The RTT with the most replies near it: the median of the most probable interval a hundredth wide.
   *
   * {@link quantileMs} of 0.5 is the guess with the least mean absolute error. The middle of that interval is
   * most often right to half a percent (Gneiting, Making and Evaluating Point Forecasts, JASA 106 (2011), on
   * the zero-one score and modal intervals); its median is close to the middle, and is the value itself if a
   * single one has all the probability.
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
   * Bars of equal width on a logarithmic axis, from the 0.5 % to the 99.5 % quantile. Each bar gets a code's
   * probability in proportion to their overlap.
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

  /** The quantiles as text, and a picture, for Deno's notebooks. */
  async [Symbol.for("Jupyter.display")](): Promise<{ "text/plain": string; "image/svg+xml": string }> {
    const { plotRttDistribution } = await import("./rtt_plot.ts");
    const [low, median, high] = [0.05, 0.5, 0.95].map((q) => formatMs(this.quantileMs(q)));
    const loss = `no reply ${(this.pFailed * 100).toPrecision(3)} %`;
    const text = `RTT ${median} (5 % to 95 %: ${low} to ${high}), ${loss}`;
    return { "text/plain": text, "image/svg+xml": (await plotRttDistribution(this)).svg };
  }

  /** The smallest RTT, ms, with at least the given cumulative probability. */
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
