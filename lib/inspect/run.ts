/**
 * Inspects run directories and metrics files: how far the training is and how the losses went.
 *
 * @module
 */
import { join } from "@std/path";
import { exists } from "../files/inputs.ts";
import { readManifest } from "../files/manifest.ts";
import { listCheckpoints, stepName } from "../train/checkpoint.ts";
import { type MetricsRecord, readMetrics } from "../train/metrics.ts";
import type { Target } from "./detect.ts";
import { formatValue } from "./format.ts";
import type { Report } from "./report.ts";

/**
 * Reads a run's manifest, metrics and the states of its checkpoints.
 *
 * @throws {FormatError} If its manifest or metrics are damaged.
 */
export function inspectRun({ path, files: [folder] }: Target): Report {
  const nested = join(folder, "checkpoints");
  const checkpoints = listCheckpoints(exists(nested) ? nested : folder);
  const names = checkpoints.map(({ step }) => stepName(step));
  const manifest = readManifest(join(folder, "manifest.json"));
  const metricsPath = join(folder, "metrics.jsonl");
  const metrics = exists(metricsPath) ? describeMetrics(readMetrics(metricsPath)) : undefined;
  const best = checkpoints.filter(({ evalLoss }) => evalLoss !== null)
    .sort((a, b) => (a.evalLoss ?? 0) - (b.evalLoss ?? 0))[0];
  return {
    kind: "run",
    path,
    facts: [
      ["state", manifest ? (manifest.complete ? "complete" : "not complete") : "no manifest"],
      ["checkpoints", names.join(", ") || "none"],
      ...(best
        ? [["best checkpoint", `${stepName(best.step)}, validation loss ${best.evalLoss}`] as const]
        : [])
        .map(([label, value]): [string, string] => [label, value]),
      ...(metrics?.facts ?? []),
    ],
    sections: [],
    json: {
      complete: manifest?.complete ?? null,
      checkpoints: names,
      bestCheckpoint: best ? stepName(best.step) : null,
      ...metrics?.json,
    },
  };
}

/** Reads a metrics file by itself. @throws {FormatError} If a line is no metrics record. */
export function inspectMetrics({ path, files: [file] }: Target): Report {
  return { kind: "metrics", path, sections: [], ...describeMetrics(readMetrics(file)) };
}

function describeMetrics(records: readonly MetricsRecord[]): Pick<Report, "facts" | "json"> {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))].filter((name) =>
    name !== "step"
  );
  const json: Record<string, unknown> = {};
  const facts: Report["facts"] = [
    [
      "logged steps",
      records.length === 0 ? "none" : `${records.length}, ${records[0].step} to ${records.at(-1)?.step}`,
    ],
  ];
  for (const name of names) {
    const values = records.map((record) => record[name]).filter((value) => typeof value === "number");
    const first = values[0] ?? null;
    const last = values.at(-1) ?? null;
    const min = values.reduce<number | null>(
      (least, value) => least === null ? value : Math.min(least, value),
      null,
    );
    const max = values.reduce<number | null>(
      (most, value) => most === null ? value : Math.max(most, value),
      null,
    );
    json[name] = { count: values.length, first, last, min, max };
    if (first === null || last === null || min === null || max === null) continue;
    facts.push([
      name,
      `${formatValue(first)} to ${formatValue(last)}, min ${formatValue(min)}, max ${formatValue(max)}`,
    ]);
  }
  return {
    facts,
    json: {
      loggedSteps: records.length,
      firstStep: records[0]?.step ?? null,
      lastStep: records.at(-1)?.step ?? null,
      metrics: json,
    },
  };
}
