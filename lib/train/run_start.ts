/**
 * What a run starts from: its own latest checkpoint, a given one with all its state, another run's weights, or
 * nothing.
 *
 * A command that is repeated after a kill goes on from the run's own checkpoints: `resumeFrom` and `initFrom` say
 * where a run begins, and are not read again once it has begun.
 *
 * @module
 */
import { dirname } from "@std/path";
import { ConfigError, UserError } from "../errors.ts";
import { exists } from "../files/inputs.ts";
import { readManifest } from "../files/manifest.ts";
import { parameterShapes } from "../model/config.ts";
import {
  hasCheckpoints,
  loadCheckpoint,
  loadForResume,
  loadResumable,
  makeLatest,
  type ResumableCheckpoint,
} from "./checkpoint.ts";
import type { LoadedCheckpoint } from "./checkpoint_state.ts";
import { type ConfigDifference, differences, type RunConfig } from "./config.ts";
import type { RunFolder } from "./run_folder.ts";

/** Where a run may be told to start; at most one of both. */
export interface StartOptions {
  /** A checkpoint, or a run with one, to go on from with all its state; of this run: to go back to. */
  resumeFrom?: string;
  /** A checkpoint, or a run with one, whose weights a new run starts with; all else is new. */
  initFrom?: string;
}

/** What a run is, for the comparison with that of a checkpoint. */
export interface RunIdentity {
  config: RunConfig;
  seed: number;
  /** See data_fingerprint.ts. */
  data: string;
}

/** What a run starts from. */
export interface RunStart {
  /** The checkpoint to go on from with all its state; undefined for a new run. */
  resumed: ResumableCheckpoint | undefined;
  /** Whether `resumed` is one of this run's own checkpoints. */
  isOwn: boolean;
  /** The checkpoint that gives a new run its weights; undefined: they are random. */
  initial: LoadedCheckpoint | undefined;
}

/**
 * Decides what a run starts from.
 *
 * @param folder The run's folder, before its manifest is written anew.
 * @param wanted The run as it is asked for now.
 * @param options `fresh`: as if the run had no checkpoints; `onLog` is called with lines for the user.
 * @throws {ConfigError} If the checkpoint is of a run that cannot be gone on with.
 * @throws {UserError} If there is no checkpoint where one was given, or it does not fit.
 */
export function chooseStart(
  folder: RunFolder,
  wanted: RunIdentity,
  options: StartOptions & { fresh?: boolean; onLog: (line: string) => void },
): RunStart {
  const { resumeFrom, initFrom, fresh = false, onLog } = options;
  const notes = { onNote: onLog };
  const hasOwn = !fresh && hasCheckpoints(folder.checkpointsDir);
  const hasBegun = hasOwn && readManifest(folder.manifestPath)?.options.resumeFrom === resumeFrom;
  if (resumeFrom !== undefined && !hasBegun) {
    const resumed = loadResumable(resumeFrom, notes);
    const directory = Deno.realPathSync(resumed.directory);
    const isOwn = hasOwn && isSamePath(dirname(directory), folder.checkpointsDir);
    if (hasOwn && !isOwn) throw occupied(folder);
    checkFollowing(resumed, wanted, onLog);
    if (isOwn) makeLatest(directory);
    return { resumed, isOwn, initial: undefined };
  }
  const resumed = fresh ? undefined : loadForResume(folder.checkpointsDir, notes);
  if (resumed) checkSameRun(resumed, wanted);
  if (resumed || initFrom === undefined) return { resumed, isOwn: true, initial: undefined };
  const initial = loadCheckpoint(initFrom, notes);
  checkWeights(initial, wanted.config, onLog);
  return { resumed: undefined, isOwn: false, initial };
}

/** Refuses a start in a folder that is to be deleted. */
export function checkNotWithin(path: string, runDir: string): void {
  if (!exists(path) || !exists(runDir)) return;
  const folder = Deno.realPathSync(runDir);
  for (let at = Deno.realPathSync(path);; at = dirname(at)) {
    if (at === folder) {
      throw new UserError(
        `Cannot start over from ${path}: it is in ${runDir}, which --fresh deletes; leave out --fresh or choose another --run`,
      );
    }
    if (at === dirname(at)) return;
  }
}

function isSamePath(a: string, b: string): boolean {
  return Deno.realPathSync(a) === Deno.realPathSync(b);
}

function occupied(folder: RunFolder): UserError {
  return new UserError(
    `Cannot resume in ${folder.path} from another run: it has checkpoints of its own; choose another --run, or ` +
      `start over with --fresh`,
  );
}

/** Refuses to go on with a run that was started differently. */
function checkSameRun(checkpoint: ResumableCheckpoint, wanted: RunIdentity): void {
  const [difference] = identityDifferences(checkpoint, wanted);
  if (difference) {
    throw madeWithOther(
      checkpoint,
      difference,
      "repeat the run's own options, choose another --run, or start over with --fresh",
    );
  }
}

/** What the state of a checkpoint is about: another model, optimizer or order of the data has other state. */
const STATE_KEYS = /^(model\..*|data\..*|data|seed|optim\.groups\.\w+\.kind)$/;

/** Refuses to go on from a checkpoint whose state is not for the wanted run; says what else differs. */
function checkFollowing(
  checkpoint: ResumableCheckpoint,
  wanted: RunIdentity,
  onLog: (line: string) => void,
): void {
  const found = identityDifferences(checkpoint, wanted);
  const difference = found.find(({ keyPath }) => STATE_KEYS.test(keyPath));
  if (difference) {
    throw madeWithOther(checkpoint, difference, "use the same, or take only its weights with --init-from");
  }
  const { state: { step }, directory } = checkpoint;
  const { steps } = wanted.config.train;
  if (step >= steps) {
    throw new UserError(
      `Cannot resume from ${directory}: it is after step ${step}, the run is to have ${steps} steps; give more --steps`,
    );
  }
  for (const { keyPath, a, b } of found) onLog(`${keyPath} is ${b} from here on, it was ${a}`);
}

function identityDifferences({ state }: ResumableCheckpoint, wanted: RunIdentity): ConfigDifference[] {
  const others = [
    { keyPath: "seed", a: String(state.seed), b: String(wanted.seed) },
    { keyPath: "data", a: state.dataFingerprint, b: wanted.data },
  ];
  return [...differences(state.config, wanted.config), ...others.filter(({ a, b }) => a !== b)];
}

function madeWithOther(
  { directory }: ResumableCheckpoint,
  { keyPath, a, b }: ConfigDifference,
  hint: string,
): ConfigError {
  return new ConfigError(
    keyPath,
    `the run's checkpoint ${directory} was made with ${a}, ${b} was wanted now; ${hint}`,
  );
}

/** Refuses weights of other shapes; says what else of the model differs. */
function checkWeights(
  { directory, config: { model } }: LoadedCheckpoint,
  wanted: RunConfig,
  onLog: (line: string) => void,
): void {
  const found = parameterShapes(model);
  const shapes = parameterShapes(wanted.model);
  for (const name of new Set([...shapes.keys(), ...found.keys()])) {
    const [a, b] = [found.get(name)?.join(", "), shapes.get(name)?.join(", ")];
    if (a === b) continue;
    throw new UserError(
      `Cannot start from the weights of ${directory}: ${name} is ${a ? `[${a}]` : "missing"} there, ${
        b ? `[${b}]` : "none"
      } was wanted; use the model section of that run's configuration`,
    );
  }
  for (const { keyPath, a, b } of differences({ ...wanted, model }, wanted)) {
    onLog(`${keyPath} is ${b} from here on, it was ${a}`);
  }
}
