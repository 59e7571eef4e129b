/**
 * Names of the addresses of imported results, for `--names`: the host name that was measured (`dst_name`), else the probe,
 * else the measurement. Their number is bounded; the first name of an address counts.
 *
 * @module
 */
import { writeFileAtomic } from "../../io/files/atomic.ts";
import { faultOfName, namesCsv } from "../addresses/address_names.ts";
import type { PingRow } from "../formats/format.ts";

/** Some 0.2 kB each. */
const MAX_NAMED = 100_000;

export class ImportedNames {
  /** By address; of these kinds the first that an address has is written. */
  readonly #kinds = ["host", "probe", "measurement"].map(() => new Map<string, string | number>());

  addName(address: string, name: string): void {
    if (name !== address && faultOfName(name) === undefined) this.#add(0, address, name);
  }

  /** Adds the probe of a source and the measurement of a destination. @param row NaN: unknown. */
  addRow({ srcAddr, dstAddr, prbId, msmId }: Pick<PingRow, "srcAddr" | "dstAddr" | "prbId" | "msmId">) {
    if (!Number.isNaN(prbId)) this.#add(1, srcAddr, prbId);
    if (!Number.isNaN(msmId)) this.#add(2, dstAddr, msmId);
  }

  #add(kind: number, address: string, name: string | number): void {
    const names = this.#kinds[kind];
    if (names.size < MAX_NAMED && !names.has(address)) names.set(address, name);
  }

  /** Writes a file for `--names`, if there are names. @throws {UserError} If the disk is full. */
  write(path: string): void {
    const names = new Map<string, string>();
    for (const [kind, before] of ["", "probe ", "measurement "].entries()) {
      for (const [address, name] of this.#kinds[kind]) {
        if (names.size < MAX_NAMED && !names.has(address)) names.set(address, `${before}${name}`);
      }
    }
    if (names.size > 0) writeFileAtomic(path, namesCsv(names));
  }
}

/** The path of the names that an import writes: `F.names.csv` beside `F.parquet`. */
export function namesPathBeside(file: string): string {
  return file.replace(/(\.[^./\\]+)?$/, ".names.csv");
}
