/** File descriptors of a server. Each connection takes one, and `ulimit -n` limits their number. @module */
import { fromFileUrl } from "@std/path";
import { UserError } from "../base/errors.ts";
import { systemCode } from "../io/files/file_errors.ts";
import type { Limits } from "./answers.ts";

/** Connections beyond the limits, so that monitors get through while clients occupy all others. */
const MAX_SPARE = 16;
/** Connections waiting to be accepted. All of them are opened at once, before any can be refused. */
const MAX_BACKLOG = 128;
/** Descriptors for files and for loading a newer model. */
const NUM_FOR_FILES = 12;
/** Shares of the descriptors for spare and waiting connections, if there are few. */
const SHARES = { spare: 1 / 8, backlog: 1 / 4 };

export interface ConnectionLimits extends Limits {
  /** Connections beyond the limits, which serve only what monitors request. */
  readonly maxSpare: number;
  /** Connections waiting to be accepted. */
  readonly maxBacklog: number;
}

/**
 * Lowers the connection limits to what the process can open, and logs a reduction.
 *
 * @throws {UserError} If the process cannot open enough files for a single connection.
 */
export function withinDescriptors(limits: Limits, log: (line: string) => void): ConnectionLimits {
  const { maxConnections: wanted, maxClientConnections: wantedOfClient } = limits;
  const numWanted = wanted + MAX_SPARE + MAX_BACKLOG + NUM_FOR_FILES;
  const numFree = freeDescriptors(numWanted);
  if (numFree === numWanted) return { ...limits, maxSpare: MAX_SPARE, maxBacklog: MAX_BACKLOG };
  const numShared = numFree - NUM_FOR_FILES;
  const maxSpare = Math.min(MAX_SPARE, Math.floor(SHARES.spare * numShared));
  const maxBacklog = Math.min(MAX_BACKLOG, Math.floor(SHARES.backlog * numShared));
  const found = `this process can open only ${numFree} more files`;
  if (maxSpare < 1) {
    const least = NUM_FOR_FILES + 1 / SHARES.spare;
    throw new UserError(
      `Cannot listen: ${found} and needs at least ${least}; raise the limit with ulimit -n`,
    );
  }
  const maxConnections = Math.min(wanted, numShared - maxSpare - maxBacklog);
  // Keeps one client's share of the connections.
  const maxClientConnections = Math.ceil(Math.min(1, wantedOfClient / wanted) * maxConnections);
  if (maxConnections < wanted) {
    log(
      `Cannot accept ${wanted} connections: ${found}; accepting ${maxConnections}, ` +
        `at most ${maxClientConnections} per client; raise the limit with ulimit -n`,
    );
  }
  return { ...limits, maxConnections, maxClientConnections, maxSpare, maxBacklog };
}

/**
 * Counts free descriptors, up to a maximum, by opening them: a stage may not read the limit of its process.
 */
function freeDescriptors(most: number): number {
  // A package from a registry has no file that the stage may read.
  if (!import.meta.url.startsWith("file:")) return most;
  const path = fromFileUrl(import.meta.url);
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < most) opened.push(Deno.openSync(path));
  } catch (error) {
    if (!["EMFILE", "ENFILE"].includes(systemCode(error) ?? "")) throw error;
  } finally {
    for (const file of opened) file.close();
  }
  return opened.length;
}
