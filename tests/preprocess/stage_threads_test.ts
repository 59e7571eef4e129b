import { assert, assertRejects } from "@std/assert";
import { toFileUrl } from "@std/path";
import type { PartitionShare } from "../../lib/preprocess/partition_share.ts";
import { StageThreads } from "../../lib/preprocess/stage_threads.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";

Deno.test("StageThreads.run() ends with the failure of a worker that dies, and stops the other threads", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("worker.js");
  Deno.writeTextFileSync(
    path,
    'self.onmessage = ({ data }) => { if (data.kind === "partition") throw new Error("worn out"); };',
  );
  using threads = new StageThreads(2, { stage: "shard", options: {} }, toFileUrl(path));
  let isStopped = false;
  const round = {
    own: ({ signal }: { signal?: AbortSignal }) =>
      new Promise<void>((_, reject) =>
        signal?.addEventListener("abort", () => {
          isStopped = true;
          reject(signal.reason);
        })
      ),
    requests: [{ kind: "partition" as const, share: {} as PartitionShare }],
    phase: "reading",
    total: 1,
  };
  await assertRejects(
    () => threads.run(round, {}),
    Error,
    "a worker thread died: Uncaught Error: worn out",
  );
  assert(isStopped);
});
