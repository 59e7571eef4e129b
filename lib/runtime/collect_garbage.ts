/**
 * Garbage collections at moments that a training run chooses.
 *
 * A step leaves wrappers of commands and buffers behind. They are small to V8, but each holds memory of the GPU's
 * driver, which V8 does not count, so V8 by itself collects too seldom: over 2,000 steps of the demo model the
 * resident memory grew from 252 to 275 MB (lavapipe, Mesa 25.0, 2 cores, 2026-11-21).
 *
 * @module
 */

/** Collects all garbage if V8 exposes `gc()` (`--v8-flags=--expose-gc`, as in the tasks); else does nothing. */
export function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}
