/**
 * The latency model of the synthetic Internet: the distribution of the RTT between two hosts at a given time.
 *
 * With d the length of the route in km (great circles, via the route's hub if it has one), h(x) the local
 * hour at host x and busy(h) = ((1 + cos(2 pi (h - 21) / 24)) / 2)^2, which is 1 at 21 h and 0 at 9 h:
 *
 *     propagation = 2 d stretch / 199.86 ms                      (there and back at 2/3 of the speed of light)
 *     base        = propagation + access(src) + access(dst)
 *     queue       = diurnal(src) busy(h(src)) + diurnal(dst) busy(h(dst))
 *     m           = (floor(src) + floor(dst) + fraction propagation) (1 + 1.5 busy(h(src)))
 *     jitter      ~ 0.97 LogNormal(ln m, 0.7) + 0.03 Lomax(1.5, 2 ms + 10 m)      (a mixture)
 *     RTT         = base + queue + jitter
 *     P(no reply) = min(0.999, (loss(route) + loss(src) + loss(dst)) (1 + busy(h(src))))
 *
 * stretch, hub, fraction and loss(route) belong to the unordered pair of autonomous systems. Some pairs
 * change route once, at `changeTimeS`. So
 *
 *     P(RTT <= x) = 0.97 Phi((ln y - ln m) / 0.7) + 0.03 (1 - (1 + y / (2 + 10 m))^-1.5),   y = x - base - queue.
 *
 * The Lomax distribution (Pareto type II) has a tail as heavy as that of real ping results, whose maxima are
 * minutes. Stretch and access delays roughly follow the ranges in Krajsa and Fojtova (2011) and Bozkurt et
 * al., "Why Is the Internet so Slow?!", PAM 2017.
 *
 * @module
 */
import * as z from "zod";
import type { RandomStream } from "../../base/random.ts";

/** The speed of light in fibre: 2/3 of 299,792 km/s. */
const FIBRE_KM_PER_MS = 199.86;

/** The constants of the latency model, which truth files contain too. */
export const LATENCY_CONSTANTS = {
  busiestHour: 21,
  jitterSigma: 0.7,
  jitterBusyFactor: 1.5,
  tailWeight: 0.03,
  tailShape: 1.5,
  tailFloorMs: 2,
  tailFactor: 10,
  maxFailure: 0.999,
} as const;

const EARTH_RADIUS_KM = 6371;

/** A location on the globe, in degrees north and east. */
type GeoPoint = z.infer<typeof pointSchema>;
export const pointSchema = z.object({ latitude: z.number(), longitude: z.number() });

export type HostLatency = z.infer<typeof hostLatencySchema>;
export const hostLatencySchema = pointSchema.extend({
  /** Round-trip delay between the host and its network. */
  accessMs: z.number(),
  /** Queueing delay at the busiest hour. */
  diurnalMs: z.number(),
  /** The host's part of the median jitter. */
  jitterFloorMs: z.number(),
  /** The host's part of the probability of no reply. */
  loss: z.number(),
});

interface RouteLaw {
  /** Ratio of the route's length to the great circles, at least 1. */
  stretch: number;
  /** Where traffic is exchanged; undefined for a direct route. */
  hub: GeoPoint | undefined;
  /** The route's part of the median jitter, as a fraction of the propagation delay. */
  jitterFraction: number;
  loss: number;
}

/** The RTT distribution of a pair of hosts at a given time. */
export class LatencyModel {
  /**
   * Makes the distribution from the three parameters of a pair and a time.
   *
   * @param pFailed Probability of no reply.
   * @param offsetMs The smallest RTT: base and queue.
   * @param jitterMs Median of the common jitter (m above).
   */
  constructor(readonly pFailed: number, readonly offsetMs: number, readonly jitterMs: number) {}

  /** P(RTT <= rttMs), given a reply. */
  cdf(rttMs: number): number {
    const y = rttMs - this.offsetMs;
    if (y <= 0) return 0;
    return (1 - LATENCY_CONSTANTS.tailWeight) * normalCdf(this.#score(y)) +
      LATENCY_CONSTANTS.tailWeight * (1 - this.#tailSurvival(y));
  }

  /**
   * P(lowMs <= RTT < highMs), given a reply. Unlike the difference between two values of {@link cdf}, it is
   * precise even far out in the tail, where only the Lomax term contributes.
   *
   * @param highMs Infinity for no upper bound.
   */
  probabilityBetween(lowMs: number, highMs: number): number {
    const low = Math.max(0, lowMs - this.offsetMs);
    const high = highMs - this.offsetMs;
    if (!(high > low)) return 0;
    const common = normalCdf(this.#score(high)) - normalCdf(this.#score(low));
    const tail = this.#tailSurvival(low) - this.#tailSurvival(high);
    return (1 - LATENCY_CONSTANTS.tailWeight) * common + LATENCY_CONSTANTS.tailWeight * tail;
  }

  /** The q-quantile of the RTT in milliseconds, given a reply. @param q In [0, 1). */
  quantile(q: number): number {
    if (q <= 0) return this.offsetMs;
    let low = 0;
    let high = this.jitterMs;
    while (this.cdf(this.offsetMs + high) < q) {
      low = high;
      high *= 2;
    }
    for (let step = 0; step < 64; step++) {
      const middle = (low + high) / 2;
      if (this.cdf(this.offsetMs + middle) < q) low = middle;
      else high = middle;
    }
    return this.offsetMs + high;
  }

  /** Draws the RTT of a measurement in milliseconds; undefined for no reply. */
  sample(random: RandomStream): number | undefined {
    if (random.float64() < this.pFailed) return undefined;
    if (random.float64() >= LATENCY_CONSTANTS.tailWeight) {
      return this.offsetMs + this.jitterMs * Math.exp(LATENCY_CONSTANTS.jitterSigma * random.normal());
    }
    return this.offsetMs +
      this.#tailScaleMs() * ((1 - random.float64()) ** (-1 / LATENCY_CONSTANTS.tailShape) - 1);
  }

  /** The common jitter y as a z-score of its logarithm; -Infinity for 0. */
  #score(y: number): number {
    return Math.log(y / this.jitterMs) / LATENCY_CONSTANTS.jitterSigma;
  }

  /** The probability that the jitter of the tail exceeds y. */
  #tailSurvival(y: number): number {
    return (1 + y / this.#tailScaleMs()) ** -LATENCY_CONSTANTS.tailShape;
  }

  #tailScaleMs(): number {
    return LATENCY_CONSTANTS.tailFloorMs + LATENCY_CONSTANTS.tailFactor * this.jitterMs;
  }
}

/** The parameters of a path that do not depend on the hour. */
export interface PathNumbers {
  /** Propagation and access delay, there and back. */
  baseMs: number;
  /** Median of the common jitter at the quietest hour. */
  jitterMs: number;
  /** Probability of no reply at the quietest hour. */
  loss: number;
}

export function pathNumbers(src: HostLatency, dst: HostLatency, route: RouteLaw): PathNumbers {
  const km = route.hub
    ? greatCircleKm(src, route.hub) + greatCircleKm(route.hub, dst)
    : greatCircleKm(src, dst);
  const propagationMs = 2 * km * route.stretch / FIBRE_KM_PER_MS;
  return {
    baseMs: propagationMs + src.accessMs + dst.accessMs,
    jitterMs: src.jitterFloorMs + dst.jitterFloorMs + route.jitterFraction * propagationMs,
    loss: route.loss + src.loss + dst.loss,
  };
}

/** The distribution of a path at a time in seconds since 1970. */
export function latencyAt(
  timeS: number,
  { baseMs, jitterMs, loss }: PathNumbers,
  src: Pick<HostLatency, "longitude" | "diurnalMs">,
  dst: Pick<HostLatency, "longitude" | "diurnalMs">,
): LatencyModel {
  const busySrc = diurnalLoad(timeS, src.longitude);
  const queueMs = src.diurnalMs * busySrc + dst.diurnalMs * diurnalLoad(timeS, dst.longitude);
  return new LatencyModel(
    Math.min(LATENCY_CONSTANTS.maxFailure, loss * (1 + busySrc)),
    baseMs + queueMs,
    jitterMs * (1 + LATENCY_CONSTANTS.jitterBusyFactor * busySrc),
  );
}

/** The diurnal load at a location and time, 0 to 1. */
function diurnalLoad(timeS: number, longitude: number): number {
  const localHour = timeS / 3600 + longitude / 15;
  const share = (1 + Math.cos(2 * Math.PI * (localHour - LATENCY_CONSTANTS.busiestHour) / 24)) / 2;
  return share * share;
}

/** The great-circle distance in kilometres (haversine formula). */
function greatCircleKm(a: GeoPoint, b: GeoPoint): number {
  const radians = Math.PI / 180;
  const halfLatitude = Math.sin((b.latitude - a.latitude) * radians / 2);
  const halfLongitude = Math.sin((b.longitude - a.longitude) * radians / 2);
  const chord = halfLatitude ** 2 +
    Math.cos(a.latitude * radians) * Math.cos(b.latitude * radians) * halfLongitude ** 2;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(chord)));
}

/**
 * The standard normal distribution function, with an absolute error below 1e-15: Hart's rational
 * approximation as in West, "Better approximations to cumulative normal functions", Wilmott 2005.
 */
function normalCdf(x: number): number {
  const size = Math.abs(x);
  if (size > 37) return x > 0 ? 1 : 0;
  const density = Math.exp(-size * size / 2);
  const upper = size < 10 / Math.SQRT2
    ? density * polynomial(NUMERATOR, size) / polynomial(DENOMINATOR, size)
    : density / (Math.sqrt(2 * Math.PI) * continuedFraction(size));
  return x > 0 ? 1 - upper : upper;
}

const NUMERATOR = [
  220.206867912376,
  221.213596169931,
  112.079291497871,
  33.912866078383,
  6.37396220353165,
  0.700383064443688,
  3.52624965998911e-2,
];
const DENOMINATOR = [
  440.413735824752,
  793.826512519948,
  637.333633378831,
  296.564248779674,
  86.7807322029461,
  16.064177579207,
  1.75566716318264,
  8.83883476483184e-2,
];

function polynomial(coefficients: readonly number[], x: number): number {
  let value = 0;
  for (let i = coefficients.length - 1; i >= 0; i--) value = value * x + coefficients[i];
  return value;
}

function continuedFraction(x: number): number {
  return x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))));
}
