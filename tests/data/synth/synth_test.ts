import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { FormatError } from "../../../lib/base/errors.ts";
import { isPublicAddress } from "../../../lib/data/addresses/address_book.ts";
import { makeCampaign } from "../../../lib/data/synth/campaign.ts";
import { synthesize } from "../../../lib/data/synth/synthesize.ts";
import { SyntheticTruth } from "../../../lib/data/synth/truth.ts";
import { makeWorld, type WorldOptions } from "../../../lib/data/synth/world.ts";
import { parseAddress } from "../../../lib/data/addresses/ip.ts";
import { joinBatches, readAll } from "../measurement_files/batches.ts";
import { TemporaryFolder, withFolder } from "../../io/files/temporary_folder.ts";
import { createHash } from "node:crypto";

const OPTIONS: WorldOptions = {
  seed: 3,
  probes: 60,
  destinations: 30,
  ipv6Share: 0.42,
  startTimeS: 1_750_723_200,
  endTimeS: 1_750_723_200 + 28 * 86_400,
};

Deno.test("makeWorld() creates hosts of both IP versions with unique public addresses", () => {
  const { hosts, systems, routes } = makeWorld(OPTIONS);
  assertEquals(hosts.length, 90);
  assertEquals(new Set(hosts.map(({ address }) => address)).size, 90);
  assertEquals(hosts.filter(({ role, ipVersion }) => role === "probe" && ipVersion === 6).length, 25);
  for (const { address, ipVersion, system } of hosts) {
    const bytes = parseAddress(address);
    assert(bytes && isPublicAddress(bytes), address);
    assertEquals(bytes.length, ipVersion === 4 ? 4 : 16);
    const prefix = ipVersion === 4 ? systems[system].prefix4.split(".").slice(0, 2).join(".") + "." : "";
    assert(address.startsWith(prefix));
  }
  assertEquals(routes.map((row) => row.length), systems.map((_, a) => systems.length - a));
});

Deno.test("makeWorld() puts the hosts of one /24 or /48 in one place and hosts of one system near each other", () => {
  const { hosts } = makeWorld({ ...OPTIONS, probes: 4000 });
  const bySubnet = Map.groupBy(
    hosts.filter(({ role }) => role === "probe"),
    ({ address, ipVersion }) =>
      ipVersion === 4 ? address.split(".").slice(0, 3).join(".") : address.split(":").slice(0, 3).join(":"),
  );
  let numShared = 0;
  for (const [subnet, members] of bySubnet) {
    numShared += members.length - 1;
    for (const { latitude, longitude } of members) {
      assertEquals([latitude, longitude], [members[0].latitude, members[0].longitude], subnet);
    }
  }
  assert(numShared > 1000);
});

Deno.test("makeWorld() creates only hosts of the requested IP versions", () => {
  for (const [ipv6Share, versions] of [[0, [4]], [1, [6]], [0.01, [4, 6]], [0.99, [4, 6]]] as const) {
    const { hosts } = makeWorld({ ...OPTIONS, ipv6Share, destinations: 2, probes: 2 });
    assertEquals([...new Set(hosts.map(({ ipVersion }) => ipVersion))].sort(), [...versions]);
  }
});

Deno.test("makeCampaign() pairs each probe with several destinations of its IP version, each once per round", () => {
  const world = makeWorld(OPTIONS);
  const { src, dst } = makeCampaign(world, 60 * 400).pairs;
  const pairs = Array.from(src, (probe, i) => `${probe} ${dst[i]}`);
  assertEquals(new Set(pairs).size, pairs.length);
  for (let i = 0; i < src.length; i++) {
    assertEquals(world.hosts[src[i]].ipVersion, world.hosts[dst[i]].ipVersion);
  }
  assertEquals(src.filter((probe) => probe === src[0]).length, 10);
});

Deno.test("synthesize() writes rows whose RTT and losses are distributed as the truth file states", () =>
  withFolder(async (folder) => {
    const output = `${folder}/s.parquet`;
    const { rows, failed } = await synthesize(output, { ...OPTIONS, rows: 40_000, days: 28 });
    const truth = SyntheticTruth.load(`${folder}/s.truth.json`);
    const { batches, rejects } = await readAll([output]);
    const batch = joinBatches(batches);
    assertEquals(rejects.counts, {});
    assertEquals(batch.numRows, rows);
    assertEquals(batch.eventTimeUs, batch.eventTimeUs.toSorted());
    assert(
      batch.eventTimeUs[0] >= OPTIONS.startTimeS * 1e6 &&
        batch.eventTimeUs[rows - 1] < OPTIONS.endTimeS * 1e6,
    );
    let expected = 0;
    let variance = 0;
    let numFailed = 0;
    const ranks: number[] = [];
    for (let row = 0; row < rows; row++) {
      const model = truth.latencyModel(batch.srcAddr[row], batch.dstAddr[row], batch.eventTimeUs[row] / 1e6);
      expected += model.pFailed;
      variance += model.pFailed * (1 - model.pFailed);
      if (batch.rttMs[row] < 0) numFailed++;
      else ranks.push(model.cdf(batch.rttMs[row]));
    }
    assertEquals(numFailed, failed);
    assert(
      Math.abs(numFailed - expected) < 4 * Math.sqrt(variance),
      `${numFailed} failed, ${expected} expected`,
    );
    // The probability integral transform of the correct model is uniform (Kolmogorov-Smirnov test).
    ranks.sort((a, b) => a - b);
    const distance = Math.max(
      ...ranks.map((rank, i) => Math.max(rank - i / ranks.length, (i + 1) / ranks.length - rank)),
    );
    assert(Math.sqrt(ranks.length) * distance < 2, `sqrt(n) D = ${Math.sqrt(ranks.length) * distance}`);
  }));

Deno.test("SyntheticTruth round-trips through its file and knows only its hosts", () =>
  withFolder((folder) => {
    const truth = new SyntheticTruth(makeWorld(OPTIONS));
    truth.save(`${folder}/s.truth.json`);
    const loaded = SyntheticTruth.load(`${folder}/s.truth.json`);
    assertEquals(loaded.world, truth.world);
    const [src, dst] = [truth.world.hosts[0].address, truth.world.hosts[89].address];
    assert(loaded.has(src) && !loaded.has("192.0.2.1"));
    assertThrows(
      () => loaded.latencyModel("192.0.2.1", dst, OPTIONS.startTimeS),
      RangeError,
      "not a host of this synthetic Internet",
    );
    Deno.writeTextFileSync(`${folder}/x.json`, "{}");
    assertThrows(
      () => SyntheticTruth.load(`${folder}/x.json`),
      FormatError,
      "it is not a truth file of synth",
    );
  }));

Deno.test("a route change shifts the truth at its time, and only then", () => {
  const world = makeWorld({ ...OPTIONS, probes: 400, destinations: 60 });
  const truth = new SyntheticTruth(world);
  const changes = world.routes.flatMap((row, a) =>
    row.flatMap((route, offset) => route.changeTimeS ? [{ a, b: a + offset, route }] : [])
  );
  assert(changes.length > 0);
  let numSeen = 0;
  for (const { a, b, route } of changes) {
    const src = world.hosts.find(({ system, role }) => role === "probe" && (system === a || system === b));
    const other = src?.system === a ? b : a;
    const dst = world.hosts.find(({ system, role }) => role === "destination" && system === other);
    if (!src || !dst || !route.changeTimeS) continue;
    const medianMs = (timeS: number) => truth.latencyModel(src.address, dst.address, timeS).quantile(0.5);
    const [before, after] = [medianMs(route.changeTimeS - 1), medianMs(route.changeTimeS)];
    assert(Math.abs(medianMs(route.changeTimeS - 2) - before) < 0.01);
    if (Math.abs(before - after) > 0.1) numSeen++;
  }
  assert(numSeen > 3, `${numSeen} changes`);
});

Deno.test("SyntheticTruth agrees with the formulas in the truth file, computed from its numbers alone", () =>
  withFolder((folder) => {
    const truth = new SyntheticTruth(makeWorld({ ...OPTIONS, probes: 40, destinations: 20 }));
    truth.save(`${folder}/s.truth.json`);
    const { hosts, routes, hubs, latencyConstants: model } = JSON.parse(
      Deno.readTextFileSync(`${folder}/s.truth.json`),
    );
    const radians = (degrees: number) => degrees * Math.PI / 180;
    type GeoPoint = { latitude: number; longitude: number };
    const km = (a: GeoPoint, b: GeoPoint) =>
      6371 * Math.acos(
        Math.sin(radians(a.latitude)) * Math.sin(radians(b.latitude)) +
          Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) *
            Math.cos(radians(a.longitude - b.longitude)),
      );
    assertEquals([model.tailWeight, model.tailShape, model.jitterSigma, model.busiestHour], [
      0.03,
      1.5,
      0.7,
      21,
    ]);
    let numChecked = 0;
    for (const [index, src] of hosts.slice(0, 40).entries()) {
      const dst = hosts[40 + index % 20];
      const timeS = OPTIONS.startTimeS + index * 61_234;
      const [a, b] = [Math.min(src.system, dst.system), Math.max(src.system, dst.system)];
      const route = routes[a][b - a];
      const isChanged = timeS >= (route.changeTimeS ?? Infinity);
      const [stretch, hub] = isChanged
        ? [route.changedStretch, route.changedHub]
        : [route.stretch, route.hub];
      const way = hub >= 0 ? km(src, hubs[hub]) + km(hubs[hub], dst) : km(src, dst);
      const propagation = 2 * way * stretch / 199.86;
      const busy = (place: GeoPoint) =>
        ((1 + Math.cos(2 * Math.PI * (timeS / 3600 + place.longitude / 15 - 21) / 24)) / 2) ** 2;
      const offset = propagation + src.accessMs + dst.accessMs + src.diurnalMs * busy(src) +
        dst.diurnalMs * busy(dst);
      const m = (src.jitterFloorMs + dst.jitterFloorMs + route.jitterFraction * propagation) *
        (1 + 1.5 * busy(src));
      const pFailed = Math.min(0.999, (route.loss + src.loss + dst.loss) * (1 + busy(src)));
      const found = truth.latencyModel(src.address, dst.address, timeS);
      assertAlmostEquals(found.pFailed, pFailed, 1e-12);
      if (km(src, dst) < 50) continue; // this test's distance formula loses digits here
      numChecked++;
      assertEquals(found.cdf(offset - 1e-6), 0);
      // At y = m the lognormal part is at its median.
      const p = 0.97 * 0.5 + 0.03 * (1 - (1 + m / (2 + 10 * m)) ** -1.5);
      assertAlmostEquals(found.cdf(offset + m), p, 1e-6);
    }
    assert(numChecked > 20);
  }));

/** Four row groups, the last one short. */
const NUM_ROWS = 400_000;

Deno.test("synthesize() writes the same bytes with any number of workers", async () => {
  using folder = new TemporaryFolder();
  const hashes = new Set<string>();
  for (const workers of [1, 3]) {
    const path = folder.at(`${workers}.parquet`);
    const { rows, failed } = await synthesize(path, { ...OPTIONS, rows: NUM_ROWS, days: 3, workers });
    const sha256 = createHash("sha256").update(Deno.readFileSync(path)).digest("hex");
    hashes.add(`${rows} rows, ${failed} failed: ${sha256}`);
  }
  assertEquals(hashes.size, 1, [...hashes].join("\n"));
});
