/**
 * A chain of stages, which one command runs and, if repeated, continues. Each stage manages its own folder; a
 * file stores the chain's options and choices.
 *
 * @module
 */
import { parseJson } from "../lib/base/collections.ts";
import { join } from "@std/path";
import { kebab } from "../lib/cli/options.ts";
import type { Stage, StageContext } from "../lib/cli/stage.ts";
import { ConfigError, FormatError, UserError } from "../lib/base/errors.ts";
import { WORK } from "../lib/io/files/array_task.ts";
import { writeJsonAtomic } from "../lib/io/files/atomic.ts";
import { exists, readText } from "../lib/io/files/inputs.ts";
import { hasCheckpoints } from "../lib/train/checkpoint.ts";
import { trainStage } from "./train.ts";

interface ChainState<Options> {
  options: Options;
  /** Whether it replaces the output of an earlier chain. */
  replaces?: boolean;
  /** Whether training and the whole chain are done. */
  isTrained?: boolean;
  isDone?: boolean;
}

export interface ChainFolder {
  output: string;
  /** Name of the state file in the folder. */
  fileName: string;
  /** What the chain makes, such as `a demo`. */
  what: string;
  /** Options that only training and later steps depend on. */
  trainOptions?: readonly string[];
}

/** A subfolder for the measurements of a chain, which the chain itself may have made. */
export const CHAIN_DATA = "data";

/** @throws {UserError} If the folder contains files, but no chain of this kind. */
export function refuseOthers(folder: Pick<ChainFolder, "output" | "fileName">): void {
  if (!exists(folder.output) || exists(statePath(folder)) || namesIn(folder).length === 0) return;
  throw new UserError(
    `Cannot use ${folder.output}: it contains other files, expected an empty folder; choose another --output`,
  );
}

/**
 * Opens the folder of a chain, which must be empty or contain the same chain, which is then continued.
 *
 * @param overwrite Whether to replace results of other options or of a finished chain.
 * @throws {UserError} If it contains other files, or a chain with other options.
 */
export function openChain<Options extends object>(
  folder: ChainFolder,
  options: Options,
  overwrite: boolean,
): ChainState<Options> {
  const { output, what } = folder;
  const state: ChainState<Options> = { options };
  refuseOthers(folder);
  if (exists(statePath(folder))) {
    const earlier = readState<Options>(folder);
    const isSame = JSON.stringify(earlier.options) === JSON.stringify(options);
    if (isSame && !(overwrite && earlier.isDone)) return earlier;
    if (namesIn(folder).length === 0) {
      saveChain(folder, state);
      return state;
    }
    if (!overwrite && !isBeforeTraining(folder, earlier.options, options)) {
      const names = namesOfDifferent(earlier.options, options);
      throw new UserError(
        `Cannot use ${output}: ${what} with other options (${names}) wrote to it; choose another --output or add --overwrite`,
      );
    }
    state.replaces = true;
  }
  saveChain(folder, state);
  return state;
}

/** The names of differing options, as users write them. */
function namesOfDifferent(earlier: object, options: object): string {
  const textsOf = (of: object) =>
    new Map(Object.entries(of).map(([name, value]) => [name, JSON.stringify(value)]));
  const [before, now] = [textsOf(earlier), textsOf(options)];
  const names = [...new Set([...before.keys(), ...now.keys()])];
  return names.filter((name) => before.get(name) !== now.get(name)).map(kebab).join(", ");
}

/** The entries of a folder, except the chain's own state and its measurements. */
function namesIn({ output, fileName }: Pick<ChainFolder, "output" | "fileName">): string[] {
  return [...Deno.readDirSync(output)].map(({ name }) => name).filter((name) =>
    ![WORK, fileName, CHAIN_DATA].includes(name)
  );
}

/** Whether only options of the training differ, and nothing that depends on them exists. */
function isBeforeTraining<Options>(folder: ChainFolder, earlier: Options, options: Options): boolean {
  const { output, trainOptions = [] } = folder;
  const others = (of: Options) =>
    JSON.stringify(of, (key, value) => trainOptions.includes(key) ? undefined : value);
  return others(earlier) === others(options) && !namesIn(folder).includes("eval") &&
    !hasCheckpoints(join(output, "train", "checkpoints"));
}

function saveChain<Options>(folder: ChainFolder, state: ChainState<Options>): void {
  writeJsonAtomic(statePath(folder), state);
}

/** Records that the chain is done. From then on other options are rejected. */
export function finishChain<Options>(folder: ChainFolder, state: ChainState<Options>): void {
  delete state.replaces;
  state.isDone = true;
  saveChain(folder, state);
}

function statePath({ output, fileName }: Pick<ChainFolder, "output" | "fileName">): string {
  return join(output, fileName);
}

function readState<Options>(folder: ChainFolder): ChainState<Options> {
  const path = statePath(folder);
  const state = parseJson(readText(path));
  if (state !== undefined) return state as ChainState<Options>;
  throw new FormatError(`it is not a state of ${folder.what}; choose another --output`, { path });
}

/** Runs a stage as part of a chain, and logs the equivalent command and its result. */
export async function step(
  context: StageContext,
  stage: Stage,
  args: string[],
): Promise<Record<string, unknown>> {
  context.log(`\n$ deno task ${stage.name} ${shorten(args)}`);
  const { text, json } = await stage.run(args, context);
  context.log(text);
  context.signal.throwIfAborted();
  return json ?? {};
}

function shorten(args: string[]): string {
  const text = args.join(" ");
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}

/**
 * Trains as part of a chain, from the beginning if it replaces what an earlier chain trained.
 *
 * @param chain `isReplacing`: whether a run with another configuration is replaced.
 */
export async function trainStep<Options>(
  context: StageContext,
  args: string[],
  { folder, state, isReplacing }: { folder: ChainFolder; state: ChainState<Options>; isReplacing: boolean },
): Promise<Record<string, unknown>> {
  const again = () => step(context, trainStage, [...args, "--fresh"]);
  let result = await step(context, trainStage, args).catch((error) => {
    if (!(error instanceof ConfigError && isReplacing)) throw error;
    return again();
  });
  if (state.replaces && !state.isTrained && result["status"] === "already done") result = await again();
  state.isTrained = true;
  saveChain(folder, state);
  return result;
}
