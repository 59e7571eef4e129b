/**
 * Loaded before every test file. A failing property whose counterexample shrinks slowly stops after a minute
 * with what was found so far; otherwise it would silently block the whole suite.
 *
 * @module
 */
import fc from "fast-check";

fc.configureGlobal({ interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true });
