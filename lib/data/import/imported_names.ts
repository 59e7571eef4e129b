/**
 * Names of the addresses of imported results, for `--names`: the measured host name (`dst_name`), else the
 * probe, else the measurement. The number of names is bounded. If an address has several, the first is used.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { writeFileAtomic } from "../../io/files/atomic.ts";
import { faultOfName, MAX_NAME_LENGTH, namesCsv } from "../addresses/address_names.ts";
import type { PingRow } from "../formats/format.ts";

/** Maximum number of names, about 0.2 kB each. */
const MAX_NAMED = 100_000;

export class ImportedNames {
  /** Names by address. For each address, the first of these kinds that it has is written. */
  readonly #kinds = ["host", "probe", "measurement"].map(() => new Map<string, string | number>());

  /** Adds the hosts, the probe of the source and the measurement of the destination. */
  add({ srcAddr, srcName, dstAddr, dstName, prbId, msmId }: PingRow): void {
    this.#addHost(srcAddr, srcName);
    this.#addHost(dstAddr, dstName);
    if (!Number.isNaN(prbId)) this.#add(1, srcAddr, prbId);
    if (!Number.isNaN(msmId)) this.#add(2, dstAddr, msmId);
  }

  #addHost(address: string, name: string | undefined): void {
    if (name === undefined || name === address) return;
    const shown = shortened(name, MAX_NAME_LENGTH);
    if (faultOfName(shown) === undefined) this.#add(0, address, shown);
  }

  #add(kind: number, address: string, name: string | number): void {
    const names = this.#kinds[kind];
    if (names.size < MAX_NAMED && !names.has(address)) names.set(address, name);
  }

  /** Writes a file for `--names` if there are any names. @throws {UserError} If the disk is full. */
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

/** Where an import writes names: `F.names.csv` beside `F.parquet`. */
export function namesPathBeside(file: string): string {
  return file.replace(/(\.[^./\\]+)?$/, ".names.csv");
}
