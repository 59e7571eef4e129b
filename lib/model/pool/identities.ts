/**
 * Which addresses belong to which probe. A probe whose address changes, or that has an IPv4 and an IPv6
 * address, is one host, so its measurements from other addresses say much about it.
 *
 * An address that several probes share, such as that of a NAT, belongs to none. A probe with more than
 * {@link MAX_ADDRESSES_OF_ONE} addresses is ignored: its number probably means that the probe is unknown.
 *
 * @module
 */
import { MAX_PROBE } from "../../data/formats/batch.ts";
import { type TensorArray, tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { type Hashes, keyOfHashes } from "../embedding_table.ts";
import { HashedRows, savedRows } from "../hashed_rows.ts";
import type { Recalled } from "./forecast.ts";
import { COUNT, HASHES, type Tensor } from "../possible_numbers.ts";

/** The probes of further addresses are not recorded: 6 MB. */
const MAX_ADDRESSES = 2 ** 19;
/** A probe with more is ignored. */
export const MAX_ADDRESSES_OF_ONE = 1024;

/** Addresses and the number of the probe of each. Pools without have none. */
export const IDENTITIES: Tensor = ["pool.identities", [...HASHES, COUNT], "U32"];

/** The probe of an address that several probes share. */
const SHARED = -1;

/** Counts of addresses. */
export interface IdentityCounts {
  /** Addresses of known probes. */
  readonly identified: number;
  /** Left out, because several probes share them. */
  readonly shared: number;
  /** Left out, because their probe has too many addresses. */
  readonly ignored: number;
}

interface Collected {
  readonly hashes: Hashes;
  probe: number;
}

/** The probes of addresses while they are collected from the training data. */
export class CollectedIdentities {
  readonly #addresses = new Map<number, Collected>();

  /** @param probe Its number; negative if several probes have the address. */
  add(hashes: Hashes, probe: number): void {
    const key = keyOfHashes(hashes);
    const known = this.#addresses.get(key);
    if (known && known.probe !== probe) known.probe = SHARED;
    if (!known && probe <= MAX_PROBE && this.#addresses.size < MAX_ADDRESSES) {
      this.#addresses.set(key, { hashes, probe: Math.max(SHARED, probe) });
    }
  }

  counts(): IdentityCounts {
    const { shared, identified, ignored } = this.#grouped();
    return { identified: identified.length, shared: shared.length, ignored: ignored.length };
  }

  /** The tensor of {@link IDENTITIES}; none without addresses of known probes. */
  save(): Map<string, TensorArray> {
    const { identified } = this.#grouped();
    return savedRows(IDENTITIES[0], identified.map(({ hashes, probe }) => ({ hashes, numbers: [probe] })));
  }

  #grouped() {
    const all = { shared: [], ignored: [], identified: [] } as Record<keyof IdentityCounts, Collected[]>;
    for (const [probe, addresses] of Map.groupBy(this.#addresses.values(), ({ probe }) => probe)) {
      const isIgnored = addresses.length > MAX_ADDRESSES_OF_ONE;
      all[probe === SHARED ? "shared" : isIgnored ? "ignored" : "identified"].push(...addresses);
    }
    return all;
  }
}

/** The probes that a checkpoint knows. */
export class Identities {
  readonly #words: Uint32Array;
  readonly #addresses: HashedRows;
  /** The rows of each probe. */
  readonly #rowsOf: ReadonlyMap<number, readonly number[]>;

  constructor(tensors: Tensors) {
    const [name, { length: width }] = IDENTITIES;
    this.#words = tensors.has(name) ? tensorOf(tensors, name, "U32") : new Uint32Array();
    this.#addresses = new HashedRows(this.#words, width);
    const rows = Array(this.#words.length / width).keys();
    this.#rowsOf = Map.groupBy(rows, (row) => this.#words[width * row + HASHES.length]);
  }

  /** The probe that has an address; undefined if it is not known. */
  probeOf(address: Hashes): number | undefined {
    const row = this.#addresses.find(address);
    return row < 0 ? undefined : this.#words[IDENTITIES[1].length * row + HASHES.length];
  }

  /** The known addresses of a probe; none if it is undefined. */
  addressesOf(probe: number | undefined): Hashes[] {
    const rows = probe === undefined ? [] : this.#rowsOf.get(probe) ?? [];
    return rows.map((row) => {
      const [hash1, hash2] = this.#words.subarray(IDENTITIES[1].length * row);
      return { hash1, hash2 };
    });
  }
}

export const KNOWN_IDENTITIES: Recalled<Identities> = { open: (tensors) => new Identities(tensors) };
