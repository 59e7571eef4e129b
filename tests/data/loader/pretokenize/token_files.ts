/** Token files as another program reads them: with hyparquet, without this program's decoders. @module */
import { type FileMetaData, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";

export interface TokenFile {
  sequences: Uint16Array[];
  lengths: number[];
  metadata: Record<string, string | undefined>;
  footer: FileMetaData;
}

export async function readTokenFile(path: string): Promise<TokenFile> {
  const file = new Uint8Array(Deno.readFileSync(path)).buffer;
  const footer = await parquetMetadataAsync(file);
  const rows = await parquetReadObjects({ file, metadata: footer, compressors });
  return {
    sequences: rows.map(({ tokens }) => Uint16Array.from(tokens as number[])),
    lengths: rows.map(({ length }) => Number(length)),
    metadata: Object.fromEntries((footer.key_value_metadata ?? []).map(({ key, value }) => [key, value])),
    footer,
  };
}

/** The sequences of token files, one file after another. */
export async function readSequences(paths: readonly string[]): Promise<Uint16Array[]> {
  const files: Uint16Array[][] = [];
  for (const path of paths) files.push((await readTokenFile(path)).sequences);
  return files.flat();
}
