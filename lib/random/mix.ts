/** Hashing of integers. @module */

/** A bijection of 32-bit integers whose every output bit depends on every input bit: the finaliser of MurmurHash3. */
export function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
