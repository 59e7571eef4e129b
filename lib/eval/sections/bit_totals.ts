/** Bits of the tokens of contexts, summed up by token type and by position. @module */
import { getOrMake } from "../../base/collections.ts";
import { FIELD_GRAMMARS } from "../../data/tokens/field_grammar.ts";
import { type Field, MEASUREMENT_START } from "../../data/tokens/vocab_v2.ts";

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
  /** By (role * 16 + role that goes on with its field or 0) * 32 + byte, 0 for the role itself. */
  readonly #types = new Map<number, Mean>();

  /** @param vocabulary Of the tokens. */
  constructor(readonly vocabulary: "v1" | "v2") {}

  /**
   * Adds a context.
   *
   * @param logP log P of all after the first, nats.
   */
  add(tokens: Uint16Array, logP: Float32Array): void {
    this.#numContexts++;
    const grammar = FIELD_GRAMMARS[this.vocabulary];
    let position = -1;
    let role = MEASUREMENT_START;
    let next = 0;
    let byte = 0;
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i];
      const opens = grammar.opens(token);
      if (opens) [role, next] = [token, 0];
      else if (token < grammar.byteBase) next = token;
      byte = token < grammar.byteBase ? 0 : byte + 1;
      const bits = i === 0 ? 0 : -logP[i - 1] / Math.LN2;
      if (i > 0) this.#addType((role * 16 + next) * 32 + byte, bits);
      const field = role === MEASUREMENT_START ? null : grammar.fieldOf(role);
      if (field === null) position++;
      for (const totals of [this.#all, this.#positions[position] ??= new MeasurementTotals()]) {
        totals.add(field, opens, bits);
      }
    }
  }

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
        tokenType: this.#nameOf(type),
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

  #nameOf(type: number): string {
    const { roleNames } = FIELD_GRAMMARS[this.vocabulary];
    const [role, next, byte] = [type >> 9, type >> 5 & 15, type & 31];
    const name = next === 0 ? roleNames[role] : `${roleNames[role]} ${roleNames[next]}`;
    return byte === 0 ? name : `${name} byte ${byte}`;
  }

  #addType(type: number, bits: number): void {
    const mean = getOrMake(this.#types, type, () => ({ sum: 0, count: 0 }));
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

  /** Adds a token. @param field That it belongs to; null for MeasurementStart. @param opens Whether it is its first. */
  add(field: Field | null, opens: boolean, bits: number): void {
    if (field === null) {
      this.count++;
      return;
    }
    const mean = this.#fields[field];
    mean.sum += bits;
    if (opens) mean.count++;
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
