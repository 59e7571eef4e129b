/** The numbers that each rank adds, of many magnitudes. */
export function numbersOf(rank: number, length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, (_, i) => Math.sin(i + 7 * rank) * Math.exp(9 * Math.sin(i / 900)));
}
