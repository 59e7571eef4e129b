/**
 * The section on the parts of the model: what the network and each simple forecast of the pool add to the
 * answers. The same measurements are predicted by the whole model, by the network alone, by the pool without
 * the network, and without one forecast at a time. If a part is left out, the others keep the ratios of their
 * weights; nothing is fitted again.
 *
 * @module
 */
import { evenlySpread } from "../../base/collections.ts";
import { named } from "../../base/errors.ts";
import { meanOf } from "../../base/sample_statistics.ts";
import type { Tensors } from "../../base/safetensors_header.ts";
import { NETWORK_PARTS, WEIGHT_TENSORS } from "../../model/pool/forecasts.ts";
import { PingModel } from "../../query/ping_model.ts";
import { withoutFloor } from "../../query/rtt/rtt_distributions.ts";
import { type EvalCase, queryOf, withContexts } from "../cases.ts";
import {
  ClusterBootstrap,
  type ComparedIntervals,
  comparedWithFirst,
  type Replicates,
} from "../metrics/bootstrap.ts";
import { crpsMs } from "../metrics/forecast_errors.ts";
import type { ForecastOptions } from "./rtt_forecasts.ts";

const SCORES = ["codeBits", "crpsMs"] as const;
type PartScore = typeof SCORES[number];

/** The answers with some parts, compared with those of the whole model. */
export interface PartScores extends ComparedIntervals<PartScore>, Record<PartScore, number> {
  /** `all`, `network`, `pool` (without the network), or `without` and the name of a forecast. */
  parts: string;
}

export interface PartsSection {
  /** Measurements with a reply, evenly spread over those of the evaluation. */
  numMeasurements: number;
  /** The whole model is first. Mean -log2 P(RTT code | a reply), and mean CRPS in ms. */
  scores: PartScores[];
}

const [NETWORK] = NETWORK_PARTS;
/** The even distribution is always there, so that no measurement is impossible. */
const ALWAYS = "even";
const MAX_SPREAD_MASS = 0.01;

interface PartsOptions extends Pick<ForecastOptions, "contexts" | "onProgress" | "signal"> {
  readonly pool: Tensors;
  /** Maximum number of measurements. */
  readonly count: number;
  /** The cluster of each case; see bootstrap.ts. */
  readonly ofCase: Uint32Array;
  readonly seed: number;
}

/** @returns Undefined if there is nothing to predict. */
export async function evaluateParts(
  model: PingModel,
  cases: readonly EvalCase[],
  { pool, count, ofCase, contexts, seed, onProgress, signal }: PartsOptions,
): Promise<PartsSection | undefined> {
  const answered = [...cases.keys()].filter((i) => cases[i].rttMs !== null);
  const chosen = evenlySpread(answered, count);
  if (chosen.length === 0) return undefined;
  const partOf = new Map(WEIGHT_TENSORS.map(([name]) => [name.slice(name.lastIndexOf(".") + 1), name]));
  const pooled = (...leftOut: string[]) => {
    const tensors = new Map(pool);
    for (const part of leftOut) {
      const name = named(partOf, part);
      tensors.set(name, new Float32Array(named(tensors, name).length));
    }
    const { config, registry, weights: ofModel } = model;
    return PingModel.of(config, registry, { weights: ofModel, pool: tensors });
  };
  const methods: { parts: string; model: PingModel | undefined }[] = [
    { parts: "all", model: pooled() },
    { parts: "network", model: undefined },
    { parts: "pool", model: pooled(...NETWORK_PARTS) },
  ];
  for (const part of partOf.keys()) {
    if (part !== NETWORK && part !== ALWAYS) methods.push({ parts: `without ${part}`, model: pooled(part) });
  }
  const values = methods.map(() => ({
    codeBits: new Float64Array(chosen.length),
    crpsMs: new Float64Array(chosen.length),
  }));
  const turns = withContexts(chosen.length, { contexts });
  const queries = turns.map(({ index, context }) => queryOf(cases[chosen[index]], context));
  await model.likelyRttDistributions(queries, (network, i, mixedWith) => {
    const rttMs = cases[chosen[i]].rttMs ?? NaN;
    methods.forEach(({ model }, m) => {
      const forecast = model?.pooled(queries[i]);
      const distribution = model ? mixedWith(() => forecast) : network;
      values[m].crpsMs[i] = crpsMs(distribution, rttMs);
      // A too short RTT means that a place is wrong.
      const probability = distribution.probabilityOf(rttMs) ||
        mixedWith(() => withoutFloor(forecast)).probabilityOf(rttMs);
      values[m].codeBits[i] = -Math.log2(probability);
    });
    onProgress?.(i + 1, queries.length);
  }, {
    maxSpreadMass: MAX_SPREAD_MASS,
    codes: chosen.map((i) => cases[i].measurement.rttCode),
    noPool: true,
  });
  signal?.throwIfAborted();
  const bootstrap = new ClusterBootstrap(Uint32Array.from(chosen, (i) => ofCase[i]), { seed });
  const places = [...chosen.keys()];
  const intervals = comparedWithFirst<PartScore>(
    values.map((of): Record<PartScore, Replicates> => ({
      codeBits: bootstrap.mean(of.codeBits, places),
      crpsMs: bootstrap.mean(of.crpsMs, places),
    })),
  );
  return {
    numMeasurements: chosen.length,
    scores: methods.map(({ parts }, m) => ({
      parts,
      codeBits: meanOf(values[m].codeBits) ?? NaN,
      crpsMs: meanOf(values[m].crpsMs) ?? NaN,
      ...intervals[m],
    })),
  };
}
