/**
 * Chooses sites so that the clients' costs to their nearest chosen site are least in the mean (the k-median
 * problem), and says how far the choice can be from the best one.
 *
 * @module
 */

/** The best choice of one more site, given the earlier ones. */
export interface SiteChoice {
  /** The added site. */
  readonly site: number;
  /** The chosen site with the least cost for each client. */
  readonly nearest: Uint32Array;
  /** Weighted mean of the clients' costs to it. */
  readonly mean: number;
  /** The mean of the best choice of as many sites, or a lower bound of it. */
  readonly optimum: number;
  /** Whether `optimum` is exact. */
  readonly isExact: boolean;
  /** The sites of the best choice, if it is known and better. */
  readonly better?: readonly number[] | undefined;
}

interface ChosenBy {
  /** Weights of the clients, with the sum 1. */
  readonly weights: ArrayLike<number>;
  readonly numSites: number;
  /** Number of sites to choose. */
  readonly most: number;
}

/** Costs that all searches of best choices may read, and all bounds: tenths of a second. */
const [MAX_ENUMERATED, MAX_BOUND_READS] = [6e7, 3e8];
const [LEAST_ITERATIONS, MAX_ITERATIONS] = [20, 300];
/** Iterations without a better bound after which the steps are halved. */
const PATIENCE = 8;

/**
 * Adds the site that lowers the mean cost most, again and again. The reduction is at least 1 - 1/e of the best
 * one (Nemhauser, Wolsey, Fisher, "An Analysis of Approximations for Maximizing Submodular Set Functions",
 * 1978). How near it is here is found by trying all choices if they are few, else by {@link lowerBound}.
 *
 * @param costs (clients, sites), finite and at least 0.
 */
export function chooseSites(costs: Float64Array, { weights, numSites, most }: ChosenBy): SiteChoice[] {
  const numClients = costs.length / numSites;
  // (sites, clients), multiplied by the weights.
  const bySite = Array.from(
    { length: numSites },
    (_, s) => Float64Array.from({ length: numClients }, (_, c) => weights[c] * costs[c * numSites + s]),
  );
  const chosen = new Set<number>();
  let best = new Float64Array(numClients).fill(Infinity);
  let nearest = new Uint32Array(numClients);
  return Array.from({ length: Math.min(most, numSites) }, (): SiteChoice => {
    const means = bySite.map((own, s) => chosen.has(s) ? Infinity : sumOfLeast(best, own));
    const site = means.indexOf(Math.min(...means));
    chosen.add(site);
    nearest = nearest.map((before, c) => bySite[site][c] < best[c] ? site : before);
    best = best.map((before, c) => Math.min(before, bySite[site][c]));
    const mean = means[site];
    const found = bestChoice(bySite, { most: chosen.size, maxReads: MAX_ENUMERATED / most });
    if (!found) {
      const optimum = Math.min(
        mean,
        lowerBound(bySite, { start: best, mean, most: chosen.size, maxReads: MAX_BOUND_READS / most }),
      );
      return { site, nearest, mean, optimum, isExact: false };
    }
    // Sums in another order differ by rounding.
    const isBetter = found.mean < mean * (1 - 1e-12);
    return {
      ...{ site, nearest, mean, optimum: isBetter ? found.mean : mean, isExact: true },
      ...(isBetter && { better: found.sites }),
    };
  });
}

function sumOfLeast(some: Float64Array, others: Float64Array): number {
  let sum = 0;
  for (let c = 0; c < some.length; c++) sum += Math.min(some[c], others[c]);
  return sum;
}

/** The best choice of a number of sites by trying all; undefined if they are too many. */
function bestChoice(
  bySite: readonly Float64Array[],
  { most, maxReads }: Record<"most" | "maxReads", number>,
) {
  const [numSites, numClients] = [bySite.length, bySite[0].length];
  let numChoices = 1;
  for (let k = 1; k <= most; k++) numChoices *= (numSites - most + k) / k;
  if (numChoices * numClients > maxReads) return undefined;
  const levels = Array.from({ length: most }, () => new Float64Array(numClients).fill(Infinity));
  const sites: number[] = [];
  let found = { mean: Infinity, sites: [...sites] };
  const extend = (first: number) => {
    const depth = sites.length;
    for (let s = first; s <= numSites - (most - depth); s++) {
      sites[depth] = s;
      if (depth === most - 1) {
        const mean = sumOfLeast(levels[depth], bySite[s]);
        if (mean < found.mean) found = { mean, sites: [...sites] };
      } else {
        for (let c = 0; c < numClients; c++) levels[depth + 1][c] = Math.min(levels[depth][c], bySite[s][c]);
        extend(s + 1);
      }
      sites.length = depth;
    }
  };
  extend(0);
  return found;
}

/**
 * A lower bound of the mean of every choice: the Lagrangian relaxation of "each client has one site" (Cornuejols,
 * Fisher, Nemhauser, "Location of Bank Accounts to Optimize Float", Management Science 23, 1977), improved by
 * subgradient steps. Any multipliers give a bound; those of the first step are the costs of the greedy choice.
 *
 * @param from `start`: the first multipliers; `mean`: the mean of a choice; `most`: its number of sites;
 *   `maxReads`: costs to read.
 */
function lowerBound(
  bySite: readonly Float64Array[],
  { start, mean, most, maxReads }: { start: Float64Array } & Record<"mean" | "most" | "maxReads", number>,
): number {
  const numClients = start.length;
  const iterations = Math.max(
    LEAST_ITERATIONS,
    Math.min(MAX_ITERATIONS, maxReads / numClients / bySite.length),
  );
  // No choice is better than all sites together.
  let bound = start.map((_, c) => Math.min(...bySite.map((own) => own[c]))).reduce((a, b) => a + b, 0);
  const multipliers = start.slice();
  const excess = new Float64Array(numClients);
  let [scale, waited] = [1, 0];
  for (let i = 0; i < iterations && bound < mean; i++) {
    const gains = bySite.map((own) => {
      let gain = 0;
      for (let c = 0; c < numClients; c++) gain += Math.max(0, multipliers[c] - own[c]);
      return gain;
    });
    const open = [...gains.keys()].sort((a, b) => gains[b] - gains[a] || a - b).slice(0, most);
    const value = multipliers.reduce((sum, each) => sum + each, 0) -
      open.reduce((sum, s) => sum + gains[s], 0);
    if (value > bound) [bound, waited] = [value, 0];
    else if (++waited > PATIENCE) [scale, waited] = [scale / 2, 0];
    excess.fill(1);
    for (const s of open) {
      for (let c = 0; c < numClients; c++) if (bySite[s][c] < multipliers[c]) excess[c]--;
    }
    const norm = excess.reduce((sum, each) => sum + each * each, 0);
    if (norm === 0) break;
    const step = scale * (mean - value) / norm;
    for (let c = 0; c < numClients; c++) multipliers[c] = Math.max(0, multipliers[c] + step * excess[c]);
  }
  return bound;
}
