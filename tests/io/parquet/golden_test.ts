import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { listInputs } from "../../../lib/io/files/inputs.ts";
import { joinBatches, readAll } from "../../data/measurement_files/batches.ts";

/** Files written by pyarrow and DuckDB; see PROVENANCE.md there. */
const FOLDER = fromFileUrl(new URL("../../golden/parquet/", import.meta.url));

const NUM_ROWS = 40;

/** A row as in make.py. */
function rowOf(i: number) {
  const isIpv6 = i % 3 === 2;
  return {
    timeUs: (1_750_000_000 + 61 * i) * 1e6 + (i % 10) * 1000,
    source: isIpv6 ? `2001:db8::${(i % 5 + 1).toString(16)}` : `192.0.2.${i % 5 + 1}`,
    destination: isIpv6 ? `2001:db8:1::${i.toString(16)}` : `198.51.100.${i}`,
    ipVersion: isIpv6 ? 6 : 4,
    rttMs: i % 7 === 0 ? -1 : 1.25 * i,
    msmId: 1000 + i % 3,
    lost: i % 2,
  };
}

async function compare(path: string, order: readonly number[]): Promise<void> {
  const name = path.slice(FOLDER.length);
  const { batches, rejects } = await readAll(
    listInputs([path], { extensions: [".parquet"], wanted: "Parquet" }),
  );
  assertEquals(rejects.counts, {}, name);
  const actual = joinBatches(batches);
  const rows = order.map(rowOf);
  const unitUs = name.startsWith("seconds") ? 1e6 : 1;
  assertEquals([...actual.eventTimeUs], rows.map(({ timeUs }) => Math.floor(timeUs / unitUs) * unitUs), name);
  assertEquals(actual.srcAddr, rows.map(({ source }) => source), name);
  assertEquals(actual.dstAddr, rows.map(({ destination }) => destination), name);
  assertEquals([...actual.ipVersion], rows.map(({ ipVersion }) => ipVersion), name);
  assertEquals([...actual.rttMs], rows.map(({ rttMs }) => rttMs), name);
  const hasOptional = !name.startsWith("needed");
  assertEquals([...actual.msmId ?? []], hasOptional ? rows.map(({ msmId }) => msmId) : [], name);
  assertEquals([...actual.packetErrorCount ?? []], hasOptional ? rows.map(({ lost }) => lost) : [], name);
}

const ALL_ROWS = Array.from({ length: NUM_ROWS }, (_, i) => i);

for (const { name } of [...Deno.readDirSync(FOLDER)].sort((a, b) => a.name < b.name ? -1 : 1)) {
  if (!name.endsWith(".parquet")) continue;
  Deno.test(`readMeasurements() reads ${name} as pyarrow or DuckDB wrote it`, () =>
    compare(`${FOLDER}${name}`, name === "empty.parquet" ? [] : ALL_ROWS));
}

Deno.test("readMeasurements() reads a hive-partitioned folder, one partition after the other", () =>
  compare(`${FOLDER}hive`, ALL_ROWS.toSorted((a, b) => rowOf(a).ipVersion - rowOf(b).ipVersion || a - b)));
