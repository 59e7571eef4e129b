/**
 * Where a run starts: at its own latest checkpoint, at a given checkpoint with all its state, with another
 * run's weights, or from scratch. Only rank 0 opens the folder and chooses.
 *
 * A command repeated after a kill continues from the run's own checkpoints: `resumeFrom` and `initFrom`
 * determine where a run begins, and are not read again once it has begun.
 *
 * @module
 */
import { basename, dirname } from "@std/path";
import { ConfigError, ensure, UserError } from "../base/errors.ts";
import { exists } from "../io/files/inputs.ts";
import { readManifest } from "../io/files/manifest.ts";
import { modelShapes } from "../model/model_config.ts";
import type { Communicator } from "./mpi/communicator.ts";
import { hasCheckpoints, loadCheckpoint, loadForResume, loadResumable, makeLatest } from "./checkpoint.ts";
import type { LoadedCheckpoint, ResumableCheckpoint } from "./checkpoint_files.ts";
import { type ConfigDifference, differences, type RunConfig, type RunIdentity } from "./run_config.ts";
import { fromFirst } from "./ranks.ts";
import { RunFolder } from "./run_folder.ts";

/** @internal Where the user wants the run to start; at most one of `resumeFrom` and `initFrom`. */
export interface StartOptions {
  /** A checkpoint, or a run with one, to continue from with all its state; one of this run to go back. */
  resumeFrom?: string | undefined;
  /** A checkpoint, or a run with one, whose weights a new run starts with; everything else is new. */
  initFrom?: string | undefined;
  /** Replace an earlier run in the folder instead of resuming it, as soon as there is a checkpoint. */
  fresh?: boolean;
}

interface StartContext extends StartOptions {
  onLog: (line: string) => void;
}

export interface RunStart {
  /** The checkpoint to continue from with all its state; undefined for a new run. */
  resumed: ResumableCheckpoint | undefined;
  /** Whether `resumed` is one of this run's own checkpoints. */
  isOwn: boolean;
  /** Whether the user asked to go back to `resumed`, so that later results do not count. */
  goesBack?: boolean;
  /** The checkpoint whose weights a new run starts with; undefined for random weights. */
  initial: LoadedCheckpoint | undefined;
}

/**
 * Opens the run's folder on the process that writes it, which is the first rank.
 *
 * @param ranks Undefined for a single process.
 * @returns Undefined on the other ranks.
 * @throws {UserError} If the folder cannot be used.
 */
export async function openRun(path: string, ranks: Communicator | undefined): Promise<RunFolder | undefined> {
  if (!ranks) return RunFolder.open(path);
  let run: RunFolder | undefined;
  await fromFirst(ranks, () => void (run = RunFolder.open(path)));
  return run;
}

/**
 * Decides what the run starts from. The first rank chooses; the others read its choice.
 *
 * @param folder From {@link openRun}.
 * @param wanted As for {@link chooseStart}.
 * @throws {UserError} If the run cannot start like that.
 */
export async function allAgreeOnStart(
  folder: RunFolder | undefined,
  wanted: RunIdentity & StartContext & { ranks: Communicator | undefined },
): Promise<RunStart> {
  const { ranks } = wanted;
  let start: RunStart | undefined;
  const choose = () => {
    ensure(folder, "only the rank that opened the run chooses its start");
    start = chooseStart(folder, wanted);
    return { resumed: start.resumed?.directory, isOwn: start.isOwn, initial: start.initial?.directory };
  };
  const { resumed, isOwn, initial } = ranks ? await fromFirst(ranks, choose) : choose();
  return start ?? {
    resumed: resumed === undefined ? undefined : loadResumable(resumed),
    isOwn,
    initial: initial === undefined ? undefined : loadCheckpoint(initial),
  };
}

/**
 * Decides what a run starts from, on a single process.
 *
 * @param folder The run's folder, before its new manifest is written.
 * @param wanted The run as it is requested now.
 * @throws {ConfigError} If the checkpoint's run cannot be continued as requested.
 * @throws {UserError} If the given checkpoint does not exist or does not fit.
 */
function chooseStart(folder: RunFolder, wanted: RunIdentity & StartContext): RunStart {
  const { resumeFrom, initFrom, fresh = false, onLog } = wanted;
  const notes = { onNote: onLog };
  const hasOwn = !fresh && hasCheckpoints(folder.checkpointsDir);
  const hasBegun = hasOwn && readManifest(folder.at("manifest"))?.options.resumeFrom === resumeFrom;
  if (resumeFrom !== undefined && !hasBegun) {
    const resumed = loadResumable(resumeFrom, notes);
    const directory = Deno.realPathSync(resumed.directory);
    const isOwn = hasOwn && dirname(directory) === Deno.realPathSync(folder.checkpointsDir);
    if (hasOwn && !isOwn) {
      throw new UserError(
        `Cannot resume in ${folder.path} from another run: it has checkpoints of its own; choose another --run, or ` +
          `start over with --fresh`,
      );
    }
    checkFollowing(resumed, wanted, onLog);
    if (isOwn) makeLatest(directory);
    return { resumed, isOwn, goesBack: isOwn, initial: undefined };
  }
  const resumed = fresh ? undefined : loadForResume(folder.checkpointsDir, notes);
  if (resumed) checkSameRun(resumed, wanted, onLog);
  if (resumed || initFrom === undefined) return { resumed, isOwn: true, initial: undefined };
  const initial = loadCheckpoint(initFrom, notes);
  checkWeights(initial, wanted.config, onLog);
  return { resumed: undefined, isOwn: false, initial };
}

/** Rejects a start from a folder that will be deleted. */
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

/** Rejects the continuation of a run that was started differently; logs a change of its length. */
function checkSameRun(
  checkpoint: ResumableCheckpoint,
  wanted: RunIdentity,
  onLog: (line: string) => void,
): void {
  const found = identityDifferences(checkpoint, wanted);
  const hasOtherLength = found.some(({ keyPath }) => keyPath === "train.steps");
  const mayChange = (keyPath: string) =>
    LENGTH_KEYS.includes(keyPath) || (hasOtherLength && wanted.config.autosize && keyPath === HIDDEN_PAIRS);
  rejectOther(checkpoint, found.filter(({ keyPath }) => !mayChange(keyPath)));
  if (hasOtherLength) checkHasMoreSteps(checkpoint, wanted);
  for (const { keyPath, a, b } of found) onLog(`${keyPath} changes from ${a} to ${b}`);
}

/**
 * Rejects the continuation of a run that was started differently, as far as this is known before the sizes
 * are derived from the data and the files of places.
 *
 * @param wanted `config`: before that; `geo`: files of places.
 */
export function checkBeforeSizing(
  checkpoint: ResumableCheckpoint,
  { geo, ...wanted }: RunIdentity & { geo: readonly string[] },
): void {
  const { state } = checkpoint;
  const places = [state.config, wanted.config].map(({ model }) => model.places?.sources ?? []);
  if (geo.length > 0) places[1] = geo.map((path) => basename(path));
  const [a, b] = places.map((names) => names.join(", ") || "none");
  const isKnown = ({ keyPath }: ConfigDifference) => !SIZED_KEYS.test(keyPath) && keyPath !== "teacher";
  rejectOther(checkpoint, [
    ...identityDifferences(checkpoint, wanted).filter(isKnown),
    ...(a === b ? [] : [{ keyPath: "model.places", a, b }]),
  ]);
}

/** Keys that may change when a run continues. */
const LENGTH_KEYS: readonly string[] = ["train.steps", "train.firstSteps"];
/** Follows from the number of steps, if sizes are derived. */
const HIDDEN_PAIRS = "model.pairVectors.dropShare";
/** Keys that are derived from the data and the files of places. */
const SIZED_KEYS =
  /^(train\.(steps|firstSteps)|model\.(prefixVectors\.rows|pairVectors.*|coordinates\.(nodes|rank)|places.*))$/;

function rejectOther(
  checkpoint: ResumableCheckpoint,
  [difference]: readonly ConfigDifference[],
): void {
  if (!difference) return;
  throw madeWithOther(
    checkpoint,
    difference,
    "repeat the run's own options, choose another --run, or start over with --fresh",
  );
}

/** Rejects an end before a checkpoint, or at one whose learning rate has not decayed. */
function checkHasMoreSteps(
  { state: { step }, directory }: ResumableCheckpoint,
  { config }: RunIdentity,
): void {
  const { steps } = config.train;
  if (step < steps) return;
  throw new UserError(
    `Cannot resume from ${directory}: it is after step ${step}, but the run has only ${steps} steps; raise --steps`,
  );
}

/** Keys that a checkpoint's state depends on: the model, the kinds of optimizer, the order of the data. */
const STATE_KEYS = /^(model\..*|data\..*|data|seed|optim\.groups\.\w+\.kind)$/;

/** Rejects a checkpoint whose state does not fit; logs other differences. */
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
  checkHasMoreSteps(checkpoint, wanted);
  for (const { keyPath, a, b } of found) onLog(`${keyPath} changes from ${a} to ${b}`);
}

function identityDifferences({ state }: ResumableCheckpoint, wanted: RunIdentity): ConfigDifference[] {
  const others = [
    { keyPath: "seed", a: String(state.seed), b: String(wanted.seed) },
    { keyPath: "data", a: state.dataFingerprint, b: wanted.data },
    { keyPath: "teacher", a: state.teacher ?? "none", b: wanted.teacher ?? "none" },
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
    `the run's checkpoint ${directory} was made with ${a}, but this run has ${b}; ${hint}`,
  );
}

/** Rejects weights of other shapes; logs other differences between the models. */
function checkWeights(
  { directory, config: { model } }: LoadedCheckpoint,
  wanted: RunConfig,
  onLog: (line: string) => void,
): void {
  const found = modelShapes(model).parameters;
  const shapes = modelShapes(wanted.model).parameters;
  for (const name of new Set([...shapes.keys(), ...found.keys()])) {
    const a = found.get(name)?.join(", ");
    const b = shapes.get(name)?.join(", ");
    if (a === b) continue;
    throw new UserError(
      `Cannot start from the weights of ${directory}: ${name} is ${
        a ? `[${a}]` : "missing"
      } there, expected ${b ? `[${b}]` : "none"}; use the model section of that run's configuration`,
    );
  }
  for (const { keyPath, a, b } of differences({ ...wanted, model }, wanted)) {
    onLog(`${keyPath} changes from ${a} to ${b}`);
  }
}
