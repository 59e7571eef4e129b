/** Types of the @std/bytes functions in use (https://jsr.io/@std/bytes), as the npm copy has none. */

export function concat(buffers: readonly Uint8Array[]): Uint8Array<ArrayBuffer>;
export function equals(a: Uint8Array, b: Uint8Array): boolean;
