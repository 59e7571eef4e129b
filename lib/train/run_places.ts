/**
 * The places of a run: the table for its checkpoints, from the files of `--geo`, and the addresses of the
 * training data whose place is impossible because an RTT from there is faster than light in fibre.
 *
 * @module
 */
import type { ProbeRowSource } from "../data/loader/row_source.ts";
import { ensure, UserError } from "../base/errors.ts";
import { basename } from "@std/path";
import { PLACE_TABLE } from "../model/model_config.ts";
import type { LoadedCheckpoint } from "./checkpoint_files.ts";
import { LeastRtts, type MisplacedAddress } from "../data/addresses/least_rtts.ts";
import { PlaceTable } from "../data/addresses/place_table.ts";
import { openPlaces } from "../data/addresses/places/open_places.ts";
import { formatBytes, formatCount, formatSeconds } from "../base/text.ts";

const MAX_TABLE_BYTES = 12 * 2 ** 20;

export interface RunPlaces {
  /** See `PlaceTable.encode`. */
  readonly table: Uint8Array<ArrayBuffer>;
  /** Number of addresses in the training data, and how many of them have a position. */
  readonly numAddresses: number;
  readonly numLocated: number;
  readonly misplaced: readonly MisplacedAddress[];
}

/**
 * Reads files of places and compares them with the training data.
 *
 * @throws {UserError} If a file cannot be read.
 * @throws {FormatError} If it is damaged or has an unknown format.
 */
export async function openRunPlaces(
  paths: readonly string[],
  train: ProbeRowSource,
  onLog: (line: string) => void,
): Promise<RunPlaces> {
  const startMs = performance.now();
  const table = await readPlaceTable(paths, onLog);
  const places = PlaceTable.decode(table, "the table of places");
  const found = findMisplaced(places, train);
  const { sites, networks } = places.numRanges;
  const anycast = found.misplaced.filter(({ kind }) => kind === "anycast").length;
  onLog(
    `${formatCount(sites)} ranges of places and ${formatCount(networks)} of networks in ` +
      `${formatBytes(table.length)}; ${formatCount(found.numLocated)} of ${
        formatCount(found.numAddresses)
      } ` +
      `addresses have a place, ${found.misplaced.length} of them a wrong one (${anycast} anycast); done in ${
        formatSeconds((performance.now() - startMs) / 1000)
      }`,
  );
  return { table, ...found };
}

/** Builds a checkpoint's table from files of places. @throws As {@link openRunPlaces}. */
async function readPlaceTable(
  paths: readonly string[],
  onLog: (line: string) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  onLog(
    `reading where addresses are from ${paths.length} file${paths.length === 1 ? "" : "s"} (up to a minute)`,
  );
  const source = await openPlaces(paths);
  const onBlocks = (count: number) => onLog(`  looked up ${formatCount(count)} ranges of addresses`);
  return PlaceTable.of(source, onBlocks).within(MAX_TABLE_BYTES);
}

/**
 * Replaces a checkpoint's knowledge of places by the given files.
 *
 * @param paths The files of `--geo`; without any, nothing changes.
 * @throws {UserError} If the checkpoint was trained without places, or a file cannot be read.
 * @throws {FormatError} If a file is damaged or has an unknown format.
 */
export async function withGeo(
  checkpoint: LoadedCheckpoint,
  paths: readonly string[],
  onLog: (line: string) => void,
): Promise<LoadedCheckpoint> {
  if (paths.length === 0) return checkpoint;
  if (!checkpoint.config.model.places) {
    throw new UserError(
      `Cannot use --geo ${paths[0]}: the model in ${checkpoint.directory} has no places; use one that was ` +
        "trained with --geo",
    );
  }
  return withPlaceTable(checkpoint, await readPlaceTable(paths, onLog), paths.map((path) => basename(path)));
}

/** Replaces a checkpoint's table of places. @param sources Names of its files (default: unchanged). */
export function withPlaceTable(
  checkpoint: LoadedCheckpoint,
  table: Uint8Array,
  sources?: readonly string[],
): LoadedCheckpoint {
  const { config, weights, state } = checkpoint;
  const { places } = config.model;
  ensure(places, "a model with places");
  const known = { ...places, tableSize: table.length / 3, ...(sources && { sources: [...sources] }) };
  const changed = { ...config, model: { ...config.model, places: known } };
  return {
    ...checkpoint,
    config: changed,
    state: { ...state, config: changed },
    weights: new Map([...weights, [PLACE_TABLE, table]]),
  };
}

/** Finds the addresses of the training data whose place is impossible. */
function findMisplaced(table: PlaceTable, source: ProbeRowSource): Omit<RunPlaces, "table"> {
  const rtts = new LeastRtts(table);
  for (let index = 0; index < source.numRows; index++) {
    const { srcAddrs, dstAddrs, srcIndex, dstIndex, rttMs } = source.row(index);
    srcIndex.forEach((src, i) => rtts.add(srcAddrs[src], dstAddrs[dstIndex[i]], rttMs[i]));
  }
  const all = [...rtts.nodes()];
  return {
    numAddresses: all.length,
    numLocated: all.filter(({ position }) => position).length,
    misplaced: rtts.misplaced(),
  };
}
