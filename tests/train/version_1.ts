/** Converts checkpoints to format version 1, as written before the program recorded a version. @module */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { named } from "../../lib/base/errors.ts";
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { HISTORY_LENGTH } from "../../lib/model/pair_history.ts";
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

export function toVersion1(folder: string): void {
  const path = join(folder, "state.json");
  const { sha256: _, formatVersion, ...state } = JSON.parse(Deno.readTextFileSync(path));
  if (formatVersion !== 3) throw new Error(`version ${formatVersion}`);
  state.config = configOfVersion1(state.config);
  const names = { model: "model", optimizer: "optimizer", trainingData: "training_data" };
  for (const [key, name] of Object.entries(names)) {
    const file = join(folder, `${name}.safetensors`);
    if (exists(file)) state.files[key] = rewrite(file);
  }
  const sha256 = createHash("sha256").update(JSON.stringify(sorted(state))).digest("hex");
  Deno.writeTextFileSync(path, JSON.stringify({ sha256, ...state }));
}

/** Converts an adapted checkpoint, whose base may have changed. */
export function toAdaptedVersion1(folder: string, baseSha256: string): void {
  rewrite(join(folder, "rows.safetensors"), { base_sha256: baseSha256 });
}

export function toSiteVersion1(folder: string): void {
  const path = join(folder, "site.json");
  const { formatVersion, weights, trainingData, ...site } = JSON.parse(Deno.readTextFileSync(path));
  if (formatVersion !== 3) throw new Error(`version ${formatVersion}`);
  const former = ({ path: name }: { path: string }) => ({ path: name, ...rewrite(join(folder, name)) });
  Deno.writeTextFileSync(
    path,
    JSON.stringify({
      ...site,
      weights: weights.map(former),
      ...trainingData && { trainingData: former(trainingData) },
    }),
  );
}

function rewrite(path: string, more: Record<string, string> = {}): SafetensorsFile {
  const { tensors, shapes, metadata: { format_version: version, ...metadata } } = readSafetensors(path);
  if (version !== "3") throw new Error(`version ${version} of ${path}`);
  const former = new Map<string, Float32Array>();
  const formerShapes = new Map<string, number[]>();
  for (const [name, values] of tensors) {
    const formerName = name.replace(/^address_embed\./, "wpe.");
    const { numbers, width } = asFloats(values, name);
    former.set(formerName, numbers);
    formerShapes.set(formerName, width ? [numbers.length / width, width] : named(shapes, name));
  }
  if ("sha256" in metadata) metadata.sha256 = sha256OfTensors(former);
  if ("config" in metadata) metadata.config = JSON.stringify(configOfVersion1(JSON.parse(metadata.config)));
  return writeSafetensors(path, {
    tensors: former,
    shapes: formerShapes,
    metadata: { ...metadata, ...more },
  });
}

/** A tensor of the network or of training data as F32, with the width of its rows if that changes. */
function asFloats(values: TensorArray, name: string): { numbers: Float32Array; width?: number } {
  if (values instanceof Float32Array) return { numbers: values };
  if (values instanceof Uint8Array) {
    const thirds = Array.from({ length: values.length / 3 }, (_, i) => values.subarray(3 * i, 3 * i + 3));
    return { numbers: Float32Array.from(thirds, ([a, b, c]) => a * 65_536 + b * 256 + c), width: 1 };
  }
  const parts = (number: number, scale: number) => [Math.floor(number / scale), number % scale];
  if (!name.endsWith(".history")) {
    return { numbers: Float32Array.from([...values].flatMap((number) => parts(number, 2 ** 16))), width: 2 };
  }
  const isCode = (i: number) => i % HISTORY_LENGTH < HISTORY_LENGTH - 1;
  const numbers = [...values].flatMap((number, i) => isCode(i) ? [number] : parts(number, 2 ** 20));
  return { numbers: Float32Array.from(numbers), width: HISTORY_LENGTH + 1 };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
