/**
 * A loader worker that misbehaves, in the way that its URL says: `?broken`, `?die`, `?throw`, or `?count`.
 *
 * @module
 */
/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
import { blockBytes, blockIn } from "../../lib/loader/batch.ts";
import { type BlockOrder, type OpenMessage, POSTED } from "../../lib/loader/block_protocol.ts";

const behaviour = new URL(import.meta.url).search.slice(1);
if (behaviour === "broken") throw new Error("broken from the start");

self.onmessage = ({ data }: MessageEvent<OpenMessage>) => {
  const { port, state, options: { sequenceLength } } = data;
  let numOrders = 0;
  port.onmessage = ({ data: { epoch, block } }: MessageEvent<BlockOrder>) => {
    numOrders++;
    if (behaviour === "die") self.close();
    if (behaviour === "throw") throw new Error("thrown outside of an order");
    if (behaviour !== "count") return;
    // Late, so that every order that was given has come in.
    setTimeout(() => {
      const buffer = new SharedArrayBuffer(blockBytes(1, sequenceLength));
      blockIn(buffer, { numSequences: 1, sequenceLength }).numInputs[0] = numOrders;
      port.postMessage({ epoch, block, numSequences: 1, buffer });
      const counts = new Int32Array(state);
      Atomics.add(counts, POSTED, 1);
      Atomics.notify(counts, POSTED);
    }, 100);
  };
  self.postMessage({});
};
