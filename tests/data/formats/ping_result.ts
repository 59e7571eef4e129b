/** A RIPE Atlas ping result for tests to vary. @module */

/** A result with one packet and one reply. @param changes Keys to add or replace. */
export function ping(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    type: "ping",
    msm_id: 1,
    prb_id: 2,
    timestamp: 1_600_000_000,
    from: "193.0.14.1",
    dst_addr: "193.0.14.129",
    sent: 1,
    rcvd: 1,
    result: [{ rtt: 5 }],
    ...changes,
  };
}
