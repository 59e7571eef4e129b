/**
 * A chain of stages that one command runs, and that goes on where it was when the command is given again: each stage
 * sees to its own folder, and a file remembers what the chain is of and what it chose.
 *
 * @module
 */
import { join } from "@std/path";
import { kebab } from "../lib/cli/flags.ts";
import type { Stage, StageContext } from "../lib/cli/stage.ts";
import { ConfigError, ensure, FormatError, UserError } from "../lib/errors.ts";
import { WORK } from "../lib/files/array_task.ts";
import { writeJsonAtomic } from "../lib/files/atomic.ts";
import { exists, readText } from "../lib/files/inputs.ts";
import { hasCheckpoints } from "../lib/train/checkpoint.ts";
import { trainStage } from "./train.ts";

/** What a chain remembers between interrupted calls. */
export interface ChainState<Options> {
  /** What its results depend on. */
  options: Options;
  tokensPerSecond?: number;
  /** Whether it replaces what a chain with other options wrote. */
  replaces?: boolean;
}

/** Where a chain writes. */
export interface ChainFolder {
  output: string;
  /** The file of its state, in the folder. */
  fileName: string;
  /** What it is, as in `a demo`. */
  what: string;
  /** Names of options that nothing but the training and what follows it depends on. */
  trainOptions?: readonly string[];
}

/**
 * Opens the folder of a chain: fresh, or that of the same chain, which then goes on.
 *
 * @param folder A folder that is there.
 * @param options What the results depend on. @param overwrite Whether those of other options are replaced.
 * @throws {UserError} If it holds other files, or those of a chain with other options.
 */
export function openChain<Options extends object>(
  folder: ChainFolder,
  options: Options,
  overwrite: boolean,
): ChainState<Options> {
  const { output, what } = folder;
  const state: ChainState<Options> = { options };
  if (exists(statePath(folder))) {
    const earlier = readState<Options>(folder);
    if (JSON.stringify(earlier.options) === JSON.stringify(options)) return earlier;
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
  } else if (namesIn(folder).length > 0) {
    throw new UserError(
      `Cannot use ${output}: it holds other files, an empty folder was wanted; choose another --output`,
    );
  }
  saveChain(folder, state);
  return state;
}

/** The options that differ, as users write them. */
function namesOfDifferent(earlier: object, options: object): string {
  const textsOf = (of: object) =>
    new Map(Object.entries(of).map(([name, value]) => [name, JSON.stringify(value)]));
  const [before, now] = [textsOf(earlier), textsOf(options)];
  const names = [...new Set([...before.keys(), ...now.keys()])];
  return names.filter((name) => before.get(name) !== now.get(name)).map(kebab).join(", ");
}

/** What a folder holds besides the chain's own state. */
function namesIn({ output, fileName }: ChainFolder): string[] {
  return [...Deno.readDirSync(output)].map(({ name }) => name).filter((name) =>
    name !== WORK && name !== fileName
  );
}

/** Whether options differ in those of the training only, and nothing that depends on these is there. */
function isBeforeTraining<Options>(folder: ChainFolder, earlier: Options, options: Options): boolean {
  const { output, trainOptions = [] } = folder;
  const others = (of: Options) =>
    JSON.stringify(of, (key, value) => trainOptions.includes(key) ? undefined : value);
  return others(earlier) === others(options) && !namesIn(folder).includes("eval") &&
    !hasCheckpoints(join(output, "train", "checkpoints"));
}

/** Remembers the state of a chain. */
export function saveChain<Options>(folder: ChainFolder, state: ChainState<Options>): void {
  writeJsonAtomic(statePath(folder), state);
}

function statePath({ output, fileName }: ChainFolder): string {
  return join(output, fileName);
}

function readState<Options>(folder: ChainFolder): ChainState<Options> {
  const path = statePath(folder);
  try {
    return JSON.parse(readText(path));
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new FormatError(`it is no state of ${folder.what}; choose another --output`, { path, cause });
  }
}

/** Runs a stage as a part of a chain, showing the command a user would type and its result. */
export async function step(
  context: StageContext,
  stage: Stage,
  args: string[],
): Promise<Record<string, unknown>> {
  context.log(`\n$ deno task ${stage.name} ${shorten(args)}`);
  const result = await stage.run(args, context);
  ensure("json" in result, `${stage.name} gave help instead of a result`);
  context.log(result.text);
  context.signal.throwIfAborted();
  return result.json ?? {};
}

function shorten(args: string[]): string {
  const text = args.join(" ");
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}

/** Trains as a part of a chain. @param replaces Whether a run with other options gives way to this one. */
export async function trainStep(
  context: StageContext,
  args: string[],
  replaces: boolean,
): Promise<Record<string, unknown>> {
  return await step(context, trainStage, args).catch((error) => {
    if (!(error instanceof ConfigError && replaces)) throw error;
    return step(context, trainStage, [...args, "--fresh"]);
  });
}
