/**
 * The truth of a synthetic Internet, in `F.truth.json` next to `F.parquet`: the exact distribution of the RTT
 * between any two of its hosts at any time.
 *
 * The file contains every number and formula of the latency model (`latency_model.ts`), so that an
 * independent program can compute the same.
 *
 * @module
 */
import * as z from "zod";
import { getOrMake } from "../../base/collections.ts";
import { parseAs } from "../../base/schema_fault.ts";
import { readText } from "../../io/files/inputs.ts";
import { writeFileAtomic } from "../../io/files/atomic.ts";
import { rttCodeBounds } from "../tokens/rtt_code.ts";
import { LATENCY_CONSTANTS, latencyAt, type LatencyModel } from "./latency_model.ts";
import { type PairPaths, pathsOf, type World, type WorldHost, worldSchema } from "./world.ts";

const FORMAT = "ping-llm synthetic truth 1";

const FORMULAS = [
  "d: km along great circles (radius 6371) src -> hub of the route (if hub >= 0) -> dst",
  "propagation = 2 d stretch / 199.86 ms; from changeTimeS on with changedStretch and changedHub, if there",
  "busy(x) = ((1 + cos(2 pi (timeS/3600 + longitude(x)/15 - 21) / 24)) / 2)^2",
  "offset = propagation + accessMs(src) + accessMs(dst) + diurnalMs(src) busy(src) + diurnalMs(dst) busy(dst)",
  "m = (jitterFloorMs(src) + jitterFloorMs(dst) + jitterFraction propagation) (1 + 1.5 busy(src))",
  "P(no reply) = min(0.999, (loss(route) + loss(src) + loss(dst)) (1 + busy(src)))",
  "P(RTT <= x | reply) = 0.97 Phi(ln(y/m)/0.7) + 0.03 (1 - (1 + y/(2 + 10 m))^-1.5), y = x - offset",
  "the route of hosts in systems a <= b is routes[a][b - a]",
];

const truthSchema = worldSchema.extend({
  format: z.literal(FORMAT),
  formulas: z.array(z.string()),
});

/** The exact conditional distributions of a synthetic Internet. */
export class SyntheticTruth {
  readonly #hosts: Map<string, WorldHost>;
  readonly #pairs = new Map<string, PairPaths>();

  /** Makes the truth of a world. @param world No two hosts have the same address. */
  constructor(readonly world: World) {
    this.#hosts = new Map(world.hosts.map((host) => [host.address, host]));
  }

  /** Reads a truth file. @throws {FormatError} If the file is not a truth file. */
  static load(path: string): SyntheticTruth {
    const fault = "it is not a truth file of synth; make it again with synth";
    const { format: _, formulas: __, ...world } = parseAs(truthSchema, readText(path), fault, path);
    return new SyntheticTruth(world);
  }

  /** Writes the truth file atomically. */
  save(path: string): void {
    const head = { format: FORMAT, formulas: FORMULAS, latencyConstants: LATENCY_CONSTANTS };
    writeFileAtomic(path, JSON.stringify({ ...head, ...this.world }) + "\n");
  }

  /** Whether an address belongs to a host of this world. */
  has(address: string): boolean {
    return this.#hosts.has(address);
  }

  /**
   * The RTT distribution of a pair at a given time.
   *
   * @param src Source address, as in RFC 5952.
   * @throws {RangeError} If an address does not belong to a host of this world.
   */
  latencyModel(src: string, dst: string, timeS: number): LatencyModel {
    const [from, to] = [this.#host(src), this.#host(dst)];
    const paths = getOrMake(this.#pairs, `${src} ${dst}`, () => pathsOf(this.world, from, to));
    return latencyAt(timeS, timeS >= paths.changeTimeS ? paths.after : paths.before, from, to);
  }

  #host(address: string): WorldHost {
    const host = this.#hosts.get(address);
    if (!host) {
      throw new RangeError(
        `Cannot compute the truth for ${address}: it is not a host of this synthetic Internet`,
      );
    }
    return host;
  }
}

/** Path of the truth file: `F.truth.json` for `F.parquet`. */
export function truthPathBeside(file: string): string {
  return file.replace(/(\.[^./\\]+)?$/, ".truth.json");
}

/**
 * P(code | reply) = P(low <= RTT < high) with the code's bounds. The mean of -log2 P over the generator's
 * draws is the conditional entropy, the smallest loss that any model can reach.
 */
export function codeProbability(model: LatencyModel, code: number): number {
  const { lowMs, highMs } = rttCodeBounds(code);
  return model.probabilityBetween(lowMs, highMs);
}
