/**
 * The smallest possible RTT between two places: no reply arrives before light in fibre could make the round
 * trip.
 *
 * @module
 */
import { distanceKm, type Position } from "./place_table.ts";

/** Light in fibre travels 204 km/ms (refractive index 1.468), so a round trip covers half of that. */
export const KM_PER_MS = 102;
/** Kilometres per degree of latitude. */
const KM_PER_DEGREE = 111;

/**
 * The round-trip time of light between two positions.
 *
 * @param stepDegrees See {@link lightSlackKm}.
 * @returns ms; 0 if the positions may be the same.
 */
export function lightFloorMs(a: Position, b: Position, stepDegrees: number): number {
  return Math.max(0, distanceKm(a, b) - lightSlackKm(stepDegrees)) / KM_PER_MS;
}

/**
 * By how much less than their distance two places may be apart.
 *
 * @param stepDegrees Positions are multiples of this, so each may be off by half the diagonal of a cell.
 */
export function lightSlackKm(stepDegrees: number): number {
  return 2 * KM_PER_DEGREE * Math.SQRT1_2 * stepDegrees;
}
