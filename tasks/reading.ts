/** Parses the options of stages that read measurements in any format. @module */
import { shortened, UsageError } from "../lib/base/errors.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { formatAddress, parseAddress } from "../lib/data/addresses/ip.ts";
import { openNames } from "../lib/data/addresses/places/open_names.ts";
import { type ReadingOptions, USUAL_READING } from "../lib/data/formats/format.ts";
import { FORMATS } from "../lib/data/formats/registry.ts";
import { parseColumns } from "../lib/data/formats/table.ts";
import { isZone, parseTimeUs } from "../lib/data/formats/time_text.ts";
import { Readings } from "../lib/data/formats/reading.ts";
import { describeRejected, describeSkipped, totalOf } from "../lib/data/measurement_files/rejects.ts";
import type { LeftOut } from "../lib/query/files/measurement_files.ts";
import type { importCommand } from "./import.command.ts";

export type GivenReading = Partial<
  Pick<
    OptionsOf<typeof importCommand>,
    | ("format" | "columns" | "src" | "dst" | "noReply" | "zone")
    | ("start" | "interval" | "source" | "rtt" | "names")
  >
>;

/**
 * Parses the options, and collects how files are read with them.
 *
 * @param log Takes each distinct reading once, before its first row.
 * @throws {UsageError} If an option is invalid. @throws {UserError} If a file of names cannot be read.
 */
export async function openReading(
  options: GivenReading,
  log: (line: string) => void,
): Promise<{ reading: ReadingOptions; readings: Readings }> {
  const readings = new Readings(log);
  return { reading: { ...await readingOf(options), onReading: readings.add }, readings };
}

/** @throws {UsageError} If an option is invalid. @throws {UserError} If a file of names cannot be read. */
export async function readingOf(options: GivenReading): Promise<ReadingOptions> {
  const { format, columns, noReply, start, interval, zone, names = [] } = options;
  const { source, rtt } = { ...USUAL_READING, ...options };
  if (format !== undefined && !FORMATS.some(({ name }) => name === format)) {
    const known = FORMATS.map(({ name, title }) => `${name} (${title})`).join(", ");
    throw new UsageError(`Cannot use --format ${shortened(format)}: expected one of ${known}`);
  }
  const addresses = names.length === 0 ? undefined : (await openNames(names)).addressesByName();
  return {
    source,
    rtt,
    format,
    columns: columns === undefined ? undefined : parseColumns(columns),
    src: addressesOf("src", options.src, addresses),
    dst: addressesOf("dst", options.dst, addresses),
    noReply: noReply?.split(","),
    addresses,
    // Checked first, since the start may be in this zone.
    zone: zone === undefined ? undefined : zoneOption(zone),
    startS: start === undefined ? undefined : timeOption("start", start, zone),
    intervalS: interval,
  };
}

/** The part of the options that identifies an output, as plain data without undefined values. */
export function identityOf(
  { addresses: _, onReading: __, columns, ...plain }: ReadingOptions,
): Record<string, unknown> {
  const values = { ...plain, ...(columns && { columns: [...columns] }) };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Logs how many rows of files were left out, if any, and a warning about the unit of their RTTs. */
export function logLeftOut({ rejected = {}, skipped, advice }: LeftOut, log: (line: string) => void): void {
  if (advice !== undefined) log(advice);
  const counts = [describeRejected(rejected), describeSkipped(skipped)];
  if (totalOf(rejected) + totalOf(skipped) > 0) log(`left out: ${counts.join(", ")}`);
}

/** The addresses of an option: one, or an IPv4 and an IPv6 address separated by a comma. */
function addressesOf(
  name: "src" | "dst",
  text: string | undefined,
  addresses: ReadonlyMap<string, string> | undefined,
): string[] | undefined {
  const parsed = text?.split(",").map((each) => parseAddress(addresses?.get(each.toLowerCase()) ?? each));
  if (!parsed) return undefined;
  const known = parsed.filter((bytes) => bytes !== undefined);
  const isOnePerVersion = new Set(known.map(({ length }) => length)).size === parsed.length;
  if (isOnePerVersion) return known.map(formatAddress);
  throw new UsageError(
    `Cannot use --${name} ${
      shortened(text ?? "")
    }: expected an address, or a name that --names FILES maps to ` +
      "one, or one of IPv4 and one of IPv6, separated by a comma",
  );
}

/** Checks a zone given as `--zone`. @throws {UsageError} If it is neither a name nor an offset. */
function zoneOption(zone: string): string {
  if (isZone(zone)) return zone;
  throw new UsageError(
    `Cannot use --zone ${
      shortened(zone)
    }: expected an IANA name such as Europe/Berlin, or an offset such as +01:00`,
  );
}

/**
 * Parses a time given as `--name`.
 *
 * @param zone Of a time without one; UTC by default.
 * @returns Unix seconds.
 * @throws {UsageError} If it is not a time.
 */
export function timeOption(name: string, text: string, zone?: string): number {
  const parsed = parseTimeUs(text, "seconds", zone);
  if ("timeUs" in parsed) return parsed.timeUs / 1e6;
  throw new UsageError({ action: `use --${name} ${shortened(text)}`, ...parsed.fault });
}
