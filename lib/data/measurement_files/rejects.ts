/**
 * Rejected rows: counted by reason, with the first of each reason kept for `rejects.jsonl`.
 *
 * Nothing is lost silently: every stage that drops rows adds them here, records the counts in its manifest
 * and fails if it dropped too many.
 *
 * @module
 */
import { type Fault, faultText, shortened, UserError } from "../../base/errors.ts";
import { writeFileAtomic } from "../../io/files/atomic.ts";

/** Maximum number of rows that `rejects.jsonl` lists for each reason. */
const MAX_LISTED_PER_REASON = 1000;
const MAX_DETAIL_LENGTH = 300;

/** @internal Why a row was rejected. */
export type RejectReason =
  | "unparseableAddress"
  | "versionMismatch"
  | "nullValue"
  | "unknownSource"
  | "invalidRtt"
  | "zeroRtt"
  | "timeOutOfRange"
  | "timeInFuture"
  | "invalidJson"
  | "objectTooLong"
  | "incompleteResult"
  | "sizeTooLarge"
  | "errorCountTooLarge"
  | "invalidInteger"
  | "invalidTime"
  | "invalidCsv"
  | "unknownLine";

/** A rejected row, as in `rejects.jsonl`. */
interface RejectedRow {
  reason: RejectReason;
  path: string;
  /** Number of the row or result in the file, from 0. */
  row: number;
  /** The value that was found. */
  detail?: string;
}

/** @internal The contents of a {@link RejectLog} as plain data, to send to another thread. */
export interface RejectSnapshot {
  /** Rejected rows by reason. */
  counts: Record<string, number>;
  rows: RejectedRow[];
}

/** Counts rejected rows and keeps the first {@link MAX_LISTED_PER_REASON} of each reason. */
export class RejectLog {
  readonly #rows = new Map<RejectReason, RejectedRow[]>();
  readonly #counts = new KindCounts();
  #listPath: string | undefined;

  /** Counts a row. @param row Its number in the file, from 0. @param fault The value found. */
  add(reason: RejectReason, path: string, row: number, fault?: Fault): void {
    this.#counts.add(reason);
    const listed = this.#rows.get(reason);
    if (listed && listed.length >= MAX_LISTED_PER_REASON) return;
    const detail = fault && { detail: shortened(faultText(fault), MAX_DETAIL_LENGTH) };
    this.#list({ reason, path, row, ...detail });
  }

  /** Rejected rows by reason, in alphabetical order. */
  get counts(): Record<string, number> {
    return this.#counts.counts;
  }

  /** Number of rejected rows. */
  get total(): number {
    return totalOf(this.counts);
  }

  /** Describes the first row that was rejected for the most frequent reason. */
  get first(): string | undefined {
    const [[reason] = []] = Object.entries(this.counts).sort(([, a], [, b]) => b - a);
    const row = this.#rows.get(reason as RejectReason)?.[0];
    if (!row) return undefined;
    const name = this.#rows.size > 1 ? `${reason} ` : "";
    return `${name}${row.path} row ${row.row}${row.detail ? ` (${row.detail})` : ""}`;
  }

  /** Copies the contents, to send to another thread. */
  snapshot(): RejectSnapshot {
    return { counts: this.counts, rows: [...this.#rows.values()].flat() };
  }

  /** Adds the contents of another log. */
  merge(other: RejectSnapshot): void {
    for (const [reason, count] of Object.entries(other.counts)) this.#counts.add(reason, count);
    for (const row of other.rows) this.#list(row);
  }

  /**
   * Throws if too many rows were rejected, like {@link checkRejected}.
   *
   * @param advice By default: correct the input, or raise --max-reject-ratio if that helps.
   */
  check(
    numRows: number,
    maxRejectRatio: number,
    advice = `correct the input${this.#listPath ? ` (${this.#listPath} lists the rows)` : ""}${
      this.total < numRows ? " or raise --max-reject-ratio" : ""
    }`,
  ): void {
    checkRejected(this, { numRows, maxRejectRatio, advice });
  }

  /**
   * Writes the listed rows as JSON lines, atomically, if there are any.
   *
   * @returns Whether the file was written.
   * @throws {UserError} If the file cannot be written.
   */
  write(path: string): boolean {
    if (this.total === 0) return false;
    const rows = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, listed]) => listed);
    writeFileAtomic(path, rows.map((row) => JSON.stringify(row) + "\n").join(""));
    this.#listPath = path;
    return true;
  }

  #list(row: RejectedRow): void {
    const listed = this.#rows.get(row.reason);
    if (!listed) this.#rows.set(row.reason, [row]);
    else if (listed.length < MAX_LISTED_PER_REASON) listed.push(row);
  }
}

/** Those options of reading that advice may name; a part of `ReadingOptions`. */
interface GivenOptions {
  columns?: ReadonlyMap<string, string> | undefined;
  src?: readonly string[] | undefined;
  dst?: readonly string[] | undefined;
  noReply?: readonly string[] | undefined;
  startS?: number | undefined;
  zone?: string | undefined;
}

/** Leaves out of a fault's advice, which lists alternatives, what the options of reading already give. */
export function trueAdvice<F extends Fault>(fault: F, options: GivenOptions): F {
  const { columns, src, dst, startS, noReply, zone } = options;
  const given = [
    ...[
      src && "--src ADDRESS",
      dst && "--dst ADDRESS",
      startS !== undefined && "--start ",
      zone && "--zone ",
    ],
    ...(noReply ?? []).map((word) => `--no-reply ${word} `),
    ...[...columns?.keys() ?? []].map((key) => `${key}=`),
  ].filter((option) => typeof option === "string");
  const isTrue = (text: string) => !given.some((option) => `${text} `.includes(option));
  const advice = fault.advice?.split(", or ").filter(isTrue).join(", or ");
  return fault.advice === undefined || advice === fault.advice
    ? fault
    : { ...fault, advice: advice || undefined };
}

export function totalOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** Formats counts by reason, such as `invalidRtt 2, nullValue 1`. */
export function listOfCounts(counts: Record<string, number>): string {
  return Object.entries(counts).map(([reason, count]) => `${reason} ${count}`).join(", ");
}

/** For example `3 rejected (invalidRtt 2, nullValue 1)`. @param word What happened to the rows. */
export function describeRejected(counts: Record<string, number>, word = "rejected"): string {
  const total = totalOf(counts);
  return total === 0 ? `0 ${word}` : `${total} ${word} (${listOfCounts(counts)})`;
}

/** For example `2 that say nothing about a path (dnserr 2)`. */
export function describeSkipped(counts: Record<string, number>): string {
  return describeRejected(counts, "that say nothing about a path");
}

/**
 * Throws if too many rows were rejected.
 *
 * @param options `numRows`: number of rows read, including rejected ones; `maxRejectRatio`: the largest share
 *   that may be rejected, 0 to 1.
 * @throws {UserError} If a larger share was rejected.
 */
export function checkRejected(
  { counts, first }: { counts: Record<string, number>; first: string | undefined },
  { numRows, maxRejectRatio, advice }: { numRows: number; maxRejectRatio: number; advice: string },
): void {
  const total = totalOf(counts);
  if (total <= maxRejectRatio * numRows) return;
  const reasons = `${listOfCounts(counts)}${first ? `, first ${first}` : ""}`;
  throw new UserError(
    `Cannot use the input: ${total} of ${numRows} rows were rejected (${reasons}), ` +
      `expected at most ${+(maxRejectRatio * 100).toPrecision(6)} %; ${advice}`,
  );
}

/** Where a stage with a single output file lists rejected rows: `F.rejects.jsonl` beside `F.parquet`. */
export function rejectsPathBeside(file: string): string {
  return file.replace(/(\.[^./\\]+)?$/, ".rejects.jsonl");
}

/** Kinds beyond this number are counted together, since inputs may have any number of them. */
const MAX_COUNTED_KINDS = 100;
const OTHER_KINDS = "other";

export class KindCounts {
  readonly #counts = new Map<string, number>();

  add(kind: string, count = 1): void {
    const key = this.#counts.has(kind) || this.#counts.size < MAX_COUNTED_KINDS ? kind : OTHER_KINDS;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  /** In alphabetical order. */
  get counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
