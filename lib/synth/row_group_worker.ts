/**
 * A worker thread of `synth`: takes a campaign, then places of row groups, and answers each with the group. What it
 * throws ends it, and the thread that started it hears of that.
 *
 * @module
 */
/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
import { serveThread } from "../threads/thread.ts";
import type { Campaign } from "./campaign.ts";
import { RowGroupMaker } from "./row_groups.ts";

let maker: RowGroupMaker | undefined;

const answer = serveThread((data: Campaign | number) => {
  if (typeof data !== "number") {
    maker = new RowGroupMaker(data);
    return;
  }
  if (!maker) throw new Error("a row group was wanted before the campaign came");
  const made = maker.make(data);
  answer(made, [made.group.bytes.buffer]);
});
