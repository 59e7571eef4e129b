/**
 * The least RTT between two places: no reply comes back before light in fibre has been there and back.
 *
 * @module
 */
import { distanceKm, type Position } from "./place_table.ts";

/** Light in fibre takes a millisecond for 204 km (refractive index 1.468), there and back for half of it. */
const KM_PER_MS = 102;
/** Kilometres of a degree of latitude. */
const KM_PER_DEGREE = 111;

/**
 * The time of light between two positions, there and back.
 *
 * @param stepDegrees Positions are multiples of it: each may be off by half the diagonal of a cell.
 * @returns ms; 0 where the positions may be the same.
 */
export function lightFloorMs(a: Position, b: Position, stepDegrees: number): number {
  const slackKm = 2 * KM_PER_DEGREE * Math.SQRT1_2 * stepDegrees;
  return Math.max(0, distanceKm(a, b) - slackKm) / KM_PER_MS;
}
