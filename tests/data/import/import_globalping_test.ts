/** Measurements of Globalping, in the form documented by its API, become rows. @module */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import type { ImportOptions } from "../../../lib/data/import/import_measurements.ts";
import { placeholderAddress } from "../../../lib/data/formats/globalping.ts";
import { MAX_OBJECT_BYTES } from "../../../lib/io/text/json_stream.ts";
import { importInto, rowsIn } from "./imported.ts";
import { ping } from "../formats/ping_result.ts";
import { finishedPing, globalpingMeasurement, globalpingProbe } from "./globalping_measurement.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

/** Imports files with these contents. */
async function rowsOf(contents: unknown[], options: Partial<ImportOptions> = {}) {
  using folder = new TemporaryFolder();
  return await imported(folder, contents, options);
}

async function imported(folder: TemporaryFolder, contents: unknown[], options: Partial<ImportOptions>) {
  const paths = contents.map((content, i) => {
    Deno.writeTextFileSync(
      folder.at(`${i}.json`),
      typeof content === "string" ? content : JSON.stringify(content),
    );
    return folder.at(`${i}.json`);
  });
  const summary = await importInto(folder.path, paths, { source: "network", maxRejectRatio: 0, ...options });
  return { summary, rows: await rowsIn(folder.path) };
}

const AUCKLAND = globalpingProbe({ asn: 61138, country: "NZ", city: "Auckland" });
const BERLIN = globalpingProbe({ asn: 3320, country: "DE", city: "Berlin" });

Deno.test("a Globalping measurement yields a row for each probe", async () => {
  const measurement = globalpingMeasurement([
    [AUCKLAND, finishedPing("151.101.129.229", [24, 26])],
    [BERLIN, finishedPing("2a04:4e42::485", [10], 3)],
    [BERLIN, finishedPing("151.101.1.229", [], 3)],
  ]);
  const { summary, rows } = await rowsOf([measurement]);
  assertEquals([summary.rows, summary.failed, summary.duplicates, summary.rejected], [3, 1, 0, {}]);
  assertEquals(rows.dstAddr, ["151.101.129.229", "2a04:4e42::485", "151.101.1.229"]);
  assertEquals([...rows.ipVersion], [4, 6, 4]);
  assertEquals([...rows.rttMs], [25, 10, -1]);
  assertEquals([...rows.packetErrorCount ?? []], [0, 2, 3]);
  assertEquals([...rows.eventTimeUs], [1, 1, 1].map(() => Date.parse("2023-07-14T18:25:52.414Z") * 1000));
  assertEquals(rows.srcAddr[0], placeholderAddress({ asn: 61138, country: "NZ", city: "Auckland" }, false));
  assertMatch(rows.srcAddr[1], /^fd[0-9a-f]{2}:/);
  assert(rows.srcAddr[2] !== rows.srcAddr[0]);
});

Deno.test("Globalping measurements without an id are duplicates only if they are equal", async () => {
  const measurements = [10, 20, 10].map((rttMs) => ({
    ...globalpingMeasurement([[BERLIN, finishedPing("151.101.1.229", [rttMs])]]),
    id: undefined,
  }));
  const { summary, rows } = await rowsOf(measurements);
  assertEquals([summary.duplicates, ...rows.rttMs], [1, 10, 20]);
});

Deno.test("Globalping names are the target, and the city and network of a probe", async () => {
  using folder = new TemporaryFolder();
  const namesPath = folder.at("out.names.csv");
  const measurement = globalpingMeasurement([[BERLIN, finishedPing("151.101.1.229", [10])]]);
  await imported(folder, [measurement], { namesPath });
  const [, probe, target] = Deno.readTextFileSync(namesPath).split("\n");
  assertEquals(target, `151.101.1.229,${measurement.target}`);
  assertEquals(probe.replace(/^[\d.]+/, ""), `,"Berlin, DE, AS3320"`);
});

Deno.test("--rtt each writes a row for every Globalping packet, lost ones included", async () => {
  const measurement = globalpingMeasurement([[BERLIN, finishedPing("192.0.2.9", [10, 11.5], 3)]]);
  const { rows } = await rowsOf([measurement], { rtt: "each" });
  assertEquals([...rows.rttMs], [10, 11.5, -1]);
  const { rows: least } = await rowsOf([measurement], { rtt: "min" });
  assertEquals([...least.rttMs], [10]);
});

Deno.test("tests that did not run and other types are skipped and counted", async () => {
  const unfinished = ["failed", "offline", "in-progress"].map((status) =>
    [AUCKLAND, { status, rawOutput: "" }] as const
  );
  const pings = globalpingMeasurement([...unfinished, [BERLIN, finishedPing("192.0.2.9", [10])]]);
  const dns = globalpingMeasurement([[BERLIN, { status: "finished", answers: [] }]], {
    id: "b",
    type: "dns",
  });
  const tcp = globalpingMeasurement([[BERLIN, finishedPing("192.0.2.9", [10])]], {
    id: "c",
    measurementOptions: { protocol: "TCP", port: 443 },
  });
  const { summary } = await rowsOf([pings, dns, tcp]);
  assertEquals(summary.rows, 1);
  assertEquals(summary.skippedByType, {
    "globalping dns": 1,
    "globalping failed": 1,
    "globalping in-progress": 1,
    "globalping offline": 1,
    "globalping ping by TCP": 1,
  });
});

Deno.test("without --source network Globalping results are rejected, and the error names the option", async () => {
  const measurement = globalpingMeasurement([[BERLIN, finishedPing("192.0.2.9", [10])]]);
  for (const source of ["auto", "from", "src_addr"] as const) {
    const error = await assertRejects(() => rowsOf([measurement], { source }), UserError, "--source network");
    assertMatch(error.message, /1 of 1 rows were rejected \(unknownSource 1/);
  }
});

Deno.test("a Globalping measurement in two files counts once, also beside RIPE Atlas results", async () => {
  const measurement = globalpingMeasurement([[BERLIN, finishedPing("192.0.2.9", [10])]]);
  const other = globalpingMeasurement([[BERLIN, finishedPing("192.0.2.9", [12])]], { id: "another" });
  const { summary, rows } = await rowsOf([
    measurement,
    `${JSON.stringify(measurement)}\n`,
    [other],
    ping({}),
  ]);
  assertEquals([summary.rows, summary.duplicates], [3, 1]);
  assertEquals(rows.rttMs[1], 12);
  assertEquals(new Set(rows.srcAddr).size, 2, "the same network and city in two measurements is one source");
});

Deno.test("a measurement of 500 probes with 16 packets is read whole", async () => {
  const rtts = Array.from({ length: 16 }, (_, i) => 20 + i / 100);
  const results = Array.from({ length: 500 }, (_, i) =>
    [
      globalpingProbe({ asn: 1000 + i, country: "DE", city: "Frankfurt am Main" }),
      finishedPing("151.101.129.229", rtts),
    ] as const);
  const measurement = globalpingMeasurement(results);
  const numBytes = JSON.stringify(measurement, null, 2).length;
  assert(numBytes > 1 << 20 && numBytes < MAX_OBJECT_BYTES, `${numBytes} bytes`);
  const { summary } = await rowsOf([JSON.stringify(measurement, null, 2)]);
  assertEquals([summary.rows, summary.sources], [500, 500]);
});

Deno.test("placeholder addresses depend only on the network and city, and seldom collide", () => {
  const probe = { asn: 14618, country: "US", state: "VA", city: "Ashburn" };
  const spread = (isV6: boolean) =>
    new Set(Array.from({ length: 2000 }, (_, asn) => placeholderAddress({ ...probe, asn }, isV6))).size;
  assertEquals([spread(false), spread(true)], [2000, 2000]);
  const texts = Array.from({ length: 300 }, (_, asn) => placeholderAddress({ ...probe, asn }, false));
  for (const text of texts) {
    const first = Number(text.split(".")[0]);
    assert(first >= 240 && first < 255, text);
  }
  assertEquals(
    placeholderAddress(probe, false),
    placeholderAddress({ ...probe, latitude: 1, longitude: 2 }, false),
  );
  assert(placeholderAddress(probe, false) !== placeholderAddress({ ...probe, state: undefined }, false));
});
