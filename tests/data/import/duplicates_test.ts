import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  DuplicateSet,
  isSameResult,
  moveUniqueRows,
  type ResultKey,
} from "../../../lib/data/import/duplicates.ts";
import { MeasurementParquetWriter } from "../../../lib/data/measurement_files/parquet_writer.ts";
import { joinBatches, makeBatch, readAll } from "../measurement_files/batches.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

const OPTIONAL_COLUMNS = ["msmId", "prbId", "sizeBytes"] as const;

/** Indexes of the keys that a set takes for new. */
function takenIndexes(keys: readonly ResultKey[], maxBytes: number) {
  const set = new DuplicateSet({ maxBytes });
  const taken = [...keys.keys()].filter((index) => set.add(keys[index]));
  return { taken, numForgets: set.numForgets };
}

/** Indexes that are left of the taken ones in a file of them, `numRows` rows for each; the index is the size. */
async function leftIndexes(folder: string, keys: readonly ResultKey[], maxBytes: number, numRows = 1) {
  const { taken, numForgets } = takenIndexes(keys, maxBytes);
  const indexes = taken.flatMap((index) => Array.from({ length: numRows }, () => index));
  const options = { optionalColumns: OPTIONAL_COLUMNS };
  using writer = MeasurementParquetWriter.create(`${folder}/rows`, options);
  writer.append({
    ...makeBatch(indexes.length),
    eventTimeUs: Float64Array.from(indexes, (index) => keys[index].eventTimeUs),
    msmId: Float64Array.from(indexes, (index) => keys[index].msmId),
    prbId: Float64Array.from(indexes, (index) => keys[index].prbId),
    sizeBytes: Float64Array.from(indexes),
  });
  writer.close();
  const how = { isUnique: numForgets === 0, maxBytes, ...options };
  const { numLeftOut } = await moveUniqueRows(`${folder}/rows`, `${folder}/unique`, how);
  const { sizeBytes } = joinBatches((await readAll([`${folder}/unique`])).batches);
  assertEquals(sizeBytes?.length, numRows * (taken.length - numLeftOut));
  return { left: [...new Set(sizeBytes)], numForgets };
}

function firstIndexes(keys: readonly ResultKey[]): number[] {
  const known = new Set<string>();
  return [...keys.keys()].filter((index) => known.size < known.add(JSON.stringify(keys[index])).size);
}

const id = fc.oneof(fc.nat(9), fc.constantFrom(2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 1));
const eventTimeUs = fc.constantFrom(
  1.6e15,
  1.6e15 + 1,
  1.6e15 + 2048,
  1.6e15 + 999_999,
  1.6e15 + 1e6,
  4.1e15,
);
const keysOfResults = fc.array(fc.record({ msmId: id, prbId: id, eventTimeUs }), { maxLength: 300 });

Deno.test("DuplicateSet finds all with enough memory, and with little only what it forgot is taken twice", () => {
  fc.assert(
    fc.property(keysOfResults, (keys) => {
      assertEquals(takenIndexes(keys, Infinity), { taken: firstIndexes(keys), numForgets: 0 });
      const { taken, numForgets } = takenIndexes(keys, 1);
      assertEquals(numForgets > 0, taken.length > 64);
      assert(firstIndexes(keys).every((index) => taken.includes(index)));
      assert(taken.every((index, i) => i === 0 || !isSameResult(keys[index], keys[taken[i - 1]])));
    }),
  );
});

Deno.test("DuplicateSet finds all of more probes than it knows the latest time of", () => {
  const times = [1.6e15 + 240e6, 1.6e15 + 240e6, 1.6e15 + 480e6, 1.6e15, 1.6e15 + 240e6];
  const set = new DuplicateSet({ maxBytes: Infinity });
  for (const [i, eventTimeUs] of times.entries()) {
    let numNew = 0;
    for (let prbId = 0; prbId < 70_000; prbId++) if (set.add({ msmId: 1, prbId, eventTimeUs })) numNew++;
    assertEquals(numNew, times.indexOf(eventTimeUs) === i ? 70_000 : 0);
  }
});

Deno.test("moveUniqueRows() leaves the first result of each key, however little memory there was", () =>
  withFolder(async (folder) => {
    const keys: ResultKey[] = [];
    for (const eventTimeUs of [1.6e15, 1.6e15 + 240e6, 1.6e15]) {
      for (let msmId = 1000; msmId < 1020; msmId++) {
        for (let prbId = 0; prbId < 100; prbId++) keys.push({ msmId, prbId, eventTimeUs });
      }
    }
    for (const [maxBytes, numRows] of [[1e8, 1], [50_000, 1], [50_000, 3], [1000, 2]]) {
      const { left, numForgets } = await leftIndexes(folder, keys, maxBytes, numRows);
      assertEquals(numForgets > 0, maxBytes < 1e8);
      assertEquals(left, Array.from({ length: 4000 }, (_, index) => index));
      assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["unique"]);
    }
  }));
