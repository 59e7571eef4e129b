/**
 * The fields of measurements as tokens, for both vocabularies.
 *
 * @module
 */
import * as v1 from "./vocab_v1.ts";
import * as v2 from "./vocab_v2.ts";

/** The role tokens of a vocabulary and their fields. MeasurementStart is token 0 and begins a measurement. */
interface FieldGrammar {
  /** The token of byte 0; tokens below are roles. */
  readonly byteBase: number;
  readonly roleNames: readonly string[];
  /** Whether a token begins a field or a measurement instead of continuing one. */
  opens(token: number): boolean;
  fieldOf(role: number): v2.Field;
}

export const FIELD_GRAMMARS: Readonly<Record<"v1" | "v2", FieldGrammar>> = {
  v1: {
    byteBase: v1.BYTE_BASE,
    roleNames: v1.ROLE_NAMES,
    opens: (token) => token < v1.BYTE_BASE && token !== v1.IPV4_START && token !== v1.IPV6_START,
    fieldOf(role) {
      if (role === v1.SRC_IP_START) return "source";
      if (role === v1.DEST_IP_START) return "destination";
      return role === v1.RTT_START ? "result" : "time";
    },
  },
  v2: {
    byteBase: v2.BYTE_BASE,
    roleNames: v2.ROLE_NAMES,
    opens: (token) => token < v2.BYTE_BASE,
    fieldOf(role) {
      if (role === v2.SRC_IPV4 || role === v2.SRC_IPV6) return "source";
      if (role === v2.DST_IPV4 || role === v2.DST_IPV6) return "destination";
      return role === v2.RTT_START || role === v2.FAILED ? "result" : "time";
    },
  },
};
