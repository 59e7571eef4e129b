/** The shortest RTTs that a model remembers, for locating addresses. @module */
import { UserError } from "../../base/errors.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import {
  type LeastRttNode,
  LeastRtts,
  type MisplacedAddress,
  otherEnd,
} from "../../data/addresses/least_rtts.ts";
import type { PlaceIndex } from "../../data/addresses/place_index.ts";
import { prefixContains, prefixOfAddress } from "../../data/addresses/ip_prefix.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import type { PingModel } from "../ping_model.ts";
import { type Landmark, Locator } from "./locate.ts";

/** The addresses of a model and of a question, with the shortest RTT of each pair. */
export interface LocatedRtts {
  readonly rtts: LeastRtts;
  readonly misplaced: readonly MisplacedAddress[];
  locator(): Locator;
}

interface Remembered extends LocatedRtts {
  readonly places: PlaceIndex;
  readonly data: unknown;
  readonly pairs: readonly (readonly [source: string, destination: string, rttMs: number])[];
}
const ofModels = new WeakMap<PingModel, Remembered>();
/** Pairs that are read before other work gets its turn. */
const AT_ONCE = 4096;

/**
 * @param given Further measurements.
 * @throws {UserError} If the model has no places, or there are no RTTs.
 */
export async function locatedRtts(
  model: PingModel,
  given: readonly TokenMeasurement[],
  onProgress: (done: number) => void,
): Promise<LocatedRtts> {
  const { places, trainingData } = model;
  if (!places || places.table.numSites === 0) {
    throw new UserError({
      found: "found a model without places",
      expected: "one that was trained with --geo",
    });
  }
  let remembered = ofModels.get(model);
  if (remembered?.places !== places || remembered.data !== trainingData) {
    const pairs = await rememberedPairs(model, onProgress);
    remembered = { places, data: trainingData, pairs, ...of(places, pairs) };
    ofModels.set(model, remembered);
  }
  const further = given.flatMap(({ source, destination, rttCode }) =>
    rttCode === null
      ? []
      : [[formatAddress(source), formatAddress(destination), decodeRttCode(rttCode)] as const]
  );
  if (remembered.pairs.length + further.length === 0) {
    throw new UserError({
      found: "found a model that remembers no RTTs",
      expected: "one with a pool, or measurements in context",
    });
  }
  return further.length === 0 ? remembered : of(places, [...remembered.pairs, ...further]);
}

function of(places: PlaceIndex, pairs: Remembered["pairs"]): LocatedRtts {
  const rtts = new LeastRtts(places.table);
  for (const [source, destination, rttMs] of pairs) rtts.add(source, destination, rttMs);
  const misplaced = rtts.misplaced();
  let locator: Locator | undefined;
  return { rtts, misplaced, locator: () => locator ??= new Locator(rtts) };
}

async function rememberedPairs(
  model: PingModel,
  onProgress: (done: number) => void,
): Promise<Remembered["pairs"]> {
  const { known, adaptation } = model.trainingData;
  const found: (readonly [string, string, number])[] = [];
  let done = 0;
  for (const table of adaptation ? [known, adaptation.known] : [known]) {
    const ends = Array.from(table.addresses(), ({ bytes }) => ({ bytes, length: 8 * bytes.length }));
    const texts = ends.map(({ bytes }) => formatAddress(bytes));
    for (const [source, destination] of table.pairs()) {
      if (done++ % AT_ONCE === 0) {
        onProgress(done);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      const pair = model.measured({ source: ends[source], destination: ends[destination] });
      const least = pair?.codes.reduce((least, code) => code > 0 ? Math.min(least, code) : least, Infinity);
      if (least === undefined || least === Infinity) continue;
      found.push([texts[source], texts[destination], decodeRttCode(least)]);
    }
  }
  return found;
}

/** The measured addresses of the same network: /24 of IPv4, /48 of IPv6. */
const NETWORK_LENGTH = { 4: 24, 16: 48 } as const;

export interface Landmarks {
  readonly landmarks: readonly Landmark[];
  /** How many of them are those of neighbours. */
  readonly numOfNeighbours: number;
  /** Number of measured addresses that are not landmarks because their own place is impossible. */
  readonly numExcluded: number;
  /** The address, if it was measured, and its neighbours that were. */
  readonly nodes: ReadonlySet<LeastRttNode>;
}

/**
 * The landmarks of an address; those that it lacks are those of measured addresses in its network.
 *
 * @param options `withNeighbours`: whether to add the latter (true).
 */
export function landmarksOf(
  { rtts }: LocatedRtts,
  bytes: Uint8Array,
  { withNeighbours = true } = {},
): Landmarks {
  const network = prefixOfAddress(bytes, NETWORK_LENGTH[bytes.length === 4 ? 4 : 16]);
  const own = rtts.node(formatAddress(bytes));
  const neighbours = [...rtts.nodes()].filter((node) => {
    const other = addressBytes(node.address);
    return node !== own && other.length === bytes.length && prefixContains(network, other);
  });
  const found = new Map<LeastRttNode, Landmark>();
  let numOwn = 0;
  const measured = withNeighbours ? neighbours : [];
  for (const node of own ? [own, ...measured] : measured) {
    const further = new Map<LeastRttNode, Landmark>();
    for (const pair of node.pairs) {
      const end = otherEnd(pair, node);
      if (!isLandmark(end) || found.has(end)) continue;
      const rttMs = Math.min(pair.rttMs, further.get(end)?.rttMs ?? Infinity);
      further.set(end, { node: end, rttMs });
    }
    for (const [end, landmark] of further) found.set(end, landmark);
    if (node === own) numOwn = found.size;
  }
  const numExcluded = own?.pairs.filter((pair) => otherEnd(pair, own).isMisplaced).length ?? 0;
  const nodes = new Set(own ? [own, ...neighbours] : neighbours);
  return { landmarks: [...found.values()], numOfNeighbours: found.size - numOwn, numExcluded, nodes };
}

function isLandmark(node: LeastRttNode): node is Landmark["node"] {
  return node.position !== undefined && !node.isMisplaced;
}
