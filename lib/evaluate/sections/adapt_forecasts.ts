/**
 * The forecasts of the model for new addresses, after it was adapted to a few measurements of each.
 *
 * The addresses are fitted together, as `adapt` fits those of a file. The given measurements have a known address at the
 * other end, so the rows of each address follow its own measurements alone. A fit of each address by itself would still
 * give slightly other numbers: a new row of a shorter prefix belongs to all new addresses under it, a row starts from
 * the mean of the known addresses that any of them was measured with, and sums are rounded in another order. An address
 * that finds no free row is fitted in a further round, which starts from the trained model again.
 *
 * @module
 */
import { ADAPT_DEFAULTS } from "../../adapt/adapt.ts";
import { PingModel } from "../../query/ping_model.ts";
import type { LoadedCheckpoint } from "../../train/checkpoint_files.ts";
import { forecastRtts, joinForecasts, type RttForecasts } from "./rtt_forecasts.ts";
import type { UnseenCases } from "./unseen_addresses.ts";

/** The result of a fit. */
export interface AdaptFit {
  /** Measurements that it learned from. */
  numMeasurements: number;
  /** Rounds that it took until every address had a row. */
  numRounds: number;
  /** Addresses without a free row after all rounds. Their forecasts use the rows of shorter prefixes alone. */
  numWithoutRow: number;
  /** Mean loss of an RTT's two bytes before and after, nats; null where nothing was fitted. */
  lossBefore: number | null;
  lossAfter: number | null;
}

/** A model and its questions. */
export interface AdaptedModels {
  /** As it was trained. It is not changed. */
  readonly model: PingModel;
  /** What it was made of. */
  readonly checkpoint: LoadedCheckpoint;
  readonly unseen: UnseenCases;
}

/** Progress and the signal to stop. */
export interface AdaptHooks {
  readonly onProgress: (phase: string, done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Forecasts the judged measurements, without context.
 *
 * @param numGiven How many measurements of each address the model is adapted to.
 * @throws {UserError} If a fit fails.
 */
export async function forecastAdapted(
  { model, checkpoint, unseen }: AdaptedModels,
  numGiven: number,
  { onProgress, signal }: AdaptHooks,
): Promise<{ forecasts: RttForecasts; fit: AdaptFit }> {
  const { addresses, given, judged, addressOf } = unseen;
  const parts: RttForecasts[] = [];
  let numDone = 0;
  const ask = async (asked: PingModel, left: ReadonlySet<string>) => {
    const places = judged.keys().toArray().filter((place) => left.has(addresses[addressOf[place]]));
    const forecasts = await forecastRtts(asked, places.map((place) => judged[place]), {
      contexts: [0],
      signal,
      onProgress: (done) => onProgress("predicting RTTs", numDone + done, judged.length),
    });
    numDone += places.length;
    parts.push({ ...forecasts, caseIndex: forecasts.caseIndex.map((i) => places[i]) });
  };
  const fit: AdaptFit = {
    numMeasurements: 0,
    numRounds: 0,
    numWithoutRow: 0,
    lossBefore: null,
    lossAfter: null,
  };
  let left = new Set(addresses);
  if (numGiven === 0) await ask(model, left);
  while (numDone < judged.length) {
    // On a GPU's device of its own, so that what it takes is freed with it.
    using adapted = await PingModel.from(checkpoint);
    const measurements = given.flatMap((ofAddress, i) =>
      left.has(addresses[i]) ? ofAddress.slice(0, numGiven) : []
    );
    const { withoutRow, lossBefore, lossAfter } = await adapted.adapt(
      measurements.map(({ measurement }) => measurement),
      {
        addresses: [...left],
        signal,
        onProgress: (steps) => onProgress("fitting rows", steps, ADAPT_DEFAULTS.steps),
      },
    );
    if (fit.numRounds++ === 0) {
      Object.assign(fit, { numMeasurements: measurements.length, lossBefore, lossAfter });
    }
    const isStuck = withoutRow.length === left.size;
    if (isStuck) fit.numWithoutRow = left.size;
    const next = new Set(isStuck ? [] : withoutRow);
    await ask(adapted, left.difference(next));
    left = next;
  }
  return { forecasts: joinForecasts(parts), fit };
}
