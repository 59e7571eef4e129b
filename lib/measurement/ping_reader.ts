/**
 * Ping results read straight from the bytes of their JSON text (RFC 8259), several times as fast as by `JSON.parse`:
 * nothing is made of fields that a measurement does not need, and addresses are looked up by their bytes.
 *
 * Only plain results are read: `type` is `ping`, each needed field is of its usual type, texts are ASCII without
 * escapes, numbers have no exponent, values that are not needed are no lists or objects. Anything else is left to
 * `JSON.parse`; for plain results {@link fieldsOfObject} gives the same fields.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import { type Address, AddressBook, MAX_ADDRESS_BYTES } from "./address_book.ts";
import { isRtt } from "./batch.ts";
import type { PingFields } from "./ping_fields.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const DIGIT_0 = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LOWER_E = 0x65;
/** Set in lower-case letters. */
const LOWER_CASE = 0x20;

/** Keys of numbers, of addresses and others, numbered from 0 on. */
const NUMBER_KEYS = ["timestamp", "msm_id", "prb_id", "af", "size", "sent", "rcvd", "min", "avg"];
const ADDRESS_KEYS = ["from", "src_addr", "dst_addr", "addr"];
const KEYS = [...NUMBER_KEYS, ...ADDRESS_KEYS, "type", "result", "rtt", "dup", "late", "x", "error", "hop"];
const FIRST_ADDRESS = NUMBER_KEYS.length;
const TYPE = FIRST_ADDRESS + ADDRESS_KEYS.length;
const [RESULT, RTT, DUP, LATE, X, ERROR, HOP] = [1, 2, 3, 4, 5, 6, 7].map((i) => TYPE + i);
/** Any other key. */
const OTHER = KEYS.length;
/** No key, or one that is not plain. */
const NOT_PLAIN = -1;

const KEY_BYTES = KEYS.map((key) => new TextEncoder().encode(key));
const NUM_KEY_SLOTS = 64;
const KEY_SLOTS = makeKeySlots();
const [TRUE, FALSE, NULL, PING] = ["true", "false", "null", `"ping"`].map((text) =>
  new TextEncoder().encode(text)
);

/** 1 for the ASCII bytes that stand for themselves in a JSON text. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => +(byte >= 0x20 && byte < 0x7f));
IS_PLAIN[QUOTE] = IS_PLAIN[0x5c] = 0;

/** Integers of so many digits and these powers of ten are exact as doubles, so their quotient is rounded once. */
const MAX_EXACT_DIGITS = 15;
/** Longer numbers are not plain; real ones have up to 17 digits. */
const MAX_DIGITS = 40;
const POWERS_OF_TEN = Float64Array.from({ length: MAX_EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent);

/** Reads plain ping results from bytes. */
export class PingReader {
  readonly #book = new AddressBook();
  readonly #numbers = new Float64Array(NUMBER_KEYS.length);
  readonly #addresses: (Address | undefined)[] = ADDRESS_KEYS.map(() => undefined);
  #bytes = new Uint8Array(0);
  #at = 0;
  #isPing = false;
  #numEntries = 0;
  #rttsMs: number[] = [];
  #wrongRttMs: number | undefined;
  /** Of the reply that is being read. */
  #rttMs = NaN;
  #isEntry = false;
  #isInTime = true;

  /** Index behind the result that was read last. */
  get end(): number {
    return this.#at;
  }

  /**
   * Reads the result that begins at `start` with a brace.
   *
   * @param bytes They end in a byte 0, or in another that cannot stand in JSON.
   * @returns Its fields, or undefined if it is no plain ping result or not all there.
   */
  read(bytes: Uint8Array<ArrayBuffer>, start: number): PingFields | undefined {
    this.#bytes = bytes;
    this.#at = start;
    this.#isPing = false;
    this.#numbers.fill(NaN);
    this.#addresses.fill(undefined);
    this.#clearReplies();
    const isPlain = this.#readObject(false);
    const numbers = this.#numbers;
    if (!isPlain || !this.#isPing || Number.isNaN(numbers[0])) return undefined;
    const addresses = this.#addresses;
    return {
      timestampS: numbers[0],
      msmId: numbers[1],
      prbId: numbers[2],
      af: numbers[3],
      sizeBytes: numbers[4],
      sent: numbers[5],
      rcvd: numbers[6],
      minMs: numbers[7],
      avgMs: numbers[8],
      from: addresses[0],
      srcAddr: addresses[1],
      dstAddr: addresses[2] ?? addresses[3],
      numEntries: this.#numEntries,
      rttsMs: this.#rttsMs,
      wrongRttMs: this.#wrongRttMs,
    };
  }

  /** Reads a result or a reply; false where it is not plain. */
  #readObject(isReply: boolean): boolean {
    this.#at++;
    this.#skipBlanks();
    if (this.#bytes[this.#at] === CLOSE_BRACE) {
      this.#at++;
      return true;
    }
    while (true) {
      const key = this.#readKey();
      if (key === NOT_PLAIN) return false;
      const isPlain = isReply ? this.#readReplyField(key) : this.#readField(key);
      if (!isPlain) return false;
      this.#skipBlanks();
      const byte = this.#bytes[this.#at++];
      if (byte === CLOSE_BRACE) return true;
      if (byte !== COMMA) return false;
      this.#skipBlanks();
    }
  }

  #readField(key: number): boolean {
    if (key < FIRST_ADDRESS) {
      const value = this.#readNumber();
      this.#numbers[key] = value;
      return value === value;
    }
    if (key < TYPE) return this.#readAddress(key - FIRST_ADDRESS);
    if (key === TYPE) return this.#isPing = this.#skipWord(PING);
    return key === RESULT ? this.#readReplies() : this.#skipValue();
  }

  #readReplyField(key: number): boolean {
    if (key === RTT) {
      this.#isEntry = true;
      this.#rttMs = this.#readNumber();
      return this.#rttMs === this.#rttMs;
    }
    if (key === HOP) return false;
    if (key === DUP || key === LATE) this.#isInTime = false;
    if (key === DUP || key === X || key === ERROR) this.#isEntry = true;
    return this.#skipValue();
  }

  #readReplies(): boolean {
    const bytes = this.#bytes;
    if (bytes[this.#at] !== OPEN_BRACKET) return false;
    this.#at++;
    this.#clearReplies();
    this.#skipBlanks();
    if (bytes[this.#at] === CLOSE_BRACKET) {
      this.#at++;
      return true;
    }
    while (bytes[this.#at] === OPEN_BRACE) {
      this.#rttMs = NaN;
      this.#isEntry = false;
      this.#isInTime = true;
      if (!this.#readObject(true)) return false;
      this.#addReply();
      this.#skipBlanks();
      const byte = bytes[this.#at++];
      if (byte === CLOSE_BRACKET) return true;
      if (byte !== COMMA) return false;
      this.#skipBlanks();
    }
    return false;
  }

  #clearReplies(): void {
    this.#numEntries = 0;
    this.#rttsMs = [];
    this.#wrongRttMs = undefined;
  }

  #addReply(): void {
    if (!this.#isEntry) return;
    this.#numEntries++;
    if (!this.#isInTime) return;
    const rttMs = this.#rttMs;
    this.#rttsMs.push(rttMs);
    if (rttMs === rttMs && !isRtt(rttMs)) this.#wrongRttMs ??= rttMs;
  }

  /** Reads a key and its colon; moves to the value. */
  #readKey(): number {
    const bytes = this.#bytes;
    const start = this.#at + 1;
    if (!this.#skipText()) return NOT_PLAIN;
    const key = findKey(bytes, start, this.#at - 1);
    this.#skipBlanks();
    if (bytes[this.#at] !== COLON) return NOT_PLAIN;
    this.#at++;
    this.#skipBlanks();
    return key;
  }

  #readAddress(index: number): boolean {
    const start = this.#at + 1;
    if (!this.#skipText()) return false;
    const end = this.#at - 1;
    if (end - start > MAX_ADDRESS_BYTES) return false;
    this.#addresses[index] = end > start ? this.#book.find(this.#bytes, start, end) : undefined;
    return true;
  }

  /** The number, or NaN where there is none or it is not plain. */
  #readNumber(): number {
    const bytes = this.#bytes;
    const start = this.#at;
    const isNegative = bytes[start] === MINUS;
    let at = isNegative ? start + 1 : start;
    const firstDigit = at;
    let digits = 0;
    let digit = bytes[at] - DIGIT_0;
    for (; digit >= 0 && digit <= 9; digit = bytes[++at] - DIGIT_0) digits = 10 * digits + digit;
    let numDigits = at - firstDigit;
    if (numDigits === 0 || (numDigits > 1 && bytes[firstDigit] === DIGIT_0)) return NaN;
    let numDecimals = 0;
    if (bytes[at] === DOT) {
      const firstDecimal = ++at;
      digit = bytes[at] - DIGIT_0;
      for (; digit >= 0 && digit <= 9; digit = bytes[++at] - DIGIT_0) digits = 10 * digits + digit;
      numDecimals = at - firstDecimal;
      numDigits += numDecimals;
      if (numDecimals === 0) return NaN;
    }
    if ((bytes[at] | LOWER_CASE) === LOWER_E) return NaN;
    this.#at = at;
    if (numDigits > MAX_DIGITS) return NaN;
    if (numDigits > MAX_EXACT_DIGITS) return Number(String.fromCharCode(...bytes.subarray(start, at)));
    const value = numDecimals === 0 ? digits : digits / POWERS_OF_TEN[numDecimals];
    return isNegative ? -value : value;
  }

  /** Moves behind a value that is no list or object. */
  #skipValue(): boolean {
    switch (this.#bytes[this.#at]) {
      case QUOTE:
        return this.#skipText();
      case TRUE[0]:
        return this.#skipWord(TRUE);
      case FALSE[0]:
        return this.#skipWord(FALSE);
      case NULL[0]:
        return this.#skipWord(NULL);
      default:
        return !Number.isNaN(this.#readNumber());
    }
  }

  #skipText(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    if (bytes[at++] !== QUOTE) return false;
    while (IS_PLAIN[bytes[at]] === 1) at++;
    this.#at = at + 1;
    return bytes[at] === QUOTE;
  }

  #skipWord(word: Uint8Array): boolean {
    for (let i = 0; i < word.length; i++) if (this.#bytes[this.#at + i] !== word[i]) return false;
    this.#at += word.length;
    return true;
  }

  #skipBlanks(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    while (bytes[at] <= SPACE && isBlank(bytes[at])) at++;
    this.#at = at;
  }
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Number of the key whose text stands from `start` to `end - 1`. */
function findKey(bytes: Uint8Array, start: number, end: number): number {
  const key = KEY_SLOTS[keySlot(end - start, bytes[start], bytes[end - 1])];
  if (key === OTHER) return OTHER;
  const wanted = KEY_BYTES[key];
  if (wanted.length !== end - start) return OTHER;
  for (let i = 0; i < wanted.length; i++) if (bytes[start + i] !== wanted[i]) return OTHER;
  return key;
}

/** A number below {@link NUM_KEY_SLOTS}, another for each of {@link KEYS}: the factors were found by trying. */
function keySlot(length: number, firstByte: number, lastByte: number): number {
  return length + 4 * firstByte + 8 * lastByte & NUM_KEY_SLOTS - 1;
}

function makeKeySlots(): Uint8Array {
  const slots = new Uint8Array(NUM_KEY_SLOTS).fill(OTHER);
  for (const [key, bytes] of KEY_BYTES.entries()) {
    const slot = keySlot(bytes.length, bytes[0], bytes[bytes.length - 1]);
    ensure(slots[slot] === OTHER, `two keys have slot ${slot}`);
    slots[slot] = key;
  }
  return slots;
}
