import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { join } from "@std/path";
import {
  type AdaptSection,
  drawUnseen,
  evaluateAdapted,
  unseenAddresses,
  type UnseenCases,
} from "../../../lib/eval/sections/adapt_section.ts";
import type { Baseline, BaselineMeasurement, BaselineQuery } from "../../../lib/eval/baselines/baseline.ts";
import { MedianBaseline } from "../../../lib/eval/baselines/histories.ts";
import type { EvalRows } from "../../../lib/eval/eval_rows.ts";
import { forecastRtts } from "../../../lib/eval/sections/rtt_forecasts.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { loadCheckpoint } from "../../../lib/train/checkpoint.ts";
import type { LoadedCheckpoint } from "../../../lib/train/checkpoint_files.ts";
import { withRowCheckpoint } from "../../query/adapt/row_checkpoint.ts";
import { KNOWN } from "../../query/adapt/tiny_rows.ts";
import { meshRow, meshRows } from "./mesh_rows.ts";
import fc from "fast-check";
import type { EvalCase } from "../../../lib/eval/cases.ts";
import { MemoryRowSource } from "../../data/loader/synthetic_rows.ts";

const NEW = Array.from({ length: 8 }, (_, i) => `192.0.2.${100 + i}`);
const COUNTS = [0, 2, 4];
const MAX = 24;

function rowsOf(addresses: readonly string[] = NEW, numEach = 9): EvalRows {
  const known = { destinations: KNOWN, numEach };
  return {
    training: meshRows({ ...known, sources: KNOWN, seed: 1 }),
    heldOut: meshRows({ ...known, sources: addresses, seed: 2 }),
    others: [],
    history: "train",
  };
}

/** A baseline that records what it is shown, and predicts how many measurements of the source it knows. */
class Witness implements Baseline {
  readonly trained: BaselineMeasurement[] = [];
  readonly asked: BaselineQuery[] = [];
  train(measurements: Iterable<BaselineMeasurement>): void {
    this.trained.push(...measurements);
  }
  observe(): void {
    throw new Error("nothing is told later");
  }
  predictMs(query: BaselineQuery): number {
    this.asked.push(query);
    return this.trained.filter(({ source }) => source === query.source).length;
  }
}

interface Evaluated {
  section: AdaptSection;
  witnesses: Witness[];
}

async function evaluated(
  { model, checkpoint }: { model: PingModel; checkpoint: LoadedCheckpoint },
  rows: EvalRows,
  counts: readonly number[] = COUNTS,
  maxMeasurements = MAX,
): Promise<Evaluated> {
  const made: Witness[] = [];
  const baselines = () => {
    const witness = new Witness();
    made.push(witness);
    return new Map<string, Baseline>([["witness", witness], ["median", new MedianBaseline("destination")]]);
  };
  const options = { counts, maxMeasurements, seed: 5, baselines, maxBaselineMeasurements: 1e6 };
  const section = await evaluateAdapted({ model, checkpoint, rows }, options);
  return { section, witnesses: made.filter(({ trained }) => trained.length > 0) };
}

const withModel = (test: (of: { model: PingModel; checkpoint: LoadedCheckpoint }) => Promise<void>) =>
  withRowCheckpoint(async (at) => {
    const checkpoint = loadCheckpoint(join(at("run"), "checkpoints"));
    using model = await PingModel.from(checkpoint);
    await test({ model, checkpoint });
  });

Deno.test("evaluateAdapted() judges the model after a fit to K measurements of each address", () =>
  withModel(async (of) => {
    const rows = rowsOf();
    const { section } = await evaluated(of, rows);
    assertEquals([section.numUnseen, section.numUsable, section.numAddresses], [8, 8, 8]);
    assertEquals(section.byCount.map(({ numGiven }) => numGiven), COUNTS);
    assertEquals(section.byCount.map(({ fit }) => fit.numMeasurements), [0, 16, 32]);
    const unseen = await drawUnseen(rows.heldOut, await unseenAddresses([rows.heldOut], rows.training), {
      maxGiven: 4,
      maxAddresses: 64,
      maxJudged: MAX,
      seed: 5,
    });
    const errorOf = async (model: PingModel) => {
      const { predictedMs } = await forecastRtts(model, unseen.judged, { contexts: [0] });
      const errors = predictedMs.map((ms, i) => Math.abs(ms - (unseen.judged[i].rttMs ?? NaN))).sort();
      return errors.reduce((sum, errorMs) => sum + errorMs, 0) / errors.length;
    };
    using fresh = await PingModel.from(of.checkpoint);
    const found = section.byCount.map(({ model }) => model.meanAbsoluteMs);
    assertEquals(found[0], await errorOf(fresh));
    assertEquals(found[0], await errorOf(of.model), "the given model is as it was");
    await fresh.adapt(unseen.given.flatMap((each) => each.slice(0, 2)).map(({ measurement }) => measurement));
    assertEquals(found[1], await errorOf(fresh));
    assertNotEquals(found[1], found[0]);
    for (const { model, fit } of section.byCount.slice(1)) {
      assert(fit.numRounds === 1 && (fit.lossAfter ?? 0) < (fit.lossBefore ?? 0));
      assertEquals([model.numMeasurements, model.coverage[2].level], [MAX, 0.9]);
      assert(model.intervals.medianAbsoluteMs && model.intervals.crpsMs && model.coverage[2].interval);
    }
    assertEquals(section.resampling.by, "address");
    const pairOf = ({ srcAddr, dstAddr }: EvalCase) => [srcAddr, dstAddr].sort().join();
    const numOf = (given: readonly EvalCase[], isGiven: boolean) => {
      const pairs = new Set(given.map(pairOf));
      return unseen.judged.filter((each) => pairs.has(pairOf(each)) === isGiven).length;
    };
    const firstOf = (numGiven: number) => unseen.given.flatMap((each) => each.slice(0, numGiven));
    for (const { numGiven, givenPairs, otherPairs } of section.byCount) {
      assertEquals(givenPairs.numMeasurements, numOf(firstOf(numGiven), true));
      assertEquals(otherPairs.numMeasurements, numOf(firstOf(4), false), "the same for every number");
    }
    const [none, some] = section.byCount;
    assert(numOf(firstOf(4), false) > 0 && some.givenPairs.numMeasurements > none.givenPairs.numMeasurements);
  }));

Deno.test("evaluateAdapted() trains baselines on the same K measurements and compares with the best", () =>
  withModel(async (of) => {
    const { section, witnesses } = await evaluated(of, rowsOf(), [0, 2]);
    const trained = rowsOf().training.numRows * 9;
    assertEquals(witnesses.map(({ trained }) => trained.length), [trained, trained + 8 * 2]);
    for (const { trained, asked } of witnesses) {
      assertEquals(
        trained.map(({ timeS }) => timeS),
        trained.map(({ timeS }) => timeS).sort((a, b) => a - b),
      );
      const name = ({ source, destination, timeS }: BaselineQuery) => `${source} ${destination} ${timeS}`;
      assertEquals(new Set(trained.map(name)).intersection(new Set(asked.map(name))).size, 0);
      assertEquals(asked, witnesses[0].asked);
    }
    section.byCount.forEach(({ baselines, comparisons, model }) => {
      assertEquals(baselines.map(({ name }) => name), ["witness", "median"]);
      const crps = comparisons.find(({ metric }) => metric === "crpsMs");
      assertEquals([crps?.model, crps?.bestBaseline], [model.crpsMs, "median"]);
      assertEquals(crps?.numContext, null);
    });
  }));

Deno.test("evaluateAdapted() is reproducible to the last bit, and tunes baselines on the validation split", () =>
  withModel(async (of) => {
    const [first, second] = [await evaluated(of, rowsOf(), [2]), await evaluated(of, rowsOf(), [2])];
    assertEquals(JSON.stringify(second.section), JSON.stringify(first.section));
    const others = NEW.map((address) => address.replace("192.0.2", "198.51.100"));
    const validation = meshRows({ sources: others, destinations: KNOWN, numEach: 9, seed: 3 });
    const tuned = await evaluated(of, { ...rowsOf(), validation }, [0]);
    assertEquals(first.section.numTuningAddresses, 0);
    assertEquals([tuned.section.numTuningAddresses, tuned.section.numTuningMeasurements], [8, MAX]);
  }));

Deno.test("evaluateAdapted() fits addresses in rounds if the table lacks rows for all at once", () =>
  withModel(async (of) => {
    const strangers = Array.from({ length: 64 }, (_, i) => `10.${i}.0.1`);
    const { section } = await evaluated(of, rowsOf(strangers, 3), [1], 64);
    const { fit, model } = section.byCount[0];
    assert(fit.numRounds > 1, `${fit.numRounds}`);
    assertEquals([fit.numWithoutRow, fit.numMeasurements, model.numMeasurements], [0, 64, 64]);
  }));

Deno.test("evaluateAdapted() returns no results if no address has enough replies", () =>
  withModel(async (of) => {
    const { section } = await evaluated(of, rowsOf(NEW, 2), [0, 2]);
    assertEquals([section.numUnseen, section.numUsable, section.byCount], [8, 0, []]);
  }));

const KNOWN_ENDS = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
const NEW_ENDS = ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4", "198.51.100.5"];
const training = meshRows({ sources: KNOWN_ENDS, destinations: KNOWN_ENDS, numEach: 5, seed: 1 });

const nameOf = ({ srcAddr, dstAddr, measurement }: EvalCase) => `${srcAddr} ${dstAddr} ${measurement.timeS}`;

function heldOutOf(seed: number): MemoryRowSource {
  const all = [...KNOWN_ENDS, ...NEW_ENDS];
  return meshRows({ sources: all, destinations: all, numEach: 12, seed, failed: 0.2 });
}

Deno.test("drawUnseen() draws nested measurements of each address, and judges by none of them", () =>
  fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.nat(1e6),
        maxGiven: fc.integer({ min: 0, max: 8 }),
        maxAddresses: fc.integer({ min: 1, max: 6 }),
        maxJudged: fc.integer({ min: 1, max: 40 }),
      }),
      async ({ seed, maxGiven, ...most }) => {
        const rows = heldOutOf(seed % 7);
        const unseen = await unseenAddresses([rows], training);
        assertEquals([...unseen].sort(), NEW_ENDS);
        const drawn = await drawUnseen(rows, unseen, { ...most, maxGiven, seed });
        assertEquals(await drawUnseen(rows, unseen, { ...most, maxGiven, seed }), drawn, "the same again");
        const { addresses, given, judged, addressOf } = drawn;
        assert(addresses.length <= most.maxAddresses && judged.length <= most.maxJudged);
        assertEquals([given.length, addressOf.length], [addresses.length, judged.length]);
        const names = [...given.flat(), ...judged].map(nameOf);
        assertEquals(new Set(names).size, names.length, "no measurement twice, given or judged");
        given.forEach((of, i) => {
          assertEquals(of.length, maxGiven);
          of.forEach((each) => assertIsOf(each, addresses[i]));
        });
        judged.forEach((each, i) => assertIsOf(each, addresses[addressOf[i]]));
        assertEquals(new Set(addressOf).size, addresses.length, "each is judged");
        await assertNested(drawn, (fewer) => drawUnseen(rows, unseen, { ...most, maxGiven: fewer, seed }));
      },
    ),
    { numRuns: 40 },
  ));

/** Checks that the address is the unknown endpoint, the other is known, and there is a reply. */
function assertIsOf({ srcAddr, dstAddr, rttMs, history }: EvalCase, address: string): void {
  const other = srcAddr === address ? dstAddr : srcAddr;
  assert([srcAddr, dstAddr].includes(address) && KNOWN_ENDS.includes(other) && rttMs !== null);
  assertEquals(history, []);
}

async function assertNested(
  { addresses, given }: UnseenCases,
  draw: (maxGiven: number) => Promise<UnseenCases>,
): Promise<void> {
  const fewer = await draw(Math.floor((given[0]?.length ?? 0) / 2));
  fewer.addresses.forEach((address, i) => {
    const more = given[addresses.indexOf(address)];
    if (more) assertEquals(fewer.given[i].map(nameOf), more.slice(0, fewer.given[i].length).map(nameOf));
  });
}

Deno.test("unseenAddresses() recognises an address at either end and in any spelling", async () => {
  const known = new MemoryRowSource([meshRow("2001:db8::1", [["2001:DB8:0::2", 5, 1]])]);
  const rows = new MemoryRowSource([
    meshRow("2001:0db8::2", [["2001:db8::1", 5, 2], ["2001:db8::A", 6, 3], ["2001:db8::a", 7, 4]]),
  ]);
  const unseen = await unseenAddresses([rows], known);
  assertEquals([...unseen], ["2001:db8::a"]);
  const options = { maxGiven: 1, maxAddresses: 9, maxJudged: 9, seed: 1 };
  const { given, judged } = await drawUnseen(rows, unseen, options);
  assertEquals([given[0].length, judged.length], [1, 1]);
});
