/**
 * Writes measurements as RIPE Atlas results, one JSON object per line, to time the import of files of any size.
 *
 * Fields and their order are those of a ping result of firmware 5 (https://atlas.ripe.net/docs/apis/result-format/)
 * of three packets. Values vary between results like real ones.
 *
 * @module
 */
import { ByteFile } from "../files/byte_file.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "../measurement/batch.ts";
import { readMeasurements } from "../measurement/parquet_reader.ts";
import { RejectLog } from "../measurement/rejects.ts";

const PACKETS = 3;
const NO_REPLY = { x: "*" };
/** The largest number of decimals of real replies. */
const RTT_DECIMALS = 6;
const MEAN_DECIMALS = 10;
/** RTTs of a result differ by up to a tenth. */
const MOST_APART = 1000;

/**
 * Writes results.
 *
 * @param input Parquet of `synth`, which has all the columns.
 * @param output The file of lines.
 * @param maxRows Largest number of rows, from the beginning.
 * @returns Rows and bytes written.
 */
export async function writeAtlasLines(
  input: string,
  output: string,
  maxRows: number,
): Promise<{ numRows: number; numBytes: number }> {
  using file = ByteFile.write(output, "new");
  let numRows = 0;
  let numBytes = 0;
  for await (const batch of readMeasurements([input], { rejects: new RejectLog() })) {
    const wanted = Math.min(batch.numRows, maxRows - numRows);
    let lines = "";
    for (let row = 0; row < wanted; row++) lines += JSON.stringify(atlasResult(batch, row)) + "\n";
    const bytes = new TextEncoder().encode(lines);
    file.write(bytes);
    numRows += wanted;
    numBytes += bytes.length;
    if (numRows === maxRows) break;
  }
  return { numRows, numBytes };
}

/** A result that `import` converts to this row: RTTs around its RTT, and for IPv4 a probe behind NAT. */
function atlasResult(batch: MeasurementBatch, row: number): Record<string, unknown> {
  const timestamp = Math.floor(batch.eventTimeUs[row] / 1e6);
  const srcAddr = batch.srcAddr[row];
  const dstAddr = batch.dstAddr[row];
  const ipVersion = batch.ipVersion[row];
  const msmId = batch.msmId?.[row] ?? 1;
  const prbId = batch.prbId?.[row] ?? 1;
  const rttsMs = packetRttsMs(batch, row);
  const rcvd = rttsMs.length;
  return {
    fw: 5020 + 20 * (prbId % 4),
    mver: "2.6.2",
    lts: 7 + row % 60,
    dst_name: dstAddr,
    af: ipVersion,
    dst_addr: dstAddr,
    src_addr: ipVersion === 4 ? `192.168.${prbId >> 8 & 255}.${prbId & 255}` : srcAddr,
    proto: "ICMP",
    ttl: 36 + msmId % 24,
    size: batch.sizeBytes?.[row] ?? 64,
    result: Array.from(
      { length: PACKETS },
      (_, packet) => packet < rcvd ? { rtt: rttsMs[packet] } : NO_REPLY,
    ),
    dup: 0,
    rcvd,
    sent: PACKETS,
    min: rcvd > 0 ? Math.min(...rttsMs) : -1,
    max: rcvd > 0 ? Math.max(...rttsMs) : -1,
    avg: rcvd > 0 ? rounded(rttsMs.reduce((sum, rttMs) => sum + rttMs, 0) / rcvd, MEAN_DECIMALS) : -1,
    msm_id: msmId,
    prb_id: prbId,
    timestamp,
    msm_name: "Ping",
    from: srcAddr,
    type: "ping",
    group_id: msmId,
    step: 240,
    stored_timestamp: timestamp + 20 + row % 200,
  };
}

/** RTTs whose mean is that of the row. */
function packetRttsMs({ rttMs, packetErrorCount }: MeasurementBatch, row: number): number[] {
  if (rttMs[row] === FAILED_RTT_MS) return [];
  const numReplies = PACKETS - (packetErrorCount?.[row] ?? 0);
  const middleMs = rounded(rttMs[row], RTT_DECIMALS);
  const apartMs = middleMs * (1 + row % 97) / MOST_APART;
  return Array.from(
    { length: numReplies },
    (_, packet) => rounded(middleMs + (packet - (numReplies - 1) / 2) * apartMs, RTT_DECIMALS),
  );
}

function rounded(value: number, numDecimals: number): number {
  return Number(value.toFixed(numDecimals));
}
