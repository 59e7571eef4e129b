/** Shorter ascending runs are extended to this length by insertion before they are merged. */
const MIN_RUN_ROWS = 24;

/**
 * Sorts slices of row numbers by time, reusing its scratch arrays. A natural merge sort (Knuth, TAOCP 3,
 * 5.2.4) takes one pass for the many sources that are already in order. Rows with equal times keep their
 * order.
 */
export class TimeSorter {
  #keys = new Float64Array(0);
  #spareKeys = new Float64Array(0);
  #spareRows = new Uint32Array(0);

  /** Sorts `rows` in place by `timesUs[row]`, ascending and stable. */
  sort(rows: Uint32Array, timesUs: Float64Array): void {
    const n = rows.length;
    if (isSorted(rows, timesUs)) return;
    if (this.#keys.length < n) {
      this.#keys = new Float64Array(n);
      this.#spareKeys = new Float64Array(n);
      this.#spareRows = new Uint32Array(n);
    }
    for (let i = 0; i < n; i++) this.#keys[i] = timesUs[rows[i]];
    let runs = findRuns(this.#keys, rows);
    let from: Keyed = { keys: this.#keys, rows };
    let to: Keyed = { keys: this.#spareKeys, rows: this.#spareRows };
    while (runs.length > 2) {
      runs = mergePairs(from, to, runs);
      [from, to] = [to, from];
    }
    if (from.rows !== rows) rows.set(from.rows.subarray(0, n));
  }
}

function isSorted(rows: Uint32Array, timesUs: Float64Array): boolean {
  for (let i = 1; i < rows.length; i++) {
    if (timesUs[rows[i]] < timesUs[rows[i - 1]]) return false;
  }
  return true;
}

/** Returns the starts of ascending runs, followed by the end. Short runs are first extended by insertion. */
function findRuns(keys: Float64Array, rows: Uint32Array): number[] {
  const n = rows.length;
  const starts = [0];
  for (let begin = 0; begin < n;) {
    let end = begin + 1;
    while (end < n && keys[end] >= keys[end - 1]) end++;
    const wanted = Math.min(n, begin + MIN_RUN_ROWS);
    for (; end < wanted; end++) insert(keys, rows, begin, end);
    starts.push(end);
    begin = end;
  }
  return starts;
}

function insert(keys: Float64Array, rows: Uint32Array, begin: number, at: number): void {
  const key = keys[at];
  const row = rows[at];
  let i = at;
  for (; i > begin && keys[i - 1] > key; i--) {
    keys[i] = keys[i - 1];
    rows[i] = rows[i - 1];
  }
  keys[i] = key;
  rows[i] = row;
}

interface Keyed {
  keys: Float64Array;
  rows: Uint32Array;
}

/** Merges pairs of neighbouring runs. Returns the starts of the new runs, followed by the end. */
function mergePairs(from: Keyed, to: Keyed, runs: number[]): number[] {
  const starts = [0];
  for (let r = 0; r + 1 < runs.length; r += 2) {
    const middle = runs[r + 1];
    const end = runs[r + 2] ?? middle;
    merge(from, to, runs[r], middle, end);
    starts.push(end);
  }
  return starts;
}

function merge(from: Keyed, to: Keyed, begin: number, middle: number, end: number): void {
  let left = begin;
  let right = middle;
  for (let i = begin; i < end; i++) {
    const takeLeft = left < middle && (right >= end || from.keys[left] <= from.keys[right]);
    const at = takeLeft ? left++ : right++;
    to.keys[i] = from.keys[at];
    to.rows[i] = from.rows[at];
  }
}
