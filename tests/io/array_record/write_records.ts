/** ArrayRecord files for tests. @module */
import { ArrayRecordWriter, type ArrayRecordWriterOptions } from "../../../lib/io/array_record/writer.ts";

export async function writeRecords(
  path: string,
  records: readonly Uint8Array[],
  options: ArrayRecordWriterOptions = {},
) {
  using writer = await ArrayRecordWriter.create(path, options);
  for (const record of records) writer.write(record);
  return writer.close();
}
