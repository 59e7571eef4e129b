/**
 * The RTT between addresses drawn from prefixes: a mixture of exact distributions, and how far it may be off because
 * only some addresses were drawn.
 *
 * Each draw i has a probability of a reply w_i, a CDF F_i and a mean m_i, all exact. The mixture's CDF given a reply,
 * sum w_i F_i / sum w_i, is a ratio of means, whose standard error follows by linearisation (Cochran, Sampling
 * Techniques, 3rd ed. 1977, section 6.4); so does that of the mean. A quantile's is half the distance between the
 * quantiles one standard error of the CDF below and above it (Woodruff, JASA 47, 1952; Francisco and Fuller, Annals of
 * Statistics 19, 1991): no density is needed, which RTTs do not have.
 *
 * @module
 */
import { ensure } from "../../errors.ts";
import { CANONICAL_RTT_CODES } from "../../tokens/rtt_code.ts";
import { RttDistribution } from "./rtt_distribution.ts";

/** A mixture of RTT distributions with its standard errors; those of a single exact one are 0. */
export interface RttMixture {
  /** The distribution of the RTT between addresses of the prefixes. */
  readonly distribution: RttDistribution;
  /** How many addresses, or pairs of them, were drawn; 0 if there was one alone and all is exact. */
  readonly numDraws: number;
  /** How many of the draws are different. */
  readonly numDistinct: number;
  /** Standard error of the distribution's `pFailed`. */
  readonly pFailedError: number;
  /** Standard error of its `meanMs`, ms. */
  readonly meanErrorMs: number;
  /** Standard error of its `cdf(rttMs)`. */
  cdfError(rttMs: number): number;
  /** Standard error of its `quantileMs(q)`, ms. */
  quantileErrorMs(q: number): number;
}

/** One exact distribution as a mixture. */
export function mixtureOfOne(distribution: RttDistribution): RttMixture {
  return {
    distribution,
    numDraws: 0,
    numDistinct: 1,
    pFailedError: 0,
    meanErrorMs: 0,
    cdfError: () => 0,
    quantileErrorMs: () => 0,
  };
}

/** Adds up the distributions of draws, one after the other, in memory that does not depend on their number. */
export class MixtureSums {
  #numDraws = 0;
  #numDistinct = 0;
  readonly #failed = new Moments();
  #canonicalMass = 0;
  /** Of w. */
  readonly #weight = new Moments();
  /** Of v m and of v, where v is the probability of a reply within the limit of the mean. */
  readonly #mean = new Moments();
  readonly #meanWeight = new Moments();
  /** At every code: sums of w p, (w F)^2 and w (w F), where p is the code's probability. */
  readonly #probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  readonly #squares = new Float64Array(CANONICAL_RTT_CODES.length);
  readonly #products = new Float64Array(CANONICAL_RTT_CODES.length);

  /** Adds what was drawn `count` times. */
  add(distribution: RttDistribution, count: number): void {
    const { pFailed, probabilities } = distribution;
    // A failure may be certain to the last bit; a mixture of such draws alone still needs weights.
    const weight = Math.max(1 - pFailed, Number.EPSILON);
    this.#numDraws += count;
    this.#numDistinct++;
    this.#canonicalMass += count * distribution.canonicalMass;
    this.#failed.add({ y: pFailed, w: 1, count });
    this.#weight.add({ y: weight, w: weight, count });
    const within = weight * distribution.withinPingLimit;
    this.#mean.add({ y: within * distribution.meanMs, w: within, count });
    this.#meanWeight.add({ y: within, w: within, count });
    let cumulative = 0;
    for (let i = 0; i < probabilities.length; i++) {
      const share = weight * probabilities[i];
      cumulative += share;
      this.#probabilities[i] += count * share;
      this.#squares[i] += count * cumulative * cumulative;
      this.#products[i] += count * cumulative * weight;
    }
  }

  /** The mixture of all that was added: at least two draws. */
  mixture(): RttMixture {
    const n = this.#numDraws;
    ensure(n >= 2, `${n} draws have no standard error`);
    const weight = this.#weight;
    const distribution = new RttDistribution(
      this.#failed.sum / n,
      this.#probabilities.map((sum) => sum / weight.sum),
      this.#canonicalMass / n,
    );
    const errorOf = (moments: Pick<Moments, "squares" | "products">, ratio: number, of = weight) => {
      const residual = moments.squares - 2 * ratio * moments.products + ratio ** 2 * of.squares;
      return Math.sqrt(Math.max(0, residual) * n / (n - 1)) / of.sum;
    };
    const cdfError = (rttMs: number) => {
      const index = distribution.indexOf(rttMs);
      return errorOf(
        { squares: this.#squares[index], products: this.#products[index] },
        distribution.cdf(rttMs),
      );
    };
    const failedVariance = this.#failed.squares / n - (this.#failed.sum / n) ** 2;
    return {
      distribution,
      numDraws: n,
      numDistinct: this.#numDistinct,
      cdfError,
      pFailedError: Math.sqrt(Math.max(0, failedVariance) / (n - 1)),
      meanErrorMs: this.#meanWeight.sum === 0
        ? 0
        : errorOf(this.#mean, this.#mean.sum / this.#meanWeight.sum, this.#meanWeight),
      quantileErrorMs: (q) => {
        const error = cdfError(distribution.quantileMs(q));
        const highMs = distribution.quantileMs(Math.min(1, q + error));
        return (highMs - distribution.quantileMs(Math.max(0, q - error))) / 2;
      },
    };
  }
}

/** Sums of y, y^2 and y w over draws. */
class Moments {
  sum = 0;
  squares = 0;
  products = 0;

  add({ y, w, count }: { y: number; w: number; count: number }): void {
    this.sum += count * y;
    this.squares += count * y * y;
    this.products += count * y * w;
  }
}
