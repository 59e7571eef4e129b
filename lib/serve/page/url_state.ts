/**
 * The page's state as the fragment of its URL: `#ask?src=192.0.2.1&dst=198.51.100.7`. Fragments are never
 * sent to the server and work with any web server.
 *
 * @module
 */

export const PARTS = ["map", "ask", "compare", "pings", "fits", "model"] as const;
export type PartName = (typeof PARTS)[number];

/** Fields of all parts. Parts that need the same input share a field. */
const FIELD_NAMES = [
  ...["src", "dst", "sources", "destinations", "cell", "low", "high", "time", "layer"] as const,
  ...["pings", "columns", "zone"] as const,
];
/** Fields of the part `pings` only. */
const OF_PINGS: readonly string[] = ["pings", "columns", "zone"];
export type FieldName = (typeof FIELD_NAMES)[number];
/** Texts of the fields; absent fields are empty. */
export type Fields = Readonly<Partial<Record<FieldName, string>>>;

export interface PageState {
  part: PartName;
  fields: Fields;
}

/** Maximum characters of packed pings in a link. Mail and chat programs keep such links intact. */
const MAX_PACKED_LENGTH = 4000;
/** Maximum bytes of pings in a link; far more than 4,000 packed characters hold of ping output. */
const MAX_UNPACKED_BYTES = 2 ** 20;

/** Formats the state as a fragment. `isWhole`: false if pasted pings were too long and left out. */
export async function formatHash(
  { part = "ask", fields }: PageState,
): Promise<{ hash: string; isWhole: boolean }> {
  const values = new URLSearchParams();
  let isWhole = true;
  for (const name of FIELD_NAMES) {
    const text = fields[name];
    if (!text || OF_PINGS.includes(name) && part !== "pings") continue;
    if (name !== "pings") values.set(name, text);
    else {
      const packed = await packText(text);
      isWhole = packed.length <= MAX_PACKED_LENGTH && await unpackText(packed) === text;
      if (isWhole) values.set(name, packed);
    }
  }
  const query = readableQuery(values);
  return { hash: `#${part}${query === "" ? "" : `?${query}`}`, isWhole };
}

/** Parses a fragment, ignoring what is unknown. */
export async function parseHash(hash: string): Promise<PageState> {
  const [name, ...rest] = hash.replace(/^#/, "").split("?");
  const values = new URLSearchParams(rest.join("?"));
  const fields: Partial<Record<FieldName, string>> = {};
  for (const field of FIELD_NAMES) {
    const text = values.get(field);
    if (!text) continue;
    const unpacked = field === "pings" ? await unpackText(text) : text;
    if (unpacked) fields[field] = unpacked;
  }
  return { part: PARTS.find((part) => part === name) ?? "ask", fields };
}

/** Keeps addresses and prefixes readable: RFC 3986 allows `:` and `/` in fragments. */
function readableQuery(values: URLSearchParams): string {
  return values.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
}

/** Packs a text for a link: deflate (RFC 1951), then base64url (RFC 4648, section 5). */
export async function packText(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Undefined if the packed text is damaged or has more than {@link MAX_UNPACKED_BYTES}. */
export async function unpackText(packed: string): Promise<string | undefined> {
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const unpacked = await through(bytes, new DecompressionStream("deflate-raw"), MAX_UNPACKED_BYTES);
    return new TextDecoder().decode(unpacked);
  } catch {
    return undefined; // The link was truncated or edited.
  }
}

/** @throws {RangeError} If more than `maxBytes` come out. */
async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource>,
  maxBytes = Infinity,
): Promise<Uint8Array> {
  let numBytes = 0;
  const limit = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      numBytes += chunk.length;
      if (numBytes > maxBytes) throw new RangeError("the text is too long");
      controller.enqueue(chunk);
    },
  });
  const all = new Blob([bytes]).stream().pipeThrough(stream).pipeThrough(limit);
  return new Uint8Array(await new Response(all).arrayBuffer());
}
