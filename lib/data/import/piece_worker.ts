/**
 * Worker thread of `import` that reads the results in pieces of JSON.
 *
 * @module
 */
import { serveJobs } from "../../io/threads/worker_pool.ts";
import type { ReadingOptions } from "../formats/format.ts";
import { type Job, type JobResults, pieceOptions, readJob } from "./json_pieces.ts";

serveJobs(
  (options: ReadingOptions) => (job: Job) => readJob(job, pieceOptions(options)),
  (found: JobResults) => {
    if (!found) return [];
    const { ends, kinds, pings, rows } = found.results;
    return [ends.buffer, kinds.buffer, pings.buffer, rows.buffer];
  },
);
