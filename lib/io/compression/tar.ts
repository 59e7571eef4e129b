/** Reads tar archives (POSIX.1-2017 `pax`, with GNU's extensions) as streams. @module */
import { createTarDecoder } from "modern-tar";
import { FormatError, UserError } from "../../base/errors.ts";

/** A regular file in an archive. */
interface TarMember {
  /** Its path in the archive, without a leading `./`. */
  name: string;
  /** To be read before the next member. Each chunk belongs to the consumer. */
  bytes: AsyncGenerator<Uint8Array>;
}

/**
 * Reads the regular files of an archive in order.
 *
 * @param chunks The archive, decompressed. @param path Of the archive, for errors.
 * @throws {FormatError} If it is not a tar archive, is damaged or is truncated.
 */
export async function* tarMembers(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<TarMember> {
  const entries = ReadableStream.from(chunks).pipeThrough(createTarDecoder({ strict: true }));
  for await (const { header: { name, type = "file" }, body } of checked(entries, path)) {
    if (type === "file") yield { name: name.replace(/^(?:\.\/)+/, ""), bytes: copied(checked(body, path)) };
    await body.cancel();
  }
}

async function* checked<T>(parts: AsyncIterable<T>, path: string): AsyncGenerator<T> {
  try {
    yield* parts;
  } catch (cause) {
    if (cause instanceof UserError || !(cause instanceof Error)) throw cause;
    throw new FormatError(
      `it is not a whole tar archive (${cause.message.replace(/\.$/, "")}); fetch or pack it again`,
      {
        path,
        cause,
      },
    );
  }
}

/** The decoder's chunks share their memory. */
async function* copied(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield chunk.slice();
}
