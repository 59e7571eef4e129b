import { assert, assertRejects } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { toFileUrl } from "@std/path";
import { shardStage } from "../../../lib/data/probe_rows/shard.ts";
import { runRound, type ShardQueue, type StagePool } from "../../../lib/data/probe_rows/stage_threads.ts";
import { WorkerPool } from "../../../lib/io/threads/worker_pool.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { SHARD_OPTIONS } from "./stage_fixtures.ts";

for (
  const [how, job, message] of [
    ["a worker dies", 'throw new Error("worn out")', "shard worker 1 of 1 failed: Uncaught Error: worn out"],
    [
      "its shard cannot be recorded",
      'postMessage({ kind: "event", event: { rows: 0, shard: {} } })',
      "no space left",
    ],
  ]
) {
  Deno.test(`runRound() throws the failure if ${how}, and stops the other threads`, async () => {
    using folder = new TemporaryFolder();
    const path = folder.at("worker.js");
    Deno.writeTextFileSync(
      path,
      `self.onmessage = ({ data }) => {
      if (data.kind === "open") postMessage({ kind: "done" });
      if (data.kind === "job") ${job};
      if (data.kind === "stop") postMessage({ kind: "failed", message: "stopped", isUsers: true });
    };`,
    );
    const onShard = () => {
      throw new UserError("no space left");
    };
    let isStopped = false;
    const stage = {
      ...shardStage({ ...SHARD_OPTIONS, inputs: [], output: folder.path }),
      async writeShard(
        { pacer }: { pacer: { yieldToEventLoop(): Promise<void> } },
      ): Promise<Record<string, number>> {
        try {
          for (;;) {
            await new Promise((resolve) => setTimeout(resolve, 20));
            await pacer.yieldToEventLoop();
          }
        } finally {
          isStopped = true;
        }
      },
    };
    Deno.writeFileSync(folder.at("rows.bin"), new Uint8Array(0));
    const index = { lastOffsets: [-1], numRows: [0], sizeBytes: 0 };
    const queue: ShardQueue = {
      folder: folder.path,
      spill: [{ path: folder.at("rows.bin"), index }],
      columns: [],
      shards: [{ split: "train", shard: 0, partitions: [0] }],
      numTaken: new SharedArrayBuffer(4),
    };
    using pool: StagePool = new WorkerPool({}, { name: "shard", module: toFileUrl(path), numWorkers: 1 });
    const work = [0, 1].map((i) => ({ kind: "write" as const, queue, runsPath: folder.at(`runs-${i}`) }));
    await assertRejects(
      () => runRound(stage, pool, { work, phase: "writing", total: 1, onShard }, {}),
      Error,
      message,
    );
    assert(isStopped);
  });
}
