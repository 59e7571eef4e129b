/**
 * Names that users give to addresses and prefixes, such as host names. They are shown beside addresses and
 * can be searched.
 *
 * Names come from hosts files (hosts(5)) and from CSV files separated by commas, semicolons or tabs. A CSV
 * line contains an address or prefix and its name; a header is optional. Lines that begin with `#` are
 * comments. An address has the name of the longest prefix that contains it, just as routers choose routes
 * (RFC 4632, section 5.1).
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { FormatError, shortened } from "../../base/errors.ts";
import { csvField, csvText } from "../../base/text.ts";
import { type CsvRecord, type CsvSeparator, readCsv } from "../../io/text/csv.ts";
import {
  faultOfPrefix,
  formatPrefix,
  type IpPrefix,
  isAddress,
  parsePrefix,
  prefixOfAddress,
  withName,
} from "./ip_prefix.ts";
import { comparable, matchingNames, type SearchedName } from "./name_search.ts";

/** Maximum number of names. Each takes 0.2 kB. */
const MAX_NAMES = 2 ** 18;
/** In UTF-16 characters; host names have at most 253 (RFC 1035, section 2.3.4). */
export const MAX_NAME_LENGTH = 255;
/** Characters that would garble surrounding lines: control characters, line separators, direction changes. */
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

/** Explains why a name cannot be shown; undefined if it can. */
export function faultOfName(name: string): string | undefined {
  if (name === "") return "the name is missing";
  if (name.length > MAX_NAME_LENGTH) return `found a name of ${name.length} characters`;
  return UNSAFE.test(name) ? "found a name with control characters" : undefined;
}

export function namesCsv(names: Iterable<readonly [prefix: string, name: string]>): string {
  return ["address,name", ...Array.from(names, ([prefix, name]) => `${prefix},${csvField(name)}`), ""].join(
    "\n",
  );
}

/** Whether a value is a column name and not an address. */
const isColumn = (value: string) => /^[\p{L} _]+$/u.test(value);

/** Splits a file into records. In a hosts file a record is an address, its name and its aliases. */
function recordsOf(text: string, path: string): { records: CsvRecord[]; isHosts: boolean } {
  const uncommented = text.replace(/^[ \t]*#.*$/gm, "");
  const separator = separatorOf(uncommented, path);
  if (separator !== undefined) {
    const records = readCsv(uncommented, separator);
    const asText = (record: CsvRecord) =>
      record.fault === undefined ? { ...record, fields: record.fields.map(csvText) } : record;
    return { records: records.map(asText), isHosts: false };
  }
  const records = uncommented.split("\n").flatMap((line, i) => {
    const fields = line.replace(/#.*/, "").trim().split(/\s+/);
    return fields[0] === "" ? [] : [{ line: i + 1, fields }];
  });
  return { records, isHosts: true };
}

/** Marks of a hosts file with tabs: spaces after an address, two tabs, a comment after a name, an alias. */
const HOSTS_SIGN = /^\S+ +\S|\t.*\t|\s#\s|\slocalhost\b|^\S+\t[\w-]+(\.[\w-]+)+ +[\w.-]+\s*$/m;

/** Detects the separator from a CSV file's first line; undefined for a hosts file. */
function separatorOf(text: string, path: string): CsvSeparator | undefined {
  const first = /^.*\S.*$/m.exec(text)?.[0] ?? "";
  const [separator] = /[,;\t]/.exec(first.replace(/\s#.*/, "")) ?? [];
  const isHeader = separator !== undefined && first.split(separator).every((each) => isColumn(each.trim()));
  const isHosts = separator === "\t" && !isHeader && (/hosts[^/\\]*$/i.test(path) || HOSTS_SIGN.test(text));
  return isHosts ? undefined : separator as CsvSeparator | undefined;
}

/** User-supplied names of addresses and prefixes. */
export class AddressNames {
  readonly #names = new Map<string, string>();
  readonly #addresses = new Map<string, string>();
  /** Lengths of prefixes that have names, longest first, keyed by address length in bytes. */
  readonly #lengths = new Map<number, number[]>([[4, []], [16, []]]);
  #searched: readonly SearchedName[] | undefined;

  /**
   * Adds the names of a file, which override earlier names of the same prefix.
   *
   * @param bytes The whole file. @param path Its name, for errors.
   * @throws {FormatError} If a line is invalid, or there are too many names.
   */
  add(bytes: Uint8Array, path: string): void {
    const { records, isHosts } = recordsOf(new TextDecoder().decode(bytes), path);
    for (const [i, record] of records.entries()) {
      const isHeader = i === 0 && record.fault === undefined && record.fields.every(isColumn);
      const fault = isHeader ? undefined : record.fault ?? this.#addRecord(record.fields, isHosts);
      if (fault === undefined) continue;
      throw new FormatError(
        `${fault}; expected an address or prefix and its name of at most ${MAX_NAME_LENGTH} characters, as in ` +
          `8.8.8.8,dns.google`,
        { path, place: `line ${record.line}` },
      );
    }
  }

  /** @returns What is wrong with the record; undefined if it is valid. */
  #addRecord(fields: readonly string[], isHosts: boolean): string | undefined {
    if (fields.length < 2 || (fields.length > 2 && !isHosts)) {
      return `found ${fields.length} ${fields.length === 1 ? "value" : "values"}`;
    }
    const [first, name, ...aliases] = fields;
    // Link-local addresses in hosts files include the interface.
    const text = isHosts ? first.replace(/%.*/, "") : first;
    const fault = faultOfPrefix(text);
    if (fault !== undefined) return `found ${JSON.stringify(shortened(text))}`;
    for (const each of [name, ...aliases]) {
      const nameFault = faultOfName(each);
      if (nameFault !== undefined) return nameFault;
    }
    if (Math.max(this.#names.size, this.#addresses.size) >= MAX_NAMES) {
      return `there are more than ${MAX_NAMES} names`;
    }
    const prefix = parsePrefix(text);
    const lengths = this.#lengths.get(prefix.bytes.length) ?? [];
    if (!lengths.includes(prefix.length)) {
      lengths.push(prefix.length);
      lengths.sort((a, b) => b - a);
    }
    this.#names.set(formatPrefix(prefix), name);
    for (const each of isAddress(prefix) ? [name, ...aliases] : []) {
      getOrMake(this.#addresses, each.toLowerCase(), () => formatPrefix(prefix));
    }
    this.#searched = undefined;
    return undefined;
  }

  get size(): number {
    return this.#names.size;
  }

  /** Prefixes and their names, in the order of the files. */
  entries(): Iterable<readonly [prefix: string, name: string]> {
    return this.#names;
  }

  /** Addresses by lower-case name, including overridden names. If several share a name, the first is used. */
  addressesByName(): ReadonlyMap<string, string> {
    return this.#addresses;
  }

  /** Looks up the address with a name, in the form of RFC 5952. Case is ignored. */
  addressOf(name: string): string | undefined {
    return this.#addresses.get(name.toLowerCase());
  }

  /** The name of the longest named prefix around a prefix; undefined if there is none, or for a place. */
  ofPrefix({ bytes, length, mixture }: IpPrefix): string | undefined {
    if (mixture) return undefined;
    for (const each of this.#lengths.get(bytes.length) ?? []) {
      if (each > length) continue;
      const name = this.#names.get(formatPrefix(prefixOfAddress(bytes, each)));
      if (name !== undefined) return name;
    }
    return undefined;
  }

  /** Same as {@link ofPrefix}, for a text; undefined if it is not an address or prefix. */
  of(text: string): string | undefined {
    if (this.size === 0 || faultOfPrefix(text) !== undefined) return undefined;
    return this.ofPrefix(parsePrefix(text));
  }

  /** Appends the name of an address or prefix, if there is one: `8.8.8.8 (dns.google)`. */
  shown(text: string): string {
    return withName(text, this.of(text));
  }

  /** The field `name` of an address or prefix; absent if it has no name. */
  named(text: string): { name?: string } {
    const name = this.of(text);
    return name === undefined ? {} : { name };
  }

  /** The fields `src_name` and `dst_name` of a source and a destination; absent if there is no name. */
  namedEnds({ src, dst }: { src: string; dst?: string }): { src_name?: string; dst_name?: string } {
    const [src_name, dst_name] = [src, dst].map((text) => text === undefined ? undefined : this.of(text));
    return { ...(src_name !== undefined && { src_name }), ...(dst_name !== undefined && { dst_name }) };
  }

  /** Finds prefixes whose names begin with a text, then those whose names contain it, then similar ones. */
  search(text: string, limit: number): { prefix: string; name: string }[] {
    this.#searched ??= Array.from(this.#names, ([prefix, name]) => (
      { key: comparable(name), name: () => prefix }
    ));
    const found = matchingNames(this.#searched, comparable(text), limit);
    return Array.from(found.keys(), (prefix) => ({ prefix, name: this.#names.get(prefix) ?? "" }));
  }
}

export const NO_NAMES: AddressNames = new AddressNames();
