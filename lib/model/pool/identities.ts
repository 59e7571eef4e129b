/**
 * Which addresses belong to the same host. A probe whose address changes, or that has an IPv4 and an IPv6
 * address, is one identity, so its measurements from other addresses say much about it.
 *
 * An address that several probes share, such as that of a NAT, has no identity. An identity with more than
 * {@link MAX_ADDRESSES_OF_ONE} addresses is ignored: its number probably means that the probe is unknown.
 *
 * @module
 */
import { type TensorArray, tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { type Hashes, keyOfHashes } from "../embedding_table.ts";
import { HASHES, Rows, type Tensor, whole } from "../possible_numbers.ts";

/** Further addresses have no identity: 6 MB. */
const MAX_ADDRESSES = 2 ** 19;
/** An identity with more is ignored. */
export const MAX_ADDRESSES_OF_ONE = 1024;

/** The addresses of identities with several addresses, and the number of the identity. Pools without have none. */
export const IDENTITIES: Tensor = ["pool.identities", [...HASHES, whole(0, MAX_ADDRESSES - 1)], "U32"];

/** The identity of an address that several hosts share. */
const SHARED = -1;

/** Counts of addresses. */
export interface IdentityCounts {
  /** With other addresses of the same host. */
  readonly identified: number;
  /** Left out, because several hosts share them. */
  readonly shared: number;
  /** Left out, because their identity has too many addresses. */
  readonly ignored: number;
}

/** Identities while they are collected from the training data. */
export class CollectedIdentities {
  readonly #addresses = new Map<number, { readonly hashes: Hashes; identity: number }>();

  /** @param identity Equal for the addresses of a host; negative if several hosts have the address. */
  add(hashes: Hashes, identity: number): void {
    const key = keyOfHashes(hashes);
    const known = this.#addresses.get(key);
    if (identity < 0) identity = SHARED;
    if (known && known.identity !== identity) known.identity = SHARED;
    if (!known && this.#addresses.size < MAX_ADDRESSES) this.#addresses.set(key, { hashes, identity });
  }

  counts(): IdentityCounts {
    const { shared, several, tooMany } = this.#grouped();
    const [identified, ignored] = [several, tooMany].map((each) => each.flat().length);
    return { identified, shared: shared.length, ignored };
  }

  /** The tensor of {@link IDENTITIES}; none if no identity has several addresses. */
  save(): Map<string, TensorArray> {
    const rows = this.#grouped().several.flatMap((addresses, number) =>
      addresses.map(({ hashes }) => ({ hashes, number }))
    ).sort((a, b) => keyOfHashes(a.hashes) - keyOfHashes(b.hashes));
    const numbers = rows.flatMap(({ hashes: { hash1, hash2 }, number }) => [hash1, hash2, number]);
    return new Map(rows.length > 0 ? [[IDENTITIES[0], Uint32Array.from(numbers)]] : []);
  }

  /** The addresses of each identity, in an order that does not depend on that of the data. */
  #grouped() {
    const sorted = [...this.#addresses].sort(([a], [b]) => a - b).map(([, address]) => address);
    const groups = Map.groupBy(sorted, ({ identity }) => identity);
    const shared = groups.get(SHARED) ?? [];
    groups.delete(SHARED);
    const several = groups.values().filter(({ length }) => length > 1).toArray();
    return {
      shared,
      several: several.filter(({ length }) => length <= MAX_ADDRESSES_OF_ONE),
      tooMany: several.filter(({ length }) => length > MAX_ADDRESSES_OF_ONE),
    };
  }
}

/** The identities of a checkpoint. */
export class Identities {
  readonly #numbers = new Map<number, number>();

  constructor(tensors: Tensors) {
    if (!tensors.has(IDENTITIES[0])) return;
    const rows = tensorOf(tensors, IDENTITIES[0], "U32");
    for (let at = 0; at < rows.length; at += IDENTITIES[1].length) {
      const [hash1, hash2, number] = rows.subarray(at, at + IDENTITIES[1].length);
      this.#numbers.set(keyOfHashes({ hash1, hash2 }), number);
    }
  }

  /** The number of the host that has an address among others; undefined if that is not known. */
  numberOf(address: Hashes): number | undefined {
    return this.#numbers.get(keyOfHashes(address));
  }
}

/** Yields the broken rules of the tensor. */
export function* faultsOfIdentities(tensors: Tensors): Generator<string> {
  if (!tensors.has(IDENTITIES[0])) return;
  const rows = Rows.of(tensors, IDENTITIES);
  const { name, width, values: { length } } = rows;
  if (length % width > 0) yield `tensor ${name} has ${length} numbers, expected rows of ${width}`;
  yield* rows.ascending();
}
