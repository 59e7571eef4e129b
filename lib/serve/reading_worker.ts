/** Worker thread of `serve`: reads and validates the measurements of several bodies. @module */
import { UserError } from "../base/errors.ts";
import { serveJobs } from "../io/threads/worker_pool.ts";
import { type Line, MeasurementLines, type MeasurementLinesOptions } from "../query/questions/lines.ts";
import { measurementSchema, type ReadingLine } from "../query/questions/question.ts";
import { readFields } from "../query/questions/read_fields.ts";
import { watch } from "../query/questions/watch.ts";

export interface ReadingJob {
  /** Identifies the body. */
  readonly body: number;
  /** Absent if nothing more of the body is to be read. */
  readonly options?: Omit<MeasurementLinesOptions, "onReading">;
  /** Its next lines; absent at its end. */
  readonly texts?: readonly string[];
}

/** A measurement, or why the line has none. */
export interface ReadLine {
  readonly line: number;
  readonly value?: unknown;
  readonly error?: string;
}

export interface ReadPart {
  readonly lines: readonly ReadLine[];
  readonly readings: readonly ReadingLine[];
  /** Why the body cannot be read on. */
  readonly fault?: string;
}

serveJobs(() => {
  const bodies = new Map<number, { lines: MeasurementLines; readings: ReadingLine[] }>();
  return ({ body, options, texts }: ReadingJob): ReadPart => {
    if (!options) {
      bodies.delete(body);
      return { lines: [], readings: [] };
    }
    const { lines, readings } = bodies.get(body) ?? opened(options);
    bodies.set(body, { lines, readings });
    const schema = options.withIds ? watch.line : measurementSchema;
    const found: ReadLine[] = [];
    const take = (more: Iterable<Line>) => {
      for (const { line, read } of more) found.push({ line, ...outcome(() => readFields(schema, read())) });
    };
    const { error: fault } = outcome(() =>
      texts ? texts.forEach((text) => take(lines.push(text))) : take(lines.end())
    );
    return { lines: found, readings: readings.splice(0), ...(fault !== undefined && { fault }) };
  };
});

function outcome(run: () => unknown): { value?: unknown; error?: string } {
  try {
    return { value: run() };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { error: error.message };
  }
}

function opened(options: NonNullable<ReadingJob["options"]>) {
  const readings: ReadingLine[] = [];
  return { lines: new MeasurementLines({ ...options, onReading: (line) => readings.push(line) }), readings };
}
