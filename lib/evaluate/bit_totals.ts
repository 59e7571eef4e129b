/** Bits of the tokens of contexts, summed up by token type and by position. @module */
import {
  BYTE_BASE,
  DST_IPV4,
  DST_IPV6,
  FAILED,
  type Field,
  MEASUREMENT_START,
  ROLE_NAMES,
  RTT_START,
  SRC_IPV4,
  SRC_IPV6,
} from "../tokens/vocab_v2.ts";

/** The bits of one type of token. */
export interface TokenTypeBits {
  /** A role's name, such as `DstIpv4`, or a byte after it, such as `DstIpv4 byte 1`. */
  tokenType: string;
  numTokens: number;
  /** Mean over the tokens. */
  meanBits: number;
}

/** The mean bits of a measurement's blocks; null where no measurement has that block. */
export type FieldBits = Record<Field, number | null>;

/** The bits of the measurements that stand at one place of their contexts. */
export interface PositionBits {
  /** How many measurements stand before, 0 for a context's first. */
  position: number;
  numMeasurements: number;
  /** Mean over the measurements, without MeasurementStart. */
  meanBits: number;
  /** Means over the measurements that have the block. */
  fieldBits: FieldBits;
}

/** The bits of measurements in contexts of one kind. */
export interface ContextBits {
  numContexts: number;
  numMeasurements: number;
  /** All but the first of each context, which is always MeasurementStart. */
  numTokens: number;
  /** Mean bits of a measurement in one order of its fields, without MeasurementStart; null of none. */
  bitsPerMeasurement: number | null;
  /** Mean bits of a token, MeasurementStart included: the loss of training, in bits; null of none. */
  bitsPerToken: number | null;
  fieldBits: FieldBits;
  /** In the order of the vocabulary's roles, then of bytes; types that do not occur are absent. */
  byTokenType: TokenTypeBits[];
  /** In order of position. */
  byPosition: PositionBits[];
}

/** Sums up contexts. */
export class BitTotals {
  #numContexts = 0;
  readonly #all = new MeasurementTotals();
  readonly #positions: MeasurementTotals[] = [];
  /** By role * 32 + byte, 0 for the role itself. */
  readonly #types = new Map<number, Mean>();

  /**
   * Adds a context.
   *
   * @param tokens Its tokens.
   * @param logP log P of all after the first, nats.
   */
  add(tokens: Uint16Array, logP: Float32Array): void {
    this.#numContexts++;
    let [position, role, byte] = [-1, MEASUREMENT_START, 0];
    for (let i = 0; i < tokens.length; i++) {
      const isRole = tokens[i] < BYTE_BASE;
      byte = isRole ? 0 : byte + 1;
      role = isRole ? tokens[i] : role;
      const bits = i === 0 ? 0 : -logP[i - 1] / Math.LN2;
      if (i > 0) this.#addType(role * 32 + byte, bits);
      if (role === MEASUREMENT_START) position++;
      for (const totals of [this.#all, this.#positions[position] ??= new MeasurementTotals()]) {
        totals.add(role, isRole, bits);
      }
    }
  }

  /** The means. */
  means(): ContextBits {
    const ofTypes = [...this.#types].sort(([a], [b]) => a - b);
    const numTokens = ofTypes.reduce((sum, [, { count }]) => sum + count, 0);
    const bits = ofTypes.reduce((sum, [, mean]) => sum + mean.sum, 0);
    return {
      numContexts: this.#numContexts,
      numMeasurements: this.#all.count,
      numTokens,
      bitsPerMeasurement: this.#all.meanBits(),
      bitsPerToken: numTokens === 0 ? null : bits / numTokens,
      fieldBits: this.#all.fieldBits(),
      byTokenType: ofTypes.map(([type, { sum, count }]) => ({
        tokenType: typeName(type),
        numTokens: count,
        meanBits: sum / count,
      })),
      byPosition: this.#positions.map((totals, position) => ({
        position,
        numMeasurements: totals.count,
        meanBits: totals.meanBits() ?? 0,
        fieldBits: totals.fieldBits(),
      })),
    };
  }

  #addType(type: number, bits: number): void {
    const known = this.#types.get(type);
    const mean = known ?? { sum: 0, count: 0 };
    if (!known) this.#types.set(type, mean);
    mean.sum += bits;
    mean.count++;
  }
}

interface Mean {
  sum: number;
  count: number;
}

/** Bits of measurements by block. */
class MeasurementTotals {
  /** Measurements. */
  count = 0;
  readonly #fields: Record<Field, Mean> = {
    source: { sum: 0, count: 0 },
    destination: { sum: 0, count: 0 },
    result: { sum: 0, count: 0 },
    time: { sum: 0, count: 0 },
  };

  /** Adds a token. @param role The role that it is, or that it belongs to. */
  add(role: number, isRole: boolean, bits: number): void {
    if (role === MEASUREMENT_START) {
      this.count++;
      return;
    }
    const field = this.#fields[fieldOf(role)];
    field.sum += bits;
    if (isRole) field.count++;
  }

  meanBits(): number | null {
    const bits = Object.values(this.#fields).reduce((sum, field) => sum + field.sum, 0);
    return this.count === 0 ? null : bits / this.count;
  }

  fieldBits(): FieldBits {
    const meanOf = ({ sum, count }: Mean) => count === 0 ? null : sum / count;
    const { source, destination, result, time } = this.#fields;
    return {
      source: meanOf(source),
      destination: meanOf(destination),
      result: meanOf(result),
      time: meanOf(time),
    };
  }
}

function fieldOf(role: number): Field {
  if (role === SRC_IPV4 || role === SRC_IPV6) return "source";
  if (role === DST_IPV4 || role === DST_IPV6) return "destination";
  return role === RTT_START || role === FAILED ? "result" : "time";
}

function typeName(type: number): string {
  const [role, byte] = [ROLE_NAMES[Math.floor(type / 32)], type % 32];
  return byte === 0 ? role : `${role} byte ${byte}`;
}
