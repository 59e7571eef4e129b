/**
 * Worker thread of `synth` that makes row groups of a campaign by their index in the file.
 *
 * @module
 */
import { serveJobs } from "../../io/threads/worker_pool.ts";
import { type Campaign, type MadeRowGroup, RowMaker } from "./campaign.ts";

serveJobs((campaign: Campaign) => {
  const maker = new RowMaker(campaign);
  return (index: number) => maker.makeGroup(index);
}, ({ group }: MadeRowGroup) => [group.bytes.buffer]);
