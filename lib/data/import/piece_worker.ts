/**
 * A worker thread of `import`: reads the results in pieces of JSON.
 *
 * @module
 */
/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
import { serveJobs } from "../../io/threads/worker_pool.ts";
import type { JsonPiece } from "../measurement/json_stream.ts";
import type { ReadingOptions } from "../formats/format.ts";
import { type PieceResults, readPiece } from "./json_pieces.ts";

serveJobs(
  (options: ReadingOptions) => (piece: JsonPiece) => readPiece(piece, options),
  ({ ends, kinds, pings, rows }: PieceResults) => [ends.buffer, kinds.buffer, pings.buffer, rows.buffer],
);
