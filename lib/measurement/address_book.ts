/**
 * What is known of addresses by their text, found once per distinct text: results of ping measurements name the same
 * probes and targets again and again.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../addresses/ip.ts";
import { isPublicAddress } from "../addresses/address_scope.ts";

/** The longest text that is looked for as bytes; an IPv6 address has 45 characters at most. */
export const MAX_ADDRESS_BYTES = 64;

const MAX_ADDRESSES = 1 << 16;
const NUM_SLOTS = 2 * MAX_ADDRESSES;
/** FNV-1a (Fowler, Noll, Vo), 32 bits. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** An address as text, which may be no address. */
export interface Address {
  /** As it was found. */
  readonly text: string;
  /** 4 or 16 bytes; undefined if the text is no address. */
  readonly bytes: Uint8Array | undefined;
  /** As RFC 5952 writes it; empty if the text is no address. */
  readonly canonical: string;
  /** Whether it is reachable from the whole Internet. */
  readonly isPublic: boolean;
}

/** What is known of an address, or of a text that is none. */
export function readAddress(text: string): Address {
  const bytes = parseAddress(text);
  return {
    text,
    bytes,
    canonical: bytes ? formatAddress(bytes) : "",
    isPublic: bytes !== undefined && isPublicAddress(bytes),
  };
}

/** Addresses by the bytes of their text; forgets all when it is full, about 20 MB. */
export class AddressBook {
  readonly #addresses: Address[] = [];
  /** The bytes of each text, {@link MAX_ADDRESS_BYTES} for each. */
  readonly #texts = new Uint8Array(MAX_ADDRESSES * MAX_ADDRESS_BYTES);
  /** Open-addressed: number of the address + 1, or 0. */
  readonly #slots = new Int32Array(NUM_SLOTS);

  /**
   * The address whose ASCII text stands from `start` to `end - 1`, {@link MAX_ADDRESS_BYTES} at most; the same object
   * each time until the book is full.
   */
  find(bytes: Uint8Array, start: number, end: number): Address {
    let hash = FNV_OFFSET;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i], FNV_PRIME);
    let slot = (hash ^ hash >>> 15) & NUM_SLOTS - 1;
    for (; this.#slots[slot] !== 0; slot = slot + 1 & NUM_SLOTS - 1) {
      const address = this.#addresses[this.#slots[slot] - 1];
      if (address.text.length === end - start && this.#isText(this.#slots[slot] - 1, bytes, start, end)) {
        return address;
      }
    }
    return this.#add(slot, bytes.subarray(start, end));
  }

  #isText(index: number, bytes: Uint8Array, start: number, end: number): boolean {
    const texts = this.#texts;
    for (let i = start, at = index * MAX_ADDRESS_BYTES; i < end; i++, at++) {
      if (texts[at] !== bytes[i]) return false;
    }
    return true;
  }

  #add(slot: number, text: Uint8Array): Address {
    const address = readAddress(String.fromCharCode(...text));
    if (this.#addresses.length === MAX_ADDRESSES) {
      this.#addresses.length = 0;
      this.#slots.fill(0); // any slot may be taken now
    }
    this.#texts.set(text, this.#addresses.length * MAX_ADDRESS_BYTES);
    this.#slots[slot] = this.#addresses.push(address);
    return address;
  }
}
