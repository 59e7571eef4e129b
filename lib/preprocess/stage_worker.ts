/**
 * A worker thread of `shard` or `probe-rows`; see stage_threads.ts.
 *
 * @module
 */
/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
import { serveThread } from "../threads/thread.ts";
import { partitionShare } from "./partition_share.ts";
import { type ProbeRowsOptions, probeRowsStage } from "./probe_rows.ts";
import { type ShardOptions, shardStage } from "./shard.ts";
import { writeFromQueue } from "./shard_queue.ts";
import type { ShardedStage } from "./sharded_stage_definition.ts";
import { type StageReply, type StageRequest, type StageWork, toPlainError } from "./stage_messages.ts";

const stopped = new AbortController();
let definition: ShardedStage | undefined;

const answer = serveThread(async (data: StageRequest) => {
  if (data.kind === "stop") return stopped.abort(new Error("stopped"));
  if (data.kind === "begin") {
    // The thread that sends the options made its own definition from them.
    definition = data.stage === "shard"
      ? shardStage(data.options as ShardOptions)
      : probeRowsStage(data.options as ProbeRowsOptions);
    return;
  }
  try {
    if (!definition) throw new Error("work came before the stage");
    reply({ kind: "done", result: await work(definition, data) });
  } catch (error) {
    reply({ kind: "failed", error: toPlainError(error) });
  }
});

async function work(stage: ShardedStage, data: StageWork) {
  const hooks = {
    signal: stopped.signal,
    onProgress: (_phase: string, rows: number) => reply({ kind: "progress", rows }),
  };
  if (data.kind === "partition") return await partitionShare(stage.task, data.share, hooks);
  const { queue, runsPath } = data;
  await writeFromQueue(
    stage,
    { queue, runsPath, onShard: (output) => reply({ kind: "shard", output }) },
    hooks,
  );
  return undefined;
}

function reply(message: StageReply): void {
  answer(message);
}
