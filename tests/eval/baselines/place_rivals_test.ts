import { DEMO_CAMPAIGN } from "../../../tasks/demo.command.ts";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { RandomStream } from "../../../lib/base/random.ts";
import { quantileOfSample } from "../../../lib/base/sample_statistics.ts";
import { countryNumber, distanceKm, type LocatedPlace } from "../../../lib/data/addresses/place_table.ts";
import type { BaselineMeasurement } from "../../../lib/eval/baselines/baseline.ts";
import {
  CountryBaseline,
  DistanceBaseline,
  PlaceForestBaseline,
} from "../../../lib/eval/baselines/place_rivals.ts";
import { PLACE_BASELINES, standardBaselines } from "../../../lib/eval/baselines/standard.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";
import { locatedBy } from "../../../lib/eval/sections/place_section.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { readAll, realData } from "../../data/measurement_files/batches.ts";
import { medianRelativeError, predictInOrder, series, splitMatrix } from "./series.ts";

/** Addresses at several places: `source 3` is the third from the west. */
function placesOn(count: number) {
  const random = new RandomStream(2, "test/places");
  const places = new Map<string, LocatedPlace>();
  for (let i = 0; i < count; i++) {
    const longitude = -100 + 200 * i / count;
    const country = countryNumber(`A${String.fromCharCode(65 + Math.floor(4 * i / count))}`);
    const position = { latitude: 60 * random.float64() - 30, longitude };
    for (const end of ["row", "column"]) {
      places.set(`${end}${i}`, { position, country, region: 0, asNumber: 1 + i % 7 });
    }
  }
  return (address: string) => places.get(address);
}

const placeOf = placesOn(40);
function kmOf(a: string, b: string): number {
  const [from, to] = [placeOf(a)?.position, placeOf(b)?.position];
  return from && to ? distanceKm(from, to) : NaN;
}

Deno.test("DistanceBaseline recovers a base and a slope despite a tenth of outlying pairs", () => {
  const { training, heldOut } = splitMatrix([40, 40], (row, column) => {
    const isWrong = (7 * row + 3 * column) % 10 === 0;
    return (8 + 0.02 * kmOf(`row${row}`, `column${column}`)) * (isWrong ? 20 : 1);
  }, { share: 0.3 });
  for (const hasEnds of [false, true]) {
    const baseline = new DistanceBaseline(placeOf, hasEnds);
    baseline.train(training);
    if (!hasEnds) assert(medianRelativeError(baseline, heldOut) < 0.03);
    const sample = baseline.predictSampleMs(heldOut[0]) ?? new Float64Array(0);
    assertEquals([...sample], [...sample.toSorted()]);
  }
  const isRight = ({ rttMs, source, destination }: BaselineMeasurement) =>
    rttMs !== null && rttMs < 2 * (8 + 0.02 * kmOf(source, destination));
  const clean = { training: training.filter(isRight), heldOut: heldOut.filter(isRight) };
  const alone = new DistanceBaseline(placeOf, false);
  alone.train(clean.training);
  assert(medianRelativeError(alone, clean.heldOut) < 0.03);
});

Deno.test("DistanceBaseline with ends learns slow ends, also after training, and ignores repeats", () => {
  const slow = (name: string) => Number(name.slice(3)) % 2 === 0 ? 3 : 1;
  const rttMs = (row: number, column: number) =>
    (8 + 0.02 * kmOf(`row${row}`, `column${column}`)) * slow(`row${row}`);
  const { training, heldOut } = splitMatrix([40, 40], rttMs, { share: 0.3 });
  const [alone, withEnds] = [false, true].map((hasEnds) => new DistanceBaseline(placeOf, hasEnds));
  for (const baseline of [alone, withEnds]) baseline.train(training);
  assert(medianRelativeError(withEnds, heldOut) < 0.5 * medianRelativeError(alone, heldOut));
  const before = withEnds.predictMs(heldOut[0]);
  for (const measurement of training) withEnds.observe({ ...measurement, isRepeated: true });
  assertEquals(withEnds.predictMs(heldOut[0]), before);
  const fresh = { source: "new", destination: "column3", timeS: 0 };
  const [first] = [withEnds.predictMs(fresh) ?? NaN];
  for (let column = 0; column < 30; column++) {
    withEnds.observe({ source: "new", destination: `column${column}`, timeS: 0, rttMs: 2000 });
  }
  assert((withEnds.predictMs(fresh) ?? 0) > 3 * first);
});

Deno.test("CountryBaseline falls back from the pair's median to one end's, then to that of all", () => {
  const country = (code: string): LocatedPlace => ({
    position: undefined,
    country: countryNumber(code),
    region: 0,
    asNumber: 0,
  });
  const known: Record<string, LocatedPlace> = {
    de1: country("DE"),
    de2: country("DE"),
    us1: country("US"),
    us2: country("US"),
    fr: country("FR"),
  };
  const baseline = new CountryBaseline((address) => known[address], 2);
  baseline.train(
    series(["de1", "us1", 100], ["us2", "de1", 102], ["de2", "us2", 104], ["de1", "de2", 8], [
      "fr",
      "us1",
      50,
    ]),
  );
  const ask = (source: string, destination: string) =>
    baseline.predictMs({ source, destination, timeS: 0 }) ?? NaN;
  assertAlmostEquals(ask("de2", "us1"), 102, 0.1);
  assertAlmostEquals(ask("us1", "de2"), 102, 0.1);
  // One measurement of the pair is too few; then those from Germany count, then those to America.
  assertAlmostEquals(ask("de2", "de1"), 100, 0.1);
  assertAlmostEquals(ask("fr", "us2"), 100, 0.1);
  assertAlmostEquals(ask("somewhere", "nowhere"), 100, 0.1);
  const before = ask("de2", "us1");
  baseline.observe({ source: "de1", destination: "us1", timeS: 9, rttMs: 900, isRepeated: true });
  assertEquals(ask("de2", "us1"), before);
});

/** A network whose RTTs depend on distance, AS and both endpoints, and change from time to time. */
function placedNetwork() {
  const random = new RandomStream(3, "test/placed-network");
  const factor = new Map<string, number>();
  const factorOf = (name: string) => {
    if (!factor.has(name)) factor.set(name, Math.exp(0.2 * random.normal()));
    return factor.get(name) ?? 1;
  };
  const asFactor = (name: string) => 1 + (placeOf(name)?.asNumber ?? 0) / 7;
  return (row: number, column: number) => {
    const [source, destination] = [`row${row}`, `column${column}`];
    const km = kmOf(source, destination);
    return (5 + 0.02 * km) * factorOf(source) * factorOf(destination) * asFactor(destination);
  };
}

Deno.test("PlaceForestBaseline beats DistanceBaseline for new pairs, sources and destinations", () => {
  const rttMs = placedNetwork();
  const { training, heldOut } = splitMatrix([40, 40], rttMs, { share: 0.5 });
  const isNew = ({ source, destination }: BaselineMeasurement) =>
    [source, destination].map((name) => Number(name.replace(/\D+/, "")) % 6 === 2);
  const known = training.filter((each) => !isNew(each).includes(true));
  const [distance, forest] = [new DistanceBaseline(placeOf, false), new PlaceForestBaseline(placeOf, 1)];
  for (const baseline of [distance, forest]) baseline.train(known);
  const kinds = {
    "pair": heldOut.filter((each) => !isNew(each).includes(true)),
    "source": [...training, ...heldOut].filter((each) => isNew(each)[0] && !isNew(each)[1]),
    "destination": [...training, ...heldOut].filter((each) => isNew(each)[1] && !isNew(each)[0]),
  };
  for (const [kind, cases] of Object.entries(kinds)) {
    const [plain, learned] = [distance, forest].map((baseline) =>
      medianRelativeError(baseline, cases as (BaselineMeasurement & { rttMs: number })[])
    );
    assert(learned < (kind === "pair" ? 0.6 : 0.85) * plain, `${kind}: ${learned} against ${plain}`);
  }
  const isHeld = kinds.pair.map((query) => {
    const sample = forest.predictSampleMs(query) ?? new Float64Array(0);
    return query.rttMs >= quantileOfSample(sample, 0.05) && query.rttMs <= quantileOfSample(sample, 0.95);
  });
  const share = isHeld.filter(Boolean).length / isHeld.length;
  assert(share > 0.75 && share < 1, `${share}`);
});

Deno.test("PlaceForestBaseline follows the history of a known pair", () => {
  const rttMs = placedNetwork();
  const random = new RandomStream(4, "test/histories");
  const at = (timeS: number) => (row: number, column: number) =>
    (timeS < 300 ? 1 : 3) * rttMs(row, column) * (1 + 0.01 * random.float64());
  const measured = Array.from(
    { length: 8 },
    (_, hour) =>
      splitMatrix([12, 12], at(100 * hour), { share: 1 }).training.map((each) => ({
        ...each,
        timeS: 100 * hour,
      })),
  ).flat();
  const training = measured.filter(({ timeS }) => timeS < 500);
  const later = measured.filter(({ timeS }) => timeS >= 500);
  const forest = new PlaceForestBaseline(placeOf, 1);
  forest.train(training);
  const forecasts = predictInOrder(forest, later, { known: later });
  const errors = later.map(({ rttMs }, i) => Math.abs(forecasts[i] / (rttMs ?? NaN) - 1));
  assert(quantileOfSample(errors, 0.5) < 0.05, `${quantileOfSample(errors, 0.5)}`);
});

const placeNames: readonly string[] = PLACE_BASELINES;

Deno.test("standardBaselines() predict finite, non-negative RTTs from any measurements and unknown places", () => {
  assertEquals([...standardBaselines(0).keys()].filter((name) => placeNames.includes(name)), []);
  const end = (letters: string[]) => fc.constantFrom(...letters);
  const rttMs = fc.oneof(
    { weight: 4, arbitrary: fc.double({ min: 0.1, max: 500, noNaN: true }) },
    { weight: 1, arbitrary: fc.constantFrom(null, 0, 1e-9, 1e5) },
  );
  const sources = ["row1", "row8", "somewhere"];
  const destinations = ["column3", "column30", "nowhere", "row8"];
  const measurements = fc.array(fc.tuple(end(sources), end(destinations), rttMs), {
    maxLength: 40,
    size: "max",
  });
  fc.assert(
    fc.property(measurements, measurements, (training, heldOut) => {
      const made = standardBaselines(3, placeOf);
      assertEquals([...made.keys()].slice(-placeNames.length), placeNames);
      for (const [name, baseline] of made) {
        baseline.train(series(["row1", "column3", 20], ...training));
        const predictedMs = predictInOrder(baseline, series(...heldOut), { known: series(...heldOut) });
        assert(predictedMs.every((ms) => ms >= 0 && ms < Infinity), `${name}: ${predictedMs}`);
        const sample = baseline.predictSampleMs?.({ source: "row1", destination: "nowhere", timeS: 99 });
        assert(!sample || sample.every((ms, i) => ms >= (sample[i - 1] ?? 0)), name);
      }
    }),
    { numRuns: 50 },
  );
});

Deno.test("standardBaselines() are reproducible by seed", () => {
  const { training, heldOut } = splitMatrix([20, 20], placedNetwork(), { share: 0.5 });
  const predict = (seed: number) =>
    [...standardBaselines(seed, placeOf)].map(([name, baseline]) => {
      baseline.train(training);
      return [name, heldOut.slice(0, 20).map((query) => baseline.predictMs(query))];
    });
  const [first, again, other] = [7, 7, 8].map(predict);
  assertEquals(first, again);
  const isDrawn = (name: unknown) =>
    ["Vivaldi", "DMFSGD", "biased factorisation", "log-ALS", "forest with places"].includes(String(name));
  first.forEach(([name, predicted], i) =>
    assertEquals(String(predicted) !== String(other[i][1]), isDrawn(name), String(name))
  );
});

/** MENOG's campaign: every 20th ping with a reply, by time. */
async function menog(): Promise<(BaselineMeasurement & { rttMs: number })[]> {
  const { batches } = await readAll([`${realData("campaigns")}/menog-2019-05.parquet`]);
  const all = batches.flatMap(({ srcAddr, dstAddr, rttMs, eventTimeUs }) =>
    srcAddr.map((source, i) => ({
      source,
      destination: dstAddr[i],
      timeS: eventTimeUs[i] / 1e6,
      rttMs: rttMs[i],
    }))
  );
  return all.filter(({ rttMs }, i) => i % 20 === 0 && rttMs >= 0).sort((a, b) => a.timeS - b.timeS);
}

Deno.test("methods with places beat medians for destinations unseen in training (MENOG 19)", async () => {
  const places = await openPlaces(
    DEMO_CAMPAIGN.places.map((name) => new URL(`../../../${name}`, import.meta.url).pathname),
  );
  const menogPlaceOf = (address: string) => locatedBy(places, addressBytes(address));
  const all = await menog();
  const destinations = [...new Set(all.map(({ destination }) => destination))].sort();
  assert(destinations.filter((each) => menogPlaceOf(each)?.position).length > 0.95 * destinations.length);
  const errors = new Map<string, number[]>();
  for (let fold = 0; fold < 3; fold++) {
    const held = new Set(destinations.filter((_, i) => i % 3 === fold));
    const training = all.filter(({ destination }) => !held.has(destination));
    const heldOut = all.filter(({ destination }, i) => held.has(destination) && i % 4 === 0);
    for (const [name, baseline] of standardBaselines(0, menogPlaceOf)) {
      if (name !== "source median" && !placeNames.includes(name)) continue;
      baseline.train(training);
      const each = heldOut.map((query) => Math.abs((baseline.predictMs(query) ?? NaN) - query.rttMs));
      errors.set(name, [...errors.get(name) ?? [], ...each]);
    }
  }
  const medians = new Map([...errors].map(([name, each]) => [name, quantileOfSample(each, 0.5)]));
  const found = JSON.stringify([...medians]);
  for (const name of ["country median", "forest with places"]) {
    assert((medians.get(name) ?? NaN) < 0.85 * (medians.get("source median") ?? NaN), found);
  }
});
