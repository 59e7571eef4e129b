/**
 * MaxMind DB files (MMDB, version 2.0: https://maxmind.github.io/MaxMind-DB/): a binary search tree over the
 * bits of addresses, with leaves that point to records. `mmdb-lib` decodes nodes and records; its own reader
 * does not visit all networks.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import decoders from "mmdb-lib/lib/decoder.js";
import { type Metadata, parseMetadata } from "mmdb-lib/lib/metadata.js";
import walkers, { type Walker } from "mmdb-lib/lib/reader/walker.js";
import { FormatError } from "../base/errors.ts";

export type MmdbValue = string | number | bigint | boolean | Uint8Array | MmdbValue[] | MmdbMap;
export interface MmdbMap {
  [key: string]: MmdbValue;
}

const METADATA_MARKER = "\xab\xcd\xefMaxMind.com";
/** Number of zero bytes between the tree and the records. */
const SEPARATOR_BYTES = 16;

/** Whether a file contains the metadata of a database. @param bytes The whole file. */
export function isMmdb(bytes: Uint8Array): boolean {
  return bufferOf(bytes).lastIndexOf(METADATA_MARKER, undefined, "latin1") >= 0;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** A database in memory. */
export class Mmdb {
  readonly #path: string;
  readonly #metadata: Metadata;
  readonly #nodes: Walker;
  readonly #decoder: { decode(offset: number): { value: MmdbValue } };
  /** The node or leaf where the IPv4 addresses start. */
  readonly #ipv4Root: number;

  /**
   * @param bytes The whole file. @param path Its path, for errors.
   * @throws {FormatError} If it is damaged or not a database of this format.
   */
  constructor(bytes: Uint8Array, path: string) {
    this.#path = path;
    if (!isMmdb(bytes)) throw this.#invalid("it has no MaxMind DB metadata");
    const buffer = bufferOf(bytes);
    this.#metadata = this.#checked(() => parseMetadata(buffer));
    const { nodeCount, recordSize, ipVersion, searchTreeSize } = this.#metadata;
    if (!Number.isSafeInteger(nodeCount) || nodeCount < 0 || ![4, 6].includes(ipVersion)) {
      throw this.#invalid(`its node_count and ip_version are ${nodeCount} and ${ipVersion}`);
    }
    if (searchTreeSize + SEPARATOR_BYTES > bytes.length) {
      throw this.#invalid(`its search tree of ${nodeCount} nodes does not fit into the file`);
    }
    this.#nodes = walkers.default(buffer, recordSize);
    this.#decoder = new decoders.default(buffer, searchTreeSize + SEPARATOR_BYTES);
    this.#ipv4Root = 0;
    for (let bit = 0; ipVersion === 6 && bit < 96 && this.#ipv4Root < nodeCount; bit++) {
      this.#ipv4Root = this.#child(this.#ipv4Root, 0);
    }
  }

  /** Finds an address's record number for {@link record}, if it has one. @param address 4 or 16 bytes. */
  find(address: Uint8Array): number | undefined {
    const { nodeCount, ipVersion } = this.#metadata;
    if (address.length === 16 && ipVersion === 4) return undefined;
    let node = address.length === 4 ? this.#ipv4Root : 0;
    for (let bit = 0; bit < 8 * address.length && node < nodeCount; bit++) {
      node = this.#child(node, address[bit >> 3] >> (7 - (bit & 7)) & 1);
    }
    return node > nodeCount ? node : undefined;
  }

  /**
   * Visits all networks of an IP version that have a record, in ascending order.
   *
   * @param visit Receives the first 32 and the next 32 bits of a network's first address, its prefix length
   *   in bits (for IPv6 at most 64: only the first network in a /64 is visited), and the number of its
   *   record. Equal numbers are equal records.
   */
  walk(
    version: 4 | 6,
    visit: (upper: number, lower: number, lengthBits: number, record: number) => void,
  ): void {
    const { nodeCount, ipVersion } = this.#metadata;
    if (version === 6 && ipVersion === 4) return;
    const maxBits = version === 4 ? 32 : 64;
    let numLeft = nodeCount;
    const go = (node: number, bits: number, upper: number, lower: number): boolean => {
      if (node === nodeCount) return false;
      if (node > nodeCount) {
        visit(upper >>> 0, lower >>> 0, Math.min(bits, maxBits), node);
        return true;
      }
      // In a tree of both versions, other IPv6 networks may refer to the IPv4 tree.
      if (version === 6 && bits > 0 && node === this.#ipv4Root) return false;
      // Only in a damaged tree can a node be reached in two ways.
      if (--numLeft < 0 || bits >= 128) throw this.#invalid("its search tree has loops");
      const left = this.#child(node, 0);
      const right = this.#child(node, 1);
      if (bits >= maxBits) return go(left, bits + 1, upper, lower) || go(right, bits + 1, upper, lower);
      const first = go(left, bits + 1, upper, lower);
      const second = bits < 32
        ? go(right, bits + 1, upper | 1 << (31 - bits), lower)
        : go(right, bits + 1, upper, lower | 1 << (63 - bits));
      return first || second;
    };
    go(version === 4 ? this.#ipv4Root : 0, 0, 0, 0);
  }

  record(number: number): MmdbValue {
    const { nodeCount, searchTreeSize } = this.#metadata;
    return this.#checked(() => this.#decoder.decode(searchTreeSize + number - nodeCount).value);
  }

  #child(node: number, side: number): number {
    const offset = node * this.#metadata.nodeByteSize;
    return side === 0 ? this.#nodes.left(offset) : this.#nodes.right(offset);
  }

  /** Decodes a value. A damaged one makes `mmdb-lib` read past the end or follow pointers in a circle. */
  #checked<T>(decode: () => T): T {
    try {
      return decode();
    } catch (cause) {
      throw this.#invalid("a value is damaged", cause);
    }
  }

  #invalid(found: string, cause?: unknown): FormatError {
    return new FormatError(`${found}; expected a MaxMind DB file (.mmdb)`, { path: this.#path, cause });
  }
}
