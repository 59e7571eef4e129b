/**
 * How well detected change points agree with those that people marked.
 *
 * Shao, Rougier, Paris, Devienne, Viste, "One-to-One Matching of RTT and Path Changes", ITC 29, 2017: a
 * detection is right if it can be paired with a mark at most two rows away, each used once.
 *
 * @module
 */

/** The largest distance between a detection and its mark, rows. */
const MATCHING_WINDOW = 2;

export interface ChangeAgreement {
  /** Matched pairs. */
  numMatched: number;
  /** The sum of the distances within pairs, rows. */
  distance: number;
  /** The share of detections that are right; 0 without any. */
  precision: number;
  /** The share of marks that were found; 1 without any. */
  recall: number;
  /** (1 + 2^2) precision recall / (2^2 precision + recall): recall weighs twice as much. 0 if both are 0. */
  f2: number;
}

/**
 * Pairs as many detections with marks as possible, with the smallest sum of distances.
 *
 * Some optimal pairing on a line has no crossing pairs, so it is found like an alignment of two sequences
 * (Needleman and Wunsch, Journal of Molecular Biology 48, 1970).
 *
 * @param marks Rows, ascending.
 * @param detections Rows, ascending.
 */
export function agreementOf(marks: readonly number[], detections: readonly number[]): ChangeAgreement {
  // pairs[j], distances[j]: the best pairing of the marks so far with the first j detections.
  let pairs = detections.map(() => 0).concat(0);
  let distances = [...pairs];
  for (const mark of marks) {
    const [nextPairs, nextDistances] = [[0], [0]];
    detections.forEach((detection, j) => {
      const distance = Math.abs(mark - detection);
      const choices = [[pairs[j + 1], distances[j + 1]], [nextPairs[j], nextDistances[j]]];
      if (distance <= MATCHING_WINDOW) choices.push([pairs[j] + 1, distances[j] + distance]);
      const [best] = choices.sort(([a, x], [b, y]) => b - a || x - y);
      nextPairs.push(best[0]);
      nextDistances.push(best[1]);
    });
    pairs = nextPairs;
    distances = nextDistances;
  }
  const numMatched = pairs[detections.length];
  const precision = detections.length === 0 ? 0 : numMatched / detections.length;
  const recall = marks.length === 0 ? 1 : numMatched / marks.length;
  const f2 = numMatched === 0 ? 0 : 5 * precision * recall / (4 * precision + recall);
  return { numMatched, distance: distances[detections.length], precision, recall, f2 };
}
