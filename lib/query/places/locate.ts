/**
 * Where an address is, by its RTTs: a distribution over the places of the table in which addresses are.
 *
 * No place is possible from which a reply would be faster than light in fibre, as in constraint-based
 * geolocation (Gueye, Ziviani, Crovella, Fdida, "Constraint-Based Geolocation of Internet Hosts", IEEE/ACM
 * Transactions on Networking 14(6), 2006). Among the others, a place is likely if the RTTs to the landmarks,
 * which are measured addresses with known places, are those of other addresses near it (as in Padmanabhan,
 * Subramanian, "An Investigation of Geographic Mapping Techniques for Internet Hosts", SIGCOMM 2001). The
 * expected RTT grows linearly with the distance. Its logarithm is corrected by how much longer the landmark's
 * RTTs are, to all addresses and to those near the place, and the address's own.
 *
 * A landmark may be elsewhere than the database says, so each counts at most by the logarithm of a small
 * probability. The prior is how many networks a place has, half of it in the AS of the address.
 *
 * @module
 */
import { evenlySpread, getOrMake } from "../../base/collections.ts";
import { quantileOfSample, quantileOfSorted } from "../../base/sample_statistics.ts";
import { KM_PER_MS, lightSlackKm } from "../../data/addresses/light_floor.ts";
import { type LeastRttNode, type LeastRtts, otherEnd } from "../../data/addresses/least_rtts.ts";
import { distanceKm, type PlaceTable, type Position } from "../../data/addresses/place_table.ts";
import { expectedLog, fitDistances } from "../../model/pool/distance_regression.ts";

/** An address with a known place and the shortest RTT from there. */
export interface Landmark {
  readonly node: LeastRttNode & { readonly position: Position };
  readonly rttMs: number;
}

/** A place that addresses are in. */
export interface Candidate {
  readonly position: Position;
  /** The number of the site with the most networks at this position. */
  readonly site: number;
  probability: number;
  /** Number of landmarks for which it is too far away for light. */
  contradictions: number;
}

export interface Located {
  /** The most central of the likely places: the one with the least expected distance. */
  readonly best: Candidate;
  /** The most probable first. */
  readonly candidates: readonly Candidate[];
  /** The landmarks that counted, those with the shortest RTTs first. */
  readonly used: readonly Landmark[];
  /** Half of the diagonal between two positions of the table, which are rounded, km. */
  readonly roundingKm: number;
}

/** The candidates near a position, and the weight of an address there for each. */
interface Near {
  readonly indexes: Uint32Array;
  readonly weights: Float32Array;
}

/** The landmarks with the shortest RTTs say most. */
const MAX_LANDMARKS = 64;
/** Other addresses per landmark. */
const MAX_PEERS = 128;
/** The distance at which the RTTs of another address count 1/e, and how many addresses the mean counts as. */
const [NEAR_KM, MEAN_WORTH] = [300, 1];
/** An address farther away does not count. */
const REACH_KM = 6 * NEAR_KM;
/** Errors of ln RTT (Laplace) far from any address that the landmark measured, and next to them. */
const [FAR_ERROR, NEAR_ERROR] = [0.5, 0.2];
/** How many landmarks the prior of 0 counts as for the address's own excess, and for a landmark's. */
const OWN_WORTH = 3;
const LANDMARK_WORTH = 2;
/** P(a landmark says nothing, e.g. because its place is wrong), and the density of ln RTT in that case. */
const [USELESS, USELESS_DENSITY] = [0.03, 0.1];
/** Landmarks err together, so their likelihood counts as much as that of this share of them. */
const INDEPENDENT = 0.2;
/** The prior's shares of the AS of the address, of the measured addresses, and of all places equally. */
const [AS_SHARE, MEASURED_SHARE, EVEN_SHARE] = [0.5, 0.25, 0.01];
/** The expected distance is minimised over this many of the likeliest places. */
const MAX_CENTRAL = 128;
/** Only places with at least this share of the greatest probability are answers. */
const MIN_CENTRAL = 0.25;
const EARTH_RADIUS_KM = 6371;

export class Locator {
  readonly #table: PlaceTable;
  readonly #candidates: { readonly position: Position; site: number }[] = [];
  /** How many networks each candidate has. */
  readonly #weights: Float64Array;
  /** Candidates of sites; -1 for none. */
  readonly #ofSites: Int32Array;
  /** Unit vectors of the candidates, three numbers each. */
  readonly #vectors: Float64Array;
  readonly #expected: (km: number) => number;

  /** @param rtts After `misplaced()`. */
  constructor(readonly rtts: LeastRtts) {
    this.#table = rtts.table;
    const { sites } = this.#table;
    const weights = weightsOfSites(this.#table);
    const byPosition = new Map<string, number>();
    this.#ofSites = Int32Array.from(sites, ({ position }, site) => {
      if (!position || weights[site] === 0) return -1;
      const known = getOrMake(
        byPosition,
        keyOf(position),
        () => this.#candidates.push({ position, site }) - 1,
      );
      const candidate = this.#candidates[known];
      if (weights[site] > weights[candidate.site]) candidate.site = site;
      return known;
    });
    this.#weights = new Float64Array(this.#candidates.length);
    this.#ofSites.forEach((at, site) => {
      if (at >= 0) this.#weights[at] += weights[site];
    });
    this.#vectors = Float64Array.from(this.#candidates.flatMap(({ position }) => vectorOf(position)));
    this.#expected = expectedLogs(rtts);
  }

  /**
   * @param landmarks At least one. @param target The address's own node is never a peer of its landmarks.
   * @param options `asNumber`: 0 if unknown; `hiddenSite`: what the database says, which must not count.
   */
  locate(
    landmarks: readonly Landmark[],
    target: ReadonlySet<LeastRttNode>,
    { asNumber, hiddenSite }: { asNumber: number; hiddenSite: number },
  ): Located {
    const used = landmarks.toSorted((a, b) => a.rttMs - b.rttMs).slice(0, MAX_LANDMARKS);
    const { length } = this.#candidates;
    const near = new Map<string, Near>();
    const nearTo = (at: Position) => getOrMake(near, keyOf(at), () => this.#near(at));
    const fields = used.map((landmark) => this.#excesses(landmark, target, nearTo));
    const prior = this.#prior(target, asNumber, hiddenSite);
    const own = new Float64Array(used.length);
    const contradictions = new Uint16Array(length);
    const logs = Float64Array.from({ length }, (_, i) => {
      fields.forEach(({ excesses }, k) => own[k] = excesses[i]);
      const shift = quantileOfSorted(own.sort(), 0.5) * used.length / (used.length + OWN_WORTH);
      let log = 0;
      fields.forEach(({ excesses, peers, tooFar }) => {
        const error = NEAR_ERROR + (FAR_ERROR - NEAR_ERROR) / (1 + peers[i]);
        if (tooFar[i]) contradictions[i]++;
        const density = tooFar[i] ? 0 : Math.exp(-Math.abs(excesses[i] - shift) / error) / (2 * error);
        log += Math.log((1 - USELESS) * density + USELESS * USELESS_DENSITY);
      });
      return INDEPENDENT * log - Math.abs(shift) + Math.log(prior[i]);
    });
    const greatest = logs.reduce((a, b) => Math.max(a, b), -Infinity);
    const total = logs.reduce((sum, log) => sum + Math.exp(log - greatest), 0);
    const candidates = this.#candidates.map(({ position, site }, i): Candidate => ({
      position,
      site,
      probability: Math.exp(logs[i] - greatest) / total,
      contradictions: contradictions[i],
    })).sort((a, b) => b.probability - a.probability);
    return {
      best: centralOf(candidates),
      candidates,
      used,
      roundingKm: lightSlackKm(this.#table.stepDegrees) / 2,
    };
  }

  /**
   * By how much ln RTT is longer than expected if the address were at each candidate, the weight of the
   * landmark's other addresses near it, and whether light needs longer.
   */
  #excesses({ node, rttMs }: Landmark, target: ReadonlySet<LeastRttNode>, nearTo: (at: Position) => Near) {
    const others = evenlySpread(node.pairs.filter((pair) => !Number.isNaN(pair.distanceKm)), MAX_PEERS)
      .map((pair) => ({ end: otherEnd(pair, node), pair }))
      .filter(({ end }) => !end.isMisplaced && !target.has(end));
    const excesses = others.map(({ pair }) => Math.log(pair.rttMs) - this.#expected(pair.distanceKm));
    const usual = excesses.length === 0
      ? 0
      : quantileOfSample(excesses, 0.5) * excesses.length / (excesses.length + LANDMARK_WORTH);
    const { length } = this.#candidates;
    const [sums, peers] = [new Float32Array(length), new Float32Array(length)];
    others.forEach(({ end: { position } }, k) => {
      if (!position) return;
      const { indexes, weights } = nearTo(position);
      const excess = excesses[k] - usual;
      for (let j = 0; j < indexes.length; j++) {
        sums[indexes[j]] += weights[j] * excess;
        peers[indexes[j]] += weights[j];
      }
    });
    const cosines = this.#cosinesTo(node.position);
    const reachKm = rttMs * KM_PER_MS + lightSlackKm(this.#table.stepDegrees);
    const log = Math.log(rttMs);
    const tooFar = new Uint8Array(length);
    for (let i = 0; i < length; i++) {
      const km = EARTH_RADIUS_KM * Math.acos(cosines[i]);
      sums[i] = log - this.#expected(km) - usual - sums[i] / (peers[i] + MEAN_WORTH);
      tooFar[i] = Number(km > reachKm);
    }
    return { excesses: sums, peers, tooFar };
  }

  /** The candidates near a position, and the weight of an address there. */
  #near(position: Position): Near {
    const cosines = this.#cosinesTo(position);
    const least = Math.cos(REACH_KM / EARTH_RADIUS_KM);
    const indexes = Uint32Array.from(cosines.keys().filter((i) => cosines[i] > least));
    const weights = Float32Array.from(
      indexes,
      (i) => Math.exp(-EARTH_RADIUS_KM * Math.acos(cosines[i]) / NEAR_KM),
    );
    return { indexes, weights };
  }

  /** By where networks are, where those of the address's AS are, and where measured addresses are. */
  #prior(target: ReadonlySet<LeastRttNode>, asNumber: number, hiddenSite: number): Float64Array {
    const ofSites = (weights: Float64Array) => {
      const sums = new Float64Array(this.#candidates.length);
      weights.forEach((weight, site) => {
        if (this.#ofSites[site] >= 0) sums[this.#ofSites[site]] += weight;
      });
      return sums;
    };
    const measured = new Float64Array(this.#ofSites.length);
    for (const node of this.rtts.nodes()) {
      if (!node.isMisplaced && !target.has(node)) measured[node.site]++;
    }
    const ofAs = asNumber > 0 ? weightsOfSites(this.#table, asNumber) : new Float64Array(measured.length);
    ofAs[hiddenSite] = 0;
    const parts = [
      { share: AS_SHARE, weights: ofSites(ofAs) },
      { share: MEASURED_SHARE, weights: ofSites(measured) },
      { share: EVEN_SHARE, weights: new Float64Array(this.#candidates.length).fill(1) },
      { share: 1 - AS_SHARE - MEASURED_SHARE - EVEN_SHARE, weights: this.#weights },
    ].map(({ share, weights }) => ({ share, weights, sum: weights.reduce((a, b) => a + b, 0) }))
      .filter(({ sum }) => sum > 0);
    return Float64Array.from(
      this.#weights,
      (_, i) => parts.reduce((prior, { share, weights, sum }) => prior + share * weights[i] / sum, 0),
    );
  }

  /** The cosine of the angle between a position and each candidate. */
  #cosinesTo(position: Position): Float64Array {
    const [x, y, z] = vectorOf(position);
    const vectors = this.#vectors;
    const cosines = new Float64Array(vectors.length / 3);
    for (let i = 0; i < cosines.length; i++) {
      const cosine = x * vectors[3 * i] + y * vectors[3 * i + 1] + z * vectors[3 * i + 2];
      cosines[i] = Math.max(-1, Math.min(1, cosine));
    }
    return cosines;
  }
}

/** The distance from the best place within which the address is with this probability, km. */
export function radiusKm({ best, candidates, roundingKm }: Located, probability: number): number {
  const near = candidates.filter(({ probability }) => probability > 1e-7)
    .map(({ position, probability }) => ({ km: distanceKm(best.position, position), probability }))
    .sort((a, b) => a.km - b.km);
  let sum = 0;
  const last = near.findIndex((each) => (sum += each.probability) >= probability);
  return Math.max(roundingKm, near.at(last)?.km ?? 0);
}

function centralOf(candidates: readonly Candidate[]): Candidate {
  const likely = candidates.slice(0, MAX_CENTRAL);
  const expected = (from: Candidate) =>
    likely.reduce((sum, to) => sum + to.probability * distanceKm(from.position, to.position), 0);
  const least = MIN_CENTRAL * likely[0].probability;
  return likely.filter(({ probability }) => probability >= least)
    .map((each) => ({ each, km: expected(each) })).reduce((a, b) => b.km < a.km ? b : a).each;
}

/** The weights of sites: the square roots of the sizes of their networks, as in `place_index.ts`. */
function weightsOfSites(table: PlaceTable, asNumber?: number): Float64Array {
  const weights = new Float64Array(table.sites.length);
  for (const length of [4, 16] as const) {
    table.visitRanges(length, (first, end, site, as) => {
      if (asNumber === undefined || as === asNumber) weights[site] += Math.sqrt(end - first);
    });
  }
  weights[0] = 0;
  return weights;
}

/** ln RTT by the distance. */
function expectedLogs(rtts: LeastRtts): (km: number) => number {
  const regression = fitDistances(
    rtts.pairs().map(({ distanceKm, rttMs }) => ({ km: distanceKm, log: Math.log(rttMs) })),
  );
  return (km) => expectedLog(km, regression);
}

function keyOf({ latitude, longitude }: Position): string {
  return `${latitude},${longitude}`;
}

/** The unit vector of a position, from the Earth's centre. */
export function vectorOf({ latitude, longitude }: Position): [x: number, y: number, z: number] {
  const [north, east] = [latitude, longitude].map((degrees) => degrees * Math.PI / 180);
  return [Math.cos(north) * Math.cos(east), Math.cos(north) * Math.sin(east), Math.sin(north)];
}
