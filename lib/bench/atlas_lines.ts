/**
 * Measurements written back as the RIPE Atlas results that they could come from, a JSON object a line, so that the
 * import of files of any size can be timed.
 *
 * Fields are those of a ping result of firmware 5 (https://atlas.ripe.net/docs/apis/result-format/), three packets each.
 *
 * @module
 */
import { FAILED_RTT_MS, type MeasurementBatch } from "../measurement/batch.ts";
import { readMeasurements } from "../measurement/parquet_reader.ts";
import { RejectLog } from "../measurement/rejects.ts";

const PACKETS = 3;
const NO_REPLY = { x: "*" };
/** Real replies have as many decimals at most. */
const RTT_DECIMALS = 6;

/**
 * Writes results.
 *
 * @param input Parquet of `synth`, which has all the columns.
 * @param output The file of lines.
 * @param maxRows How many rows at most, from the beginning.
 * @returns Rows and bytes written.
 */
export async function writeAtlasLines(
  input: string,
  output: string,
  maxRows: number,
): Promise<{ numRows: number; numBytes: number }> {
  using file = await Deno.create(output);
  let [numRows, numBytes] = [0, 0];
  for await (const batch of readMeasurements([input], { rejects: new RejectLog() })) {
    const wanted = Math.min(batch.numRows, maxRows - numRows);
    let lines = "";
    for (let row = 0; row < wanted; row++) lines += JSON.stringify(atlasResult(batch, row)) + "\n";
    const bytes = new TextEncoder().encode(lines);
    for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
    numRows += wanted;
    numBytes += bytes.length;
    if (numRows === maxRows) break;
  }
  return { numRows, numBytes };
}

/** The result that a row could come from. */
function atlasResult(batch: MeasurementBatch, row: number): Record<string, unknown> {
  const rttMs = batch.rttMs[row];
  const timestamp = Math.floor(batch.eventTimeUs[row] / 1e6);
  const rcvd = rttMs === FAILED_RTT_MS ? 0 : PACKETS - (batch.packetErrorCount?.[row] ?? 0);
  const rtt = rcvd > 0 ? Number(rttMs.toFixed(RTT_DECIMALS)) : -1;
  return {
    fw: 5080,
    mver: "2.6.2",
    lts: 13,
    dst_name: batch.dstAddr[row],
    af: batch.ipVersion[row],
    dst_addr: batch.dstAddr[row],
    src_addr: batch.srcAddr[row],
    proto: "ICMP",
    ttl: 55,
    size: batch.sizeBytes?.[row] ?? 64,
    result: Array.from({ length: PACKETS }, (_, packet) => packet < rcvd ? { rtt } : NO_REPLY),
    dup: 0,
    rcvd,
    sent: PACKETS,
    min: rtt,
    max: rtt,
    avg: rtt,
    msm_id: batch.msmId?.[row] ?? 1,
    prb_id: batch.prbId?.[row] ?? 1,
    timestamp,
    msm_name: "Ping",
    from: batch.srcAddr[row],
    type: "ping",
    group_id: batch.msmId?.[row] ?? 1,
    step: 240,
    stored_timestamp: timestamp + 42,
  };
}
