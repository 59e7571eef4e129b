/**
 * Addresses drawn from the model within prefixes: sources first, then a destination for each.
 *
 * The model writes a time, if there is one, a source and a destination, byte by byte. Bytes of the prefix stand fixed,
 * the byte in which it ends is drawn among the values that it leaves, those after it among all. So a source has its
 * probability given the source prefix, and a destination its own given the source and the destination prefix.
 *
 * @module
 */
import { RandomStream } from "../random/philox.ts";
import { type ByteRange, byteRange, type IpPrefix, isAddress } from "../addresses/ip_prefix.ts";
import { BYTE_BASE, type Field } from "../tokens/vocab_v2.ts";
import { vocabSize } from "../model/model_config.ts";
import { byteMass, drawByte } from "./byte_mass.ts";
import { MAX_CONTINUATIONS } from "./decoder_extent.ts";
import type { PingModel } from "./ping_model.ts";
import { encodeMeasurement, type PrefixQuery } from "./query_tokens.ts";
import { rowOf } from "./token_rows.ts";

/** Addresses stand after the time here, so that it counts when they are drawn. */
const DRAW_ORDER: readonly Field[] = ["time", "source", "destination", "result"];

/** How addresses are drawn. */
export interface AddressDrawOptions {
  /** How many draws, at least 2. */
  readonly numDraws: number;
  /** Seed; a draw depends on it, the query and the draw's number alone. */
  readonly seed: number;
}

/** A source and a destination, and how often they were drawn. */
export interface DrawnPair {
  /** 4 or 16 bytes. */
  readonly source: Uint8Array;
  /** As long. */
  readonly destination: Uint8Array;
  /** At least 1. */
  readonly count: number;
}

/** What was drawn, and how much of the model's mass lies in the prefixes. */
export interface AddressDraws {
  /** Different pairs, in the order in which they were first drawn. */
  readonly pairs: readonly DrawnPair[];
  /** P(the source lies in its prefix | its IP version); null where it is an address. */
  readonly sourceProbability: number | null;
  /** P(the destination lies in its prefix | its source), the mean over the sources; null where it is an address. */
  readonly destinationProbability: number | null;
  /** Standard error of `destinationProbability`: above 0 where the sources are drawn. */
  readonly destinationProbabilityError: number;
}

/**
 * Draws pairs of addresses.
 *
 * @throws {UserError} If the prefixes are of different IP versions or the measurement does not fit the model's
 *   sequence.
 */
export async function drawAddresses(
  model: PingModel,
  query: PrefixQuery,
  options: AddressDrawOptions,
): Promise<AddressDraws> {
  const plan = planOf(query, model.config.sequenceLength);
  const fixed = await fixedMass(model, plan);
  const results: DrawnResult[] = [];
  const V = vocabSize(model.config);
  const { numDraws } = options;
  while (results.length < numDraws) {
    const numWanted = Math.min(MAX_CONTINUATIONS, numDraws - results.length);
    let drawn: DrawnRow[] = [];
    await model.continuePrompt(plan.prompt, numWanted, (logP, numRows) => {
      if (drawn.length === 0) {
        drawn = Array.from(
          { length: numRows },
          (_, i) => new DrawnRow(plan, fixed, results.length + i, options),
        );
      }
      const isShared = logP.length === V;
      drawn.forEach((row, i) => row.push(isShared ? logP : rowOf(logP, i, V)));
      return drawn[0].isComplete ? undefined : drawn.map((row) => row.lastToken);
    });
    for (const row of drawn) results.push(row.resultOf(query));
  }
  return summarize(query, results);
}

/** One pair as it was drawn, and the model's mass of the prefixes. */
interface DrawnResult extends Pick<DrawnPair, "source" | "destination"> {
  readonly mass: Masses;
}

/** A byte of an address in the sequence. */
interface PlannedByte {
  readonly kind: "byte";
  readonly side: "source" | "destination";
  readonly index: number;
  readonly range: ByteRange;
}

interface Plan {
  /** All that is the same in all draws. */
  readonly prompt: Uint16Array;
  /** The last tokens of the prompt: address bytes, and roles, which have no byte. */
  readonly fixed: readonly (PlannedByte | RoleToken)[];
  /** What follows, up to the last byte that is drawn. */
  readonly drawn: readonly (PlannedByte | RoleToken)[];
}

interface RoleToken {
  readonly kind: "role";
  readonly token: number;
}

function planOf({ source, destination, timeS, context }: PrefixQuery, sequenceLength: number): Plan {
  const asked = { source: source.bytes, destination: destination.bytes, rttCode: null, timeS };
  const tokens = encodeMeasurement(asked, { context, order: DRAW_ORDER, sequenceLength });
  const block = 1 + source.bytes.length;
  // The last token is the result.
  const start = tokens.length - 1 - 2 * block;
  const tail = (["source", "destination"] as const).flatMap((side, i) => {
    const prefix = side === "source" ? source : destination;
    const role: RoleToken = { kind: "role", token: tokens[start + i * block] };
    const bytes = [...prefix.bytes.keys()].map((index): PlannedByte => ({
      ...{ kind: "byte", side, index },
      range: byteRange(prefix, index),
    }));
    return [role, ...bytes];
  });
  const isFree = (each: PlannedByte | RoleToken) =>
    each.kind === "byte" && each.range.first < each.range.last;
  const numFixed = tail.findIndex(isFree);
  return {
    prompt: tokens.slice(0, start + numFixed),
    fixed: tail.slice(0, numFixed),
    drawn: tail.slice(numFixed, tail.findLastIndex(isFree) + 1),
  };
}

/** The model's probabilities of the bytes of each side that stand in the prompt. */
async function fixedMass(model: PingModel, { prompt, fixed }: Plan): Promise<Masses> {
  const [logP] = await model.tokenLogProbabilities([prompt], fixed.length);
  const masses = { source: 1, destination: 1 };
  fixed.forEach((each, i) => {
    if (each.kind === "byte") masses[each.side] *= Math.exp(logP[i]);
  });
  return masses;
}

type Masses = Record<"source" | "destination", number>;

/** One pair while it is drawn. */
class DrawnRow {
  /** The bytes that are not the prefixes' own. */
  readonly #bytes = { source: new Map<number, number>(), destination: new Map<number, number>() };
  readonly #plan: Plan;
  readonly #random: RandomStream;
  /** The model's probability that the bytes so far lie in the prefixes. */
  readonly mass: Masses;
  #at = 0;
  lastToken = 0;

  constructor(plan: Plan, fixed: Masses, index: number, { seed }: AddressDrawOptions) {
    this.#plan = plan;
    this.mass = { ...fixed };
    this.#random = new RandomStream(seed, "query/prefix", index);
  }

  get isComplete(): boolean {
    return this.#at === this.#plan.drawn.length;
  }

  /** Appends the next token. @param logP Log-probabilities of it, (V) nats. */
  push(logP: Float32Array): void {
    const next = this.#plan.drawn[this.#at++];
    if (next.kind === "role") {
      this.lastToken = next.token;
      return;
    }
    const { side, index, range } = next;
    if (range.last - range.first < 255) this.mass[side] *= byteMass(logP, range);
    const byte = drawByte(logP, range, this.#random);
    this.#bytes[side].set(index, byte);
    this.lastToken = BYTE_BASE + byte;
  }

  /** Its addresses and masses, once it is complete. */
  resultOf({ source, destination }: PrefixQuery): DrawnResult {
    const { mass } = this;
    return {
      source: this.#addressOf("source", source),
      destination: this.#addressOf("destination", destination),
      mass,
    };
  }

  #addressOf(side: "source" | "destination", { bytes }: IpPrefix): Uint8Array {
    return bytes.map((byte, i) => this.#bytes[side].get(i) ?? byte);
  }
}

function summarize({ source, destination }: PrefixQuery, results: readonly DrawnResult[]): AddressDraws {
  const pairs = new Map<string, { source: Uint8Array; destination: Uint8Array; count: number }>();
  for (const { mass: _, ...drawn } of results) {
    const key = `${drawn.source} ${drawn.destination}`;
    const known = pairs.get(key);
    if (known) known.count++;
    else pairs.set(key, { ...drawn, count: 1 });
  }
  const masses = results.map(({ mass }) => mass.destination);
  const n = results.length;
  const mean = masses.reduce((sum, mass) => sum + mass, 0) / n;
  const variance = masses.reduce((sum, mass) => sum + (mass - mean) ** 2, 0) / (n - 1);
  return {
    pairs: [...pairs.values()],
    sourceProbability: isAddress(source) ? null : results[0].mass.source,
    destinationProbability: isAddress(destination) ? null : mean,
    // After one source all draws have the same mass, but for the last bits.
    destinationProbabilityError: isAddress(source) || isAddress(destination) ? 0 : Math.sqrt(variance / n),
  };
}
