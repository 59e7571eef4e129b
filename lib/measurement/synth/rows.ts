/**
 * The measurements of a synthetic Internet, in order of time: like Atlas' built-in measurements, every probe measures
 * the same destinations again and again.
 *
 * Each (probe, destination) pair has its place in a round, and rounds repeat. Row i is made from i alone, so any
 * number of rows streams in any pieces.
 *
 * @module
 */
import { RandomStream } from "../../random/philox.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "../batch.ts";
import { type PairLaw, pairLaw, type SyntheticTruth } from "./truth.ts";
import type { World, WorldHost } from "./world.ts";

const PACKETS = 3; // of one measurement, as Atlas sends them
const PACKET_BYTES = 64;
/** How much likelier a destination of the probe's own region is; set so that the median RTT is about 50 ms. */
const SAME_REGION_WEIGHT = 6;

/** Which pair is measured at which place of a round. */
export interface Schedule {
  /** Index of the probe's and the destination's host, per place of the round. */
  src: Int32Array;
  dst: Int32Array;
}

/**
 * Chooses the destinations of every probe.
 *
 * @param world The world.
 * @param numRows How many rows there will be: the more of them, the more destinations a probe has.
 */
export function makeSchedule(world: World, numRows: number): Schedule {
  const { hosts, options } = world;
  const probes = hosts.flatMap(({ role }, index) => role === "probe" ? [index] : []);
  const numWanted = Math.max(1, Math.round(Math.sqrt(numRows / probes.length) / 2));
  const pairs: [number, number][] = [];
  for (const probe of probes) {
    for (const destination of chooseDestinations(world, probe, numWanted)) pairs.push([probe, destination]);
  }
  new RandomStream(options.seed, "synth/round").shuffle(pairs);
  return { src: Int32Array.from(pairs, ([src]) => src), dst: Int32Array.from(pairs, ([, dst]) => dst) };
}

/** Draws the destinations of a probe: of its IP version, those of its own region the more likely. */
function chooseDestinations({ hosts, systems, options }: World, probe: number, numWanted: number): number[] {
  const random = new RandomStream(options.seed, "synth/schedule", probe);
  const { ipVersion, system } = hosts[probe];
  const { region } = systems[system];
  // Sampling without replacement in proportion to weights: Efraimidis and Spirakis, Inf. Process. Lett. 97, 2006.
  const keyed = hosts.flatMap((host, index) => {
    if (host.role !== "destination" || host.ipVersion !== ipVersion) return [];
    const weight = systems[host.system].region === region ? SAME_REGION_WEIGHT : 1;
    return [{ index, key: random.exponential() / weight }];
  });
  return keyed.sort((a, b) => a.key - b.key).slice(0, numWanted).map(({ index }) => index);
}

/** What is measured at a place of the round. */
interface Place {
  src: WorldHost;
  dst: WorldHost;
  pair: PairLaw;
}

/** Makes the rows. */
export class RowGenerator {
  readonly #truth: SyntheticTruth;
  readonly #schedule: Schedule;
  readonly #random: RandomStream;
  /** The places of the round, each made when it is first needed. */
  readonly #places: (Place | undefined)[];

  /** @param truth The world. @param numRows How many rows the whole set has. */
  constructor(truth: SyntheticTruth, readonly numRows: number) {
    this.#truth = truth;
    this.#schedule = makeSchedule(truth.world, numRows);
    this.#random = new RandomStream(truth.world.options.seed, "synth/row");
    this.#places = Array.from(this.#schedule.src, () => undefined);
  }

  /** Rows `from` to `end - 1`, sorted by time. */
  batch(from: number, end: number): MeasurementBatch {
    const numRows = end - from;
    const batch = {
      numRows,
      eventTimeUs: new Float64Array(numRows),
      srcAddr: new Array<string>(numRows),
      dstAddr: new Array<string>(numRows),
      ipVersion: new Uint8Array(numRows),
      rttMs: new Float64Array(numRows),
      msmId: new Float64Array(numRows),
      prbId: new Float64Array(numRows),
      sizeBytes: new Float64Array(numRows).fill(PACKET_BYTES),
      packetErrorCount: new Float64Array(numRows),
    };
    for (let at = 0; at < numRows; at++) this.#fill(batch, at, from + at);
    return batch;
  }

  #fill(batch: Required<MeasurementBatch>, at: number, row: number): void {
    const { startTimeS, endTimeS } = this.#truth.world.options;
    const random = this.#random;
    random.restart(row >>> 0, Math.floor(row / 2 ** 32));
    const { src, dst, pair } = this.#place(row % this.#places.length);
    const timeS = Math.floor(startTimeS + (endTimeS - startTimeS) * (row + random.float64()) / this.numRows);
    const law = pair.at(timeS);
    const rttMs = law.sample(random);
    batch.eventTimeUs[at] = timeS * 1e6;
    batch.srcAddr[at] = src.address;
    batch.dstAddr[at] = dst.address;
    batch.ipVersion[at] = src.ipVersion;
    batch.rttMs[at] = rttMs ?? FAILED_RTT_MS;
    batch.msmId[at] = dst.id;
    batch.prbId[at] = src.id;
    batch.packetErrorCount[at] = rttMs === undefined ? PACKETS : random.float64() < 2 * law.pFailed ? 1 : 0;
  }

  #place(index: number): Place {
    const known = this.#places[index];
    if (known) return known;
    const { hosts } = this.#truth.world;
    const [src, dst] = [hosts[this.#schedule.src[index]], hosts[this.#schedule.dst[index]]];
    return this.#places[index] = { src, dst, pair: pairLaw(this.#truth.world, src, dst) };
  }
}
