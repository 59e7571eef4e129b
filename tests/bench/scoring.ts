/** Scores of made-up measurements by an untrained model with a pool, for the bench that times them. @module */
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { pairNameOf, SourceHistory } from "../../lib/data/tokens/source_history.ts";
import type { ModelConfig } from "../../lib/model/model_config.ts";
import { fitPool } from "../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../lib/model/pool/pool_tables.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { type ScoreCase, scoreResults } from "../../lib/query/score/score_results.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { claimedAddresses, timingWeights } from "../../lib/train/step_timing.ts";

const MAX_CONTEXT = 20;
const ROWS_PER_SOURCE = 32;
const NUM_DESTINATIONS = 4;
/** RTTs of each pair in the pool. */
const NUM_REMEMBERED = 24;
const START_S = 1_750_000_000;

/** @returns A function that scores rows as `score` does: each with earlier rows of its source as context. */
export function prepareScoring(
  registry: KernelRegistry,
  config: ModelConfig,
  numRows: number,
): () => Promise<void> {
  const random = new RandomStream(0, "bench/score");
  const weights: Map<string, TensorArray> = timingWeights(config);
  const addresses = claimedAddresses(config, weights);
  const rttCodeOf = (end: number) => encodeRttCode((10 + end) * Math.exp(random.normal() / 20));
  const tables = new PoolTables();
  const cases: ScoreCase[] = [];
  for (let source = 0; cases.length < numRows; source++) {
    const ends = Array.from({ length: NUM_DESTINATIONS }, (_, i) => source + 1 + i);
    for (let i = 0; i < NUM_REMEMBERED * NUM_DESTINATIONS; i++) {
      const [from, to] = [source, ends[i % NUM_DESTINATIONS]].map((end) => PoolTables.endOf(addresses[end]));
      tables.add(from, to, rttCodeOf(i % NUM_DESTINATIONS), START_S + 60 * i);
    }
    const history = new SourceHistory(MAX_CONTEXT, config.sequenceLength);
    for (let i = 0; i < ROWS_PER_SOURCE && cases.length < numRows; i++) {
      const timeS = START_S + 86_400 + 60 * i;
      const end = i % NUM_DESTINATIONS;
      const rttCode = i % 16 === 15 ? null : rttCodeOf(end);
      const measurement = { source: addresses[source], destination: addresses[ends[end]], timeS, rttCode };
      const pair = pairNameOf(measurement);
      const context = history.growingContextOf(pair, timeS * 1e6, measurement);
      cases.push({ measurement, context, number: cases.length });
      history.add(pair, timeS * 1e6, measurement);
    }
  }
  const model = PingModel.of(config, registry, { weights, pool: tables.save(fitPool([])) });
  return async () => {
    await scoreResults(model, cases, { seed: 0 });
  };
}
