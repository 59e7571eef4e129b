/** A local server that answers range queries as Prometheus does. @module */
import { ReplayServer } from "./replay_server.ts";

/** Targets of the series of each query. */
const TARGETS = ["127.0.0.1", "192.0.2.1"];

function valueAt(target: number, timeS: number): string {
  return String((timeS % 1000) / 1e6 + target);
}

/** The points of all series at multiples of a step from `startS` to before `stopS`. */
export function pointsBetween(startS: number, stopS: number, stepS: number): unknown[][] {
  return TARGETS.map((_, target) => {
    const points = [];
    for (let timeS = startS; timeS < stopS; timeS += stepS) points.push([timeS, valueAt(target, timeS)]);
    return points;
  });
}

/** Serves two endless series. */
export class PrometheusServer extends ReplayServer {
  /** Additional members of its answers. */
  further: Record<string, unknown> = {};

  constructor() {
    super();
    this.answer = ({ path, query }) => {
      const asked = `${path}?${query}`;
      if (!path.endsWith("/api/v1/query_range") || this.faults.some(([text]) => asked.includes(text))) return;
      const [startS, end, stepS] = ["start", "end", "step"].map((name) => Number(query.get(name)));
      if ((end - startS) / stepS > 11_000) {
        // As Prometheus 2.42 answers.
        const error =
          "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution " +
          "(?step=XX)";
        return Response.json({ status: "error", errorType: "bad_data", error }, { status: 400 });
      }
      const result = pointsBetween(startS, end + 1, stepS).map((values, target) => ({
        metric: { __name__: "probe_duration_seconds", instance: TARGETS[target], job: "icmp" },
        values,
      }));
      return Response.json({ status: "success", data: { resultType: "matrix", result }, ...this.further });
    };
  }
}
