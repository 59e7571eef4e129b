/**
 * Damages files as storage, networks and attackers do: flips bits, overwrites bytes, cuts out, duplicates or
 * inserts stretches, truncates or extends the end.
 *
 * @module
 */
import { concat, equals } from "@std/bytes";
import type { RandomStream } from "../../lib/base/random.ts";

/** Values that are special in many formats: signs, lengths, unterminated varints. */
const AWKWARD_BYTES = [0x00, 0x01, 0x7f, 0x80, 0xff];
/** Files describe their structure in their first and last bytes. */
const EDGE_BYTES = 256;
const MAX_STRETCH_BYTES = 600;

type Mutation = (bytes: Uint8Array, random: RandomStream) => Uint8Array;

const MUTATIONS: Record<string, Mutation> = {
  flip(bytes, random) {
    const changed = bytes.slice();
    for (let n = 1 + random.below(3); n > 0; n--) changed[place(bytes, random)] ^= 1 << random.below(8);
    return changed;
  },
  overwrite(bytes, random) {
    const changed = bytes.slice();
    const at = place(bytes, random);
    const value = () =>
      random.below(2) === 0 ? AWKWARD_BYTES[random.below(AWKWARD_BYTES.length)] : random.below(256);
    for (let i = at; i < Math.min(bytes.length, at + 1 + random.below(9)); i++) changed[i] = value();
    return changed;
  },
  zero(bytes, random) {
    const at = place(bytes, random);
    return bytes.slice().fill(0, at, at + 1 + random.below(MAX_STRETCH_BYTES));
  },
  cut: (bytes, random) =>
    bytes.slice(0, random.below(2) === 0 ? place(bytes, random) : random.below(bytes.length)),
  remove(bytes, random) {
    const at = place(bytes, random);
    return concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(MAX_STRETCH_BYTES))]);
  },
  double(bytes, random) {
    const at = place(bytes, random);
    return concat([bytes.subarray(0, at + 1 + random.below(MAX_STRETCH_BYTES)), bytes.subarray(at)]);
  },
  insert(bytes, random) {
    const at = place(bytes, random);
    return concat([bytes.subarray(0, at), noise(random), bytes.subarray(at)]);
  },
  extend: (bytes, random) =>
    concat([bytes, random.below(2) === 0 ? noise(random) : bytes.subarray(place(bytes, random))]),
};
const NAMES = Object.keys(MUTATIONS);

/**
 * Damages a file, usually once, sometimes twice.
 *
 * @returns The name of the change, and the damaged bytes, which differ from the original.
 */
export function mutate(bytes: Uint8Array, random: RandomStream): { name: string; bytes: Uint8Array } {
  const names: string[] = [];
  let changed = bytes;
  do {
    const name = NAMES[random.below(NAMES.length)];
    names.push(name);
    changed = changed.length === 0 ? noise(random) : MUTATIONS[name](changed, random);
  } while (equals(changed, bytes) || random.below(4) === 0);
  return { name: names.join("+"), bytes: changed };
}

/** A position, in half of the cases near the start or end, where the structure is. */
function place({ length }: Uint8Array, random: RandomStream): number {
  const near = random.below(Math.min(length, EDGE_BYTES));
  return [near, length - 1 - near, random.below(length), random.below(length)][random.below(4)];
}

function noise(random: RandomStream): Uint8Array {
  return Uint8Array.from({ length: 1 + random.below(MAX_STRETCH_BYTES) }, () => random.below(256));
}
