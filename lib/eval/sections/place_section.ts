/**
 * The section on places: how far predictions are off by distance, country and AS, and how well the embeddings
 * of places match geography. Also looks up where addresses are.
 *
 * @module
 */
import { evenlySpread, getOrMake } from "../../base/collections.ts";
import { tensorOf } from "../../base/safetensors_header.ts";
import { RandomStream } from "../../base/random.ts";
import { addressBytes } from "../../data/addresses/ip.ts";
import {
  countryCode,
  countryNumber,
  kmBetween,
  type LocatedPlace,
  NOWHERE,
  type PlaceSource,
} from "../../data/addresses/place_table.ts";
import { openPlaces } from "../../data/addresses/places/open_places.ts";
import { AddressEmbeddings } from "../../model/address_embeddings.ts";
import { NO_ROW } from "../../model/embedding_table.ts";
import type { LoadedCheckpoint } from "../../train/checkpoint_files.ts";
import type { BaselineForecasts } from "../baselines/baseline_forecasts.ts";
import type { PlaceOf } from "../../model/pool/forecast.ts";
import type { EvalCase } from "../cases.ts";
import {
  ClusterBootstrap,
  type Clusters,
  type Interval,
  intervalOf,
  MIN_CLUSTERS,
  NUM_RESAMPLES,
} from "../metrics/bootstrap.ts";
import { type Coverage, resampledCoverages } from "../metrics/calibration.ts";
import { crpsOfNumberMs, type ErrorMetrics, scoreErrors } from "../metrics/forecast_errors.ts";
import { type ComparedMetric, type RttComparison, rttComparisons } from "../metrics/rtt_comparison.ts";
import { meanOf, medianOf } from "../../base/sample_statistics.ts";
import { type RttForecasts, selectForecasts } from "./rtt_forecasts.ts";

/**
 * Looks up where addresses are.
 *
 * @param geo Files with places (default: the checkpoint's places). If the checkpoint knows an address's place
 *   to be wrong, only its AS is returned, as the model only uses that.
 * @returns Undefined if there are neither.
 * @throws {UserError} If a file cannot be read.
 */
export async function placeLookup(
  { config: { model }, weights }: Pick<LoadedCheckpoint, "config" | "weights">,
  geo: readonly string[] = [],
): Promise<PlaceOf | undefined> {
  const source = geo.length > 0 ? await openPlaces(geo) : undefined;
  if (!model.places && !source) return undefined;
  const embeddings = model.places ? new AddressEmbeddings(model) : undefined;
  embeddings?.load(weights);
  const known = new Map<string, LocatedPlace | undefined>();
  const lookUp = (address: Uint8Array): LocatedPlace | undefined => {
    const place = source ? locatedBy(source, address) : embeddings?.placeOf(address);
    if (!place || !embeddings?.isMisplaced(address)) return place;
    return { ...NOWHERE, asNumber: place.asNumber };
  };
  return (address) => getOrMake(known, address, () => lookUp(addressBytes(address)));
}

export function locatedBy(source: PlaceSource, address: Uint8Array): LocatedPlace | undefined {
  const found = source.locate(address);
  if (!found) return undefined;
  const { latitude, longitude, countryCode = "", asNumber = 0 } = found;
  const position = latitude === undefined || longitude === undefined ? undefined : { latitude, longitude };
  return { position, country: countryNumber(countryCode), region: 0, asNumber };
}

export const PLACE_GROUPINGS = [
  "distance",
  "source country",
  "destination country",
  "source AS",
  "destination AS",
] as const;

export interface PlaceGroup {
  by: typeof PLACE_GROUPINGS[number];
  /** Such as `500 to 1500 km`, `DE`, `AS3320`. */
  name: string;
  model: ErrorMetrics;
  coverage: Coverage[];
  /** The model's median error and CRPS against the best baseline of each. */
  comparisons: RttComparison[];
}

/** How well embeddings of places, or their coordinates, match geography. */
interface PlaceAlignment {
  /** Cells of 5 degrees, or countries. */
  of: "cells" | "countries";
  /** One minus the cosine of their embeddings, or the RTT that their coordinates estimate. */
  by: "embeddings" | "coordinates";
  /** Places with a position and with a trained embedding or coordinates. */
  numPlaces: number;
  /**
   * Spearman's rank correlation of this distance and the great-circle distance, over pairs of places: 1 if
   * nearer places are always more alike, 0 if nothing is known.
   */
  correlation: number;
  /** From resamples of the places; null with too few. */
  interval: Interval | null;
}

/** The effect of floors: no RTT is shorter than light needs between its places. */
export interface FloorEffect {
  /** All predictions with a floor, or those with more than a hundredth of their mass below it. */
  of: "all" | "cut";
  numMeasurements: number;
  /** Measured RTTs below their floor, which means that a place is wrong. */
  numBelow: number;
  /** The mean mass that was cut off; null if there are no predictions. */
  massBelow: number | null;
  /** The median error and CRPS with floors against those without. */
  comparisons: RttComparison[];
  /** With floors, then without. */
  coverage: Coverage[];
  coverageWithout: Coverage[];
}

export interface PlaceSection {
  /** Predictions of measurements with a reply, and those with a position at both ends. */
  numMeasurements: number;
  numPlaced: number;
  groups: PlaceGroup[];
  floors: FloorEffect[];
  alignments: PlaceAlignment[];
}

/** A prediction with more mass below its floor counts as cut. */
const CUT_MASS = 0.01;

/** Upper ends of the distance bands. */
const BANDS_KM = [500, 1500, 3000, 6000, 10_000, Infinity];
/** Maximum of groups per grouping, the largest first, and minimum of measurements per group. */
const MAX_GROUPS = 8;
const MIN_MEASUREMENTS = 20;
/** 1000 resamples of the pairs of this many places take a second. */
const MAX_PLACES = 150;

interface PlaceSectionOptions {
  readonly placeOf: PlaceOf;
  readonly baselines: BaselineForecasts;
  readonly clusters: Clusters;
  readonly seed: number;
}

export function evaluatePlaces(
  checkpoint: Pick<LoadedCheckpoint, "config" | "weights" | "trainingData">,
  forecasts: RttForecasts,
  cases: readonly EvalCase[],
  options: PlaceSectionOptions,
): PlaceSection {
  const { caseIndex } = forecasts;
  const answered = caseIndex.keys().toArray().filter((place) => cases[caseIndex[place]].rttMs !== null);
  const namesOf = new Map(
    answered.map((place) => [place, groupNames(cases[caseIndex[place]], options.placeOf)]),
  );
  const bootstrap = new ClusterBootstrap(caseIndex.map((i) => options.clusters.ofCase[i]), options);
  const groups = PLACE_GROUPINGS.flatMap((by, which) => {
    const places = [...Map.groupBy(answered, (place) => namesOf.get(place)?.[which])];
    const shown = places.filter(([name, each]) => name !== undefined && each.length >= MIN_MEASUREMENTS)
      .sort(([, a], [, b]) => b.length - a.length).slice(0, MAX_GROUPS);
    if (by === "distance") shown.sort(([a], [b]) => bandOrder(a) - bandOrder(b));
    return shown.map(([name = "", each]): PlaceGroup => ({
      by,
      name,
      ...errorsOf({ forecasts, cases, bootstrap, baselines: options.baselines }, each),
    }));
  });
  return {
    numMeasurements: answered.length,
    numPlaced: answered.filter((place) => namesOf.get(place)?.[0] !== undefined).length,
    groups,
    floors: floorEffects(forecasts, cases, bootstrap, answered),
    alignments: alignmentsOf(checkpoint, options.seed),
  };
}

function floorEffects(
  forecasts: RttForecasts,
  cases: readonly EvalCase[],
  bootstrap: ClusterBootstrap,
  answered: readonly number[],
): FloorEffect[] {
  const { massBelowFloor } = forecasts;
  const all = answered.filter((place) => !Number.isNaN(massBelowFloor[place]));
  const cut = all.filter((place) => massBelowFloor[place] > CUT_MASS);
  return ([["all", all], ["cut", cut]] as const).filter(([, places]) => places.length > 0).map(
    ([of, places]) => {
      const part = selectForecasts(forecasts, places);
      const measuredMs = Float64Array.from(part.caseIndex, (i) => cases[i].rttMs ?? NaN);
      const score = (predictedMs: Float64Array, crpsMs: Float64Array) => [
        scoreErrors({ predictedMs, measuredMs, crpsMs }, bootstrap, places),
      ];
      const floored = score(part.predictedMs, part.crpsMs);
      const free = score(part.predictedWithoutFloorMs, part.crpsWithoutFloorMs);
      const without = { below: part.belowWithoutFloor, upTo: part.upToWithoutFloor };
      return {
        of,
        numMeasurements: places.length,
        // An RTT below its floor has a code without mass.
        numBelow: part.upTo.filter((upTo) => upTo === 0).length,
        massBelow: meanOf(part.massBelowFloor),
        comparisons: rttComparisons(
          [null],
          { model: floored, likeliest: floored },
          new Map([["without floors", free]]),
        ).filter(({ metric }) => COMPARED.includes(metric)),
        coverage: resampledCoverages(part, bootstrap, places),
        coverageWithout: resampledCoverages(without, bootstrap, places),
      };
    },
  );
}

const COMPARED: readonly ComparedMetric[] = ["medianAbsoluteMs", "crpsMs"];

/** The names of a case's groups, one per grouping; undefined if its place is unknown. */
function groupNames({ srcAddr, dstAddr }: EvalCase, placeOf: PlaceOf): (string | undefined)[] {
  const [from, to] = [placeOf(srcAddr), placeOf(dstAddr)];
  const country = (place?: LocatedPlace) =>
    place && place.country > 0 ? countryCode(place.country) : undefined;
  const network = (place?: LocatedPlace) => place && place.asNumber > 0 ? `AS${place.asNumber}` : undefined;
  const km = kmBetween(from, to);
  return [
    Number.isNaN(km) ? undefined : bandName(km),
    country(from),
    country(to),
    network(from),
    network(to),
  ];
}

function bandName(km: number): string {
  const band = BANDS_KM.findIndex((end) => km < end);
  if (band === 0) return `below ${BANDS_KM[0]} km`;
  const first = BANDS_KM[band - 1];
  return BANDS_KM[band] === Infinity ? `from ${first} km` : `${first} to ${BANDS_KM[band]} km`;
}

function bandOrder(name = ""): number {
  return BANDS_KM.findIndex((_, band) => name === bandName(BANDS_KM[band - 1] ?? 0));
}

interface Scored {
  readonly forecasts: RttForecasts;
  readonly cases: readonly EvalCase[];
  readonly bootstrap: ClusterBootstrap;
  readonly baselines: BaselineForecasts;
}

function errorsOf(
  { forecasts, cases, bootstrap, baselines }: Scored,
  places: readonly number[],
): Pick<PlaceGroup, "model" | "coverage" | "comparisons"> {
  const part = selectForecasts(forecasts, places);
  const measuredMs = Float64Array.from(part.caseIndex, (i) => cases[i].rttMs ?? NaN);
  const score = (predictedMs: Float64Array, crpsMs?: Float64Array) =>
    scoreErrors({ predictedMs, measuredMs, crpsMs }, bootstrap, places);
  const model = score(part.predictedMs, part.crpsMs);
  const ofMethods = [...baselines.methods].map(([name, { predictedMs, distribution }]) => {
    const ofPlaces = Float64Array.from(part.caseIndex, (i) => predictedMs[i]);
    const errorsMs = [...ofPlaces.map((ms, i) => Math.abs(ms - measuredMs[i]))].filter((ms) =>
      !Number.isNaN(ms)
    );
    const crpsMs = Float64Array.from(
      part.caseIndex,
      (i, k) => distribution ? distribution.crpsMs[i] : crpsOfNumberMs(predictedMs[i], measuredMs[k]),
    );
    const scores = crpsMs.filter((ms) => !Number.isNaN(ms));
    return {
      name,
      ofPlaces,
      crpsMs,
      median: medianOf(errorsMs) ?? Infinity,
      mean: meanOf(scores) ?? Infinity,
    };
  });
  // Only the best ones by each metric are resampled.
  const best = new Set(
    (["median", "mean"] as const).flatMap((by) => ofMethods.toSorted((a, b) => a[by] - b[by]).slice(0, 1)),
  );
  const errors = new Map([...best].map(({ name, ofPlaces, crpsMs }) => [name, [score(ofPlaces, crpsMs)]]));
  return {
    model: model.metrics,
    coverage: resampledCoverages(part, bootstrap, places),
    comparisons: rttComparisons([null], { model: [model], likeliest: [model] }, errors)
      .filter(({ metric }) => COMPARED.includes(metric)),
  };
}

/** The steps of an address's path whose places are compared. */
const ALIGNED = { cells: 1, countries: 2 } as const;

/** A place: the sum of its addresses' directions from the Earth's centre, its embedding, and its node. */
interface KnownPlace {
  readonly direction: [x: number, y: number, z: number];
  readonly embedding: Float32Array;
  readonly node: number;
}

/** Alignments over the places of the training addresses; empty for a model without places. */
export function alignmentsOf(
  { config: { model }, weights, trainingData }: Pick<LoadedCheckpoint, "config" | "weights" | "trainingData">,
  seed: number,
): PlaceAlignment[] {
  if (!model.places) return [];
  const embeddings = new AddressEmbeddings(model);
  embeddings.load(weights);
  const { coordinates } = embeddings;
  const table = tensorOf(weights, "address_embed.weight", "F32");
  const addresses = Array.from(trainingData.known.addresses(), ({ bytes }) => bytes);
  return (Object.keys(ALIGNED) as (keyof typeof ALIGNED)[]).flatMap((of) => {
    const places = new Map<number, KnownPlace>();
    for (const address of addresses) {
      const row = embeddings.rowsOfPlaces(address)[ALIGNED[of]];
      const position = embeddings.placeOf(address)?.position;
      if (row === NO_ROW || !position) continue;
      const { direction } = getOrMake(places, row, (): KnownPlace => ({
        direction: [0, 0, 0],
        embedding: table.subarray(row * model.width, (row + 1) * model.width),
        node: embeddings.nodesOfPlaces(address)[ALIGNED[of]],
      }));
      const [latitude, longitude] = [position.latitude, position.longitude].map((each) =>
        each * Math.PI / 180
      );
      direction[0] += Math.cos(latitude) * Math.cos(longitude);
      direction[1] += Math.cos(latitude) * Math.sin(longitude);
      direction[2] += Math.sin(latitude);
    }
    const kinds: [by: PlaceAlignment["by"], has: (place: KnownPlace) => boolean, distance: Distance][] = [
      [
        "embeddings",
        ({ embedding }) => embedding.some((value) => value !== 0),
        (a, b) => cosineDistance(a.embedding, b.embedding),
      ],
      [
        "coordinates",
        ({ node }) => coordinates?.hasCoordinates(node) ?? false,
        (a, b) => coordinates?.estimate(a.node, b.node)?.rttMs ?? NaN,
      ],
    ];
    return kinds.flatMap(([by, has, distance]) => {
      const some = evenlySpread([...places.values()].filter(has), MAX_PLACES);
      if (some.length < MIN_CLUSTERS) return [];
      return [{ of, by, numPlaces: some.length, ...rankCorrelation(some, distance, seed) }];
    });
  });
}

type Distance = (a: KnownPlace, b: KnownPlace) => number;

/** One minus the cosine of two vectors, which orders like the angle and so like the great-circle distance. */
function cosineDistance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return aa * bb === 0 ? 1 : 1 - ab / Math.sqrt(aa * bb);
}

/**
 * Spearman's rank correlation of a distance and the great-circle distance over all pairs of places ("The
 * Proof and Measurement of Association between Two Things", American Journal of Psychology 15, 1904).
 * Resamples draw places, and so pairs of them; ranks stay those of the whole set.
 *
 * @param places At least two.
 */
function rankCorrelation(
  places: readonly KnownPlace[],
  distance: Distance,
  seed: number,
): Pick<PlaceAlignment, "correlation" | "interval"> {
  const pairs = places.flatMap((a, i) => places.slice(i + 1).map((b, k) => ({ a, b, i, j: i + 1 + k })));
  const onEarth: Distance = (a, b) => cosineDistance(a.direction, b.direction);
  const ranks = [onEarth, distance].map((of) => ranksOf(Float64Array.from(pairs, ({ a, b }) => of(a, b))));
  const correlation = (weightOf: (place: number) => number): number => {
    let [total, x, y, xx, yy, xy] = [0, 0, 0, 0, 0, 0];
    pairs.forEach(({ i, j }, k) => {
      const weight = weightOf(i) * weightOf(j);
      const [a, b] = [ranks[0][k], ranks[1][k]];
      total += weight;
      x += weight * a;
      y += weight * b;
      xx += weight * a * a;
      yy += weight * b * b;
      xy += weight * a * b;
    });
    const [ofX, ofY] = [xx - x * x / total, yy - y * y / total];
    // Undefined if all embeddings are alike.
    return Math.min(ofX, ofY) > 1e-9 * total ? (xy - x * y / total) / Math.sqrt(ofX * ofY) : NaN;
  };
  const random = new RandomStream(seed, "evaluate/alignment");
  const replicates = Float64Array.from({ length: NUM_RESAMPLES }, () => {
    const counts = new Uint16Array(places.length);
    for (let draw = 0; draw < places.length; draw++) counts[random.below(places.length)]++;
    return correlation((place) => counts[place]);
  });
  const found = correlation(() => 1);
  return { correlation: Number.isNaN(found) ? 0 : found, interval: intervalOf(replicates) };
}

/** Ranks scaled to 0 to 1; equal values share their mean rank. */
function ranksOf(values: Float64Array): Float64Array {
  const order = values.keys().toArray().sort((a, b) => values[a] - values[b]);
  const ranks = new Float64Array(values.length);
  for (let first = 0, end = 0; first < order.length; first = end) {
    while (end < order.length && values[order[end]] === values[order[first]]) end++;
    for (let i = first; i < end; i++) {
      ranks[order[i]] = (first + end - 1) / 2 / Math.max(1, values.length - 1);
    }
  }
  return ranks;
}
