/** Results of a campaign, and questions about them, for tests of the pool alone. @module */
import { fromFileUrl } from "@std/path";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { readMeasurements } from "../../lib/data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../lib/data/measurement_files/rejects.ts";

const CAMPAIGN = new URL("../data/campaigns/menog-2019-05.parquet", import.meta.url);

export interface Result {
  readonly src: string;
  readonly dst: string;
  readonly timeS: number;
  /** At most 0 for no reply. */
  readonly rttMs: number;
}

/** The results of MENOG 2019, oldest first. */
export async function readCampaign(): Promise<Result[]> {
  const results: Result[] = [];
  for await (const batch of readMeasurements([fromFileUrl(CAMPAIGN)], { rejects: new RejectLog() })) {
    batch.rttMs.subarray(0, batch.numRows).forEach((rttMs, i) => {
      const timeS = Math.floor(batch.eventTimeUs[i] / 1e6);
      results.push({ src: batch.srcAddr[i], dst: batch.dstAddr[i], timeS, rttMs });
    });
  }
  return results.sort((a, b) => a.timeS - b.timeS);
}

/** Asks about a result as if it was measured at another time. */
export function questionOf({ src, dst, timeS }: Omit<Result, "rttMs">) {
  return { source: addressBytes(src), destination: addressBytes(dst), timeS, context: [] };
}
