/** What an evaluation calls the source of a probe row. @module */
import { type ProbeRow, probeRowSrcId } from "../probe_rows/probe_row.ts";

/**
 * The address where rows are grouped by address, else the id of the group, such as a probe's. A node that is a source
 * and a destination then has one name.
 */
export function sourceKeyOf({ srcId, srcAddrs }: Pick<ProbeRow, "srcId" | "srcAddrs">): string {
  const [address] = srcAddrs;
  return address !== undefined && probeRowSrcId(address) === srcId ? address : String(srcId);
}
