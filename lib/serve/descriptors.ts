/** File descriptors of a server: every connection takes one, and `ulimit -n` bounds them. @module */
import { fromFileUrl } from "@std/path";
import { UserError } from "../base/errors.ts";
import { isOutOfFiles } from "../io/files/file_errors.ts";
import type { Limits } from "./answers.ts";

/** Connections over the limits, which monitors need while clients hold all others. */
const MAX_SPARE = 16;
/** Connections that wait to be taken. All that wait are opened at once, before any can be refused. */
const MAX_BACKLOG = 128;
/** Descriptors for files and for a newer model. */
const NUM_FOR_FILES = 12;
/** The shares of spare and waiting connections where descriptors are few. */
const SHARES = { spare: 1 / 8, backlog: 1 / 4 };

export interface ConnectionLimits extends Limits {
  /** Further connections, which get only what monitors ask for. */
  readonly maxSpare: number;
  /** Connections that wait to be taken. */
  readonly maxBacklog: number;
}

/**
 * Lowers the limits of connections to what the process may open, and logs that it does.
 *
 * @throws {UserError} If it may open too few for any connection.
 */
export function withinDescriptors(limits: Limits, log: (line: string) => void): ConnectionLimits {
  const { maxConnections: wanted, maxClientConnections: wantedOfClient } = limits;
  const numWanted = wanted + MAX_SPARE + MAX_BACKLOG + NUM_FOR_FILES;
  const numFree = freeDescriptors(numWanted);
  if (numFree === numWanted) return { ...limits, maxSpare: MAX_SPARE, maxBacklog: MAX_BACKLOG };
  const numShared = numFree - NUM_FOR_FILES;
  const maxSpare = Math.min(MAX_SPARE, Math.floor(SHARES.spare * numShared));
  const maxBacklog = Math.min(MAX_BACKLOG, Math.floor(SHARES.backlog * numShared));
  const found = `this process may open ${numFree} more files`;
  if (maxSpare < 1) {
    const least = NUM_FOR_FILES + 1 / SHARES.spare;
    throw new UserError(
      `Cannot listen: ${found}, expected at least ${least}; raise the limit with ulimit -n`,
    );
  }
  const maxConnections = Math.min(wanted, numShared - maxSpare - maxBacklog);
  // One client keeps its share.
  const maxClientConnections = Math.ceil(Math.min(1, wantedOfClient / wanted) * maxConnections);
  if (maxConnections < wanted) {
    log(
      `Cannot take ${wanted} connections: ${found}; taking ${maxConnections}, ${maxClientConnections} of one client; ` +
        "raise the limit with ulimit -n",
    );
  }
  return { ...limits, maxConnections, maxClientConnections, maxSpare, maxBacklog };
}

/**
 * How many descriptors are free, up to a number. They are opened, because a stage may not read the limit of
 * its process.
 */
function freeDescriptors(most: number): number {
  // A package of a registry has no file that the stage may read.
  if (!import.meta.url.startsWith("file:")) return most;
  const path = fromFileUrl(import.meta.url);
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < most) opened.push(Deno.openSync(path));
  } catch (error) {
    if (!isOutOfFiles(error)) throw error;
  } finally {
    for (const file of opened) file.close();
  }
  return opened.length;
}
