/**
 * The contexts of the lines of one request: the earlier lines of their sources.
 *
 * @module
 */
import { pairNameOf, SourceHistory } from "../context/source_history.ts";
import { parseTimeUs } from "../measurement/time_text.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import type { ApiMeasurement } from "./schemas.ts";

/** The most measurements that are remembered, about 5 MB; the source that was added to longest ago goes first. */
const MAX_REMEMBERED = 2 ** 14;

/** A source's history, and the newest time in it. */
interface Remembered {
  readonly history: SourceHistory;
  newestUs: number;
}

/**
 * The histories of all sources. Where the lines of a source come in order of time, contexts are those of
 * {@link SourceHistory}, as `score` has them. A late line sees of these what is not after it.
 */
export class LineHistories {
  /** By source, the one that was added to last is last; measurements with a time and those without are apart. */
  readonly #sources = new Map<string, Remembered>();
  #numKept = 0;

  /** The arguments are those of {@link SourceHistory}; `maxKept` is for all sources. */
  constructor(
    readonly maxContext: number,
    readonly sequenceLength: number = Infinity,
    readonly maxKept: number = MAX_REMEMBERED,
  ) {}

  /** How many measurements are remembered. */
  get numKept(): number {
    return this.#numKept;
  }

  /**
   * The context of the next line, oldest first. The line is then remembered for those after it.
   *
   * @param timestamp The time as it stands there, which may be finer than the measurement's.
   */
  contextOf(measurement: TokenMeasurement, timestamp: ApiMeasurement["timestamp"]): TokenMeasurement[] {
    const { source, timeS } = measurement;
    const key = `${source} ${timeS === null}`;
    const remembered = this.#sources.get(key) ??
      { history: new SourceHistory(this.maxContext, this.sequenceLength, this.maxKept / 2), newestUs: 0 };
    const { history } = remembered;
    // Without times, a line is later than those before it.
    const ownUs = timeUsOf(timestamp) ?? remembered.newestUs + 1;
    const isLate = ownUs < remembered.newestUs;
    remembered.newestUs = Math.max(remembered.newestUs, ownUs);
    const pair = pairNameOf(measurement);
    const context =
      (isLate
        ? history.contextOf(pair, remembered.newestUs)
        : history.growingContextOf(pair, remembered.newestUs, measurement))
        .filter((earlier) => (earlier.timeS ?? 0) <= (timeS ?? 0))
        .sort((a, b) => (a.timeS ?? 0) - (b.timeS ?? 0));
    this.#sources.delete(key);
    this.#sources.set(key, remembered);
    this.#numKept -= history.numKept;
    history.add(pair, remembered.newestUs, measurement);
    this.#numKept += history.numKept;
    this.#forget();
    return context;
  }

  #forget(): void {
    for (const [key, { history }] of this.#sources) {
      if (this.#numKept <= this.maxKept) return;
      this.#numKept -= history.numKept;
      this.#sources.delete(key);
    }
  }
}

/** Undefined without a time. The measurement was read, so that a time is one. */
function timeUsOf(timestamp: ApiMeasurement["timestamp"]): number | undefined {
  const parsed = parseTimeUs(String(timestamp ?? ""));
  return "timeUs" in parsed ? parsed.timeUs : undefined;
}
