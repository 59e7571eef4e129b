/**
 * Loaded before every test file: a property that fails, and whose counterexample shrinks slowly, ends after a minute
 * with what was found so far, where it would keep the whole suite waiting without a word.
 *
 * @module
 */
import fc from "fast-check";

fc.configureGlobal({ interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true });
