/**
 * A thread that makes blocks of sequences for the loader; see worker_blocks.ts.
 *
 * @module
 */
/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
import { UserError } from "../errors.ts";
import { serveThread } from "../threads/thread.ts";
import { POSTED, PROGRESS } from "./block_protocol.ts";
import type { BlockOrder, BlockReply, OpenMessage, OpenReply, WorkerFailure } from "./block_protocol.ts";
import { BlockMaker } from "./blocks.ts";
import { openRowFiles, type ProbeRowSource } from "./row_source.ts";

const answer = serveThread(async (message: OpenMessage) => {
  const reply: OpenReply = {};
  try {
    await start(message);
  } catch (error) {
    reply.failure = failureOf(error);
  }
  answer(reply);
});

async function start({ files, options, port, state }: OpenMessage): Promise<void> {
  const counts = new Int32Array(state);
  const source = watched(await openRowFiles(files), () => Atomics.add(counts, PROGRESS, 1));
  let spent: SharedArrayBuffer | undefined;
  const maker = new BlockMaker(source, options, (sizeBytes) => {
    if (spent && spent.byteLength >= sizeBytes) return spent;
    return new SharedArrayBuffer(sizeBytes);
  });
  port.onmessage = ({ data }: MessageEvent<BlockOrder>) => {
    spent = data.spent;
    port.postMessage(replyTo(data, maker));
    Atomics.add(counts, POSTED, 1);
    Atomics.notify(counts, POSTED);
  };
}

/** The source, with a call at every row that is read. */
function watched(source: ProbeRowSource, onRow: () => void): ProbeRowSource {
  return {
    numRows: source.numRows,
    path: source.path,
    numMeasurements: (index) => source.numMeasurements(index),
    row(index) {
      onRow();
      return source.row(index);
    },
  };
}

function replyTo({ epoch, block }: BlockOrder, maker: BlockMaker): BlockReply {
  try {
    const { numSequences, buffer } = maker.make(epoch, block);
    return { epoch, block, numSequences, buffer: buffer as SharedArrayBuffer };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

function failureOf(error: unknown): WorkerFailure {
  if (error instanceof UserError) return { message: error.message, isUserError: true };
  return {
    message: error instanceof Error ? error.stack ?? error.message : String(error),
    isUserError: false,
  };
}
