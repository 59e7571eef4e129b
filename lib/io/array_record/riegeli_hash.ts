/**
 * The checksum of Riegeli files: HighwayHash-64 under a fixed key.
 *
 * The hash is computed by WebAssembly that is part of the package: no file, network or FFI access is needed.
 * Reference: J. Alakuijala, B. Cox, J. Wassenberg, "Fast keyed hash/pseudo-random function using SIMD
 * multiply and permute" (2016); key: Riegeli/records file format, section "Chunks".
 *
 * @module
 */
import { WasmHighwayHash } from "highwayhasher";

const KEY = new TextEncoder().encode("Riegeli/records\nRiegeli/records\n");

/** Computes the 8 bytes of the checksum as files store them. */
export type RiegeliHash = (bytes: Uint8Array) => Uint8Array;

/** Loads the hash function; must come before the first read or write of a file. */
export async function loadRiegeliHash(): Promise<RiegeliHash> {
  const module = await WasmHighwayHash.loadModule();
  return (bytes) => module.hash64(KEY, bytes);
}

/** Whether the 8 bytes of `stored` at `offsetBytes` are the checksum `hash`. */
export function isSameHash(stored: Uint8Array, offsetBytes: number, hash: Uint8Array): boolean {
  for (let i = 0; i < 8; i++) if (stored[offsetBytes + i] !== hash[i]) return false;
  return true;
}
