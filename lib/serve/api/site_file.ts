/** `site.json`: describes the model of an exported site to the page that loads it. @module */
import * as z from "zod";
import { modelInfoSchema } from "./schemas.ts";
import { parseAs } from "../../base/schema_fault.ts";
import { FORMAT_VERSION } from "../../model/checkpoint_format.ts";
import { isRising } from "../../query/rtt/quantile_calibration.ts";

/** File name, next to `index.html`. */
export const SITE_FILE = "site.json";

const fileSchema = z.object({
  path: z.string(),
  sizeBytes: z.int().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
const siteSchema = z.object({
  formatVersion: z.literal(FORMAT_VERSION),
  /** The model information that the page shows, without the GPU, which is the visitor's. */
  model: modelInfoSchema,
  /** Corrects distributions, see `QuantileCalibration`; null if the model is not calibrated. */
  calibration: z.array(z.number()).refine(isRising).nullable(),
  /** Storage format of the parameters. */
  dtype: z.enum(["f32", "f16"]),
  /** Names of addresses as CSV, see `AddressNames`. */
  names: z.string().optional(),
  /** Safetensors files with the weights, next to this file. */
  weights: z.array(fileSchema).min(1),
  /** The addresses and pairs that the model was trained on, see `trainingDataContent`. */
  trainingData: fileSchema,
});
export type Site = z.infer<typeof siteSchema>;
export type WeightFile = Site["weights"][number];

/** @throws {FormatError} If it is not a `site.json` of this format version. */
export function parseSite(text: string, path: string): Site {
  const fault = "it does not describe a model of this version; run deno task export again";
  return parseAs(siteSchema, text, fault, path);
}
