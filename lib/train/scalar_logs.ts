/** All the files that the scalars of a run's steps go to. @module */
import { EventLog } from "./event_log.ts";
import { MetricsLog, type MetricsRecord, type ScalarLog } from "./metrics.ts";

/**
 * Opens `metrics.jsonl` and the TensorBoard event file of a run, both cut off after a step.
 *
 * @param paths Of the files.
 * @param options `lastStep`: the step that the run resumes after; 0 starts the files anew.
 * @throws {UserError} If one cannot be written.
 * @throws {FormatError} If a line of the metrics that is to stay is none.
 */
export function openScalarLogs(
  paths: { metrics: string; events: string },
  options: { lastStep: number },
): ScalarLog {
  const metrics = MetricsLog.open(paths.metrics, options);
  try {
    return new ScalarLogs([metrics, EventLog.open(paths.events, options)]);
  } catch (error) {
    metrics[Symbol.dispose]();
    throw error;
  }
}

class ScalarLogs implements ScalarLog {
  constructor(readonly logs: readonly ScalarLog[]) {}

  append(record: MetricsRecord): void {
    for (const log of this.logs) log.append(record);
  }

  flush(): void {
    for (const log of this.logs) log.flush();
  }

  [Symbol.dispose](): void {
    for (const log of this.logs) log[Symbol.dispose]();
  }
}
