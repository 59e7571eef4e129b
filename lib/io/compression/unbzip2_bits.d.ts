/** Types of `lib/bit_iterator.js` of unbzip2-stream. */
import type { BitReader } from "./unbzip2_blocks.d.ts";

/** Reads the bits of buffers one after another; the first buffer is asked for at once. */
export default function bitReader(nextBuffer: () => Uint8Array): BitReader;
