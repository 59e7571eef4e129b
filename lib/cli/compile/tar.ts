/**
 * Tar archives, in the format that every `tar` reads (POSIX.1-1988, ustar), with the same bytes for the same files.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { explainFileError } from "../../io/files/file_errors.ts";

/** A file of an archive. */
export interface TarEntry {
  /** Its name in the archive, with `/`. */
  name: string;
  /** The file to read. */
  path: string;
  isExecutable?: boolean;
}

const BLOCK_BYTES = 512;
/** Two blocks of zeros end an archive. */
const END_BYTES = 2 * BLOCK_BYTES;

/**
 * The bytes of an archive, in the order of the entries.
 *
 * @param entries Regular files. Owner and time are not kept.
 * @throws {UserError} If a file cannot be read, or changes during reading.
 */
export async function* tarOf(entries: Iterable<TarEntry>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (const { name, path, isExecutable = false } of entries) {
    try {
      const { size } = await Deno.stat(path);
      yield tarHeader(name, { sizeBytes: size, mode: isExecutable ? 0o755 : 0o644 });
      let doneBytes = 0;
      for await (const chunk of (await Deno.open(path)).readable) {
        yield chunk;
        doneBytes += chunk.length;
      }
      if (doneBytes !== size) {
        throw new UserError(`Cannot read ${path}: it changed from ${size} to ${doneBytes} bytes; run again`);
      }
      yield new Uint8Array(-size & (BLOCK_BYTES - 1));
    } catch (error) {
      throw explainFileError(error, `read ${path}`);
    }
  }
  yield new Uint8Array(END_BYTES);
}

/**
 * The header block of a file.
 *
 * @throws {RangeError} If the name does not fit.
 */
export function tarHeader(
  name: string,
  { sizeBytes, mode }: { sizeBytes: number; mode: number },
): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(BLOCK_BYTES);
  const put = (text: string, offset: number) => header.set(new TextEncoder().encode(text), offset);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  const [prefix, base] = splitName(name);
  put(base, 0);
  put(octal(mode, 7), 100);
  put(octal(0, 7), 108); // owner
  put(octal(0, 7), 116); // group
  put(octal(sizeBytes, 11), 124);
  put(octal(0, 11), 136); // time
  put(" ".repeat(8), 148); // the checksum counts as spaces
  put("0", 156); // a regular file
  put("ustar\x0000", 257);
  put(prefix, 345);
  put(`${octal(header.reduce((sum, byte) => sum + byte, 0), 6)}\0 `, 148);
  return header;
}

/** Divides a name at a `/` into a prefix of up to 155 bytes and the rest, up to 100. */
function splitName(name: string): [prefix: string, base: string] {
  const lengthOf = (text: string) => new TextEncoder().encode(text).length;
  if (lengthOf(name) <= 100) return ["", name];
  for (let at = name.indexOf("/"); at >= 0; at = name.indexOf("/", at + 1)) {
    const base = name.slice(at + 1);
    if (lengthOf(base) <= 100 && at > 0 && lengthOf(name.slice(0, at)) <= 155) {
      return [name.slice(0, at), base];
    }
  }
  throw new RangeError(`Cannot put ${name} into a tar archive: its name is too long`);
}
