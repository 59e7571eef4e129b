/**
 * The run's folder and start, which the first of several ranks opens and chooses for all.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import type { Communicator } from "../mpi/communicator.ts";
import { loadCheckpoint, loadResumable } from "./checkpoint.ts";
import { fromFirst } from "./ranks.ts";
import { RunFolder } from "./run_folder.ts";
import { chooseStart, type RunIdentity, type RunStart, type StartOptions } from "./run_start.ts";

/**
 * Opens the folder of the run on the process that writes it.
 *
 * @param ranks undefined if alone.
 * @returns undefined on all ranks but the first.
 * @throws {UserError} If it cannot be used.
 */
export async function openRun(path: string, ranks: Communicator | undefined): Promise<RunFolder | undefined> {
  if (!ranks) return RunFolder.open(path);
  let run: RunFolder | undefined;
  await fromFirst(ranks, () => void (run = RunFolder.open(path)));
  return run;
}

/**
 * Decides what the run starts from; the other ranks read what the first one chose.
 *
 * @param run Of {@link openRun}. @param options As `chooseStart` has them.
 * @throws {UserError} If it cannot start so.
 */
export async function agreeOnStart(
  run: RunFolder | undefined,
  wanted: RunIdentity,
  options: StartOptions & { fresh?: boolean; onLog: (line: string) => void; ranks: Communicator | undefined },
): Promise<RunStart> {
  const { ranks } = options;
  let start: RunStart | undefined;
  const choose = () => {
    ensure(run, "only who opened the run chooses its start");
    start = chooseStart(run, wanted, options);
    return { resumed: start.resumed?.directory, isOwn: start.isOwn, initial: start.initial?.directory };
  };
  const { resumed, isOwn, initial } = ranks ? await fromFirst(ranks, choose) : choose();
  return start ?? {
    resumed: resumed === undefined ? undefined : loadResumable(resumed),
    isOwn,
    initial: initial === undefined ? undefined : loadCheckpoint(initial),
  };
}
