/**
 * The medians of an earlier `bench --json`, to compare with.
 *
 * @module
 */
import { FormatError } from "../errors.ts";
import { readText } from "../files/inputs.ts";
import { measureKey } from "./throughput.ts";

/**
 * Reads the medians.
 *
 * @param path What `bench --json` printed.
 * @returns Medians by the measures' `measureKey`.
 * @throws {UserError} If the file cannot be read.
 * @throws {FormatError} If it is no such output.
 */
export function readEarlierRun(path: string): Map<string, number> {
  const text = readText(path);
  try {
    const { rows } = JSON.parse(text) as { rows: { name: string; dataRows?: number; median: number }[] };
    return new Map(rows.map((row) => [measureKey(row), row.median]));
  } catch (cause) {
    throw new FormatError("the output of bench --json was wanted", { path, cause });
  }
}
