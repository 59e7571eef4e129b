/**
 * What the threads of a stage say to each other: plain data.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { ManifestOutput } from "../files/manifest.ts";
import type { PartitionShare, ShareResult } from "./partition_share.ts";
import type { ShardQueue } from "./shard_queue.ts";

/** A piece of work for a thread. */
export type StageWork =
  | { kind: "partition"; share: PartitionShare }
  | { kind: "write"; queue: ShardQueue; runsPath: string };

/** To a thread; `begin` comes first. */
export type StageRequest =
  | { kind: "begin"; stage: "shard" | "probe-rows"; options: unknown }
  | StageWork
  | { kind: "stop" };

/** From a thread: one `done` or `failed` per piece of work. */
export type StageReply =
  | { kind: "progress"; rows: number }
  | { kind: "shard"; output: ManifestOutput }
  | { kind: "done"; result: ShareResult | undefined }
  | { kind: "failed"; error: PlainError };

/** An error as it passes between threads. */
export interface PlainError {
  message: string;
  stack: string | undefined;
  /** Whether it is a mistake that the user can mend. */
  isUsers: boolean;
}

/** Takes an error apart. */
export function toPlainError(error: unknown): PlainError {
  if (!(error instanceof Error)) return { message: String(error), stack: undefined, isUsers: false };
  return { message: error.message, stack: error.stack, isUsers: error instanceof UserError };
}

/** Puts an error together again. */
export function fromPlainError({ message, stack, isUsers }: PlainError): Error {
  return isUsers ? new UserError(message) : new Error(`a worker thread failed: ${stack ?? message}`);
}
