/**
 * What an output may not replace: another run's result without leave, another stage's and a user's files at all.
 *
 * @module
 */
import { join } from "@std/path";
import { UserError } from "../errors.ts";
import { exists } from "./inputs.ts";
import type { Manifest } from "./manifest.ts";
import type { Place } from "./output_place.ts";
import { requireRegular } from "./regular_file.ts";
import { WORK } from "./array_task.ts";

/** What is at an output's place before a run. */
export interface Found {
  wanted: Manifest;
  /** The manifest of the outputs that are in their places. */
  published: Manifest | undefined;
  /** Whether that is of the wanted run. */
  isPublished: boolean;
  /** Whether there is unfinished work of another run. */
  hasBegunOther: boolean;
}

/** Refuses a folder that holds other files or another run's. @throws {UserError} If it does. */
export function refuseOthersFolder({ output, root }: Place, found: Found, overwrite: boolean): void {
  const { wanted: { stage }, published, isPublished, hasBegunOther } = found;
  if (isPublished) return;
  if (hasBegunOther && !overwrite) {
    throw new UserError(
      `Cannot write to ${output}: a run with other inputs or options did not finish there; finish it, ` +
        "choose another --output or add --overwrite",
    );
  }
  const isEmpty = [...Deno.readDirSync(root)].every(({ name }) => name.startsWith(WORK));
  if (isEmpty) return;
  if (published?.stage === stage) {
    if (overwrite) return;
    throw new UserError(
      `Cannot write to ${output}: ${stage} with other inputs or options wrote to it, an empty folder was wanted; ` +
        "choose another --output or add --overwrite",
    );
  }
  throw new UserError(
    `Cannot write to ${output}: ${published ? `${published.stage} wrote to it` : "it holds other files"}, ` +
      `an empty folder or one of ${stage} was wanted; choose another --output, or delete the folder by hand`,
  );
}

/** Refuses names of what is no regular file. @throws {UserError} If there is one. */
export function requireRegularPlaces({ root }: Place, names: readonly string[]): void {
  for (const name of names) {
    const path = join(root, name);
    if (exists(path)) requireRegular(Deno.statSync(path), `write ${path}`);
  }
}

/** Refuses to replace files that another run or nobody known wrote. @throws {UserError} If there is one. */
export function refuseOthersFiles(
  { root }: Place,
  names: readonly string[],
  found: Found,
  overwrite: boolean,
): void {
  const { wanted: { stage }, published, isPublished } = found;
  const own = new Set(published?.stage === stage ? published.outputs.map(({ path }) => path) : []);
  for (const name of names) {
    const path = join(root, name);
    if (!exists(path)) continue;
    const fault = !own.has(name)
      ? `it is there already, and ${
        published ? `${published.stage} wrote it` : "no manifest says who wrote it"
      }; ` +
        "choose another --output, or delete it by hand"
      : !isPublished && !overwrite
      ? `${stage} with other inputs or options wrote it; choose another --output or add --overwrite`
      : undefined;
    if (fault !== undefined) throw new UserError(`Cannot write ${path}: ${fault}`);
  }
}
