/**
 * The grammar of vocabulary v2: measurements as tokens, 11 roles and 256 bytes.
 *
 *     measurement := MeasurementStart, then in any order: source, destination, result, and perhaps a time
 *     source      := SrcIpv4 4 bytes | SrcIpv6 16 bytes
 *     destination := DstIpv4 4 bytes | DstIpv6 16 bytes
 *     result      := RttStart 2 bytes (the RTT code) | Failed
 *     time        := TimestampAbs 8 bytes (Unix seconds) for the first time of a context
 *                  | TimestampDelta1 1 byte | TimestampDelta4 4 bytes: seconds since the time before it
 *
 * Numbers are big-endian. Tokens are interpreted per context: its first time is absolute, later ones are gaps to
 * the timestamped measurement before.
 *
 * @module
 */
/** Opens a measurement. */
export const MEASUREMENT_START = 0;
/** Opens an IPv4 source, 4 bytes. */
export const SRC_IPV4 = 1;
/** Opens an IPv6 source, 16 bytes. */
export const SRC_IPV6 = 2;
/** Opens an IPv4 destination, 4 bytes. */
export const DST_IPV4 = 3;
/** Opens an IPv6 destination, 16 bytes. */
export const DST_IPV6 = 4;
/** Opens the first time of a context, 8 bytes: Unix seconds, u64. */
export const TIMESTAMP_ABS = 5;
/** Opens a gap of 0..255 s, 1 byte. */
export const TIMESTAMP_DELTA1 = 6;
/** Opens a gap of 256..2^32 - 1 s, 4 bytes. */
export const TIMESTAMP_DELTA4 = 7;
/** Opens an RTT code, 2 bytes. */
export const RTT_START = 8;
/** Reserved; never written. */
export const THROUGHPUT_START = 9;
/** The result of a measurement without a reply. */
export const FAILED = 10;
/** The token of byte b is BYTE_BASE + b. */
export const BYTE_BASE = 11;
/** Number of tokens. */
export const VOCAB_SIZE = 267;

/** Names of the role tokens 0..10. */
export const ROLE_NAMES: readonly string[] = [
  "MeasurementStart",
  "SrcIpv4",
  "SrcIpv6",
  "DstIpv4",
  "DstIpv6",
  "TimestampAbs",
  "TimestampDelta1",
  "TimestampDelta4",
  "RttStart",
  "ThroughputStart",
  "Failed",
];

/** One of the blocks of a measurement. */
export type Field = "source" | "destination" | "result" | "time";

/** The 24 orders of the blocks of a measurement; without a time, the other blocks keep their order. */
export const FIELD_ORDERS: readonly (readonly Field[])[] = permutations([
  "source",
  "destination",
  "result",
  "time",
]);

/** The order in which queries and their context are written; one of {@link FIELD_ORDERS}. */
export const QUERY_ORDER: readonly Field[] = ["source", "destination", "time", "result"];

/** The content of a measurement in this vocabulary. */
export interface TokenMeasurement {
  /** Source address, 4 or 16 bytes. */
  source: Uint8Array;
  /** Destination address, 4 or 16 bytes. */
  destination: Uint8Array;
  /** Canonical RTT code, or null if there was no reply. */
  rttCode: number | null;
  /** When, whole seconds since 1970, 0..2^53 - 1; null when the measurement carries no time. */
  timeS: number | null;
}

/** The name of a token: the role's name or `byte 17`. */
export function tokenName(token: number): string {
  if (token >= BYTE_BASE && token < VOCAB_SIZE) return `byte ${token - BYTE_BASE}`;
  return ROLE_NAMES[token] ?? `unknown token ${token}`;
}

/**
 * Number of tokens of a measurement.
 *
 * @param previousTimeS The last time before it in its context, seconds; null if there was none.
 */
export function measurementLength(measurement: TokenMeasurement, previousTimeS: number | null): number {
  return untimedLength(
    measurement.source.length,
    measurement.destination.length,
    measurement.rttCode === null,
  ) +
    timeLength(measurement.timeS, previousTimeS);
}

/**
 * Number of tokens of a measurement without its time.
 *
 * @param numSourceBytes 4 or 16.
 * @param numDestinationBytes 4 or 16.
 * @param isFailed Whether there was no reply.
 */
export function untimedLength(
  numSourceBytes: number,
  numDestinationBytes: number,
  isFailed: boolean,
): number {
  return 3 + numSourceBytes + numDestinationBytes + (isFailed ? 1 : 3);
}

/**
 * Number of tokens of a time block: 0, 2, 5 or 9.
 *
 * @param timeS The time, seconds, or null for no block.
 * @param previousTimeS The last time before it in its context, seconds; null if there was none.
 */
export function timeLength(timeS: number | null, previousTimeS: number | null): number {
  if (timeS === null) return 0;
  if (previousTimeS === null) return 9;
  return timeS - previousTimeS <= 255 ? 2 : 5;
}

function permutations(fields: readonly Field[]): Field[][] {
  if (fields.length <= 1) return [[...fields]];
  return fields.flatMap((first) =>
    permutations(fields.filter((field) => field !== first)).map((rest) => [first, ...rest])
  );
}
