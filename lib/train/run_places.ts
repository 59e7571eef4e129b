/**
 * The places of a run: the table for its checkpoints, from the files of `--geo`, and the addresses of the
 * training data whose place is impossible because an RTT from there is faster than light in fibre.
 *
 * @module
 */
import type { ProbeRowSource } from "../data/loader/row_source.ts";
import { ensure, UserError } from "../base/errors.ts";
import { basename } from "@std/path";
import { PLACE_TABLE } from "../model/model_config.ts";
import type { LoadedCheckpoint } from "./checkpoint_files.ts";
import { parseAddress } from "../data/addresses/ip.ts";
import { addressNumber, distanceKm, type LocatedPlace, PlaceTable } from "../data/addresses/place_table.ts";
import { lightFloorMs } from "../data/addresses/light_floor.ts";
import { openPlaces } from "../data/addresses/places/open_places.ts";
import { formatBytes, formatCount, formatSeconds } from "../base/text.ts";

const MAX_TABLE_BYTES = 12 * 2 ** 20;
const MAX_PAIRS = 2 ** 22;
/** How many of an address's fastest pairs are compared with each other. */
const MAX_COMPARED = 64;

/** An address that is not where the databases say. */
interface MisplacedAddress {
  readonly address: string;
  /** `anycast`: two RTTs are too short for any single place; `misplaced`: only for the given place. */
  readonly kind: "misplaced" | "anycast";
  /** In degrees, according to the databases. */
  readonly latitude: number;
  readonly longitude: number;
  /** Number of pairs whose RTT is too short, among the pairs whose endpoints both have a place. */
  readonly tooFast: number;
  readonly pairs: number;
  /** The pair whose RTT is too short by the largest amount. */
  readonly worst: { readonly other: string; readonly rttMs: number; readonly distanceKm: number };
}

export interface RunPlaces {
  /** See `PlaceTable.encode`. */
  readonly table: Uint8Array<ArrayBuffer>;
  /** Number of addresses in the training data, and how many of them have a position. */
  readonly numAddresses: number;
  readonly numLocated: number;
  readonly misplaced: readonly MisplacedAddress[];
}

/**
 * Reads files of places and compares them with the training data.
 *
 * @throws {UserError} If a file cannot be read.
 * @throws {FormatError} If it is damaged or has an unknown format.
 */
export async function openRunPlaces(
  paths: readonly string[],
  train: ProbeRowSource,
  onLog: (line: string) => void,
): Promise<RunPlaces> {
  const startMs = performance.now();
  const table = await readPlaceTable(paths, onLog);
  const places = PlaceTable.decode(table, "the table of places");
  const found = findMisplaced(places, train);
  const { sites, networks } = places.numRanges;
  const anycast = found.misplaced.filter(({ kind }) => kind === "anycast").length;
  onLog(
    `${formatCount(sites)} ranges of places and ${formatCount(networks)} of networks in ` +
      `${formatBytes(table.length)}; ${formatCount(found.numLocated)} of ${
        formatCount(found.numAddresses)
      } ` +
      `addresses have a place, ${found.misplaced.length} of them a wrong one (${anycast} anycast); done in ${
        formatSeconds((performance.now() - startMs) / 1000)
      }`,
  );
  return { table, ...found };
}

/** Builds a checkpoint's table from files of places. @throws As {@link openRunPlaces}. */
async function readPlaceTable(
  paths: readonly string[],
  onLog: (line: string) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  onLog(
    `reading where addresses are from ${paths.length} file${paths.length === 1 ? "" : "s"} (up to a minute)`,
  );
  const source = await openPlaces(paths);
  const onBlocks = (count: number) => onLog(`  looked up ${formatCount(count)} ranges of addresses`);
  return PlaceTable.of(source, onBlocks).within(MAX_TABLE_BYTES);
}

/**
 * Replaces a checkpoint's knowledge of places by the given files.
 *
 * @param paths The files of `--geo`; without any, nothing changes.
 * @throws {UserError} If the checkpoint was trained without places, or a file cannot be read.
 * @throws {FormatError} If a file is damaged or has an unknown format.
 */
export async function withGeo(
  checkpoint: LoadedCheckpoint,
  paths: readonly string[],
  onLog: (line: string) => void,
): Promise<LoadedCheckpoint> {
  if (paths.length === 0) return checkpoint;
  if (!checkpoint.config.model.places) {
    throw new UserError(
      `Cannot use --geo ${paths[0]}: the model in ${checkpoint.directory} has no places; use one that was ` +
        "trained with --geo",
    );
  }
  return withPlaceTable(checkpoint, await readPlaceTable(paths, onLog), paths.map((path) => basename(path)));
}

/** Replaces a checkpoint's table of places. @param sources Names of its files (default: unchanged). */
export function withPlaceTable(
  checkpoint: LoadedCheckpoint,
  table: Uint8Array,
  sources?: readonly string[],
): LoadedCheckpoint {
  const { config, weights, state } = checkpoint;
  const { places } = config.model;
  ensure(places, "a model with places");
  const known = { ...places, tableSize: table.length / 3, ...(sources && { sources: [...sources] }) };
  const changed = { ...config, model: { ...config.model, places: known } };
  return {
    ...checkpoint,
    config: changed,
    state: { ...state, config: changed },
    weights: new Map([...weights, [PLACE_TABLE, table]]),
  };
}

interface Node {
  readonly address: string;
  readonly position: NonNullable<LocatedPlace["position"]> | undefined;
  readonly pairs: Pair[];
  isMisplaced: boolean;
}

interface Pair {
  readonly a: Node;
  readonly b: Node;
  readonly distanceKm: number;
  readonly floorMs: number;
  leastRttMs: number;
}

/**
 * Finds the addresses of the training data whose place is impossible. It greedily removes the address with
 * the most too-fast pairs until no such pair is left, to approximate the smallest such set.
 */
function findMisplaced(
  table: PlaceTable,
  source: ProbeRowSource,
): Omit<RunPlaces, "table"> {
  const nodes = new Map<string, Node>();
  const pairs = leastRtts(table, source, nodes);
  const { stepDegrees } = table;
  const isTooFast = ({ floorMs, leastRttMs }: Pair) => leastRttMs < floorMs;
  const open = new Map<Node, number>();
  for (const pair of pairs) {
    if (isTooFast(pair)) { for (const node of [pair.a, pair.b]) open.set(node, (open.get(node) ?? 0) + 1); }
  }
  const tooFast = new Map(open);
  while (open.size > 0) {
    const [node] = [...open].reduce((best, each) => isWorse(each, best) ? each : best);
    node.isMisplaced = true;
    open.delete(node);
    for (const pair of node.pairs.filter(isTooFast)) {
      const other = pair.a === node ? pair.b : pair.a;
      const left = (open.get(other) ?? 0) - 1;
      if (left > 0) open.set(other, left);
      else open.delete(other);
    }
  }
  const all = [...nodes.values()];
  const misplaced = all.filter((node) => node.isMisplaced).map((node): MisplacedAddress => {
    const worst = node.pairs.filter(isTooFast).reduce((a, b) => excessOf(b) > excessOf(a) ? b : a);
    return {
      address: node.address,
      kind: isAnycast(node, stepDegrees) ? "anycast" : "misplaced",
      latitude: node.position?.latitude ?? NaN,
      longitude: node.position?.longitude ?? NaN,
      tooFast: tooFast.get(node) ?? 0,
      pairs: node.pairs.length,
      worst: {
        other: (worst.a === node ? worst.b : worst.a).address,
        rttMs: worst.leastRttMs,
        distanceKm: Math.round(worst.distanceKm),
      },
    };
  });
  return {
    numAddresses: all.length,
    numLocated: all.filter(({ position }) => position).length,
    misplaced: misplaced.sort((a, b) => b.tooFast - a.tooFast || (a.address < b.address ? -1 : 1)),
  };
}

/** Finds the lowest RTT of each pair whose endpoints have positions. @param nodes Receives all addresses. */
function leastRtts(table: PlaceTable, source: ProbeRowSource, nodes: Map<string, Node>): Pair[] {
  const pairs = new Map<Node, Map<Node, Pair>>();
  const all: Pair[] = [];
  const nodeOf = (text: string): Node | undefined => {
    const known = nodes.get(text);
    if (known) return known;
    const address = parseAddress(text);
    if (!address) return undefined;
    const { position } = table.locate(addressNumber(address), address.length === 4 ? 4 : 16);
    const node: Node = { address: text, position, pairs: [], isMisplaced: false };
    nodes.set(text, node);
    return node;
  };
  for (let index = 0; index < source.numRows; index++) {
    const { srcAddrs, dstAddrs, srcIndex, dstIndex, rttMs } = source.row(index);
    const [from, to] = [srcAddrs, dstAddrs].map((texts) => texts.map(nodeOf));
    srcIndex.forEach((src, i) => {
      const [a, b] = [from[src], to[dstIndex[i]]].sort((x, y) =>
        (x?.address ?? "") < (y?.address ?? "") ? -1 : 1
      );
      if (!a?.position || !b?.position || a === b || rttMs[i] < 0) return;
      const ofA = pairs.get(a) ?? new Map<Node, Pair>();
      pairs.set(a, ofA);
      const known = ofA.get(b);
      if (known) {
        known.leastRttMs = Math.min(known.leastRttMs, rttMs[i]);
      } else if (all.length < MAX_PAIRS) {
        const floorMs = lightFloorMs(a.position, b.position, table.stepDegrees);
        const pair = { a, b, distanceKm: distanceKm(a.position, b.position), floorMs, leastRttMs: rttMs[i] };
        ofA.set(b, pair);
        for (const node of [a, b]) node.pairs.push(pair);
        all.push(pair);
      }
    });
  }
  return all;
}

/** Whether a node has more too-fast pairs or, in a tie, a larger share of them; then by address. */
function isWorse([a, ofA]: [Node, number], [b, ofB]: [Node, number]): boolean {
  if (ofA !== ofB) return ofA > ofB;
  if (a.pairs.length !== b.pairs.length) return a.pairs.length < b.pairs.length;
  return a.address < b.address;
}

/** By how much a pair's RTT is too short for light, in ms. */
function excessOf({ floorMs, leastRttMs }: Pair): number {
  return floorMs - leastRttMs;
}

/**
 * Whether no single place explains the RTTs of an address: two peers are farther apart than light travels in
 * both RTTs together.
 *
 * Source: Cicalese et al., "A Fistful of Pings: Accurate and Lightweight Anycast Enumeration and
 * Geolocation", INFOCOM 2015.
 */
function isAnycast(node: Node, stepDegrees: number): boolean {
  const fastest = node.pairs.map(({ a, b, leastRttMs }) => ({ end: a === node ? b : a, leastRttMs }))
    .filter(({ end }) => !end.isMisplaced)
    .sort((a, b) => a.leastRttMs - b.leastRttMs).slice(0, MAX_COMPARED);
  return fastest.some((first, i) =>
    fastest.slice(i + 1).some((second) =>
      first.end.position && second.end.position &&
      first.leastRttMs + second.leastRttMs <
        lightFloorMs(first.end.position, second.end.position, stepDegrees)
    )
  );
}
