/** Inspects the JSON files beside the data: manifests, truth files, lists of rejected rows. @module */
import { isObject, parseJson } from "../../base/collections.ts";
import { formatBytes, formatShare, isoTime } from "../../base/text.ts";
import { FormatError } from "../../base/errors.ts";
import { readText } from "../../io/files/inputs.ts";
import { readManifest } from "../../io/files/manifest.ts";
import { SyntheticTruth } from "../../data/synth/truth.ts";
import { type Fact, formatPairs, type InspectOptions, type Report, type Target } from "./report.ts";

const SHOWN_INPUTS = 3;

export function inspectManifest({ path, files: [file] }: Target): Report {
  const manifest = readManifest(file);
  if (!manifest) throw new FormatError("it is missing; run the stage again", { path: file });
  const { stage, version, inputs, options, counts, rejected, outputs, complete } = manifest;
  const outputBytes = outputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const shown = inputs.slice(0, SHOWN_INPUTS).map(({ path }) => path);
  const more = inputs.length > SHOWN_INPUTS ? ", …" : "";
  const state = complete ? "complete" : "not complete";
  const written = `${outputs.length} files, ${formatBytes(outputBytes)}`;
  return {
    kind: "manifest",
    path,
    facts: [
      ["stage", `${stage} of version ${version}, ${state}`, { ...manifest, madeBy: stage }],
      ["inputs", `${inputs.length}: ${shown.join(", ")}${more}`, { inputs: inputs.length }],
      ["options", formatPairs(options)],
      ["counts", formatPairs(counts)],
      ["rejected", formatPairs(rejected)],
      ["outputs", written, { outputs: outputs.length, outputBytes }],
    ],
  };
}

export function inspectTruth({ path, files: [file] }: Target): Report {
  const { options, hosts, systems, routes } = SyntheticTruth.load(file).world;
  const probes = hosts.filter(({ role }) => role === "probe");
  const ipv6 = probes.filter(({ ipVersion }) => ipVersion === 6).length;
  const ipv6Share = formatShare(ipv6 / Math.max(1, probes.length));
  const numDestinations = hosts.filter(({ role }) => role === "destination").length;
  const pairs = routes.flat();
  const routeChanges = pairs.filter(({ changeTimeS }) => changeTimeS !== undefined).length;
  const networks = `${systems.length}, ${pairs.length} routes, ${routeChanges} of which change`;
  return {
    kind: "truth",
    path,
    facts: [
      ["probe addresses", `${probes.length}, ${ipv6Share} IPv6`, { probeAddresses: probes.length }],
      ["destinations", `${numDestinations} addresses`, { destinationAddresses: numDestinations }],
      ["systems", networks, { systems: systems.length, routes: pairs.length, routeChanges }],
      ["time", `${isoTime(options.startTimeS)} to ${isoTime(options.endTimeS)}`],
      ["seed", `${options.seed}`, { options }],
    ],
  };
}

export function inspectRejects({ path, files: [file] }: Target, { samples }: InspectOptions): Report {
  const lines = readText(file).split("\n").filter((line) => line !== "");
  const listed: Record<string, number> = {};
  lines.forEach((line, i) => {
    const reason = reasonOf(line);
    if (reason === undefined) {
      const place = `line ${i + 1}`;
      throw new FormatError("it is not a rejected row; run the stage again", { path: file, place });
    }
    listed[reason] = (listed[reason] ?? 0) + 1;
  });
  return {
    kind: "rejected rows",
    path,
    facts: Object.entries(listed).map(([reason, count]): Fact => [reason, `${count} listed`]),
    sections: [["first lines", lines.slice(0, samples), { listed }]],
  };
}

function reasonOf(line: string): string | undefined {
  const value = parseJson(line);
  return isObject(value) && typeof value.reason === "string" ? value.reason : undefined;
}
