/**
 * Range queries to the HTTP API of Prometheus, which Thanos, Mimir and VictoriaMetrics serve too.
 *
 * - `GET /api/v1/query_range?query=&start=&end=&step=` evaluates a query at `start`, `start + step`, … `end`;
 *   more than 11,000 points per series are rejected.
 * - An answer is `{"status": "success", "data": {"resultType": "matrix", "result": [{"metric", "values"},
 *   …]}}`, possibly with `warnings`; series of native histograms have `histograms`.
 * - An error has an HTTP status of 4xx or 5xx and `{"status": "error", "errorType", "error"}`.
 * - A token is sent as the header `Authorization: Bearer …`, which proxies in front of Prometheus ask for.
 *
 * Source: https://prometheus.io/docs/prometheus/latest/querying/api/ .
 *
 * @module
 */
import { isObject } from "../../base/collections.ts";
import { shortened, UserError } from "../../base/errors.ts";
import { MAX_OBJECT_BYTES } from "../../io/text/json_stream.ts";
import { objectOf } from "../../data/formats/format.ts";
import { labelsKey } from "../../data/formats/prometheus.ts";
import type { ApiClient } from "./api_client.ts";
import type { TimeWindow } from "./windows.ts";

export const MAX_POINTS = 11_000;

/** How long after its time a pushed sample (remote write) can arrive. */
export const LATENESS_S = 300;

/** Asks for the values of a query at all multiples of the step in a window. */
interface RangeQuery {
  query: string;
  window: TimeWindow;
  stepS: number;
  nowS: number;
}

interface RangeAnswer {
  /** The answer as received, but divided by the labels of its series if it is too long to be read at once. */
  bytes: Uint8Array;
  numSeries: number;
  numPoints: number;
  /** For example, that one of several stores did not answer. */
  warnings: string[];
}

/**
 * Fetches the past part of a window.
 *
 * @throws {UserError} If the server rejects the query, or its answer differs from what the API documents.
 */
export async function fetchRange(
  client: ApiClient,
  { query, window: { startS, stopS }, stepS, nowS }: RangeQuery,
): Promise<RangeAnswer> {
  // Prometheus repeats the last value for times after now.
  const end = Math.min(stopS - 1, nowS);
  const words = { query, start: String(startS), end: String(end), step: String(stepS) };
  const { bytes, value } = await client.jsonBytes(`/api/v1/query_range?${new URLSearchParams(words)}`);
  const counts = countMatrix(value);
  return { bytes: bytes.length < MAX_OBJECT_BYTES ? bytes : dividedByLabels(value), ...counts };
}

/** Divides an answer into one per line, keeping together the series that are read together. */
function dividedByLabels(answer: unknown): Uint8Array {
  const all = objectOf(objectOf(answer).data).result as unknown[];
  const groups = Map.groupBy(all, (series) => labelsKey(objectOf(objectOf(series).metric)));
  const lines = [...groups.values()].map((result) =>
    JSON.stringify({ status: "success", data: { resultType: "matrix", result } })
  );
  return new TextEncoder().encode(`${lines.join("\n")}\n`);
}

/** @throws {UserError} If the answer is an error or not a matrix of series. */
function countMatrix(answer: unknown): Omit<RangeAnswer, "bytes"> {
  const { status, data, warnings = [], errorType, error } = isObject(answer) ? answer : {};
  if (status === "error") {
    throw new UserError(
      `Cannot fetch the query: the server answered ${
        shortened(`${errorType}: ${error}`, 200)
      }; check --query`,
    );
  }
  if (status !== "success" || !isObject(data)) {
    throw new UserError(
      "Cannot fetch the query: the answer is not from Prometheus's API; check --url, whose path is followed by " +
        "/api/v1/query_range",
    );
  }
  const { resultType, result } = data;
  if (resultType !== "matrix") {
    throw new UserError(
      `Cannot fetch the query: its result is of the type ${
        shortened(String(resultType), 40)
      }, expected matrix; ` +
        "check --url",
    );
  }
  if (!Array.isArray(result)) {
    throw new UserError("Cannot fetch the query: data.result is not a list of series; check --url");
  }
  const numPoints = result.reduce((sum, series) => sum + pointsOf(series), 0);
  const texts = Array.isArray(warnings) ? warnings.map((text) => shortened(String(text), 200)) : [];
  return { numSeries: result.length, numPoints, warnings: texts };
}

function pointsOf(series: unknown): number {
  const { metric, values, histograms } = isObject(series) ? series : {};
  const points = values ?? (histograms === undefined ? undefined : []);
  const isPoint = (point: unknown) =>
    Array.isArray(point) && point.length === 2 && typeof point[0] === "number" &&
    typeof point[1] === "string";
  if (isObject(metric) && Array.isArray(points) && points.every(isPoint)) return points.length;
  throw new UserError(
    `Cannot fetch the query: it returned the series ${
      shortened(JSON.stringify(series), 80)
    }, expected "metric" and ` +
      '"values", pairs of a time and a text; check --url',
  );
}
