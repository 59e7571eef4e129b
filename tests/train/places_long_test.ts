/**
 * Real pings and where their addresses are. Trained with `--geo`, a checkpoint answers without the files.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { readCheckpoint } from "../../lib/train/checkpoint_files.ts";
import { loadModel } from "../../lib/query/files/load_model.ts";
import { siteCheckpoint } from "../../lib/serve/site/export_site.ts";
import { readManifest } from "../../lib/io/files/manifest.ts";
import { AddressEmbeddings } from "../../lib/model/address_embeddings.ts";
import { NO_ROW } from "../../lib/model/embedding_table.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { PLACE_TABLE } from "../../lib/model/model_config.ts";
import { succeed, succeeded } from "../cli/process.ts";
import { checkpointOf, metricsOf, tensorHashes, TrainingRuns } from "./training_runs.ts";

const DATA = fromFileUrl(new URL("../data/", import.meta.url));
const folder = Deno.makeTempDirSync();
const runs = new TrainingRuns(folder);
const STEPS = 30;
const SETTINGS = {
  "model.prefixVectors": '{"rows":4096}',
  "model.coordinates": '{"nodes":1024,"rank":2}',
  "train.evalEverySteps": 100,
};
/** A source of pings to Australia that is listed on the Azores, from where the pings would be too fast. */
const [MOVED, MOVED_PLACE] = ["75.204.57.235", "75.204.57.0,75.204.57.255,PT,,,,,38.5,-28,"];
const MOVES = join(folder, "moves.csv");
const GEO = ["--geo", join(DATA, "places/city.csv"), join(DATA, "places/asn.csv"), MOVES];
const OPTIONS = ["--steps", String(STEPS), ...GEO];
const run = join(folder, "run");

Deno.test.beforeAll(async () => {
  const parquet = join(folder, "pings.parquet");
  Deno.writeTextFileSync(MOVES, `${MOVED_PLACE}\n`);
  await succeed("import", "--input", join(DATA, "atlas/starlink-2022-12"), "--output", parquet);
  await succeed("probe-rows", "--input", parquet, "--output", runs.data, "--split-by", "row");
  const { stderr } = await succeeded(runs.train(run, SETTINGS, ...OPTIONS));
  assertStringIncludes(stderr, "addresses have a place");
  assertStringIncludes(Deno.readTextFileSync(join(run, "report.html")), "city.csv, asn.csv, moves.csv");
});
Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

Deno.test("train --geo counts located addresses and lists misplaced ones", async () => {
  const { files, numAddresses, numLocated, misplaced } = JSON.parse(
    Deno.readTextFileSync(join(run, "places.json")),
  );
  assertEquals(files, ["city.csv", "asn.csv", "moves.csv"]);
  assertGreater(numLocated, 0.9 * numAddresses);
  assertEquals(misplaced.map(({ address }: { address: string }) => address), [MOVED]);
  const inputs = readManifest(join(run, "manifest.json"))?.inputs.map(({ path }) => path) ?? [];
  for (const file of files) assert(inputs.some((path) => path.endsWith(file)));
  for (const { worst: { rttMs, distanceKm } } of misplaced) assertGreater(distanceKm, 102 * rttMs);
  const inspected = JSON.parse((await succeed("inspect", checkpointOf(run, STEPS), "--json")).stdout);
  const { places } = inspected.files?.[0] ?? inspected;
  const addresses: string[] = misplaced.map(({ address }: { address: string }) => address);
  assertEquals(places.misplaced.sort(), addresses.sort());
  assertEquals([places.addresses, places.located], [numAddresses, numLocated]);
});

Deno.test("train --geo, stopped and resumed, ends as if uninterrupted, and needs the same files", async () => {
  const stopped = join(folder, "stopped");
  await runs.signalAtStep(stopped, 9, { signals: ["SIGTERM"], settings: SETTINGS, more: OPTIONS });
  const without = await runs.train(stopped, SETTINGS, "--steps", String(STEPS));
  assertEquals(without.code, 2);
  assertStringIncludes(without.stderr, "model.places");
  const { stderr } = await succeeded(runs.train(stopped, SETTINGS, ...OPTIONS));
  assertStringIncludes(stderr, "resuming after step");
  assertEquals(tensorHashes(stopped, STEPS), tensorHashes(run, STEPS));
  assertEquals(metricsOf(stopped).at(-1), metricsOf(run).at(-1));
});

Deno.test("a checkpoint answers for unseen addresses by their places, without a database", async () => {
  using model = await loadModel(run);
  // Addresses in the same /24 as known ones, in another country, and without a known place.
  const [here, there, unknown] = ["100.12.134.7", "145.224.81.9", "10.1.2.3"];
  const dst = "35.203.72.216";
  const answers = await Promise.all([here, there, unknown].map(async (src) => {
    const rtt = await model.rttDistribution({ src, dst });
    return [0.05, 0.25, 0.5, 0.75, 0.95].map((q) => rtt.quantileMs(q));
  }));
  assertEquals(new Set(answers.map(String)).size, 3);
  assertNotEquals(answers[0][2], answers[1][2]);
});

Deno.test("eval compares with baselines that know the places of the checkpoint or --geo, and reports errors by place", async () => {
  const evaluate = async (...more: string[]) => {
    const output = join(folder, `eval-${more.length}`);
    const data = ["--checkpoint", run, "--data", runs.data, "--output", output];
    return JSON.parse((await succeed("eval", ...data, "--contexts", "0", "--json", ...more)).stdout);
  };
  const own = await evaluate();
  const names = own.rtt.baselines.map(({ name }: { name: string }) => name);
  assertEquals(names.slice(-3), ["distance regression", "country median", "forest with places"]);
  assertEquals(
    own.rtt.placeComparisons.every(({ bestBaseline }: { bestBaseline: string }) =>
      names.indexOf(bestBaseline) >= names.length - 3
    ),
    true,
  );
  assertGreater(own.places.numPlaced, 0);
  assertEquals(
    own.places.alignments.map(({ of, by }: Record<string, string>) => `${by} of ${of}`),
    ["embeddings of cells", "coordinates of cells", "embeddings of countries", "coordinates of countries"],
  );
  const html = Deno.readTextFileSync(own.page);
  for (
    const words of [
      "Errors by place",
      "Do place embeddings match geography?",
      "against baselines that know places",
    ]
  ) {
    assertStringIncludes(html, words);
  }
  // Only some of the addresses have a place in it, and none has an AS.
  const some = join(folder, "some.csv");
  const lines = Deno.readTextFileSync(join(DATA, "places/city.csv")).split("\n");
  Deno.writeTextFileSync(some, lines.filter((_, i) => i % 2 === 0).join("\n"));
  const given = await evaluate("--geo", some, "--baselines", "country median");
  assertEquals(given.rtt.baselines.length, 1);
  assertLess(given.places.numPlaced, own.places.numPlaced);
  assertEquals(given.places.groups.some(({ by }: { by: string }) => by.endsWith("AS")), false);
});

Deno.test("a model with places adapts to an unseen address without changing another's answer", async () => {
  using model = await loadModel(run);
  const [src, other, dst] = ["100.12.134.7", "145.224.81.9", "34.151.112.196"];
  const median = async (src: string) => (await model.rttDistribution({ src, dst })).quantileMs(0.5);
  const [before, ofOther, table] = [await median(src), await median(other), model.weights.get(PLACE_TABLE)];
  const node = () => {
    const rows = new AddressEmbeddings(model.config);
    rows.load(model.weights);
    return rows.nodeOf(addressBytes(src));
  };
  assertEquals(node(), NO_ROW);
  const rtt = 4 * before;
  await model.adapt([{ src, dst, rtt }, { src, dst, rtt }], { steps: 10, learningRate: 0.1 });
  assertNotEquals(node(), NO_ROW);
  assertNotEquals(await median(src), before);
  assertEquals(await median(other), ofOther);
  assertEquals(model.weights.get(PLACE_TABLE), table);
});

Deno.test("an exported site stores places more coarsely to stay within its limit", () => {
  const checkpoint = readCheckpoint(checkpointOf(run, STEPS));
  assertEquals(siteCheckpoint(checkpoint), checkpoint);
  const bytes = 3 * (checkpoint.config.model.places?.tableSize ?? 0);
  const smaller = siteCheckpoint(checkpoint, 0.6 * bytes);
  assertLess(3 * (smaller.config.model.places?.tableSize ?? Infinity), 0.6 * bytes);
  assertEquals(smaller.weights.get(PLACE_TABLE)?.length, 3 * (smaller.config.model.places?.tableSize ?? 0));
});
