/**
 * Measurement files of any format: which files of a folder to read, in which order, and what each contains.
 *
 * @module
 */
import {
  decompressWhole,
  type InputStream,
  openInput,
  prepend,
  STANDARD_INPUT,
  takeHead,
} from "../../io/compression/decompress.ts";
import { tarMembers } from "../../io/compression/tar.ts";
import { fingerprint, listInputs, type OnLink } from "../../io/files/inputs.ts";
import { openRegularFile } from "../../io/files/byte_file.ts";
import { NoMeasurementsError, type ReadingOptions, USUAL_READING } from "../formats/format.ts";
import { type Found, MeasurementReader, readStream } from "../formats/reader.ts";
import { readParquetTable } from "./parquet_table.ts";

const TEXT_EXTENSIONS = [".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".log", ".out"]
  .flatMap((extension) => ["", ".gz", ".bz2", ".zst"].map((suffix) => extension + suffix));
/** Files with other extensions in a folder are not read. */
export const MEASUREMENT_EXTENSIONS: readonly string[] = [".parquet", ...TEXT_EXTENSIONS];
const ARCHIVE_EXTENSIONS = [".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.zst"];

/** Names of files that stages of this program write beside measurements. */
const BESIDES =
  /\.(?:rejects\.jsonl|names\.csv|truth\.json|manifest\.json)$|(?:^|\/)manifest(?:-[^/]*)?\.json$/;
const PARQUET_MAGIC = "PAR1";
/** Names that imply a format. If such a file contains something else, that is an error. */
const MEASUREMENT_NAME = /\.(?:json|jsonl|ndjson|parquet)(?:\.gz|\.bz2|\.zst)?$/;
/** How much of a file is read to recognise measurements, before and at most after decompression. */
const HEAD_BYTES = 1 << 16;
const MAX_HEAD_BYTES = 1 << 24;
/** Maximum number of files left out of a folder that are each reported with a reason. */
const MAX_SHOWN_LEFT_OUT = 10;

/**
 * Lists the measurement files named by arguments, each once.
 *
 * @param paths Files, folders, globs, or `-` for standard input.
 * @param options `log`: called with a line for links that are followed and for other files in a folder.
 *   `except`: a path that is not read, such as the output.
 * @throws {UserError} If a path does not exist, or a folder or glob contains no measurement file.
 */
export function listMeasurementFiles(
  paths: readonly string[],
  { log = () => {}, except, reading = USUAL_READING }: {
    log?: OnLink | undefined;
    except?: string | undefined;
    reading?: ReadingOptions;
  } = {},
): string[] {
  const files = paths.filter((path) => path !== STANDARD_INPUT);
  const others: string[] = [];
  const isLeftOut = (path: string) => BESIDES.test(path) || path === except;
  const listed = files.length === 0 ? [] : listInputs(files, {
    extensions: [...MEASUREMENT_EXTENSIONS, ...ARCHIVE_EXTENSIONS],
    wanted: "a measurement file",
    isLeftOut,
    nameOf: withoutRotation,
    onLink: log,
    onOther: (path) => others.push(path),
  });
  const more = others.length > 1 ? ` and ${others.length - 1} more` : "";
  if (others.length > 0) log(`leaving out ${others[0]}${more}: the names are not those of measurement files`);
  const read = listed.length > 1 ? withoutOthers(listed, files, { log, reading }) : listed;
  return files.length < paths.length ? [STANDARD_INPUT, ...read] : read;
}

/** A log's name before rotation: `ping.log.gz` for `ping.log.2.gz`, `ping.log` for `ping.log-20260101`. */
function withoutRotation(path: string): string {
  return path.replace(/[.-]\d+(?=(?:\.(?:gz|bz2|zst))?$)/, "");
}

/** Leaves out files in folders and globs that do not contain measurements. If none does, all stay. */
function withoutOthers(
  listed: readonly string[],
  named: readonly string[],
  { log, reading }: { log: OnLink; reading: ReadingOptions },
): string[] {
  const others = new Map<string, string>();
  for (const path of listed) {
    const found = named.includes(path) ? undefined : foundInsteadIn(path, reading);
    if (found !== undefined) others.set(path, found);
  }
  if (others.size === listed.length) return [...listed];
  logOthers(others, log);
  return listed.filter((path) => !others.has(path));
}

/** @param others What was found in files that are left out, by path. */
function logOthers(others: ReadonlyMap<string, string>, log: OnLink): void {
  for (const [path, found] of [...others].slice(0, MAX_SHOWN_LEFT_OUT)) log(`leaving out ${path}: ${found}`);
  const numMore = others.size - MAX_SHOWN_LEFT_OUT;
  if (numMore > 0) log(`leaving out ${numMore} more files without measurements`);
}

/** Describes a text whose beginning shows that it does not contain measurements; undefined for any other. */
function foundInsteadIn(path: string, reading: ReadingOptions): string | undefined {
  if (isArchive(path)) return undefined;
  using file = openRegularFile(path);
  const bytes = new Uint8Array(HEAD_BYTES);
  const numRead = file.readSync(bytes) ?? 0;
  const head = decompressWhole(bytes.subarray(0, numRead), MAX_HEAD_BYTES, { isHead: true });
  return head && foundInstead(path, head, { isWhole: numRead < HEAD_BYTES, reading });
}

/** As {@link foundInsteadIn}. @param head The beginning of the decompressed text. */
function foundInstead(
  path: string,
  head: Uint8Array,
  { isWhole, reading }: { isWhole: boolean; reading: ReadingOptions },
): string | undefined {
  if (MEASUREMENT_NAME.test(path)) return undefined;
  try {
    const reader = new MeasurementReader(path, { ...reading, onReading: undefined }, () => {});
    reader.push(head);
    if (isWhole) reader.end();
    return undefined;
  } catch (error) {
    return error instanceof NoMeasurementsError ? error.fault?.found : undefined;
  }
}

/** Whether a file is a tar archive, by its name. */
export function isArchive(path: string): boolean {
  return ARCHIVE_EXTENSIONS.some((extension) => path.endsWith(extension));
}

/**
 * Reads the measurement files in a tar archive, in its order. Other members are left out, as in a folder, and so
 * is Parquet, which needs a file.
 *
 * @param options `log`: called at the end with a line for each of the first members that are left out.
 * @yields A member, `path` as `a.tar.gz:b.json`, which must be read before the next one.
 * @throws {UserError} If the archive cannot be read or is damaged.
 */
export async function* readMembers(
  path: string,
  { reading, log = () => {}, onBytes = () => {} }: {
    reading: ReadingOptions;
    log?: OnLink | undefined;
    onBytes?: (numBytes: number) => void;
  },
): AsyncGenerator<InputStream & { path: string }> {
  const others = new Map<string, string>();
  const { chunks } = await openInput(path, { onBytes });
  for await (const { name, bytes } of tarMembers(chunks, path)) {
    if (BESIDES.test(name) || /(?:^|\/)\./.test(name)) continue;
    const member = `${path}:${name}`;
    if (name.endsWith(".parquet")) others.set(member, "it is Parquet; extract the archive");
    else if (!TEXT_EXTENSIONS.some((extension) => withoutRotation(name).endsWith(extension))) {
      others.set(member, "the name is not that of a measurement file");
    } else {
      const { compression, chunks } = await openInput(member, { raw: bytes });
      const head = await takeHead(chunks, HEAD_BYTES);
      const found = foundInstead(member, head.slice(), { isWhole: head.length < HEAD_BYTES, reading });
      if (found === undefined) yield { path: member, compression, chunks: prepend(head, chunks) };
      else others.set(member, found);
    }
  }
  logOthers(others, log);
}

/** Whether a file begins like Parquet. @throws {UserError} If it cannot be read. */
export function isParquet(path: string): boolean {
  if (path === STANDARD_INPUT) return false;
  using file = openRegularFile(path);
  const head = new Uint8Array(PARQUET_MAGIC.length);
  return file.readSync(head) === head.length && new TextDecoder().decode(head) === PARQUET_MAGIC;
}

/**
 * The findings in a file, in order and part by part. `path`: the file, or the member of an archive.
 *
 * @param hooks As for {@link readMembers}. @throws {UserError} If the file cannot be read.
 */
export async function* readFindings(
  path: string,
  reading: ReadingOptions,
  hooks: Omit<Parameters<typeof readMembers>[1], "reading"> = {},
): AsyncGenerator<{ path: string; found: Found[] }> {
  if (!isArchive(path) && isParquet(path)) {
    for await (const found of readParquetTable(path, reading)) yield { path, found };
    hooks.onBytes?.(fingerprint(path).sizeBytes);
    return;
  }
  const members = isArchive(path)
    ? readMembers(path, { reading, ...hooks })
    : [{ path, ...await openInput(path, hooks) }];
  for await (const { path: member, compression, chunks } of members) {
    const options = { ...reading, isCompressed: compression !== "none" };
    for await (const found of readStream(chunks, member, options)) yield { path: member, found };
  }
}

/**
 * Sorts files by the time of their first measurement. Files without times come first, in their given order.
 *
 * @param paths As returned by {@link listMeasurementFiles}.
 */
export async function inOrderOfTime(paths: readonly string[], options: ReadingOptions): Promise<string[]> {
  if (paths.length < 2) return [...paths];
  const timed: { path: string; timeUs: number }[] = [];
  for (const path of paths) timed.push({ path, timeUs: await firstTimeUs(path, options) });
  return timed.sort((a, b) => a.timeUs - b.timeUs).map(({ path }) => path);
}

/** Microseconds since 1970; 0 if there is no time. */
async function firstTimeUs(path: string, options: ReadingOptions): Promise<number> {
  if (path === STANDARD_INPUT) return 0;
  // A copy, since the records that are read here are no part of the data.
  for await (const { found } of readFindings(path, { ...options })) {
    for (const { finding } of found) {
      if ("eventTimeUs" in finding && finding.eventTimeUs > 0) return finding.eventTimeUs;
    }
  }
  return 0;
}
