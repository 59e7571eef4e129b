import type { SchemaElement } from "hyparquet";
import { type ColumnSource, parquetWriteBuffer } from "hyparquet-writer";

/** Writes a Parquet file with any columns, as another program might. @returns Its path. */
export function writeForeign(
  folder: string,
  columns: (ColumnSource & { schema?: Partial<SchemaElement> })[],
): string {
  const path = `${folder}/foreign.parquet`;
  const schema: SchemaElement[] = [
    { name: "root", num_children: columns.length },
    ...columns.map(({ name, schema }) => ({ name, repetition_type: "OPTIONAL", ...schema }) as SchemaElement),
  ];
  const columnData = columns.map(({ name, data }) => ({ name, data }));
  Deno.writeFileSync(path, new Uint8Array(parquetWriteBuffer({ columnData, schema })));
  return path;
}

export const text: Partial<SchemaElement> = { type: "BYTE_ARRAY", converted_type: "UTF8" };
export const int64: Partial<SchemaElement> = { type: "INT64" };
export const double: Partial<SchemaElement> = { type: "DOUBLE" };
