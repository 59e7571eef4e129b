/**
 * The grammar of vocabulary v1: measurements as tokens, 10 roles and 256 bytes; each measurement is self-contained.
 *
 *     measurement := MeasurementStart, then seven blocks in any order:
 *     source      := SrcIpStart address       destination := DestIpStart address
 *     address     := Ipv4Start 4 bytes | Ipv6Start 16 bytes
 *     rtt         := RttStart 8 bytes         (rtt_encoding.ts)
 *     size        := SizeStart 2 bytes        (u16)
 *     errorCount  := ErrorCountStart 1 byte   (u8)
 *     time        := TimestampStart 8 bytes   (i64, Unix seconds)
 *     msmId       := MsmIdStart 8 bytes       (i64)
 *
 * Numbers are big-endian. A measurement has 45 tokens with IPv4 addresses and 69 with IPv6 ones, whatever the
 * encoding of its RTT. Probe rows have no size, error count and id: in training and in queries a measurement has the
 * other four blocks, or three without a time, 31 to 55 tokens or 22 to 46.
 *
 * @module
 */

/** Opens a measurement. */
export const MEASUREMENT_START = 0;
/** Opens the source. */
export const SRC_IP_START = 1;
/** Opens the destination. */
export const DEST_IP_START = 2;
/** Opens the 4 bytes of an IPv4 address. */
export const IPV4_START = 3;
/** Opens the 16 bytes of an IPv6 address. */
export const IPV6_START = 4;
/** Opens the RTT, 8 bytes. */
export const RTT_START = 5;
/** Opens the packet size, 2 bytes. */
export const SIZE_START = 6;
/** Opens the number of lost packets, 1 byte. */
export const ERROR_COUNT_START = 7;
/** Opens the time, 8 bytes. */
export const TIMESTAMP_START = 8;
/** Opens the measurement id, 8 bytes. */
export const MSM_ID_START = 9;
/** The token of byte b is BYTE_BASE + b. */
export const BYTE_BASE = 10;
/** Number of tokens. */
export const VOCAB_SIZE = 266;
/** The largest packet size that has tokens, bytes. */
export const MAX_SIZE_BYTES = 0xffff;
/** The largest number of lost packets that has tokens. */
export const MAX_ERROR_COUNT = 0xff;

/** Names of the role tokens 0..9. */
export const ROLE_NAMES: readonly string[] = [
  "MeasurementStart",
  "SrcIpStart",
  "DestIpStart",
  "Ipv4Start",
  "Ipv6Start",
  "RttStart",
  "SizeStart",
  "ErrorCountStart",
  "TimestampStart",
  "MsmIdStart",
];

/** One of the blocks of a measurement. */
export type Block = "source" | "destination" | "rtt" | "size" | "errorCount" | "time" | "msmId";

/** The seven blocks; a measurement has each once. */
export const BLOCKS: readonly Block[] = [
  "source",
  "destination",
  "rtt",
  "size",
  "errorCount",
  "time",
  "msmId",
];

/** The content of a measurement in this vocabulary. */
export interface WholeMeasurement {
  /** Source address, 4 or 16 bytes. */
  source: Uint8Array;
  /** Destination address, 4 or 16 bytes. */
  destination: Uint8Array;
  /** Milliseconds, or null if there was no reply. */
  rttMs: number | null;
  /** Packet size, 0..65535 bytes. */
  sizeBytes: number;
  /** Lost packets, 0..255. */
  packetErrorCount: number;
  /** When, whole seconds since 1970. */
  timeS: number;
  /** Measurement id, an integer of at most 53 bits. */
  msmId: number;
}

/** The name of a token: the role's name or `byte 17`. */
export function tokenName(token: number): string {
  if (token >= BYTE_BASE && token < VOCAB_SIZE) return `byte ${token - BYTE_BASE}`;
  return ROLE_NAMES[token] ?? `unknown token ${token}`;
}

/** MeasurementStart, five roles and numbers of 8, 2, 1, 8 and 8 bytes, and two roles with two versions. */
const TOKENS_BESIDE_ADDRESSES = 1 + 5 + 27 + 4;

/**
 * Number of tokens of a measurement: 45 for IPv4, 69 for IPv6.
 *
 * @param measurement Its addresses.
 */
export function measurementLength(measurement: Pick<WholeMeasurement, "source" | "destination">): number {
  return TOKENS_BESIDE_ADDRESSES + measurement.source.length + measurement.destination.length;
}

/** The content of a measurement in probe rows. */
export type FieldMeasurement = Pick<WholeMeasurement, "source" | "destination" | "rttMs"> & {
  /** Whole seconds since 1970; null when the measurement carries no time. */
  timeS: number | null;
};

/** Number of tokens of a measurement of probe rows: 31 for IPv4, 55 for IPv6; 9 less without a time. */
export function fieldsLength({ source, destination, timeS }: FieldMeasurement): number {
  return 1 + 4 + 9 + (timeS === null ? 0 : 9) + source.length + destination.length;
}
