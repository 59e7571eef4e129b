/**
 * Inspects run directories and metrics files: how far the training is and how the losses went.
 *
 * @module
 */
import { join } from "@std/path";
import { exists } from "../files/inputs.ts";
import { readManifest } from "../files/manifest.ts";
import { listCheckpoints, stepName } from "../train/checkpoint.ts";
import { readMetrics } from "../train/metrics.ts";
import { type Fact, formatValue, type Json, type Report, type Target } from "./report.ts";

/**
 * Reads a run's manifest, metrics and the states of its checkpoints.
 *
 * @throws {FormatError} If its manifest or metrics are damaged.
 */
export function inspectRun({ path, files: [folder] }: Target): Report {
  const nested = join(folder, "checkpoints");
  const states = listCheckpoints(exists(nested) ? nested : folder);
  const checkpoints = states.map(({ step }) => stepName(step));
  const manifest = readManifest(join(folder, "manifest.json"));
  const metricsPath = join(folder, "metrics.jsonl");
  const best = states.filter(({ evalLoss }) => evalLoss !== null)
    .sort((a, b) => (a.evalLoss ?? 0) - (b.evalLoss ?? 0)).at(0);
  const bestCheckpoint = best ? stepName(best.step) : null;
  return {
    kind: "run",
    path,
    facts: [
      ["state", manifest ? (manifest.complete ? "complete" : "not complete") : "no manifest", {
        complete: manifest?.complete ?? null,
      }],
      ["checkpoints", checkpoints.join(", ") || "none", { checkpoints }],
      [
        "best checkpoint",
        best && `${bestCheckpoint}, validation loss ${best.evalLoss}`,
        { bestCheckpoint },
      ],
      ...(exists(metricsPath) ? metricsFacts(metricsPath) : []),
    ],
  };
}

/** Reads a metrics file by itself. @throws {FormatError} If a line is no metrics record. */
export function inspectMetrics({ path, files: [file] }: Target): Report {
  return { kind: "metrics", path, facts: metricsFacts(file) };
}

function metricsFacts(path: string): Fact[] {
  const records = readMetrics(path);
  const firstStep = records[0]?.step ?? null;
  const lastStep = records.at(-1)?.step ?? null;
  const metrics: Json = {};
  const steps = records.length === 0 ? "none" : `${records.length}, ${firstStep} to ${lastStep}`;
  const facts: Fact[] = [
    ["logged steps", steps, { loggedSteps: records.length, firstStep, lastStep, metrics }],
  ];
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  names.delete("step");
  for (const name of names) {
    const values = records.map((record) => record[name]).filter((value) => typeof value === "number");
    if (values.length === 0) {
      metrics[name] = { count: 0, first: null, last: null, min: null, max: null };
      continue;
    }
    const first = values[0];
    const last = values[values.length - 1];
    const min = values.reduce((a, b) => Math.min(a, b));
    const max = values.reduce((a, b) => Math.max(a, b));
    metrics[name] = { count: values.length, first, last, min, max };
    facts.push([
      name,
      `${formatValue(first)} to ${formatValue(last)}, min ${formatValue(min)}, max ${formatValue(max)}`,
    ]);
  }
  return facts;
}
