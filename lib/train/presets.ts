/**
 * The run configurations of configs/, by name. One may say only how it differs from another, which `extends` names.
 *
 * @module
 */
import { isObject } from "../base/collections.ts";
import base20m from "../../configs/20m.json" with { type: "json" };
import base300m from "../../configs/300m.json" with { type: "json" };
import base680m from "../../configs/680m.json" with { type: "json" };
import base95m from "../../configs/95m.json" with { type: "json" };
import campaign from "../../configs/campaign.json" with { type: "json" };
import demo from "../../configs/demo.json" with { type: "json" };
import synth from "../../configs/synth.json" with { type: "json" };
import v1100m from "../../configs/v1-100m.json" with { type: "json" };
import { ConfigError, UsageError } from "../base/errors.ts";
import { didYouMean } from "../base/text.ts";

type Json = Record<string, unknown>;

/** Preset name -> its configuration as parsed from JSON, which may extend another. */
export const PRESETS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ["demo", demo],
  ["campaign", campaign],
  ["synth", synth],
  ["20m", base20m],
  ["95m", base95m],
  ["300m", base300m],
  ["680m", base680m],
  ["v1-100m", v1100m],
]);

/** Former names of presets, which still work. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["synth-20min", "synth"],
  ["small-95m", "95m"],
  ["full-680m", "680m"],
  ["plan-100m", "v1-100m"],
]);

/**
 * A preset's configuration, whole. A former name is taken with one line on standard error.
 *
 * @throws {UsageError} If there is no such preset; the nearest name is given.
 */
export function presetOf(name: string): Json {
  const renamed = RENAMED.get(name);
  if (renamed) console.warn(`note: --config ${name} is called ${renamed} now`);
  const preset = PRESETS.get(renamed ?? name);
  if (preset) return extended(preset);
  const hint = didYouMean(name, [...PRESETS.keys()]);
  throw new UsageError(`Cannot use --config ${name}: no preset has that name${hint}`);
}

/**
 * A configuration with what it takes over from the preset that it extends: a JSON merge patch (RFC 7396), so null removes
 * a key of the preset.
 *
 * @throws {ConfigError} If `extends` is not the name of a preset.
 */
export function extended(config: Json): Json {
  const { extends: base, ...changes } = config;
  if (base === undefined) return structuredClone(config);
  if (typeof base !== "string" || !(PRESETS.has(base) || RENAMED.has(base))) {
    const hint = typeof base === "string" ? didYouMean(base, [...PRESETS.keys()]) : "";
    throw new ConfigError("extends", `found ${JSON.stringify(base)}, expected the name of a preset${hint}`);
  }
  return mergePatch(presetOf(base), changes) as Json;
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
