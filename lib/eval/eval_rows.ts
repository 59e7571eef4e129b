/**
 * The probe rows of an evaluation: those to predict, those the model was trained on, and those that may be
 * known when a measurement is predicted.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { UserError } from "../base/errors.ts";
import { type CheckedOutputs, checkOutputs } from "../io/files/checked_outputs.ts";
import { exists } from "../io/files/inputs.ts";
import type { Manifest } from "../io/files/manifest.ts";
import { requireFinished } from "../io/files/task_manifests.ts";
import { type ArrayRecordRowSource, openProbeRows, type ProbeRowSource } from "../data/loader/row_source.ts";
import { SPLIT_MODES, SPLIT_NAMES, type SplitMode, type SplitName } from "../data/probe_rows/splits.ts";
import { truthPathBeside } from "../data/synth/truth.ts";

/**
 * Which earlier measurements of the same source may be known: those of every split, or only those of the
 * training set, so that held-out pairs stay unseen.
 */
export type HistoryMode = "all" | "train";

/** The split modes that keep all measurements of a held-out pair out of the training set. */
const UNSEEN_PAIRS: readonly SplitMode[] = ["pair", "destination", "node"];

export interface EvalRows {
  readonly heldOut: ProbeRowSource;
  /** Rows that the model and the baselines are trained on. */
  readonly training: ProbeRowSource;
  /** Rows of other splits, which may be known with history `all`. */
  readonly others: readonly ProbeRowSource[];
  /** The validation split among them, which chooses settings. */
  readonly validation?: ProbeRowSource | undefined;
  readonly history: HistoryMode;
}

export interface OpenEvalRows extends EvalRows, Disposable {
  /** How the predicted rows were held out; undefined if no manifest records it. */
  readonly splitBy: SplitMode | undefined;
}

export interface EvalRowsOptions {
  split: SplitName;
  /** Probe rows whose `train` split the model was trained on, or one folder per campaign (the same folder). */
  trainDir?: string | readonly string[] | undefined;
  /** Manifests of the rows (default: read from the folders). */
  checked?: CheckedOutputs | undefined;
  /** How damaged chunks are treated (error). */
  onCorrupt?: "error" | "skip" | undefined;
  /** By default `train` if the rows were split by pair, destination or node, else `all`. */
  history?: HistoryMode | undefined;
  /** Does not open splits that are neither predicted nor trained on (false). */
  withoutOthers?: boolean;
}

/**
 * Opens the probe rows of an evaluation.
 *
 * @param dataDir Probe rows with the split to predict.
 * @throws {UserError} If there are no such rows, if the folders identify sources differently, or if no
 *   history is given and no manifest records how the rows were split.
 */
export async function openEvalRows(dataDir: string, options: EvalRowsOptions): Promise<OpenEvalRows> {
  const { split, trainDir = dataDir, onCorrupt = "error" } = options;
  const checked = options.checked ?? await checkOutputs([dataDir, ...[trainDir].flat()], { onCorrupt });
  for (const folder of [trainDir].flat()) requireSameSources(dataDir, folder);
  const splitBy = splitModeOf(dataDir);
  if (!splitBy && !options.history) {
    const modes = SPLIT_MODES.join(" | ");
    throw new UserError(
      `Cannot choose the history of ${dataDir}: no manifest records how it was split (${modes}); choose ` +
        "--history train (as for pairs) or --history all",
    );
  }
  using opened = new DisposableStack();
  const open = async (folder: string | readonly string[], name: string): Promise<ArrayRecordRowSource> =>
    opened.use(await openProbeRows(folder, name, { checked, onCorrupt }));
  const heldOut = await open(dataDir, split);
  const training = await open(trainDir, "train");
  const isThere = (name: SplitName) => exists(join(dataDir, name));
  const others = new Map<string, ProbeRowSource>();
  for (const name of SPLIT_NAMES) {
    if (!options.withoutOthers && name !== split && name !== "train" && isThere(name)) {
      others.set(name, await open(dataDir, name));
    }
  }
  const kept = opened.move();
  return {
    heldOut,
    training,
    others: [...others.values()],
    validation: others.get("val"),
    splitBy,
    history: options.history ?? (splitBy && UNSEEN_PAIRS.includes(splitBy) ? "train" : "all"),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/**
 * How probe rows were split, according to their manifest or that of the shards they were made from.
 *
 * @returns Undefined if neither says so.
 */
export function splitModeOf(folder: string): SplitMode | undefined {
  const manifests = requireFinished(folder).map(({ manifest }) => manifest);
  const own = splitByOf(manifests.at(0));
  if (own) return own;
  const modes = new Set(shardFoldersOf(manifests).map((shards) => splitByOf(manifestsOf(shards).at(0))));
  return modes.size === 1 ? [...modes][0] : undefined;
}

function splitByOf(manifest: Manifest | undefined): SplitMode | undefined {
  return SPLIT_MODES.find((mode) => mode === manifest?.options["splitBy"]);
}

/** @throws {UserError} If the rows of two folders are of different kinds of sources. */
export function requireSameSources(dataDir: string, trainDir: string): void {
  const groupByOf = (folder: string) => manifestsOf(folder).at(0)?.options["groupBy"];
  const ofData = groupByOf(dataDir);
  const ofTrain = groupByOf(trainDir);
  if (ofData === ofTrain || ofData === undefined || ofTrain === undefined) return;
  throw new UserError(
    `Cannot use ${trainDir} to train for ${dataDir}: found rows grouped by ${ofTrain} and by ${ofData}, ` +
      "expected the same; recreate one with probe-rows --group-by",
  );
}

/** The manifests of a folder; empty if the folder does not exist or may not be read. */
export function manifestsOf(folder: string): readonly Manifest[] {
  return isReadable(folder) ? requireFinished(folder).map(({ manifest }) => manifest) : [];
}

/** The folders of shards that probe rows may have been made from. @param manifests Those of the rows. */
function shardFoldersOf(manifests: readonly Manifest[]): string[] {
  return [...new Set(inputsOf(manifests).map((path) => dirname(dirname(path))))];
}

/**
 * The truth file next to the measurements that probe rows were made from, directly or via shards, which may be
 * made from other shards, as those of `eval --all-splits`.
 *
 * @returns Undefined if there is none, or if several files with a truth each were used.
 */
export function findTruthFile(rowsDir: string): string | undefined {
  let manifests = manifestsOf(rowsDir);
  let truths = truthsBeside(manifests);
  for (let level = 0; truths.length === 0 && level < SPLIT_MODES.length; level++) {
    manifests = shardFoldersOf(manifests).flatMap(manifestsOf);
    truths = truthsBeside(manifests);
  }
  return truths.length === 1 ? truths[0] : undefined;
}

function truthsBeside(manifests: readonly Manifest[]): string[] {
  return [...new Set(inputsOf(manifests).map(truthPathBeside))].filter(isReadable);
}

function inputsOf(manifests: readonly Manifest[]): string[] {
  return manifests.flatMap(({ inputs }) => inputs.map(({ path }) => path));
}

function isReadable(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted" && exists(path);
}
