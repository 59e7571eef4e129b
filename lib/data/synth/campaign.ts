/**
 * A measurement campaign in a synthetic Internet, as arrays of numbers from which rows are made. Threads
 * share the arrays, and a row takes little memory and time.
 *
 * A pair of a probe and a destination takes 56 bytes. There are about sqrt(rows x probes) / 2 pairs, at most
 * one for each two hosts; nothing else grows with the number of rows.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { type EncodedRowGroup, NULL_INDEX } from "../../io/parquet/writer.ts";
import { WorkerPool } from "../../io/threads/worker_pool.ts";
import { FAILED_RTT_MS } from "../formats/batch.ts";
import { encodeRowGroup, type OptionalColumn, ROW_GROUP_ROWS } from "../measurement_files/parquet_writer.ts";
import { latencyAt } from "./latency_model.ts";
import { pathsOf, type World, type WorldHost } from "./world.ts";

/** Plain data that can be posted to another thread. The large arrays are in shared memory. */
export interface Campaign {
  seed: number;
  numRows: number;
  /** Start and end, seconds since 1970. */
  startTimeS: number;
  endTimeS: number;
  hosts: readonly WorldHost[];
  /** Per pair, in the order of a round. */
  pairs: {
    /** Host indexes. */
    src: Int32Array;
    dst: Int32Array;
    /** Seconds since 1970 at which the route changes; Infinity for never. */
    changeTimeS: Float64Array;
    /** The path's parameters before the change (`PathNumbers` of latency_model.ts). */
    baseMs: Float64Array;
    jitterMs: Float64Array;
    changedBaseMs: Float64Array;
    changedJitterMs: Float64Array;
    /** Parameters that do not change. */
    loss: Float64Array;
  };
}

export function makeCampaign(world: World, numRows: number): Campaign {
  const { seed, startTimeS, endTimeS } = world.options;
  return { seed, numRows, startTimeS, endTimeS, hosts: world.hosts, pairs: makePairs(world, numRows) };
}

function makePairs(world: World, numRows: number): Campaign["pairs"] {
  const { src, dst } = makeSchedule(world, numRows);
  const numbers = () => new Float64Array(new SharedArrayBuffer(8 * src.length));
  const pairs = {
    src,
    dst,
    changeTimeS: numbers(),
    baseMs: numbers(),
    jitterMs: numbers(),
    changedBaseMs: numbers(),
    changedJitterMs: numbers(),
    loss: numbers(),
  };
  for (let i = 0; i < src.length; i++) {
    const { before, after, changeTimeS } = pathsOf(world, world.hosts[src[i]], world.hosts[dst[i]]);
    pairs.changeTimeS[i] = changeTimeS;
    pairs.baseMs[i] = before.baseMs;
    pairs.jitterMs[i] = before.jitterMs;
    pairs.changedBaseMs[i] = after.baseMs;
    pairs.changedJitterMs[i] = after.jitterMs;
    pairs.loss[i] = before.loss;
  }
  return pairs;
}

/** Weight of destinations in the probe's own region, chosen so that the median RTT is about 50 ms. */
const SAME_REGION_WEIGHT = 6;

/**
 * Chooses the destinations of every probe.
 *
 * @param numRows The more rows, the more destinations per probe.
 * @returns The host indexes of the probe and the destination for each position of a round, in shared memory.
 */
function makeSchedule(world: World, numRows: number): { src: Int32Array; dst: Int32Array } {
  const { hosts, options } = world;
  const probes = hosts.flatMap(({ role }, index) => role === "probe" ? [index] : []);
  const numWanted = Math.max(1, Math.round(Math.sqrt(numRows / probes.length) / 2));
  const candidates = { 4: candidatesOf(world, 4), 6: candidatesOf(world, 6) };
  const chosen = probes.map((probe) =>
    chooseDestinations(world, probe, { numWanted, from: candidates[hosts[probe].ipVersion] })
  );
  const numPairs = chosen.reduce((sum, destinations) => sum + destinations.length, 0);
  const indexes = () => new Int32Array(new SharedArrayBuffer(4 * numPairs));
  const schedule = { src: indexes(), dst: indexes() };
  const places = Int32Array.from({ length: numPairs }, (_, i) => i);
  new RandomStream(options.seed, "synth/round").shuffle(places);
  const placeOf = new Int32Array(numPairs);
  places.forEach((pair, place) => placeOf[pair] = place);
  let pair = 0;
  chosen.forEach((destinations, i) => {
    for (const destination of destinations) {
      const place = placeOf[pair++];
      schedule.src[place] = probes[i];
      schedule.dst[place] = destination;
    }
  });
  return schedule;
}

/** The destinations of an IP version: host indexes, ascending, and their regions. */
function candidatesOf({ hosts, systems }: World, ipVersion: 4 | 6): { hosts: number[]; regions: string[] } {
  const indexes = hosts.flatMap((host, index) =>
    host.role === "destination" && host.ipVersion === ipVersion ? [index] : []
  );
  return { hosts: indexes, regions: indexes.map((index) => systems[hosts[index].system].region) };
}

/** Draws the destinations of a probe, preferring those in its own region. */
function chooseDestinations(
  { hosts, systems, options }: World,
  probe: number,
  { numWanted, from }: { numWanted: number; from: ReturnType<typeof candidatesOf> },
): number[] {
  const random = new RandomStream(options.seed, "synth/schedule", probe);
  const { region } = systems[hosts[probe].system];
  // Weighted sampling without replacement: Efraimidis and Spirakis, Inf. Process. Lett. 97, 2006.
  const keys = new Float64Array(from.hosts.length);
  for (let i = 0; i < keys.length; i++) {
    keys[i] = random.exponential() / (from.regions[i] === region ? SAME_REGION_WEIGHT : 1);
  }
  const largest = keys.toSorted()[Math.min(numWanted, keys.length) - 1];
  const chosen: number[] = [];
  for (let i = 0; i < keys.length; i++) if (keys[i] <= largest) chosen.push(i);
  return chosen.sort((a, b) => keys[a] - keys[b]).slice(0, numWanted).map((i) => from.hosts[i]);
}

const PACKETS = 3; // per measurement, as in RIPE Atlas

/** Rows as one array per column, in which only the first `numRows` values are valid. */
interface SynthRows {
  numRows: number;
  src: Int32Array;
  dst: Int32Array;
  /** 4 or 6. */
  ipVersion: Int32Array;
  /** Microseconds since 1970. */
  eventTimeUs: Float64Array;
  /** Milliseconds, or {@link FAILED_RTT_MS}. */
  rttMs: Float64Array;
  packetErrorCount: Int32Array;
}

const WORKER = new URL("./row_group_worker.ts", import.meta.url);
const PACKET_BYTES = 64;
/** IP versions and packets per measurement are below this. */
const SMALL_INTEGERS_END = 8;
export const SYNTH_COLUMNS: readonly OptionalColumn[] = ["msmId", "prbId", "sizeBytes", "packetErrorCount"];

export interface MadeRowGroup {
  group: EncodedRowGroup;
  numFailed: number;
}

/**
 * Makes all row groups of a campaign. Memory holds two groups per worker, about 3 MB each.
 *
 * @param options `numThreads`: with 1 everything runs in this thread; more are workers, and this thread only
 *   takes their results. `signal`: stops the work when aborted.
 */
export async function* makeRowGroups(
  campaign: Campaign,
  { numThreads, signal }: { numThreads: number; signal?: AbortSignal | undefined },
): AsyncGenerator<MadeRowGroup> {
  const numGroups = Math.ceil(campaign.numRows / ROW_GROUP_ROWS);
  const places = Array.from({ length: numGroups }, (_, index) => index);
  const numWorkers = Math.min(numThreads, numGroups);
  if (numWorkers > 1) {
    const options = { name: "synth", module: WORKER, numWorkers, signal };
    using pool = new WorkerPool<number, MadeRowGroup>(campaign, options);
    return yield* pool.inOrder(places);
  }
  const maker = new RowMaker(campaign);
  for (const index of places) {
    await new Promise((resolve) => setTimeout(resolve, 0)); // so that signals are handled
    signal?.throwIfAborted();
    yield maker.makeGroup(index);
  }
}

/** Makes rows and row groups of a campaign. Row i depends only on i, so any thread can make any rows. */
export class RowMaker {
  readonly #random: RandomStream;
  readonly #rows: SynthRows = {
    numRows: 0,
    src: new Int32Array(ROW_GROUP_ROWS),
    dst: new Int32Array(ROW_GROUP_ROWS),
    ipVersion: new Int32Array(ROW_GROUP_ROWS),
    eventTimeUs: new Float64Array(ROW_GROUP_ROWS),
    rttMs: new Float64Array(ROW_GROUP_ROWS),
    packetErrorCount: new Int32Array(ROW_GROUP_ROWS),
  };
  // Host parameters in separate arrays, because rows access them in random order.
  readonly #longitude: Float64Array;
  readonly #diurnalMs: Float64Array;
  readonly #version: Int32Array;
  readonly #src: IntegerDictionary;
  readonly #dst: IntegerDictionary;
  readonly #ipVersion = new IntegerDictionary(SMALL_INTEGERS_END);
  readonly #packetErrorCount = new IntegerDictionary(SMALL_INTEGERS_END);
  readonly #sizeBytes = { values: [PACKET_BYTES], indexes: new Int32Array(ROW_GROUP_ROWS) };

  constructor(readonly campaign: Campaign) {
    const { seed, hosts } = campaign;
    this.#random = new RandomStream(seed, "synth/row");
    this.#longitude = Float64Array.from(hosts, ({ longitude }) => longitude);
    this.#diurnalMs = Float64Array.from(hosts, ({ diurnalMs }) => diurnalMs);
    this.#version = Int32Array.from(hosts, ({ ipVersion }) => ipVersion);
    this.#src = new IntegerDictionary(hosts.length);
    this.#dst = new IntegerDictionary(hosts.length);
  }

  /** Rows `first` to `end - 1`, at most {@link ROW_GROUP_ROWS}, by time. Overwritten by the next call. */
  rows(first: number, end: number): SynthRows {
    const { numRows, startTimeS, endTimeS, pairs } = this.campaign;
    const rows = this.#rows;
    const random = this.#random;
    const [longitude, diurnalMs] = [this.#longitude, this.#diurnalMs];
    const numPairs = pairs.src.length;
    let pair = first % numPairs;
    for (let row = first; row < end; row++) {
      const at = row - first;
      random.restart(row >>> 0, Math.floor(row / 2 ** 32));
      const timeS = Math.floor(startTimeS + (endTimeS - startTimeS) * (row + random.float64()) / numRows);
      const [src, dst] = [pairs.src[pair], pairs.dst[pair]];
      const isChanged = timeS >= pairs.changeTimeS[pair];
      const path = {
        baseMs: isChanged ? pairs.changedBaseMs[pair] : pairs.baseMs[pair],
        jitterMs: isChanged ? pairs.changedJitterMs[pair] : pairs.jitterMs[pair],
        loss: pairs.loss[pair],
      };
      const from = { longitude: longitude[src], diurnalMs: diurnalMs[src] };
      const to = { longitude: longitude[dst], diurnalMs: diurnalMs[dst] };
      const model = latencyAt(timeS, path, from, to);
      const rttMs = model.sample(random);
      rows.src[at] = src;
      rows.dst[at] = dst;
      rows.ipVersion[at] = this.#version[src];
      rows.eventTimeUs[at] = timeS * 1e6;
      rows.rttMs[at] = rttMs ?? FAILED_RTT_MS;
      rows.packetErrorCount[at] = rttMs === undefined
        ? PACKETS
        : random.float64() < 2 * model.pFailed
        ? 1
        : 0;
      if (++pair === numPairs) pair = 0;
    }
    rows.numRows = end - first;
    return rows;
  }

  /** @param index The row group's index in the file. */
  makeGroup(index: number): MadeRowGroup {
    const { hosts, numRows: numAll } = this.campaign;
    const from = index * ROW_GROUP_ROWS;
    const rows = this.rows(from, Math.min(from + ROW_GROUP_ROWS, numAll));
    const { numRows, eventTimeUs, rttMs } = rows;
    let numFailed = 0;
    for (let i = 0; i < numRows; i++) if (rttMs[i] === FAILED_RTT_MS) numFailed++;
    // Addresses and ids identify the same hosts, so both columns share their indexes.
    const src = this.#src.index(rows.src, numRows);
    const dst = this.#dst.index(rows.dst, numRows);
    const group = encodeRowGroup({
      numRows,
      eventTimeUs,
      srcAddr: { values: src.values.map((host) => hosts[host].address), indexes: src.indexes },
      dstAddr: { values: dst.values.map((host) => hosts[host].address), indexes: dst.indexes },
      ipVersion: this.#ipVersion.index(rows.ipVersion, numRows),
      rttMs,
      msmId: { values: dst.values.map((host) => hosts[host].id), indexes: dst.indexes },
      prbId: { values: src.values.map((host) => hosts[host].id), indexes: src.indexes },
      sizeBytes: this.#sizeBytes,
      packetErrorCount: this.#packetErrorCount.index(rows.packetErrorCount, numRows),
    }, SYNTH_COLUMNS);
    return { group, numFailed };
  }
}

/** Numbers the distinct values of a column of small integers in order of appearance. */
class IntegerDictionary {
  readonly #indexOf: Int32Array;
  readonly #indexes = new Int32Array(ROW_GROUP_ROWS);

  /** @param end All values are from 0 to `end - 1`. */
  constructor(end: number) {
    this.#indexOf = new Int32Array(end);
  }

  /** The dictionary of the first `numRows` values. The next call overwrites its indexes. */
  index(column: Int32Array, numRows: number): { values: number[]; indexes: Int32Array } {
    const indexOf = this.#indexOf.fill(NULL_INDEX);
    const indexes = this.#indexes;
    const values: number[] = [];
    for (let row = 0; row < numRows; row++) {
      const value = column[row];
      if (indexOf[value] === NULL_INDEX) indexOf[value] = values.push(value) - 1;
      indexes[row] = indexOf[value];
    }
    return { values, indexes };
  }
}
