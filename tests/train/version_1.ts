/** Turns checkpoints into those of format version 1, as the program wrote them before it stated a version. @module */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";
import {
  readSafetensors,
  type SafetensorsFile,
  sha256OfTensors,
  writeSafetensors,
} from "../../lib/io/safetensors.ts";

/** A configuration with the keys of that time. */
// deno-lint-ignore no-explicit-any
export function configOfVersion1({ autosize, data: { staleHistoryShare, ...data }, ...config }: any) {
  return { ...config, data: { ...data, staleRecallShare: staleHistoryShare }, fit: autosize };
}

/** Rewrites the files of a checkpoint. */
export function toVersion1(folder: string): void {
  const path = join(folder, "state.json");
  const { sha256: _, formatVersion, ...state } = JSON.parse(Deno.readTextFileSync(path));
  if (formatVersion !== 2) throw new Error(`version ${formatVersion}`);
  state.config = configOfVersion1(state.config);
  const names = { model: "model", optimizer: "optimizer", trainingData: "training_data" };
  for (const [key, name] of Object.entries(names)) {
    const file = join(folder, `${name}.safetensors`);
    if (exists(file)) state.files[key] = rewrite(file);
  }
  const sha256 = createHash("sha256").update(JSON.stringify(sorted(state))).digest("hex");
  Deno.writeTextFileSync(path, JSON.stringify({ sha256, ...state }));
}

/** Rewrites an adapted checkpoint, whose base may have changed. */
export function toAdaptedVersion1(folder: string, baseSha256: string): void {
  rewrite(join(folder, "rows.safetensors"), { base_sha256: baseSha256 });
}

export function toSiteVersion1(folder: string): void {
  const path = join(folder, "site.json");
  const { formatVersion, weights: [{ path: name }], ...site } = JSON.parse(Deno.readTextFileSync(path));
  if (formatVersion !== 2) throw new Error(`version ${formatVersion}`);
  const weights = [{ path: name, ...rewrite(join(folder, name)) }];
  Deno.writeTextFileSync(path, JSON.stringify({ ...site, weights }));
}

function rewrite(path: string, more: Record<string, string> = {}): SafetensorsFile {
  const { tensors, shapes, metadata: { format_version: version, ...metadata } } = readSafetensors(path);
  if (version !== "2") throw new Error(`version ${version} of ${path}`);
  const renamed = <T>(byName: Map<string, T>) =>
    new Map([...byName].map(([name, value]) => [name.replace(/^address_embed\./, "wpe."), value]));
  const former = renamed(tensors);
  if ("sha256" in metadata) metadata.sha256 = sha256OfTensors(former);
  if ("config" in metadata) metadata.config = JSON.stringify(configOfVersion1(JSON.parse(metadata.config)));
  return writeSafetensors(path, {
    tensors: former,
    shapes: renamed(shapes),
    metadata: { ...metadata, ...more },
  });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
