/**
 * The RTTs from one source to each country, and to each grid cell within a country. Several prefixes
 * represent a place, weighted as in `PlaceIndex`. The model draws an address in each, as for `query rtt`.
 *
 * @module
 */
import {
  countryName,
  PlaceIndex,
  type PlacePrefix,
  type PlacePrefixes,
} from "../../data/addresses/place_index.ts";
import { type IpPrefix, isPlace } from "../../data/addresses/ip_prefix.ts";
import { type BasisKind, basisKind } from "../../data/addresses/known_addresses.ts";
import {
  addressNumber,
  cellOf,
  countryCode,
  middleOfCell,
  type Site,
} from "../../data/addresses/place_table.ts";
import { getOrMake } from "../../base/collections.ts";
import { UserError } from "../../base/errors.ts";
import { different, tablesOf } from "../destinations/source_prior.ts";
import type { PingModel } from "../ping_model.ts";
import type { RttQuery } from "../query_tokens.ts";
import { drawDestinations, drawSources } from "./prefix_query.ts";
import { parseEnds } from "./rtt_question.ts";
import { RttArrays, RttDistribution } from "./rtt_distribution.ts";

/** The places of a map: whole countries, or cells within them. */
export type MapLevel = "country" | "cell";

/** Cells are centred on multiples of this. */
const MAP_CELL_DEGREES = 2.5;
/** Maximum number of prefixes that represent a place. */
const MAX_PREFIXES: Readonly<Record<MapLevel, number>> = { country: 8, cell: 2 };
/** Number of addresses drawn if the source is a prefix or a place. */
const NUM_SOURCES = 4;
/** Maximum probability spread evenly within first bytes, whose RTTs differ by up to 13 %. */
const MAX_SPREAD_MASS = 0.05;
/** Pairs computed together: two of the decoder's largest groups of whole distributions. */
const PAIRS_PER_PART = 124;

/** A place of a map and the RTT to it. */
export interface MapRtt {
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  /** The country in English, or the cell's city with the most networks, if one is known. */
  readonly name: string;
  /** Degrees north: the centre of the cell, or where most of the country's networks are. */
  readonly latitude: number;
  /** Degrees east. */
  readonly longitude: number;
  /** Size of the cell; null for a whole country. */
  readonly cell_degrees: number | null;
  readonly median_ms: number;
  /** 5 % of the replies are faster. */
  readonly low_ms: number;
  /** 5 % of the replies are slower. */
  readonly high_ms: number;
  /** P(no reply). */
  readonly p_failed: number;
  /** Number of measured addresses in the place. */
  readonly known_addresses: number;
  /** An estimate if both the source and addresses in the place were measured, otherwise a guess. */
  readonly basis: BasisKind;
}

interface MapArea extends
  Pick<
    MapRtt,
    "country" | "name" | "latitude" | "longitude" | "cell_degrees" | "known_addresses"
  > {
  /** Prefixes that represent it. */
  readonly prefixes: readonly PlacePrefix[];
}

/** The time of a map, and earlier measurements, oldest first. */
type MapMoment = Pick<RttQuery, "timeS" | "context">;

interface MapOrigin {
  /** Addresses that represent it, equally weighted and of one IP version. */
  readonly sources: readonly Uint8Array[];
  readonly asked: MapMoment;
  readonly isPlace: boolean;
  /** Position of the first address, if the model knows it. */
  readonly position: { readonly latitude: number; readonly longitude: number } | undefined;
}

/** Maps of a model that knows where addresses are. */
export class RttMaps {
  readonly #index: PlaceIndex;
  readonly #areas = new Map<string, readonly MapArea[]>();

  /** @throws {UserError} If the model does not know where addresses are. */
  constructor(readonly model: PingModel) {
    if (!model.places) {
      throw new UserError(
        "Cannot draw a map: the model does not know where addresses are; use one trained with --geo",
      );
    }
    this.#index = model.places;
  }

  /** Reads the source of a map: an address, a prefix or a place. @throws {UserError} If it is invalid. */
  source(text: string): IpPrefix {
    return parseEnds(text, text, this.#index).source;
  }

  /** Draws addresses that represent a source. @param asked Defaults to any time and no context. */
  async origin(source: IpPrefix, asked: MapMoment = { timeS: null, context: [] }): Promise<MapOrigin> {
    const drawn = await drawSources(this.model, { source, ...asked }, { numDraws: NUM_SOURCES, seed: 0 });
    const sources = drawn.map(({ source }) => source);
    const { latitude, longitude } = this.#index.describe(sources[0]);
    const isKnown = latitude !== undefined && longitude !== undefined;
    return {
      sources,
      asked,
      isPlace: isPlace(source),
      position: isKnown ? { latitude, longitude } : undefined,
    };
  }

  /**
   * The places of a map for sources of one IP version, those with the most networks first.
   *
   * @throws {UserError} If there are none.
   */
  areas(level: MapLevel, source: IpPrefix): readonly MapArea[] {
    const length = source.bytes.length === 4 ? 4 : 16;
    const areas = getOrMake(this.#areas, `${level} ${length}`, () => this.#findAreas(level, length));
    if (areas.length > 0) return areas;
    const version = length === 4 ? 4 : 6;
    throw new UserError(`Cannot draw a map: the model does not know the place of any IPv${version} address`);
  }

  #findAreas(level: MapLevel, length: 4 | 16): MapArea[] {
    const { table } = this.#index;
    const numColumns = 360 / MAP_CELL_DEGREES;
    const numCells = numColumns * (180 / MAP_CELL_DEGREES + 1);
    const keyOf = ({ country, position }: Site) => {
      if (country === 0 || !position) return undefined;
      const [row, column] = cellOf(position, MAP_CELL_DEGREES);
      return country * numCells + row * numColumns + column;
    };
    const placeOf = (key: number) => ({
      country: countryCode(Math.floor(key / numCells)),
      ...middleOfCell(Math.floor(key % numCells / numColumns), key % numColumns, MAP_CELL_DEGREES),
    });
    const byWeight = (groups: Map<number, PlacePrefixes>) =>
      [...groups].sort(([, a], [, b]) => b.weight - a.weight);
    const cells = byWeight(this.#index.groups(keyOf, MAX_PREFIXES.cell, length));
    const known = this.#countKnown(level === "cell" ? keyOf : ({ country }) => country || undefined, length);
    if (level === "cell") {
      const cities = new Map<number, string>();
      for (const { name, site } of table.names.cities) {
        const key = keyOf(table.sites[site]);
        if (key !== undefined && !cities.has(key)) cities.set(key, name);
      }
      return cells.map(([key, { prefixes }]) => {
        const place = placeOf(key);
        const name = cities.get(key) ?? countryName(place.country);
        const known_addresses = known.get(key) ?? 0;
        return { ...place, name, cell_degrees: MAP_CELL_DEGREES, known_addresses, prefixes };
      });
    }
    const largest = new Map(cells.toReversed().map(([key]) => [Math.floor(key / numCells), placeOf(key)]));
    const countries = this.#index.groups(({ country }) => country || undefined, MAX_PREFIXES.country, length);
    return byWeight(countries).flatMap(([country, { prefixes }]) => {
      const place = largest.get(country);
      if (!place) return [];
      const known_addresses = known.get(country) ?? 0;
      return [{ ...place, name: countryName(place.country), cell_degrees: null, known_addresses, prefixes }];
    });
  }

  /** Counts measured addresses by group of sites, ignoring addresses that are not where the databases say. */
  #countKnown(keyOf: (site: Site) => number | undefined, length: 4 | 16): ReadonlyMap<number, number> {
    const { table } = this.#index;
    const counts = new Map<number, number>();
    for (
      const bytes of different(
        tablesOf(this.model.trainingData).flatMap((known) =>
          Array.from(known.addresses(), ({ bytes }) => bytes)
        ),
      )
    ) {
      if (bytes.length !== length || this.model.isMisplaced(bytes)) continue;
      const key = keyOf(table.locate(addressNumber(bytes), length));
      if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }

  /** Yields RTTs in order as they are computed. @param areas With addresses of the origin's IP version. */
  async *rtts(areas: readonly MapArea[], { sources, asked, isPlace }: MapOrigin): AsyncGenerator<MapRtt> {
    const tables = tablesOf(this.model.trainingData);
    const src = sources.filter((source) => tables.some((known) => known.indexOf(source) >= 0)).length;
    let part: AskedPair[] = [];
    for (const [i, area] of areas.entries()) {
      part.push(...pairsOf(area, sources));
      if (part.length < PAIRS_PER_PART && i < areas.length - 1) continue;
      for (const place of await rttsOf(this.model, part, { ...asked, isOfPlaces: isPlace })) {
        yield { ...place, basis: basisKind({ pair: 0, src, dst: place.known_addresses }) };
      }
      part = [];
    }
  }
}

/** A pair that represents a place. */
interface AskedPair extends Omit<PlacePrefix, "share"> {
  readonly area: MapArea;
  readonly source: Uint8Array;
  /** Index among the pairs of the place. */
  readonly index: number;
  /** Weights of a place sum to 1. */
  readonly weight: number;
  /** Whether it is the last pair of its place. */
  readonly isLast: boolean;
}

/** Pairs prefixes of the place with sources so that each occurs at least once. */
function pairsOf(area: MapArea, sources: readonly Uint8Array[]): AskedPair[] {
  const { prefixes } = area;
  const rounds = Math.ceil(sources.length / prefixes.length);
  const count = rounds * prefixes.length;
  return Array.from({ length: count }, (_, index) => {
    const { prefix, share } = prefixes[index % prefixes.length];
    const source = sources[index % sources.length];
    return { area, source, prefix, index, weight: share / rounds, isLast: index === count - 1 };
  });
}

async function queriesOf(
  model: PingModel,
  pairs: readonly AskedPair[],
  asked: MapMoment & Pick<RttQuery, "isOfPlaces">,
): Promise<RttQuery[]> {
  const queries: RttQuery[] = [];
  for (const source of new Set(pairs.map(({ source }) => source))) {
    const ofSource = [...pairs.keys()].filter((i) => pairs[i].source === source);
    const drawn = await drawDestinations(model, { source, ...asked }, ofSource.map((i) => pairs[i]), 0);
    ofSource.forEach((i, at) => queries[i] = { source, destination: drawn[at], ...asked });
  }
  return queries;
}

async function rttsOf(
  model: PingModel,
  pairs: readonly AskedPair[],
  asked: MapMoment & Pick<RttQuery, "isOfPlaces">,
): Promise<Omit<MapRtt, "basis">[]> {
  const answers: Omit<MapRtt, "basis">[] = [];
  // Weighted sums for the current place: probabilities of codes and of no reply.
  const { probabilities, cumulative } = new RttArrays();
  let [pReply, pFailed] = [0, 0];
  await model.likelyRttDistributions(
    await queriesOf(model, pairs, asked),
    (distribution, i) => {
      const { area: { prefixes: _, known_addresses, ...place }, weight, isLast } = pairs[i];
      // P(no reply) may round to 1; a place with only such addresses still needs weights.
      const share = weight * Math.max(1 - distribution.pFailed, Number.EPSILON);
      pReply += share;
      pFailed += weight * distribution.pFailed;
      const own = distribution.probabilities;
      for (let code = 0; code < own.length; code++) probabilities[code] += share * own[code];
      if (!isLast) return;
      for (let code = 0; code < probabilities.length; code++) probabilities[code] /= pReply;
      const mixture = new RttDistribution(pFailed, probabilities, 1, { cumulative });
      const [low_ms, median_ms, high_ms] = [0.05, 0.5, 0.95].map((q) => mixture.quantileMs(q));
      answers.push({ ...place, median_ms, low_ms, high_ms, p_failed: pFailed, known_addresses });
      probabilities.fill(0);
      [pReply, pFailed] = [0, 0];
    },
    { maxSpreadMass: MAX_SPREAD_MASS, codes: pairs.map(() => null) },
  );
  return answers;
}
