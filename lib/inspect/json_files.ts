/**
 * Inspects the JSON files beside the data: manifests, truth files, lists of rejected rows.
 *
 * @module
 */
import { formatBytes } from "../text/quantities.ts";
import { explainFileError, FormatError } from "../errors.ts";
import { readManifest } from "../files/manifest.ts";
import { SyntheticTruth } from "../synth/truth.ts";
import type { Target } from "./detect.ts";
import { formatShare, formatTime } from "./format.ts";
import type { Report } from "./report.ts";

/** Reads a manifest. @throws {FormatError} If it is none. */
export function inspectManifest({ path, files: [file] }: Target): Report {
  const manifest = readManifest(file);
  if (!manifest) throw new FormatError("it is gone; run the stage again", { path: file });
  const { stage, version, inputs, options, counts, rejected, outputs, complete } = manifest;
  const bytes = outputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const pairs = (record: Record<string, unknown>) =>
    Object.entries(record).map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(", ") || "none";
  return {
    kind: "manifest",
    path,
    facts: [
      ["stage", `${stage} of version ${version}, ${complete ? "complete" : "not complete"}`],
      [
        "inputs",
        `${inputs.length}: ${inputs.slice(0, 3).map(({ path }) => path).join(", ")}${
          inputs.length > 3 ? ", …" : ""
        }`,
      ],
      ["options", pairs(options)],
      ["counts", pairs(counts)],
      ["rejected", pairs(rejected)],
      ["outputs", `${outputs.length} files, ${formatBytes(bytes)}`],
    ],
    sections: [],
    json: {
      ...manifest,
      inputs: inputs.length,
      outputs: outputs.length,
      outputBytes: bytes,
      madeBy: stage,
      stage: "inspect",
    },
  };
}

/** Reads a truth file of `synth`. @throws {FormatError} If it is none. */
export function inspectTruth({ path, files: [file] }: Target): Report {
  const { options, hosts, systems, routes } = SyntheticTruth.load(file).world;
  const count = (role: string, ipVersion?: number) =>
    hosts.filter((host) => host.role === role && (ipVersion ?? host.ipVersion) === host.ipVersion).length;
  const pairs = routes.flat();
  const changes = pairs.filter(({ changeTimeS }) => changeTimeS !== undefined).length;
  return {
    kind: "truth",
    path,
    facts: [
      [
        "probe addresses",
        `${count("probe")}, ${formatShare(count("probe", 6) / Math.max(1, count("probe")))} IPv6`,
      ],
      ["destinations", `${count("destination")} addresses`],
      ["systems", `${systems.length}, ${pairs.length} routes, ${changes} of which change`],
      ["time", `${formatTime(options.startTimeS * 1e6)} to ${formatTime(options.endTimeS * 1e6)}`],
      ["seed", `${options.seed}`],
    ],
    sections: [],
    json: {
      probeAddresses: count("probe"),
      destinationAddresses: count("destination"),
      systems: systems.length,
      routes: pairs.length,
      routeChanges: changes,
      options,
    },
  };
}

/** Reads a list of rejected rows. @throws {FormatError} If a line is none. */
export function inspectRejects({ path, files: [file] }: Target, { samples }: { samples: number }): Report {
  const counts: Record<string, number> = {};
  const lines = readLines(file);
  lines.forEach((line, i) => {
    const reason = reasonOf(line);
    if (reason === undefined) {
      throw new FormatError("it is no rejected row; run the stage again", {
        path: file,
        place: `line ${i + 1}`,
      });
    }
    counts[reason] = (counts[reason] ?? 0) + 1;
  });
  return {
    kind: "rejected rows",
    path,
    facts: Object.entries(counts).map(([reason, count]) => [reason, `${count} listed`]),
    sections: [{ heading: "first lines", lines: lines.slice(0, samples) }],
    json: { listed: counts },
  };
}

function readLines(path: string): string[] {
  try {
    return Deno.readTextFileSync(path).split("\n").filter((line) => line !== "");
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

function reasonOf(line: string): string | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const isRow = typeof value === "object" && value !== null && "reason" in value;
    return isRow && typeof value.reason === "string" ? value.reason : undefined;
  } catch {
    return undefined;
  }
}
