/**
 * Pairs of addresses to begin with, for people who do not know what the model knows.
 *
 * @module
 */
import { formatAddress } from "../addresses/ip.ts";
import { sampleMeasurements } from "../query/likelihood/sample.ts";
import type { PingModel } from "../query/ping_model.ts";
import type { ModelApiAnswer } from "./schemas.ts";

const NUM_DRAWN = 8;
const MAX_EXAMPLES = 4;
/** Below 1: what the model is sure of is what it has seen. */
const TEMPERATURE = 0.5;

/** Draws some from the model; always the same ones. */
export async function examplesOf(model: PingModel): Promise<ModelApiAnswer["examples"]> {
  const examples = new Map<string, ModelApiAnswer["examples"][number]>();
  const drawn = { count: NUM_DRAWN, seed: 0, temperature: TEMPERATURE };
  for await (
    const { source, destination } of sampleMeasurements(model, { timeS: null, context: [] }, drawn)
  ) {
    const example = { src_addr: formatAddress(source), dst_addr: formatAddress(destination) };
    examples.set(`${example.src_addr} ${example.dst_addr}`, example);
  }
  return [...examples.values()].slice(0, MAX_EXAMPLES);
}
