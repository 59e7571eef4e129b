/**
 * Measurements of Globalping in the documented form: the example `getPingMeasurementResponse` of
 * https://globalping.io/docs/api.globalping.io with other values.
 *
 * @module
 */
const DETAILS = {
  continent: "EU",
  region: "Western Europe",
  state: null,
  network: "Example Networks, LLC",
  longitude: 13.41,
  latitude: 52.52,
  tags: ["datacenter-network"],
  resolvers: ["private"],
};

export function globalpingProbe(place: { asn: number; country: string; city: string; state?: string }) {
  return { ...DETAILS, ...place };
}

/** @param rttsMs RTTs of the packets that came back. @param total Packets sent. */
export function finishedPing(address: string, rttsMs: readonly number[], total: number = rttsMs.length) {
  const rcv = rttsMs.length;
  const mean = rttsMs.reduce((sum, rtt) => sum + rtt, 0) / rcv;
  const lines = rttsMs.map((rtt, i) =>
    `64 bytes from ${address} (${address}): icmp_seq=${i + 1} ttl=59 time=${rtt} ms`
  );
  return {
    status: "finished",
    rawOutput: [
      `PING jsdelivr.map.fastly.net (${address}) 56(84) bytes of data.`,
      ...lines,
      "",
      "--- jsdelivr.map.fastly.net ping statistics ---",
      `${total} packets transmitted, ${rcv} received, ${100 - 100 * rcv / total}% packet loss, time 201ms`,
    ].join("\n"),
    resolvedAddress: address,
    resolvedHostname: address,
    timings: rttsMs.map((rtt) => ({ ttl: 59, rtt })),
    stats: {
      min: rcv ? Math.min(...rttsMs) : null,
      max: rcv ? Math.max(...rttsMs) : null,
      avg: rcv ? Number(mean.toFixed(6)) : null,
      total,
      loss: 100 - 100 * rcv / total,
      rcv,
      drop: total - rcv,
    },
  };
}

export function globalpingMeasurement(
  results: readonly (readonly [probe: unknown, result: unknown])[],
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    id: "nzGzfAGL7sZfUs3c",
    type: "ping",
    status: "finished",
    createdAt: "2023-07-14T18:25:52.414Z",
    updatedAt: "2023-07-14T18:25:53.207Z",
    target: "cdn.jsdelivr.net",
    probesCount: results.length,
    results: results.map(([probe, result]) => ({ probe, result })),
    ...changes,
  };
}
