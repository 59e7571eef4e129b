/** Reads event files as TensorBoard does, to compare them with what they are to hold. @module */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { MetricsRecord } from "../../lib/train/metrics.ts";
import { decodeTfRecords } from "../../lib/train/event_log.ts";

/** The events of a file with their scalars, wall times aside; the first has the version and no scalar. */
export function readEventScalars(path: string): MetricsRecord[] {
  return [...decodeTfRecords(Deno.readFileSync(path))].map(({ data }) => {
    const [step] = fieldsOf(data).get(2) ?? [0];
    const [summary] = fieldsOf(data).get(5) ?? [new Uint8Array(0)];
    const values = (fieldsOf(summary as Uint8Array).get(1) ?? []).map((value) =>
      fieldsOf(value as Uint8Array)
    );
    const scalars = values.map((fields): [string, number | null] => {
      const [tag] = fields.get(1) ?? [];
      const [value] = fields.get(2) ?? [];
      const name = new TextDecoder().decode(tag as Uint8Array);
      return [name, Number.isFinite(value) ? value as number : null];
    });
    return { step: step as number, ...Object.fromEntries(scalars) };
  });
}

/** Field number -> its values: varints, doubles and floats as numbers, all else as bytes. */
function fieldsOf(message: Uint8Array): Map<number, (number | Uint8Array)[]> {
  const reader = new BinaryReader(message);
  const fields = new Map<number, (number | Uint8Array)[]>();
  const readers = [() => Number(reader.int64()), () => reader.double(), () => reader.bytes()];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const value = (readers[wireType] ?? (() => reader.float()))();
    fields.set(field, [...fields.get(field) ?? [], value]);
  }
  return fields;
}
